package writer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// lease says which writer of ours assigns the buckets of a table: a file beside it that changes as long as the writer lives. A second
// writer is refused at its start that way, and told who the first is.
//
// It is a courtesy and no lock: what keeps a key out of two buckets is the check that each commit makes of the HASH files it goes on
// from. So nothing waits for the file, and a storage that doesn't take it ends no job. No clock of another machine is believed: a
// file that stays as it is while a new writer watches it belongs to one that is dead. One of the same commit user is its own
// predecessor, and is not waited for; twins of a commit user are told by Config.Resume.
type lease struct {
	table *table.Table
	path  string
	mine  leaseFile
	stop  context.CancelFunc
	done  sync.WaitGroup
}

type leaseFile struct {
	User  string `json:"user"`
	Owner string `json:"owner"` // of each writer its own
	Beat  int64  `json:"beat"`
}

// leaseTime is how often a lease changes, and after how long without a change its writer is dead.
type leaseTime struct {
	beat, dead time.Duration
	sleep      func(ctx context.Context, d time.Duration) error
}

var leaseTimes = leaseTime{beat: 3 * time.Second, dead: 10 * time.Second, sleep: sleep}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func newLease(t *table.Table, user string) *lease {
	return &lease{table: t, path: fs.Join(t.Path(), "paimon-go", "buckets.lease"), mine: leaseFile{User: user, Owner: uuid.NewString()}}
}

// takeLease takes the lease of a table, or fails with ErrFenced as a writer that lives has it.
func takeLease(ctx context.Context, t *table.Table, user string, times leaseTime) (*lease, error) {
	l := newLease(t, user)
	was, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.refuse(ctx, was, times); err != nil {
		return nil, err
	}
	if err := l.write(ctx); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.done.Go(func() { l.keep(background, times) })
	return l, nil
}

// refuse returns ErrFenced when the writer that has the file lives. It watches the file for as long as that takes.
func (l *lease) refuse(ctx context.Context, was leaseFile, times leaseTime) error {
	for waited := time.Duration(0); was.Owner != "" && was.User != l.mine.User && waited < times.dead; waited += times.beat {
		if err := times.sleep(ctx, times.beat); err != nil {
			return err
		}
		now, err := l.read(ctx)
		if err != nil {
			return err
		}
		if now.Owner == "" {
			break
		}
		if now != was {
			return fmt.Errorf("%w: job %s assigns the buckets of this table, which only one job can do (bucket=-1)", table.ErrFenced, now.User)
		}
	}
	return nil
}

// CheckAlone refuses, as table.ErrFenced, a table whose buckets another job of ours assigns, as Open does. It is for those who change
// the table before they open a writer. It takes about ten seconds if the other job is dead.
func CheckAlone(ctx context.Context, t *table.Table, user string) error {
	if t.Options().Int(table.KeyBucket) != -1 {
		return nil
	}
	l := newLease(t, user)
	was, err := l.read(ctx)
	if err != nil {
		return err
	}
	return l.refuse(ctx, was, leaseTimes)
}

// keep changes the file until its end.
func (l *lease) keep(ctx context.Context, times leaseTime) {
	for times.sleep(ctx, times.beat) == nil {
		now, err := l.read(ctx)
		if err == nil && now.Owner != "" && now.User != l.mine.User {
			return // somebody took us for dead; a commit will tell
		} // of a twin, which a commit will end, it is taken back
		l.mine.Beat++
		_ = l.write(ctx) // the next one may do
	}
}

// read returns the file, the zero value for none or one that is not whole.
func (l *lease) read(ctx context.Context) (leaseFile, error) {
	var f leaseFile
	r, err := l.table.FS().Open(ctx, l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("reading %s: %w", l.path, err)
	}
	defer func() { _ = r.Close() }() // read only
	b := make([]byte, min(r.Size(), 64<<10))
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("reading %s: %w", l.path, err)
	}
	if json.Unmarshal(b, &f) != nil {
		return leaseFile{}, nil
	}
	return f, nil
}

func (l *lease) write(ctx context.Context) error {
	b, err := json.Marshal(&l.mine)
	if err == nil {
		err = l.table.FS().Replace(ctx, l.path, b)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", l.path, err)
	}
	return nil
}

// release gives the lease back.
func (l *lease) release() {
	if l == nil {
		return
	}
	l.stop()
	l.done.Wait()
	ctx, cancel := fs.CleanUp(context.Background())
	defer cancel()
	if now, err := l.read(ctx); err == nil && now.Owner == l.mine.Owner {
		_ = l.table.FS().Remove(ctx, l.path) // a file that doesn't change is worth as much
	}
}
