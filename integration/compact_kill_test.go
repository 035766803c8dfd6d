//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// age makes all files of a table look as old as they would be when somebody cleans up.
func age(t *testing.T, x *testkit.Table, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	require.NoError(t, filepath.WalkDir(x.Path(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

// TestCompactorKilled kills the service at random moments while a writer commits: every file of every snapshot stays, the next
// service goes on, and what the killed ones left is cleaned by remove_orphan_files, but not before it is old.
func TestCompactorKilled(t *testing.T) {
	rng := seed(t)
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"bucket": "4"})
	w := x.Writer("writer", true)
	w.Put(0, "first")
	w.Commit()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for c := 0; ; c++ {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Millisecond): // a tick
				for i := range 400 {
					if id := int64((i*61 + c*17) % 5000); i%13 == 12 {
						w.Delete(id)
					} else {
						w.Put(id, fmt.Sprintf("%s commit %d row %d", strings.Repeat("x", 50), c, i))
					}
				}
				w.Commit()
			}
		}
	}()
	within := 0
	for range kills(t, 8) {
		before := compactions(x)
		p := x.Compactor("compact")
		p.Until(30*time.Second, "the start", func() bool { return strings.Contains(p.Output(), "msg=started") })
		time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond) // the random moment
		p.Kill()
		x.RequireIntact()
		if compactions(x) > before {
			within++
		}
	}
	p := x.Compactor("compact")
	close(stop)
	<-ended
	w.Close()
	drained(t, x)
	stopCompactor(t, p)
	left := x.Orphans()
	t.Logf("%d kills came after a commit of theirs, %d snapshots, %d files left behind", within, len(x.Snapshots()), len(left))
	x.RequireCleanFiles()
	x.RequireRows(w.Rows())

	x.Compact("remove_orphan_files") // they are too young
	require.ElementsMatch(t, left, x.Orphans())
	age(t, x, 48*time.Hour)
	x.Compact("remove_orphan_files", "--dry-run")
	require.ElementsMatch(t, left, x.Orphans())
	x.Compact("remove_orphan_files")
	require.Empty(t, x.Orphans())
	x.RequireCleanFiles()
	x.RequireRows(w.Rows())
}
