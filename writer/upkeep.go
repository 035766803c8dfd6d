package writer

import (
	"context"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/table/maintenance"
)

// upkeep does beside the commits of a table with write-only=false what Paimon does after them: tags, and the expiry of snapshots,
// changelogs, partitions, tags and consumers.
type upkeep struct {
	w        *Writer
	m        *maintenance.Maintainer
	interval time.Duration
	wake     chan struct{} // holds one
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

const (
	upkeepInterval = 30 * time.Second
	// upkeepRounds bounds how often there is expiry in a row: each removes a limited number of snapshots.
	upkeepRounds = 20
)

// startUpkeep begins it. Partitions are dropped under a user of their own, whose commits are not those of checkpoints.
func (w *Writer) startUpkeep() {
	if w.cfg.MaintainInterval < 0 {
		return
	}
	u := &upkeep{w: w, m: maintenance.NewMaintainer(w.table, w.cfg.CommitUser+"-expiry", nil), interval: w.cfg.MaintainInterval, wake: make(chan struct{}, 1)}
	if u.interval == 0 {
		u.interval = upkeepInterval
	}
	ctx, cancel := context.WithCancel(w.ctx)
	u.cancel = cancel
	u.running.Go(func() { u.run(ctx) })
	w.upkeep = u
}

// ask tells of a commit.
func (u *upkeep) ask() {
	if u == nil {
		return
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *upkeep) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wake:
		}
		start := time.Now()
		info := MaintainInfo{}
		for range upkeepRounds {
			var r maintenance.Report
			r, info.Err = u.m.Run(ctx, nil)
			info.Add(r)
			if info.Err != nil || r.Snapshots == 0 && r.Changelogs == 0 {
				break
			}
		}
		if ctx.Err() != nil {
			return
		}
		info.Duration = time.Since(start)
		if f := u.w.cfg.Listener.MaintainEnd; f != nil {
			f(info)
		}
		pause := time.NewTimer(u.interval)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

func (u *upkeep) close() {
	if u != nil {
		u.cancel()
		u.running.Wait()
	}
}
