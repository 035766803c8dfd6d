//go:build integration

package soak

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

const (
	database         = "soak"
	positionProperty = cdc.PropertyPosition
)

func TestMain(m *testing.M) { testkit.Main(m) }

// stage is all that plays.
type stage struct {
	t      *testing.T
	o      options
	server *mysqlInstance
	db     *testkit.DB
	proxy  *testkit.Proxy // in front of MySQL, for the sinks
	store  *storage
	work   *worker

	sinks     []*Program // as the workload's tables
	compactor *Program
	watch     *watcher
	felt      recoveries
	lap       time.Time

	mu       sync.Mutex // guards failures
	failures []error
	broken   chan struct{} // closed at the first failure
}

func randOf(seed uint64, what string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, what, n)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func (s *stage) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, err)
	s.t.Logf("FAILURE: %v", err)
	if len(s.failures) == 1 {
		close(s.broken)
	}
}

// TestSoak is described in the package's comment. By default it is short and small.
func TestSoak(t *testing.T) {
	o := readOptions(t)
	s := &stage{t: t, o: o, broken: make(chan struct{}), felt: recoveries{of: map[Kind]*recovery{}}}
	t.Cleanup(func() {
		if t.Failed() || o.keep {
			t.Logf("seed %d: logs and data are in %s", o.seed, o.dir)
		} else {
			_ = os.RemoveAll(o.dir)
		}
	})
	s.server = mysqlServer(t, o)
	s.store = openStorage(t, o)
	s.db = s.server.Database(t)
	s.proxy = testkit.NewProxy(t, s.server.Addr)
	s.work = &worker{Workload: &Workload{Seed: o.seed, Keys: o.keys, Tables: Tables()}, server: s.server.Server, db: s.db.Name, rate: o.rate}
	s.work.prepare(s.db)
	schedule := Schedule(o.seed, o.duration, o.every, slices.Concat(ProgramKinds, MySQLKinds, s.store.kinds))
	t.Logf("seed %d, %s, %s, logs in %s, the faults:", o.seed, o.duration, o.warehouse, o.dir)
	for _, f := range schedule {
		t.Log(f)
	}
	s.startPrograms()
	s.play(schedule)
	s.requireNoFailure()
	s.drain()
	s.report()
	s.verify()
}

func (s *stage) requireNoFailure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) > 0 {
		s.report()
		require.FailNow(s.t, "the soak failed", "%v", s.failures)
	}
}

// names are the tables' names.
func (s *stage) names() (list []string) {
	for _, x := range s.work.Tables {
		list = append(list, x.Name)
	}
	return list
}

// confArgs are the programs' arguments for the storage.
func confArgs(conf []string) (args []string) {
	for _, c := range conf {
		args = append(args, "--catalog_conf", c)
	}
	return args
}

// sinkArgs is the command line of a table's sink.
func (s *stage) sinkArgs(x *Table) []string {
	host, port, err := net.SplitHostPort(s.proxy.Addr)
	require.NoError(s.t, err)
	args := []string{testkit.SinkProgram(s.t), "mysql_sync_table", "--warehouse", s.store.warehouse, "--database", database, "--table", x.Name,
		"--commit_interval", s.o.tick.String()}
	args = append(args, confArgs(s.store.conf)...)
	if x.Partition != "" {
		args = append(args, "--partition_keys", x.Partition)
	}
	for _, c := range []string{"hostname=" + host, "port=" + port, "username=" + s.server.User, "password=" + s.server.Password, "database-name=" + s.db.Name,
		"table-name=" + x.Name, "server-time-zone=+00:00", "heartbeat.interval=1s", "connect.timeout=5s", "scan.incremental.snapshot.chunk.size=1000"} {
		args = append(args, "--mysql_conf", c)
	}
	conf := map[string]string{"write-only": "true", "snapshot.num-retained.min": "5", "snapshot.num-retained.max": "30"}
	for k, v := range x.Options {
		conf[k] = v
	}
	var sorted []string
	for k, v := range conf {
		sorted = append(sorted, k+"="+v)
	}
	sort.Strings(sorted)
	for _, c := range sorted {
		args = append(args, "--table_conf", c)
	}
	return args
}

func (s *stage) program(name string, argv []string) *Program {
	p := &Program{Name: name, Argv: argv, Env: s.store.env, Log: filepath.Join(s.o.dir, name+".log"), GivesUp: []int{3, 7}}
	require.NoError(s.t, p.Start(s.fail))
	s.t.Cleanup(p.Kill)
	return p
}

// startPrograms starts the sinks and the compactor.
func (s *stage) startPrograms() {
	for k := range s.work.Tables {
		s.sinks = append(s.sinks, s.program("sink-"+s.work.Tables[k].Name, s.sinkArgs(&s.work.Tables[k])))
	}
	s.compactor = s.program("compactor", append([]string{testkit.Program(s.t, "paimon-go-compact"), "compact_database", "--warehouse", s.store.warehouse,
		"--including_databases", database, "--workers", "2", "--memory", "512MiB"}, confArgs(s.store.conf)...))
	s.watch = newWatcher(s.store.direct, s.store.directWarehouse, s.names())
}

// play lets the workload and the faults go on until the time is over or something failed.
func (s *stage) play(schedule []Fault) {
	ctx, cancel := context.WithCancel(s.t.Context())
	watching, stop := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	s.t.Cleanup(func() { stop(); cancel(); all.Wait() })
	all.Go(func() { s.watch.run(watching) })
	all.Go(func() {
		if err := s.work.run(ctx); err != nil {
			s.fail(err)
		}
	})
	played := make(chan struct{})
	go func() {
		defer close(played)
		s.faults(ctx, schedule)
		s.felt.wait.Wait()
	}()
	select {
	case <-played:
	case <-s.broken:
	}
	s.t.Logf("%d transactions, %d connections of the workload broke; snapshots: %s", s.work.done.Load(), s.work.broken.Load(), s.work.summary(s))
	cancel()
	<-played
}

// summary is how far the tables have come.
func (w *worker) summary(s *stage) string {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	var list []string
	for n, t := range s.watch.tables {
		if x, err := t.Latest(s.t.Context()); err == nil && x != nil {
			list = append(list, fmt.Sprintf("%s %d", n, x.ID))
		}
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

// drain waits until everything is in the tables, and ends the programs.
func (s *stage) drain() {
	begin := time.Now()
	end, err := executed(s.server.Server)
	require.NoError(s.t, err)
	if err := s.watch.wait(s.t.Context(), end, s.o.patience+time.Minute); err != nil {
		s.fail(fmt.Errorf("draining: %w", err))
	}
	for _, p := range append(slices.Clone(s.sinks), s.compactor) {
		code, err := p.Stop(60 * time.Second)
		if err == nil && code != 0 {
			err = fmt.Errorf("%s ended with exit %d after SIGTERM: %s", p.Name, code, p.lastLine())
		}
		if err != nil {
			s.fail(err)
		}
	}
	s.requireNoFailure()
	s.t.Logf("drained in %.1fs", time.Since(begin).Seconds())
}

// report prints what was seen.
func (s *stage) report() {
	s.t.Logf("recovery, until all tables had what was in MySQL:\n%s", s.felt.String())
	for _, p := range append(slices.Clone(s.sinks), s.compactor) {
		n, gaveUp := p.Starts()
		s.t.Logf("%s: %d starts, ended by itself %d times %s", p.Name, n, len(gaveUp), strings.Join(gaveUp, "; "))
	}
}
