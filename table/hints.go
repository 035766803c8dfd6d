package table

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/internal/backoff"
)

// The hint files of a snapshot directory. They may be missing, wrong or old: who reads one checks it (Java's HintFileUtils).
const (
	hintLatest   = "LATEST"
	hintEarliest = "EARLIEST"
)

// readHint returns the number in a hint file. Any trouble is the same as no hint.
func (t *Table) readHint(ctx context.Context, name string) (int64, bool) {
	data, err := readWhole(ctx, t.fs, t.snapshotDir()+"/"+name)
	if err != nil || len(data) > 32 {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil && n > 0
}

const (
	hintTries = 3
	hintWait  = 500 * time.Millisecond
)

// writeLatestHint tells others where to look first. A reader that finds no successor of the hinted snapshot trusts it, so
// the hint must never be ahead of the truth: it is written after the snapshot. The caller may ignore the error.
func (t *Table) writeLatestHint(ctx context.Context, id int64) error {
	var err error
	for try := range hintTries {
		if try > 0 {
			if backoff.Sleep(ctx, hintWait) != nil {
				break
			}
		}
		if err = t.fs.Replace(ctx, t.snapshotDir()+"/"+hintLatest, strconv.AppendInt(nil, id, 10)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("writing the hint LATEST=%d of %s: %w", id, t.path, err)
}
