package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// rig is a job on the demo's recording over a storage that fails, slows down or hangs on demand. It is used in a synctest bubble:
// hours pass at once.
type rig struct {
	t      *testing.T
	inner  *mem.FS
	faulty *faultfs.FS
	job    *job
	env    *environment
	stop   chan struct{}
}

const rigTable = "/w/d.db/t"

func newRig(t *testing.T, more ...string) *rig {
	logs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(logs, "binlog.000001"), recording, 0o644))
	r := &rig{t: t, inner: mem.New(), stop: make(chan struct{})}
	r.faulty = faultfs.New(r.inner, nil)
	r.faulty.FailWith(fs.ErrTransient)
	args := &syncArgs{
		sourceArgs: sourceArgs{MySQLConf: []string{"binlog-dir=" + logs, "binlog-dir.rows-per-second=500", "database-name=shop", "table-name=orders"}},
		Warehouse:  t.TempDir(), Database: "d", Table: "t", PrimaryKeys: "id,day", SyncPKFromSource: "true",
		// Nothing is compressed: encoders outlive a bubble.
		TableConf:      append([]string{"bucket=4", "write-only=true", "file.format=avro", "file.compression=none", "manifest.compression=none"}, more...),
		CommitInterval: time.Second, StoragePatience: 24 * time.Hour, SpillDir: []string{t.TempDir()},
	}
	var err error
	r.job, err = newJob(t.Context(), args, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	r.job.fsys, r.job.path = r.faulty, rigTable
	r.env = &environment{stdout: io.Discard, stderr: io.Discard, stop: r.stop, args: &arguments{}}
	return r
}

func (r *rig) run(ctx context.Context) error { return r.job.run(ctx, r.env) }

// rows checks the table and counts its rows and snapshots.
func (r *rig) rows() (n, snapshots int) {
	ctx := context.Background()
	tab, err := table.Open(ctx, r.inner, rigTable, nil)
	require.NoError(r.t, err)
	last, err := tab.Latest(ctx)
	require.NoError(r.t, err)
	for b, err := range lsm.Scan(ctx, tab, last, lsm.ScanOptions{}) {
		require.NoError(r.t, err)
		n += b.N
	}
	for p := range tab.Check(ctx, nil, true, lsm.CheckFile) {
		require.NotEqual(r.t, table.SeverityError, p.Severity, "%s", p)
	}
	if last != nil {
		snapshots = int(last.ID)
	}
	return n, snapshots
}

const recordedRows = 8880 // at the end of the recording

// away fails every call in a way for a time, from the n-th call on.
func (r *rig) away(n int, how faultfs.How, d time.Duration) {
	var until time.Time
	r.faulty.Set(func(c faultfs.Call) faultfs.How {
		if c.N == n {
			until = time.Now().Add(d)
		}
		if c.N < n || time.Now().After(until) {
			return faultfs.OK
		}
		return how
	})
}

// inBubbles runs a test for each n, in a bubble of its own.
func inBubbles(t *testing.T, test func(t *testing.T, n int), ns ...int) {
	for _, n := range ns {
		t.Run(fmt.Sprint(n), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, n) }) })
	}
}

func TestAnHourWithoutStorageIsWaitedOut(t *testing.T) {
	for name, how := range map[string]faultfs.How{"before": faultfs.Before, "lost": faultfs.Lost, "reply lost": faultfs.ReplyLost} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, func(t *testing.T, n int) {
				r := newRig(t)
				r.away(n, how, time.Hour)
				began := time.Now()
				require.NoError(t, r.run(t.Context()))
				require.Greater(t, time.Since(began), time.Hour)
				require.Less(t, time.Since(began), time.Hour+2*time.Minute, "it goes on within a minute or so")
				rows, snapshots := r.rows()
				require.Equal(t, recordedRows, rows)
				require.Greater(t, snapshots, 5)
			}, 75, 108, 300)
		})
	}
}

func TestAFullStorageIsWaitedOut(t *testing.T) {
	inBubbles(t, func(t *testing.T, n int) {
		r := newRig(t)
		r.faulty.FailWith(syscall.ENOSPC)
		var full atomic.Bool
		r.faulty.Set(func(c faultfs.Call) faultfs.How {
			if c.N == n {
				full.Store(true)
				time.AfterFunc(20*time.Minute, func() { full.Store(false) })
			}
			if full.Load() && (c.Op == faultfs.OpWrite || c.Op == faultfs.OpPublish || c.Op == faultfs.OpReplace) {
				return faultfs.Torn
			}
			return faultfs.OK
		})
		require.NoError(t, r.run(t.Context()))
		rows, _ := r.rows()
		require.Equal(t, recordedRows, rows)
	}, 60, 200)
}

// A storage each call of which takes seconds makes the job slow. Nothing dies.
func TestASlowStorageIsOnlySlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.faulty.Before(func(faultfs.Call) { time.Sleep(3 * time.Second) })
		require.NoError(t, r.run(t.Context()))
		rows, snapshots := r.rows()
		require.Equal(t, recordedRows, rows)
		require.Greater(t, snapshots, 1)
	})
}

func TestWhatWaitingDoesNotMendEndsTheJob(t *testing.T) {
	t.Run("no rights", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.faulty.FailWith(fs.ErrPermission)
			r.away(80, faultfs.Before, time.Hour)
			began := time.Now()
			err := r.run(t.Context())
			require.ErrorIs(t, err, fs.ErrPermission)
			require.Equal(t, cli.ExitStorage, report(io.Discard, err))
			require.Less(t, time.Since(began), time.Minute)
			r.rows()
		})
	})
	t.Run("for longer than the patience", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.away(80, faultfs.Before, 48*time.Hour)
			began := time.Now()
			err := r.run(t.Context())
			require.Equal(t, cli.ExitStorage, report(io.Discard, err), "%v", err)
			require.ErrorContains(t, err, "storage_patience")
			require.InDelta(t, 24*time.Hour, time.Since(began), float64(2*time.Minute))
			r.rows()
		})
	})
	t.Run("before it began", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.away(1, faultfs.Before, time.Hour)
			began := time.Now()
			require.Equal(t, cli.ExitStorage, report(io.Discard, r.run(t.Context())))
			require.Less(t, time.Since(began), time.Minute)
		})
	})
}

// SIGTERM ends the job in time, when the storage is away, slow or hangs for ever.
func TestAStopDuringAnOutageEndsInTime(t *testing.T) {
	hang := make(chan struct{})
	for name, set := range map[string]func(r *rig){
		"away": func(r *rig) { r.away(75, faultfs.Before, 9*time.Hour) },
		"slow": func(r *rig) {
			r.faulty.Before(func(c faultfs.Call) { time.Sleep(time.Duration(min(c.N/75, 1)) * time.Minute) })
		},
		"hangs": func(r *rig) {
			hang = make(chan struct{})
			r.faulty.Before(func(c faultfs.Call) {
				if c.N >= 75 {
					<-hang
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				set(r)
				ended := make(chan struct{})
				go func() { time.Sleep(20 * time.Minute); close(r.stop) }()
				if name == "slow" { // it would be through by then
					r.job.source.RowsPerSecond = 1
				}
				began := time.Now()
				signals := &cli.Signals{Stop: r.stop, Ctx: t.Context()}
				err := signals.Within(stopWithin, hangWithin, func(ctx context.Context) error { defer close(ended); return r.run(ctx) })
				require.LessOrEqual(t, time.Since(began), 20*time.Minute+stopWithin+hangWithin)
				require.Equal(t, cli.ExitStorage, report(io.Discard, err), "%v", err)
				r.faulty.Set(nil)
				if name == "hangs" {
					close(hang)
				}
				<-ended // the process would have ended
				rows, _ := r.rows()
				require.Less(t, rows, recordedRows)
				again := newRig(t)
				again.inner, again.faulty = r.inner, faultfs.New(r.inner, nil)
				again.job.fsys = again.faulty
				require.NoError(t, again.run(t.Context()))
				rows, _ = again.rows()
				require.Equal(t, recordedRows, rows)
			})
		})
	}
}

// TestCallsOfTheSink: what the job does to storage per commit beside the writer, whose calls are a test of its own.
func TestCallsOfTheSink(t *testing.T) {
	for name, more := range map[string][]string{"no changelog": nil, "changelog": {"changelog-producer=input", "precommit-compact=true"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, more...)
				require.NoError(t, r.run(t.Context()))
				count := map[string]int{}
				_, snapshots := r.rows()
				for _, c := range r.faulty.Calls() {
					dir, _, _ := strings.Cut(strings.TrimPrefix(c.Path, rigTable+"/"), "/")
					count[fmt.Sprint(c.Op, " ", dir)]++
				}
				require.LessOrEqual(t, count["replace paimon-go"], snapshots+1, "one for each commit, and one at the end")
				require.Equal(t, snapshots, count["replace snapshot"])
				require.LessOrEqual(t, count["list schema"], 5)
				require.LessOrEqual(t, count["list snapshot"], 7, "only at the start, when there is none")
				require.Less(t, count["open manifest"], 3, "what is written is known")
			})
		})
	}
}

// changes counts the changelog rows of all snapshots.
func (r *rig) changes() (n int64) {
	tab, err := table.Open(context.Background(), r.inner, rigTable, nil)
	require.NoError(r.t, err)
	for s, err := range tab.Snapshots(context.Background()) {
		require.NoError(r.t, err)
		if s.ChangelogRecordCount != nil {
			n += *s.ChangelogRecordCount
		}
	}
	return n
}

// forget compacts the table and expires all snapshots of the job, if there are any, and returns the changes that they had.
func (r *rig) forget() int64 {
	ctx := r.t.Context()
	tab, err := table.Open(ctx, r.inner, rigTable, nil)
	if errors.Is(err, table.ErrNoTable) {
		return 0
	}
	require.NoError(r.t, err)
	last, err := tab.Latest(ctx)
	require.NoError(r.t, err)
	if last == nil {
		return 0
	}
	changes := r.changes()
	s, err := compactor.New(compactor.Config{Strategy: compactor.Full, Workers: 1}, oneTable{tab})
	require.NoError(r.t, err)
	_, err = s.Once(ctx)
	require.NoError(r.t, err)
	one := 1
	_, err = maintenance.ExpireSnapshots(ctx, tab, maintenance.ExpireOptions{RetainMax: &one, RetainMin: &one, MaxDeletes: 1000})
	require.NoError(r.t, err)
	last, err = tab.Latest(ctx)
	require.NoError(r.t, err)
	require.Equal(r.t, table.CommitCompact, last.CommitKind)
	return changes
}

// oneTable is the table that a compactor sees.
type oneTable struct{ t *table.Table }

func (o oneTable) List(context.Context) ([]string, error)             { return []string{"d.t"}, nil }
func (o oneTable) Open(context.Context, string) (*table.Table, error) { return o.t, nil }

// TestCrashesOfTheSinkLoseAndDoubleNothing cuts the job at a call that changes storage, gives the next one what a crash may have left
// of it, and demands that in the end all rows, and all changes, are there once. Every second time all snapshots of the job are
// expired by then, so that the file beside the table has to tell where it was.
func TestCrashesOfTheSinkLoseAndDoubleNothing(t *testing.T) {
	step := 250
	if os.Getenv("PAIMON_GO_ALL_FAULTS") != "" {
		step = 1
	}
	changelog := []string{"changelog-producer=input", "precommit-compact=true"}
	var want int64
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, changelog...)
		require.NoError(t, r.run(t.Context()))
		want = r.changes()
	})
	require.Positive(t, want)
	for how := faultfs.Before; how <= faultfs.Torn; how++ {
		for n, more := 1+int(how)*step/4, true; more; n += step {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, changelog...)
				r.job.args.StoragePatience = 0
				r.faulty.Set(faultfs.CutAt(n, how))
				more = r.run(t.Context()) != nil
				again := newRig(t, changelog...)
				again.inner = r.inner.CrashCloneAtRandom(rand.New(rand.NewPCG(uint64(n), uint64(how))))
				again.faulty = faultfs.New(again.inner, nil)
				again.job.fsys = again.faulty
				var before int64
				if n/step%2 == 0 {
					before = again.forget()
				}
				require.NoError(t, again.run(t.Context()), "way %d, call %d", how, n)
				rows, _ := again.rows()
				require.Equal(t, recordedRows, rows, "way %d, call %d", how, n)
				require.Equal(t, want, before+again.changes(), "way %d, call %d", how, n)
			})
		}
	}
}
