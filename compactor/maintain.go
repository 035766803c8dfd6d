package compactor

import (
	"context"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// housekeeper runs the Maintainers of all tables one after the other, beside the jobs.
type housekeeper struct {
	mu    sync.Mutex
	queue []upkeep      // guarded by mu, one a table
	wake  chan struct{} // holds one
}

type upkeep struct {
	loop *tableLoop
	m    Maintainer
	s    *table.Snapshot
}

func newHousekeeper() *housekeeper { return &housekeeper{wake: make(chan struct{}, 1)} }

// maintainRounds bounds how often a table is maintained in a row while there is something to remove: expiry does a limited
// number of snapshots at a time.
const maintainRounds = 20

func (m *housekeeper) ask(job upkeep) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.queue {
		if m.queue[i].loop == job.loop {
			m.queue[i] = job
			return
		}
	}
	m.queue = append(m.queue, job)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *housekeeper) take(ctx context.Context) (upkeep, bool) {
	for ctx.Err() == nil {
		m.mu.Lock()
		if len(m.queue) > 0 {
			job := m.queue[0]
			m.queue = m.queue[1:]
			m.mu.Unlock()
			return job, true
		}
		m.mu.Unlock()
		select {
		case <-m.wake:
		case <-ctx.Done():
		}
	}
	return upkeep{}, false
}

// goMaintain starts the maintenance's goroutine.
func (x *session) goMaintain(ctx context.Context) {
	if x.cfg.Maintainer == nil {
		return
	}
	x.wg.Go(func() {
		for {
			job, ok := x.maintain.take(ctx)
			if !ok {
				return
			}
			job.loop.maintain(ctx, job.m, job.s)
		}
	})
}

// askMaintenance asks for the table's maintenance when it is due: soon after new snapshots, and now and then without, as age
// alone makes things expire. One of several shards does it.
func (l *tableLoop) askMaintenance(now time.Time) {
	s := l.st.snapshot
	if l.once != nil || s == nil || now.Before(l.maintainAt) || !l.maintains() {
		return
	}
	again := l.maintainAgain.Swap(false)
	if s.ID == l.maintained && !again && now.Before(l.maintainAt.Add(idleMaintain)) {
		return
	}
	l.maintained = s.ID
	l.maintainAt = now.Add(l.x.cfg.MaintainInterval)
	l.x.maintain.ask(upkeep{l, l.maintainer, s})
}

// maintains tells whether this process maintains the table, and gets ready for it.
func (l *tableLoop) maintains() bool {
	c := &l.x.cfg
	if c.Maintainer == nil || c.Shards > 1 && shardOf(l.name, nil, 0, c.Shards) != c.Shard {
		return false
	}
	if l.maintainer == nil {
		l.maintainer = c.Maintainer(l.t, l.x.user)
	}
	return l.maintainer != nil
}

// maintainOnce does the maintenance of a table that Once has compacted.
func (l *tableLoop) maintainOnce(ctx context.Context) {
	if l.t == nil || len(l.once.errs) > 0 || ctx.Err() != nil || !l.maintains() {
		return
	}
	s, err := l.t.Latest(ctx)
	if err == nil && s != nil {
		err = l.maintain(ctx, l.maintainer, s)
	}
	if err != nil && ctx.Err() == nil {
		l.once.fail(err)
	}
}

// maintain runs a Maintainer until nothing more expires.
func (l *tableLoop) maintain(ctx context.Context, m Maintainer, s *table.Snapshot) error {
	start := time.Now()
	var all Maintained
	var err error
	for range maintainRounds {
		var did Maintained
		did, err = m.Maintain(ctx, s)
		all.add(did)
		if err != nil || did.Snapshots == 0 && did.Changelogs == 0 {
			break
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.stats.update(func(v *TableStats) {
		v.Maintained.add(all)
		v.LastMaintain = start
	})
	if err != nil {
		l.maintainAgain.Store(true)
		l.stats.failed(err)
		l.log.Warn("the maintenance of the table goes wrong", "error", err)
	}
	if f := l.x.cfg.Listener.MaintainEnd; f != nil {
		f(MaintainInfo{Table: l.name, Maintained: all, Duration: time.Since(start), Err: err})
	}
	return err
}

func (m *Maintained) add(o Maintained) {
	m.Snapshots += o.Snapshots
	m.Changelogs += o.Changelogs
	m.Tags += o.Tags
	m.Consumers += o.Consumers
	m.Partitions += o.Partitions
	m.Files += o.Files
	m.Bytes += o.Bytes
	m.HeldBy, m.Held = o.HeldBy, o.Held
}
