package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
	"github.com/paimon-go/paimon-go/table"
)

// A storage that is slow makes the job slow: memory fills, then the reader waits. One that fails ends a session, after the tries
// of its own, and the job begins another from its last commit, as a new process would.
const (
	firstRestart   = time.Second
	longestRestart = time.Minute
	// steady is how long a session must have run since it could write its state to prove that the storage works. That write
	// alone proves little: commits may fail all the same.
	steady = time.Hour
)

// outage is that the storage fails, until something could be written.
type outage struct {
	since time.Time
	err   error
}

// overOutages runs session after session until one ends well, or in a way that waiting doesn't mend, or the storage has failed
// for longer than --storage_patience. A job that has never got to writing ends at once: the storage may be named wrongly.
func (j *job) overOutages(ctx context.Context, stop <-chan struct{}, m *metrics, session func(context.Context) error) error {
	var since time.Time // of the first failure after the storage worked
	restarts, unknown, gone := 0, false, 0
	for {
		began, commits, positions := time.Now(), m.commits.Load(), m.positions.Load()
		err := session(ctx)
		if err == nil || !j.opened || ctx.Err() != nil {
			return err
		}
		committed := m.commits.Load() > commits
		if gone = nextGone(gone, committed, err); gone > 0 && gone <= mostGone {
			m.dropped.Add(1)
			j.log.Warn("a partition has expired or was dropped while rows of it came; the job starts again from its last commit, and reads anew where keys are", "error", err)
			continue
		}
		late := unknown && !committed && errors.Is(err, table.ErrFenced) // the commit that was in doubt has come yet
		if !late && !passes(err) {
			return err
		}
		unknown = errors.Is(err, table.ErrUnknownOutcome)
		worked := committed || m.positions.Load() > positions || m.outage.Load() == nil && time.Since(began) > steady
		if since.IsZero() || worked {
			restarts, since = 0, time.Now()
		}
		m.outage.Store(&outage{since, err})
		if lasted := time.Since(since); lasted >= j.args.StoragePatience {
			return fmt.Errorf("the storage has failed for %v (--storage_patience): %w", lasted.Round(time.Second), err)
		}
		wait := backoff.Delay(firstRestart, longestRestart, restarts)
		restarts++
		m.restarts.Add(1)
		j.log.Warn("the storage fails; the job starts again from its last commit", "failing_since", since.UTC().Format(time.RFC3339),
			"restart", restarts, "wait_ms", wait.Milliseconds(), "error", err)
		if stopped(ctx, stop, wait) {
			return err
		}
	}
}

// mostGone is how many sessions in a row may end without a commit because partitions were dropped.
const mostGone = 3

// nextGone counts them. What was not committed is read again, and goes to buckets as the table then says.
func nextGone(before int, committed bool, err error) int {
	switch {
	case !errors.Is(err, table.ErrPartitionGone) || errors.Is(err, table.ErrUnknownOutcome):
		return 0
	case committed:
		return 1
	}
	return before + 1
}

// worksAgain ends the outage.
func (m *metrics) worksAgain() {
	if o := m.outage.Swap(nil); o != nil {
		m.job.log.Info("the storage works again", "failed_for", time.Since(o.since).Round(time.Second))
	}
}

// stopped waits and tells whether an end was asked for meanwhile.
func stopped(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-stop:
		return true
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}

// passes tells whether an error that ended a session is the storage's and may pass.
func passes(err error) bool {
	for _, c := range classes {
		if c.Is(err) {
			return c.Code == cli.ExitStorage && !cli.InTheWay(err) && (fs.Passing(err) || errors.Is(err, table.ErrUnknownOutcome))
		}
	}
	return false
}
