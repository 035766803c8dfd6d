package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

type changelogArgs struct {
	tableArgs
	outputArgs
	optionArgs
	bucketArgs
	rowArgs
	From           int64  `placeholder:"N" help:"First snapshot; default: where the consumer is, else the earliest whose changes are kept."`
	To             int64  `placeholder:"N" help:"Last snapshot; default: the latest."`
	Follow         bool   `help:"Go on with new snapshots, looked for at the table option continuous.discovery-interval, until --to or a signal."`
	ConsumerID     string `name:"consumer-id" placeholder:"ID" help:"Go on where this consumer is, and record each snapshot that was printed. Expiry keeps what it has not read."`
	IgnoreProgress bool   `help:"Don't start where the consumer is."`
}

// Run prints what snapshots changed.
func (a *changelogArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, a.optionArgs)
	if err != nil {
		return err
	}
	if a.ConsumerID == "" && a.IgnoreProgress {
		return fmt.Errorf("%w: --ignore-progress is of a consumer, and no --consumer-id names one", cli.ErrUsage)
	}
	if a.ConsumerID != "" && a.Count {
		return fmt.Errorf("%w: --consumer-id with --count: nothing is printed that could be recorded", cli.ErrUsage)
	}
	o := lsm.ScanOptions{Bucket: a.Bucket, Columns: cli.Names(a.Columns)}
	if o.Match, err = a.matcher(t); err != nil {
		return err
	}
	r, err := lsm.NewChangelogReader(t, o)
	if err != nil {
		return err
	}
	p := &printer{rowArgs: &a.rowArgs, env: env, json: a.JSON, extra: []string{"snapshot", "kind"}}
	s := &changeStream{changelogArgs: a, table: t, reader: r, printer: p}
	env.endless = a.Follow
	err = s.run(ctx)
	if a.Follow && ctx.Err() != nil {
		err = nil // the way it ends
	}
	return errors.Join(err, p.end())
}

// changeStream prints one snapshot after the other.
type changeStream struct {
	*changelogArgs
	table   *table.Table
	reader  *lsm.ChangelogReader
	printer *printer
	next    int64
	seen    int64 // the latest snapshot, when last looked for
}

func (s *changeStream) run(ctx context.Context) error {
	latest, err := s.table.Latest(ctx)
	if err != nil {
		return err
	}
	if err := s.start(ctx, latest); err != nil {
		return err
	}
	last := s.To
	if last == 0 && !s.Follow && latest != nil {
		last = latest.ID
	}
	for s.Follow && last == 0 || s.next <= last {
		snapshot, err := s.await(ctx)
		if err != nil {
			return err
		}
		if more, err := s.print(ctx, snapshot); err != nil || !more {
			return err
		}
		s.next++
	}
	return nil
}

// start finds the first snapshot and refuses a range that can't be.
func (s *changeStream) start(ctx context.Context, latest *table.Snapshot) error {
	end := int64(1) // the snapshot that is made next
	if latest != nil {
		end = latest.ID + 1
	}
	if s.To > 0 && s.From > s.To {
		return fmt.Errorf("%w: --from %d is after --to %d", cli.ErrUsage, s.From, s.To)
	}
	if s.To >= end && !s.Follow {
		return fmt.Errorf("%w: --to %d: the latest snapshot is %d", cli.ErrUsage, s.To, end-1)
	}
	what, err := s.first(ctx)
	if err != nil {
		return err
	}
	switch {
	case s.next == 0: // an empty table
		s.next = 1
		return nil
	case s.next < 0 || s.next > end || s.next == end && s.From > 0 && !s.Follow:
		return fmt.Errorf("%w: %s: the latest snapshot is %d", cli.ErrUsage, what, end-1)
	case s.next == end:
		return nil
	}
	if _, err := s.table.SnapshotOrChangelog(ctx, s.next); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: %w", cli.ErrUsage, what, err)
	} else if err != nil {
		return err
	}
	return nil
}

// first sets next to where to start, and tells what says so.
func (s *changeStream) first(ctx context.Context) (what string, err error) {
	if s.next = s.From; s.next != 0 {
		return fmt.Sprintf("--from %d", s.From), nil
	}
	if s.ConsumerID != "" && !s.IgnoreProgress {
		c, err := s.table.Consumer(ctx, s.ConsumerID)
		if err == nil {
			s.next = c.Next
			return fmt.Sprintf("consumer %s is at snapshot %d, --from or --ignore-progress start elsewhere", c.ID, c.Next), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	s.next, err = s.table.EarliestChange(ctx)
	return "the earliest snapshot", err
}

// await returns the next snapshot when it is there.
func (s *changeStream) await(ctx context.Context) (*table.Snapshot, error) {
	pause := s.table.Options().Duration(table.KeyContinuousDiscoveryInterval)
	for s.Follow && s.next > s.seen {
		latest, err := s.table.Latest(ctx)
		if err != nil {
			return nil, err
		}
		if latest != nil {
			s.seen = latest.ID
		}
		switch {
		case s.seen+1 < s.next, latest == nil && s.next > 1:
			return nil, fmt.Errorf("%w: snapshot %d was to come next, but the table has been rolled back or made anew", cli.ErrUsage, s.next)
		case s.seen < s.next:
			if err := wait(ctx, pause); err != nil {
				return nil, err
			}
		}
	}
	return s.table.SnapshotOrChangelog(ctx, s.next)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// print prints the changes of a snapshot and records that; false when there are rows enough.
func (s *changeStream) print(ctx context.Context, snapshot *table.Snapshot) (more bool, err error) {
	for b, err := range s.reader.Read(ctx, snapshot) {
		if errors.Is(err, fs.ErrNotExist) {
			// Did it expire under our eyes?
			if _, e := s.table.SnapshotOrChangelog(ctx, snapshot.ID); e != nil {
				err = e
			}
		}
		if err != nil {
			return false, err
		}
		if more, err := s.printer.batch(lsm.Changes{Snapshot: snapshot, Rows: b}); err != nil || !more {
			return false, err
		}
	}
	if s.ConsumerID == "" && !s.Follow {
		return true, nil
	}
	if err := s.printer.flush(); err != nil {
		return false, err
	}
	if s.ConsumerID == "" {
		return true, nil
	}
	// It has been printed: a signal must not have it printed again.
	return true, s.table.RecordConsumer(context.WithoutCancel(ctx), s.ConsumerID, snapshot.ID+1)
}
