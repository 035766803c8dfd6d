package compactor

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// brokenWait is how long a bucket rests at first after an error that nothing but somebody's repair mends, maxBrokenWait at most.
const (
	brokenWait    = 10 * time.Minute
	maxBrokenWait = time.Hour
	warnAgain     = 10 * time.Minute // about a commit that goes on going wrong
)

// permanent tells whether trying again is in vain as long as nobody changes the table. A file that has gone may have been
// compacted by somebody else.
func permanent(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, kind := range []error{lsm.ErrUnsupported, table.ErrSchema, table.ErrCorrupt, table.ErrNewerFormat, table.ErrOption, format.ErrCorrupt, format.ErrNull} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// remedy says what an operator can do about a permanent error.
func remedy(err error) string {
	switch {
	case errors.Is(err, lsm.ErrUnsupported):
		return "compact the table with another Paimon engine, or undo the change of the column's type"
	case errors.Is(err, table.ErrNewerFormat):
		return "use a newer paimon-go-compact"
	case errors.Is(err, format.ErrNull):
		return "make the column nullable with another engine: the merge engine leaves NULL in it when rows are retracted"
	case errors.Is(err, table.ErrOption):
		return "correct the table's option"
	}
	return "run paimon-go check on the table and mend what it names"
}

// breaks lets the bucket of a job rest for long, and says so once for each error that it has.
func (l *tableLoop) breaks(f *finished, err error) {
	if b := l.bucketAt(f.c.key); b != nil {
		l.breaksBucket(b, err)
	}
}

func (l *tableLoop) breaksBucket(b *bucket, err error) {
	wait := maxBrokenWait
	if n := b.failed; n < 3 {
		wait = min(brokenWait<<n, maxBrokenWait)
	}
	b.retryAt = time.Now().Add(wait)
	b.failed++
	if text := err.Error(); text != b.broken {
		b.broken = text
		l.log.Error("a bucket can't be compacted", "partition", b.part.path, "bucket", b.id, "error", err, "remedy", remedy(err),
			"next try", wait)
	}
}

// mended lets broken buckets be tried at once, when the table's schema or options have changed.
func (l *tableLoop) mended() {
	for _, b := range l.st.buckets {
		if b.broken != "" {
			b.failed, b.retryAt = 0, time.Time{}
		}
	}
	for _, b := range append(slices.Collect(maps.Values(l.st.waiting)), l.mover) {
		if b.broken != "" {
			b.failed, b.retryAt = 0, time.Time{}
		}
	}
}
