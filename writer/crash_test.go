package writer

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// program is a small writing job: rounds of rows, each a checkpoint. It goes on from what its user has committed.
type program struct {
	pad    string // makes rows large
	spills int64
	states []map[string]string // contents after each checkpoint
	acked  int                 // checkpoints whose commit was confirmed
}

const jobRounds = 3

func newProgram(more table.Options) *program {
	j := &program{states: []map[string]string{{}}}
	if more["write-buffer-size"] != "" {
		j.pad = strings.Repeat("x", 3<<10)
	}
	for round := range jobRounds {
		next := maps.Clone(j.states[round])
		for i := range 30 {
			k := fmt.Sprintf("%d/d%d", i*(round+1), i%2)
			if (i+round)%5 == 0 {
				delete(next, k)
			} else {
				next[k] = fmt.Sprintf("r%d", round) + j.pad
			}
		}
		j.states = append(j.states, next)
	}
	return j
}

func (j *program) batch(t *row.Type, round int) *row.Batch {
	b := row.NewBatch(t)
	for i := range 30 {
		kind := row.UpdateAfter
		if (i+round)%5 == 0 {
			kind = row.Delete
		}
		appendRow(b, kind, int64(i*(round+1)), fmt.Sprintf("r%d", round)+j.pad, fmt.Sprintf("d%d", i%2))
	}
	return b
}

func (j *program) run(ctx context.Context, fsys fs.FileSystem) (err error) {
	tbl, err := table.Open(ctx, fsys, "/w/db.db/t", nil)
	if err != nil {
		return err
	}
	s, err := tbl.LatestOf(ctx, "job")
	if err != nil {
		return err
	}
	from, resume := 0, Resume{}
	if s != nil {
		from, resume = int(s.CommitIdentifier), Resume{s.ID, s.CommitIdentifier}
	}
	j.acked = max(j.acked, min(from, jobRounds))
	w, err := Open(ctx, tbl, Config{CommitUser: "job", Resume: &resume, FlushWorkers: 1, Shards: 1, PairedUpdates: true})
	if err != nil {
		return err
	}
	defer func() {
		if e := w.Close(ctx); err == nil {
			err = e
		}
		s := w.Stats()
		j.spills += s.Spills + s.EarlyFlushes
	}()
	for round := from; round < jobRounds; round++ {
		if err := w.Write(ctx, j.batch(w.Type(), round)); err != nil {
			return err
		}
		if err := w.Checkpoint(ctx, int64(round+1), map[string]string{"position": fmt.Sprint(round + 1)}); err != nil {
			return err
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
		j.acked = round + 1
	}
	for id := max(from, jobRounds) + 1; tbl.Options().Bool(table.KeyDeletionVectorsEnabled); id++ { // of the last commit only one snapshot may be there
		n, err := level0Files(ctx, tbl)
		if n == 0 || err != nil {
			return err
		}
		if err := w.Checkpoint(ctx, int64(id), map[string]string{"position": fmt.Sprint(id)}); err != nil {
			return err
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// requireState checks that the table is sound and holds what it held after one of the checkpoints, acked or later.
func (j *program) requireState(t *testing.T, fsys fs.FileSystem, orphans bool) {
	ctx := context.Background()
	tbl, err := table.Open(ctx, fsys, "/w/db.db/t", nil)
	require.NoError(t, err)
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	at := 0
	if s != nil {
		at = int(s.CommitIdentifier)
		require.Equal(t, fmt.Sprint(at), s.Properties["position"])
	}
	require.GreaterOrEqual(t, at, j.acked)
	at = min(at, jobRounds)
	if tbl.Options().Int(table.KeyBucket) == postponed {
		require.Equal(t, j.states[at], postponedContents(t, tbl))
	} else {
		require.Equal(t, j.states[at], allContents(t, tbl))
	}
	if tbl.Options().Bool(table.KeyDeletionVectorsEnabled) && level0(t, tbl) == 0 {
		require.Equal(t, j.states[at], contents(t, tbl))
	}
	if tbl.Options().Int(table.KeyBucket) == dynamicBucket {
		requireIndexed(t, tbl)
	}
	for p := range tbl.Check(ctx, nil, true, lsm.CheckFile) {
		require.True(t, orphans && p.Severity != table.SeverityError, "%s", p)
	}
	if s == nil || tbl.Options().Enum(table.KeyChangelogProducer) == "none" {
		return
	}
	round := 0
	for s, err := range tbl.Snapshots(ctx) {
		require.NoError(t, err)
		want := map[string][]string{}
		b := j.batch(tbl.Schema().RowType(), round)
		for i, k := range b.Kinds {
			key := fmt.Sprintf("%d/%s", b.Cols[0].I64[i], b.Cols[2].Value(i))
			want[key] = append(want[key], k.String()+" "+string(b.Cols[1].Value(i)))
		}
		got, _ := mergedChanges(t, fsys, tbl, s.ID)
		require.Equal(t, want, got)
		round++
	}
	require.Equal(t, at, round)
}

func jobTable(t *testing.T, more table.Options) *mem.FS {
	fsys := mem.New()
	o := table.Options{"bucket": "2", "write-only": "true", "file.format": "avro", "commit.max-retries": "2", "commit.min-retry-wait": "1 ms"}
	createTable(t, fsys, table.Spec{Fields: guideFields(), PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"}, Options: o.With(more)})
	return fsys
}

// jobTables are the tables that jobs write: each is met with every fault.
var jobTables = map[string]table.Options{
	"":                  nil,
	" changelog":        {"changelog-producer": "input"},
	" merged changelog": {"changelog-producer": "input", "precommit-compact": "true"},
	" spill":            {"write-buffer-size": "48 kb", "page-size": "4 kb", "spill-compression": "none"},
	" dynamic buckets":  {"bucket": "-1", "dynamic-bucket.target-row-num": "4"},
	" compaction":       {"write-only": "false", "num-sorted-run.compaction-trigger": "1", "commit.force-compact": "true"},
	" deletion vectors": {"write-only": "false", "deletion-vectors.enabled": "true", "bucket": "-1", "dynamic-bucket.target-row-num": "4"},
	" no bucket":        {"bucket": "-2", "write-buffer-size": "48 kb", "page-size": "4 kb", "write-buffer-spillable": "false"},
	" early flush":      {"write-buffer-size": "48 kb", "page-size": "4 kb", "write-buffer-spillable": "false"},
}

// all is set to let tests meet every call, which takes minutes.
var all = os.Getenv("PAIMON_GO_ALL_FAULTS") != ""

// every is the step from one call to the next that fails. Other tables make calls of the same kinds as the first and a few more. A
// step that is odd, and a start that is another for each way to fail, meet all kinds of calls in all ways.
func every(more table.Options) int {
	switch {
	case all:
		return 1
	case testing.Short():
		return 29
	case more["deletion-vectors.enabled"] != "":
		return 47 // it makes many
	case more != nil:
		return 23
	}
	return 7
}

var hows = map[string]faultfs.How{"before": faultfs.Before, "lost": faultfs.Lost, "reply lost": faultfs.ReplyLost, "torn": faultfs.Torn}

func TestCrashAtEveryCall(t *testing.T) {
	ctx := context.Background()
	for options, more := range jobTables {
		for name, how := range hows {
			t.Run(name+options, func(t *testing.T) {
				spills := int64(0)
				for n := 1 + int(how)%every(more); ; n += every(more) {
					inner := jobTable(t, more)
					j := newProgram(more)
					err := j.run(ctx, faultfs.New(inner, faultfs.CutAt(n, how)))
					rng := rand.New(rand.NewPCG(uint64(n), 1))
					// What was synced is there; of the rest some may be.
					for _, after := range []*mem.FS{inner.CrashClone(), inner.CrashCloneAtRandom(rng)} {
						k := *j
						k.requireState(t, after, true)
						require.NoError(t, k.run(ctx, after), "restart after a cut at call %d", n)
						require.Equal(t, jobRounds, k.acked)
						k.requireState(t, after, true)
					}
					spills += j.spills
					if err == nil {
						require.Greater(t, n, 50)
						break
					}
				}
				require.Equal(t, more["write-buffer-size"] != "", spills > 0)
			})
		}
	}
}

// One call fails and storage works on: the job either goes on, or ends and leaves only what a snapshot may refer to.
func TestFailureOfEveryCall(t *testing.T) {
	ctx := context.Background()
	for options, more := range jobTables {
		for name, how := range hows {
			t.Run(name+options, func(t *testing.T) {
				for n := 1 + int(how)%every(more); ; n += every(more) {
					inner := jobTable(t, more)
					j := newProgram(more)
					ffs := faultfs.New(inner, faultfs.Nth(n, how, nil))
					err := j.run(ctx, ffs)
					j.requireState(t, inner, true)
					require.NoError(t, j.run(ctx, inner), "restart after the failure of call %d", n)
					j.requireState(t, inner, true)
					if err == nil && len(ffs.Calls()) < n {
						require.Greater(t, n, 50)
						return
					}
				}
			})
		}
	}
}
