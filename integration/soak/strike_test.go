//go:build integration

package soak

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
)

func nothing() error { return nil }

// strike makes a fault. mend ends it.
func (s *stage) strike(f Fault) (mend func() error, err error) {
	switch f.Kind {
	case KillSink:
		return nothing, s.sinks[f.Target].Strike(syscall.SIGKILL)
	case TermSink:
		return nothing, s.sinks[f.Target].Strike(syscall.SIGTERM)
	case FreezeSink:
		return func() error { return s.sinks[f.Target].Strike(syscall.SIGCONT) }, s.sinks[f.Target].Strike(syscall.SIGSTOP)
	case KillCompactor:
		return nothing, s.compactor.Strike(syscall.SIGKILL)
	case MySQLRestart:
		return func() error { return s.server.script("start") }, s.server.script("stop")
	case MySQLKill:
		return func() error { return s.server.script("start") }, s.server.script("kill")
	case MySQLRotate:
		return nothing, s.rotate()
	case MySQLCut:
		s.proxy.Cut()
		return nothing, nil
	case MySQLSlow:
		s.proxy.Slow(200 * time.Millisecond)
	case MySQLDown:
		s.proxy.Down()
	case MySQLLost:
		s.proxy.LoseAnswers()
	case MySQLHole:
		s.proxy.Swallow()
	default:
		return s.store.strike(f)
	}
	return func() error { s.proxy.Heal(); return nil }, nil
}

// rotate begins a new binlog file, and removes old ones that nobody needs.
func (s *stage) rotate() error {
	c, err := client.Connect(s.server.Addr, s.server.User, s.server.Password, "")
	if err != nil {
		return err
	}
	defer c.Close()
	for range 3 {
		if _, err = c.Execute("FLUSH BINARY LOGS"); err != nil {
			return err
		}
	}
	return nil
}

// faults makes the schedule's faults, each at its time.
func (s *stage) faults(ctx context.Context, list []Fault) {
	begin := time.Now()
	for _, f := range list {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(begin.Add(f.At))):
		}
		s.t.Logf("%6.1fs  %s", time.Since(begin).Seconds(), f.String()[10:])
		before, _ := executed(s.server.Server) // nil: MySQL is away; then only the time since it was mended counts
		s.felt.wait.Go(func() { s.feel(ctx, f, before) })
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(begin.Add(s.o.duration))):
	}
}

// feel makes a fault, mends it when its time has come and measures the recovery.
func (s *stage) feel(ctx context.Context, f Fault, before gomysql.GTIDSet) {
	struck := time.Now()
	mend, err := s.strike(f)
	if err != nil {
		s.fail(fmt.Errorf("%s: %w", f, err))
		return
	}
	var early chan struct{}
	if before != nil {
		early = make(chan struct{})
		go func() {
			defer close(early)
			if s.watch.wait(ctx, before, f.Hold+rules[f.Kind].rest+s.o.patience) == nil {
				s.felt.add(f.Kind, true, time.Since(struck))
			}
		}()
	}
	select {
	case <-ctx.Done(): // mend it all the same
	case <-time.After(f.Hold):
	}
	if err := mend(); err != nil {
		s.fail(fmt.Errorf("mending %s: %w", f, err))
		return
	}
	mended := time.Now()
	after, err := executed(s.server.Server)
	for ; err != nil && ctx.Err() == nil && time.Since(mended) < s.o.patience; after, err = executed(s.server.Server) {
		time.Sleep(200 * time.Millisecond)
	}
	if err == nil {
		err = s.watch.wait(ctx, after, s.o.patience)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.fail(fmt.Errorf("after %s, struck %s ago: %w", f, time.Since(struck).Round(time.Second), err))
	default:
		s.felt.add(f.Kind, false, time.Since(mended))
	}
	if early != nil {
		<-early
	}
}
