package compactor_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/table"
)

// logged is a log to look at.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

func pathsIn(w *world, part string) []string {
	return slices.DeleteFunc(w.fsys.Paths(), func(p string) bool { return !strings.Contains(p, part) })
}

// TestABucketThatNothingMends: a damaged file is not read again each few seconds, and doesn't keep other buckets waiting.
func TestABucketThatNothingMends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 40, 6, false)
		w.fsys.Overwrite(pathsIn(w, "dt=d1/bucket-0/data-")[0], []byte("no such file"))
		var tries atomic.Int64
		log := &logged{}
		cfg := compactor.Config{Log: log.logger(), Listener: compactor.Listener{JobEnd: func(i compactor.JobInfo) {
			if i.Err != nil {
				tries.Add(1)
			}
		}}}
		s := w.service(cfg, w.tables)
		stop := running(t, s)
		time.Sleep(3 * time.Hour)
		require.Less(t, tries.Load(), int64(8))
		require.Greater(t, tries.Load(), int64(2), "it is tried again, if seldom")
		require.Equal(t, 1, log.count("a bucket can't be compacted"))
		require.Equal(t, 1, log.count("remedy="))
		require.Equal(t, 1, statsOf(t, s, "db.a").Broken)
		require.Equal(t, map[string]int{"dt=d1/0": 6, "dt=d1/1": 1}, w.runs("db.a"))

		_, err := w.open("db.a").Alter(t.Context(), table.SchemaChange{Kind: table.SetOption, Key: "snapshot.num-retained.max", Value: "100"})
		require.NoError(t, err)
		before := tries.Load()
		time.Sleep(5 * time.Minute)
		require.Equal(t, before+1, tries.Load(), "the change may have mended it")
		stop()

		tries.Store(0)
		start := time.Now()
		_, err = w.service(cfg, w.tables).Once(t.Context())
		require.ErrorIs(t, err, table.ErrCorrupt)
		require.EqualValues(t, 1, tries.Load())
		require.Less(t, time.Since(start), time.Minute)
	})
}

// TestACommitThatNothingMends: the manifests of the newest snapshot are damaged when the jobs are done.
func TestACommitThatNothingMends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 40, 6, false)
		files := len(pathsIn(w, "/data-"))
		var damage sync.Once
		var commits, jobs atomic.Int64
		log := &logged{}
		s := w.service(compactor.Config{Log: log.logger(), Listener: compactor.Listener{
			JobEnd: func(compactor.JobInfo) {
				damage.Do(func() {
					known := pathsIn(w, "/manifest/")
					w.write("db.a", "d2", 0, 40, 1, false)
					for _, p := range pathsIn(w, "/manifest/") {
						if !slices.Contains(known, p) { // the others are in memory
							w.fsys.Overwrite(p, []byte("no such file"))
						}
					}
					files += 2
				})
				jobs.Add(1)
			},
			CommitEnd: func(c compactor.CommitInfo) {
				require.Error(t, c.Err)
				commits.Add(1)
			},
		}}, w.tables)
		stop := running(t, s)
		time.Sleep(time.Hour)
		require.Less(t, commits.Load(), int64(8), "no more than jobs")
		require.Positive(t, commits.Load())
		require.Greater(t, jobs.Load(), int64(2), "the buckets are free for another try")
		require.Len(t, pathsIn(w, "/data-"), files, "what the jobs made is removed")
		stop()
	})
}

// TestACommitThatGoesOnGoingWrong is spoken of again and again, but not at each try.
func TestACommitThatGoesOnGoingWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 40, 6, false)
		faulty := faultfs.New(w.fsys, func(c faultfs.Call) faultfs.How {
			if c.Op == faultfs.OpPublish {
				return faultfs.Before
			}
			return faultfs.OK
		})
		faulty.FailWith(errors.New("the namenode is in safe mode"))
		log := &logged{}
		s := w.service(compactor.Config{Log: log.logger()}, &faultyTables{w.tables, faulty})
		stop := running(t, s)
		time.Sleep(time.Hour)
		said := log.count("a commit goes wrong")
		require.GreaterOrEqual(t, said, 4)
		require.LessOrEqual(t, said, 7)
		faulty.Set(nil)
		time.Sleep(10 * time.Minute)
		stop()
		require.Equal(t, 1, w.maxRuns("db.a"))
		w.check(false)
	})
}

// TestTheOutcomeStaysUnknown: the reply to a commit that happened is lost, and later tries fail before they can find out. The files
// of the commit must survive the stop.
func TestTheOutcomeStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 40, 6, false)
		var published bool // of the storage's calls, which come one at a time
		faulty := faultfs.New(w.fsys, func(c faultfs.Call) faultfs.How {
			switch {
			case c.Op == faultfs.OpPublish && strings.Contains(c.Path, "/snapshot/"):
				published = true
				return faultfs.ReplyLost
			case published && c.Op != faultfs.OpRemove && c.Op != faultfs.OpPublish:
				return faultfs.Before
			}
			return faultfs.OK
		})
		faulty.FailWith(errors.New("the disk is on fire"))
		stop := running(t, w.service(compactor.Config{}, &faultyTables{w.tables, faulty}))
		time.Sleep(time.Minute)
		stop()
		require.Len(t, w.snapshots("db.a"), 7)
		require.Equal(t, 1, w.maxRuns("db.a"))
		w.check(true)
	})
}
