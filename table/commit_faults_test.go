package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

// commitJob commits files and compactions of them, each once, going on from what its user has committed, and manifests are merged
// all along.
func commitJob(ctx context.Context, fsys fs.FileSystem) error {
	tab, err := Open(ctx, fsys, testPath, nil)
	if err != nil {
		return err
	}
	s, err := tab.LatestOf(ctx, "job")
	if err != nil {
		return err
	}
	c, done := tab.NewCommit("job", nil), int64(0)
	if s != nil {
		done = s.CommitIdentifier
		c.Resume(s.ID, done)
	} else {
		c.Resume(0, 0)
	}
	for id := done + 1; id <= int64(len(jobCommits)); id++ {
		if _, err := c.Commit(ctx, Committable{ID: id, Messages: []CommitMessage{jobCommits[id-1]}}); err != nil {
			return err
		}
	}
	return nil
}

var jobCommits = []CommitMessage{
	appendOf("x", 0, testFile("a", 0, 0, 9)),
	appendOf("x", 0, testFile("b", 0, 5, 9)),
	compactOf("x", 0, []DataFile{testFile("a", 0, 0, 9), testFile("b", 0, 5, 9)}, []DataFile{testFile("c", 5, 0, 9)}),
	appendOf("y", 1, testFile("d", 0, 0, 9)),
}

func init() {
	jobCommits[0].Data.NewIndex = []IndexFile{hashFile("h1")}
	jobCommits[1].Data.NewIndex = []IndexFile{hashFile("h2")}
	jobCommits[2].Compact.NewIndex = []IndexFile{vectorFile("v", "c")}
	jobCommits[3].Data.NewIndex = []IndexFile{hashFile("h3")}
}

// TestEveryCallOfCommitsMeetsEveryFault lets each call fail in every way, alone or with all that follow it, then takes what a crash
// may leave, and goes on as another process: each commit is made once.
func TestEveryCallOfCommitsMeetsEveryFault(t *testing.T) {
	synctest.Test(t, commitsMeetEveryFault) // which spares the pauses
}

func commitsMeetEveryFault(t *testing.T) {
	ctx := t.Context()
	step := 3
	if os.Getenv("PAIMON_GO_ALL_FAULTS") != "" {
		step = 1
	}
	for _, cut := range []bool{false, true} {
		for how := faultfs.Before; how <= faultfs.Torn; how++ {
			for n, more := 1+int(how)%step, true; more; n += step {
				inner := mem.New()
				testTable(t, inner, Options{"manifest.merge-min-count": "2", "manifest.compression": "none", "commit.max-retries": "1", "commit.min-retry-wait": "1 ms"})
				faulty := faultfs.New(inner, faultfs.Nth(n, how, nil))
				faulty.FailWith(fs.ErrTransient)
				if cut {
					faulty.Set(faultfs.CutAt(n, how))
				}
				err := commitJob(ctx, faulty)
				more = err != nil || !cut && len(faulty.Calls()) >= n
				rng := rand.New(rand.NewPCG(uint64(n), uint64(how)))
				for _, after := range []*mem.FS{inner.CrashClone(), inner.CrashCloneAtRandom(rng)} {
					what := fmt.Sprintf("cut %v, way %d, call %d", cut, how, n)
					require.NoError(t, commitJob(ctx, after), what)
					tab, err := Open(ctx, after, testPath, nil)
					require.NoError(t, err)
					require.Equal(t, []string{"x/0/c@5", "y/1/d@0"}, liveFiles(t, tab, Filter{}), what)
					latest, err := tab.Latest(ctx)
					require.NoError(t, err)
					require.Equal(t, []string{"x/0/DELETION_VECTORS/v", "x/0/HASH/h2", "y/1/HASH/h3"}, indexesOf(t, tab, latest), what)
					id := int64(0)
					for s, err := range tab.Snapshots(ctx) {
						require.NoError(t, err)
						id++
						require.Equal(t, id, s.CommitIdentifier, what)
						for _, err := range tab.Scan(ctx, s, Filter{}) {
							require.NoError(t, err, what)
						}
					}
					require.EqualValues(t, len(jobCommits), id)
				}
			}
		}
	}
}
