package compactor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/internal/backoff"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// Service compacts tables. Use New. One call of Run or Once at a time; Plan, Explain and Stats may be called beside it.
type Service struct {
	cfg    Config
	tables Tables
	user   string
	clock  *maintenance.Clock
	bytes  *limiter
	ops    *limiter

	mu      sync.Mutex
	session *session // guarded by mu; the last call of Run or Once
	// ids has the next commit identifier by table. Each is used once under our commit user: a second commit with it would
	// pass for the first. So it outlives that a table is lost sight of.
	ids    map[string]int64 // guarded by mu
	opened map[string]bool  // guarded by mu; tables that were there
}

// New returns a Service. Errors wrap table.ErrOption.
func New(cfg Config, tables Tables) (*Service, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Service{
		cfg: cfg, tables: tables, user: cfg.CommitUserPrefix + "_" + uuid.NewString(),
		clock: maintenance.NewClock(cfg.Now), bytes: newLimiter(cfg.BytesPerSecond), ops: newLimiter(cfg.OpsPerSecond), ids: map[string]int64{}, opened: map[string]bool{},
	}, nil
}

// User returns the commit user of this process.
func (s *Service) User() string { return s.user }

// Run compacts until ctx ends, and then returns within 10 seconds: jobs that make it are committed, the others leave nothing
// behind. Trouble with a table or with storage is waited out. The only errors are those of StrictTables.
func (s *Service) Run(ctx context.Context) error {
	if s.cfg.Strategy == Full {
		return fmt.Errorf("%w: strategy %s is for a single run; a service compacts as the tables' options say", table.ErrOption, Full)
	}
	return s.start(ctx, func(ctx context.Context, x *session) error {
		x.goMaintain(ctx)
		return x.discover(ctx)
	})
}

// nextID returns the next commit identifier of a table.
func (s *Service) nextID(name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.ids[name], 1)
}

// useID says that an identifier is about to be used.
func (s *Service) useID(name string, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[name] = max(s.ids[name], id+1)
}

func (s *Service) markOpened(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened[name] = true
}

func (s *Service) wasOpened(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened[name]
}

// session is one call of Run or Once: its goroutines and contexts. When the caller's context ends, nothing new is begun;
// jobs may go on for stopJobs and commits for stopGrace.
type session struct {
	*Service
	dispatch *dispatcher
	maintain *housekeeper
	jobs     context.Context // of jobs
	hard     context.Context // of commits
	io       chan struct{}   // a place in it for each look at a table

	wg    sync.WaitGroup
	loops map[string]*tableLoop // guarded by Service.mu

	activeMu sync.Mutex
	active   map[*activeJob]struct{} // guarded by activeMu
}

// looksAtOnce bounds how many tables are looked at, or listed, at the same time.
const looksAtOnce = 8

func (s *Service) start(ctx context.Context, body func(context.Context, *session) error) error {
	x := &session{
		Service: s, dispatch: newDispatcher(), maintain: newHousekeeper(), io: make(chan struct{}, looksAtOnce),
		loops: map[string]*tableLoop{}, active: map[*activeJob]struct{}{},
	}
	s.mu.Lock()
	s.session = x
	s.mu.Unlock()
	background := context.WithoutCancel(ctx)
	hard, cancelHard := context.WithCancel(background)
	defer cancelHard()
	jobs, cancelJobs := context.WithCancel(hard)
	defer cancelJobs()
	x.hard, x.jobs = hard, jobs
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	stopped := make(chan struct{})
	go func() { // ends the session step by step
		defer close(stopped)
		<-ctx.Done()
		x.dispatch.close()
		x.cancelHopeless(stopJobs)
		if backoff.Sleep(hard, stopJobs) == nil {
			cancelJobs()
			if backoff.Sleep(hard, stopGrace-stopJobs) == nil {
				cancelHard()
			}
		}
	}()
	var workers sync.WaitGroup
	for range s.cfg.Workers {
		workers.Go(func() { x.work(ctx) })
	}
	err := body(ctx, x)
	cancel()
	x.wg.Wait() // the tables', which wait for their jobs
	workers.Wait()
	cancelHard()
	<-stopped
	return err
}

// discover looks for tables until ctx ends.
func (x *session) discover(ctx context.Context) error {
	fatal := make(chan error, 1)
	failing := false
	for {
		names, err := x.tables.List(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failing = false
			x.look(ctx, names, fatal)
		case !failing:
			failing = true
			x.cfg.Log.Warn("listing the tables goes wrong, trying on", "error", err)
		}
		timer := time.NewTimer(x.cfg.Interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case err := <-fatal:
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// look starts what looks after tables that are new and stops it for those that are gone.
func (x *session) look(ctx context.Context, names []string, fatal chan<- error) {
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
		if x.loop(name) == nil {
			x.watch(ctx, name, fatal)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, l := range x.loops {
		if !there[name] {
			l.unlisted()
		}
	}
	x.shareCacheLocked()
}

func (x *session) loop(name string) *tableLoop {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.loops[name]
}

// watch starts to look after a table.
func (x *session) watch(ctx context.Context, name string, fatal chan<- error) {
	l := newTableLoop(x, name)
	x.mu.Lock()
	x.loops[name] = l
	x.mu.Unlock()
	x.wg.Go(func() {
		err := l.run(ctx)
		x.mu.Lock()
		delete(x.loops, name)
		x.mu.Unlock()
		x.dispatch.remove(l)
		if err != nil {
			select {
			case fatal <- err:
			default:
			}
		}
	})
}

// cacheBytes is what all tables together may keep of their metadata files, cacheLeast what one has in any case.
const (
	cacheBytes = 192 * mib
	cacheLeast = 1 * mib
	cacheMost  = 64 * mib
)

func (x *session) shareCacheLocked() {
	share := int64(min(max(cacheBytes/max(len(x.loops), 1), cacheLeast), cacheMost))
	for _, l := range x.loops {
		l.cacheShare.Store(share)
	}
}

// look takes a place among those who read metadata.
func (x *session) reading(ctx context.Context, f func() error) error {
	select {
	case x.io <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.io }()
	return f()
}

// provablyUncommitted tells whether an error of a commit proves that no snapshot refers to its files. A commit that was
// cancelled may have been on the wire.
func provablyUncommitted(err error) bool {
	return !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
