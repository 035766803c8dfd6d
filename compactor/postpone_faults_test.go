package compactor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// postponedWorld is a table with rows in buckets and rows without.
func postponedWorld(t require.TestingT) *world {
	w := newWorld(t)
	w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "2", "changelog-producer": "input", "commit.max-retries": "1"})
	w.postpone("db.a", "d1", nil, upserts("v1", 0, 20))
	_, err := w.service(compactor.Config{}, w.tables).Once(context.Background())
	require.NoError(t, err)
	w.postpone("db.a", "d1", nil, upserts("v2", 10, 30), []change{{kind: row.Delete, id: 3}, {kind: row.Delete, id: 12}})
	w.postpone("db.a", "d2", nil, upserts("v3", 0, 20))
	return w
}

// requireMoved requires that each row was given its bucket once.
func (w *world) requireMoved(at string) {
	require.Zero(w.t, w.waiting("db.a"), at)
	rows := 0
	for _, c := range changesOf(w.t, w.open("db.a")) {
		rows += len(c)
	}
	require.Equal(w.t, 62, rows, at)
}

// TestACrashWhileRowsMoveLosesNothing stops the process at each call that changes storage: rows are where they were or in their
// buckets, and the next run goes on.
func TestACrashWhileRowsMoveLosesNothing(t *testing.T) {
	base := postponedWorld(t)
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n += (every() + 1) / 2 {
				done := false
				synctest.Test(t, func(t *testing.T) {
					w := base.clone()
					w.t = t
					faulty := faultfs.New(w.fsys, faultfs.CutAt(n, how))
					faulty.FailWith(fs.ErrTransient)
					_, err := w.service(compactor.Config{}, &faultyTables{w.tables, faulty}).Once(t.Context())
					requireSound(t, w.open("db.a"), true)
					if done = err == nil && !mutatesMoreThan(faulty, n); done {
						return
					}
					restarted := w.clone()
					restarted.once(t.Context(), compactor.Config{})
					restarted.requireMoved(fmt.Sprint("cut at ", n))
					restarted.check(true)
				})
				if done {
					require.Greater(t, n, 10)
					break
				}
			}
		})
	}
}

// TestOneFailingCallWhileRowsMove lets each call fail once.
func TestOneFailingCallWhileRowsMove(t *testing.T) {
	base := postponedWorld(t)
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			for n := 1 + int(how)%every(); ; n += every() {
				calls := 0
				synctest.Test(t, func(t *testing.T) {
					w := base.clone()
					w.t = t
					faulty := faultfs.New(w.fsys, faultfs.Nth(n, how, func(c faultfs.Call) bool { return c.Path != warehouse }))
					faulty.FailWith(fs.ErrTransient)
					_, err := w.service(compactor.Config{}, &faultyTables{w.tables, faulty}).Once(t.Context())
					require.NoError(t, err, fmt.Sprintf("call %d", n))
					w.requireMoved(fmt.Sprint("call ", n))
					w.check(true)
					calls = len(faulty.Calls())
				})
				if n > calls {
					break
				}
			}
		})
	}
}

// TestAPartitionThatGetsBucketsMeanwhile: another program writes to buckets of its own number between the move and its commit. The
// move is done again with that number, after that program's rows, and the files of the first attempt are removed.
func TestAPartitionThatGetsBucketsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "2"})
		w.postpone("db.a", "d1", nil, upserts("postponed", 0, 20))
		rival := func() {
			tbl, ctx := w.open("db.a"), t.Context()
			f, err := row.NewBucketFunc("default", []*row.Type{&bigint}, 3)
			require.NoError(t, err)
			maker, err := lsm.NewFiles(tbl, tbl.Schema())
			require.NoError(t, err)
			out := maker.NewWriter(ctx, partitionOf("d1"), 1, 0, lsm.Data, table.SourceAppend)
			kv := lsm.NewKeyValues(tbl.Schema().RowType())
			for id := range int64(20) {
				one := row.NewBatch(tbl.Schema().RowType())
				appendChanges(one, "d1", []change{{id: id}})
				if f.Buckets(nil, []*row.Column{&one.Cols[0]}, 0, 1)[0] == 1 {
					appendChanges(kv.Rows, "d1", []change{{id: id, data: "batch"}})
					kv.Seq = append(kv.Seq, 100+id)
				}
			}
			require.NotZero(t, kv.Len())
			require.NoError(t, out.Write(kv))
			made, err := out.Close()
			require.NoError(t, err)
			m := table.CommitMessage{Partition: partitionOf("d1"), Bucket: 1, TotalBuckets: 3, Data: table.DataIncrement{New: made}}
			_, err = tbl.NewCommit("rival", nil).Commit(ctx, table.Committable{ID: 1, Messages: []table.CommitMessage{m}})
			require.NoError(t, err)
		}
		var moves int
		cfg := compactor.Config{Listener: compactor.Listener{JobEnd: func(j compactor.JobInfo) {
			if j.Bucket == table.PostponeBucket {
				if moves++; moves == 1 {
					rival()
				}
			}
		}}}
		report, err := w.service(cfg, w.tables).Once(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, moves)
		require.EqualValues(t, 1, report.Tables[0].Lost)
		require.Zero(t, w.waiting("db.a"))
		w.check(false) // also for files that nothing refers to
		require.LessOrEqual(t, len(w.runs("db.a")), 3)
	})
}

// TestADamagedPartitionKeepsNoOtherWaiting: its rows stay where they are until somebody mends them.
func TestADamagedPartitionKeepsNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "2"})
		w.postpone("db.a", "d1", nil, upserts("v", 0, 20))
		path := pathsIn(w, "dt=d1/bucket-postpone/")[0]
		good, err := w.fsys.Open(t.Context(), path)
		require.NoError(t, err)
		whole := make([]byte, good.Size())
		_, err = good.ReadAt(whole, 0)
		require.NoError(t, err)
		require.NoError(t, good.Close())
		w.fsys.Overwrite(path, []byte("no such file"))
		w.postpone("db.a", "d2", nil, upserts("v", 0, 20))
		w.postpone("db.a", "d3", nil, upserts("v", 0, 20))

		_, err = w.service(compactor.Config{}, w.tables).Once(t.Context())
		require.ErrorIs(t, err, table.ErrCorrupt)
		require.ErrorContains(t, err, "dt=d1")
		require.Len(t, contents(t, w.open("db.a")), 40)
		require.Equal(t, 1, w.waiting("db.a"))

		var tries int
		s := w.service(compactor.Config{Listener: compactor.Listener{JobEnd: func(j compactor.JobInfo) {
			if j.Bucket == table.PostponeBucket {
				tries++
			}
		}}}, w.tables)
		stop := running(t, s)
		time.Sleep(5 * time.Minute)
		require.Equal(t, 1, statsOf(t, s, "db.a").Broken)
		require.Equal(t, 1, tries)
		w.postpone("db.a", "d2", nil, upserts("w", 0, 20))
		time.Sleep(time.Minute)
		require.Equal(t, 1, w.waiting("db.a"))
		w.fsys.Overwrite(path, whole)
		time.Sleep(time.Hour)
		require.Zero(t, statsOf(t, s, "db.a").Broken)
		stop()
		w.check(false)
	})
}
