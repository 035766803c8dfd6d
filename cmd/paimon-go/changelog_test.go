package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

const merged = "../../lsm/testdata/merged/avro"

// copyTable copies a golden table of 4 snapshots.
func copyTable(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "t")
	require.NoError(t, os.CopyFS(dir, os.DirFS(merged)))
	return dir
}

// mergedRows are the rows that Java's streaming reader gives of snapshots from to to of the golden table.
func mergedRows(t *testing.T, from, to int) []string {
	b, err := os.ReadFile(merged + ".changelog.jsonl")
	require.NoError(t, err)
	var rows []string
	for l := range strings.Lines(string(b)) {
		for id := from; id <= to; id++ {
			if strings.HasPrefix(l, fmt.Sprintf(`{"_snapshot":%d,`, id)) {
				rows = append(rows, l)
			}
		}
	}
	require.NotEmpty(t, rows)
	return sorted(strings.Join(rows, ""))
}

func consumerFile(t *testing.T, dir, id string) string {
	b, err := os.ReadFile(filepath.Join(dir, "consumer", "consumer-"+id))
	require.NoError(t, err)
	return string(b)
}

func TestChangelogReadsMergedFilesAndRanges(t *testing.T) {
	for from := 1; from <= 4; from++ {
		for to := from; to <= 4; to++ {
			out, _ := call(t, 0, "changelog", merged, "--json", fmt.Sprint("--from=", from), fmt.Sprint("--to=", to))
			require.Equal(t, mergedRows(t, from, to), sorted(out))
		}
	}
	call(t, 0, "check", merged, "--strict", "--deep")
	for _, args := range [][]string{{"--from=5"}, {"--from=-1"}, {"--to=5"}, {"--from=3", "--to=2"}, {"--from=6", "--follow"}, {"--ignore-progress"}, {"--consumer-id=x", "--count"}, {"--consumer-id=a/b"}} {
		call(t, cli.ExitUsage, append([]string{"changelog", merged}, args...)...)
	}
}

func TestAConsumerGoesOnWhereItWas(t *testing.T) {
	dir := copyTable(t)
	out, _ := call(t, 0, "changelog", dir, "--json", "--consumer-id=c", "--to=2")
	require.Equal(t, mergedRows(t, 1, 2), sorted(out))
	require.Equal(t, "{\n  \"nextSnapshot\" : 3\n}", consumerFile(t, dir, "c")) // as Java writes it
	out, _ = call(t, 0, "changelog", dir, "--consumer_id=c", "--limit=1", "--json")
	require.Len(t, sorted(out), 1)
	require.Contains(t, consumerFile(t, dir, "c"), ": 3\n") // snapshot 3 was not printed whole
	out, _ = call(t, 0, "changelog", dir, "--json", "--consumer-id=c")
	require.Equal(t, mergedRows(t, 3, 4), sorted(out))
	out, _ = call(t, 0, "changelog", dir, "--json", "--consumer-id=c")
	require.Empty(t, out)
	out, _ = call(t, 0, "changelog", dir, "--json", "--consumer-id=c", "--ignore-progress", "--to=1")
	require.Equal(t, mergedRows(t, 1, 1), sorted(out))
	require.Contains(t, consumerFile(t, dir, "c"), ": 2\n")
	out, _ = call(t, 0, "changelog", dir, "--json", "--consumer-id=c", "--from=4")
	require.Equal(t, mergedRows(t, 4, 4), sorted(out))
	require.Contains(t, consumerFile(t, dir, "c"), ": 5\n")

	out, _ = call(t, 0, "consumers", dir, "--reset=d=2", "--json")
	require.Contains(t, out, `{"id":"c","nextSnapshot":5,"behind":0,`)
	require.Contains(t, out, `{"id":"d","nextSnapshot":2,"behind":3,`)
	out, _ = call(t, 0, "consumers", dir, "--delete=c")
	require.NotContains(t, out, "c  ")
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 2)
	call(t, cli.ExitUsage, "consumers", dir, "--delete=c")
	call(t, cli.ExitUsage, "consumers", dir, "--reset=c")
	call(t, 0, "consumers", dir, "--reset=d=9")
	out, _ = call(t, 0, "consumers", dir)
	require.Contains(t, out, "beyond the latest, 4")
	_, errs := call(t, cli.ExitUsage, "changelog", dir, "--consumer-id=d")
	require.Contains(t, errs, "consumer d is at snapshot 9")
}

// expire removes snapshots by our own expiry.
func expire(t *testing.T, dir string, keep int) {
	tab, err := table.Open(t.Context(), local.FS{}, dir, table.Options{"changelog.num-retained.max": "200"})
	require.NoError(t, err)
	one := 1
	_, err = maintenance.ExpireSnapshots(t.Context(), tab, maintenance.ExpireOptions{RetainMax: &keep, RetainMin: &one})
	require.NoError(t, err)
}

func TestExpiredSnapshotsAreReadFromKeptChangelogsOrNamed(t *testing.T) {
	dir := copyTable(t)
	expire(t, dir, 1)
	require.NoFileExists(t, filepath.Join(dir, "snapshot/snapshot-3"))
	require.FileExists(t, filepath.Join(dir, "changelog/changelog-1"))
	out, _ := call(t, 0, "changelog", dir, "--json")
	require.Equal(t, mergedRows(t, 1, 4), sorted(out))
	call(t, 0, "check", dir, "--strict", "--deep")

	tab, err := table.Open(t.Context(), local.FS{}, dir, nil)
	require.NoError(t, err)
	three, one, ever := 3, 1, time.Time{} // by number alone: the golden table grows older
	_, err = maintenance.ExpireChangelogs(t.Context(), tab, maintenance.ExpireOptions{RetainMax: &three, RetainMin: &one, OlderThan: &ever}, false)
	require.NoError(t, err)
	call(t, 0, "check", dir, "--strict", "--deep") // the merged files of what expired are gone
	orphans, err := maintenance.RemoveOrphanFiles(t.Context(), tab, maintenance.OrphanOptions{OlderThan: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Zero(t, orphans.Files, orphans.Names)
	call(t, 0, "consumers", dir, "--reset=late=1")
	for _, from := range []string{"--from=1", "--consumer-id=late"} {
		_, errs := call(t, cli.ExitUsage, "changelog", dir, from)
		require.Contains(t, errs, "the changes of snapshot 1 have expired, the earliest that can be read are those of snapshot 2")
	}
	out, _ = call(t, 0, "changelog", dir, "--json", "--consumer-id=late", "--ignore-progress")
	require.Equal(t, mergedRows(t, 2, 4), sorted(out))
}

// screen is an output that can be waited for.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	more *sync.Cond
	end  bool
}

func newScreen() *screen {
	s := &screen{}
	s.more = sync.NewCond(&s.mu)
	return s
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Broadcast()
	return s.text.Write(b)
}

// await waits until n lines have come.
func (s *screen) await(t *testing.T, n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for bytes.Count(s.text.Bytes(), []byte("\n")) < n && !s.end {
		s.more.Wait()
	}
	lines := sorted(s.text.String())
	require.Len(t, lines, n)
	return lines
}

// follow starts changelog --follow; the exit code comes when it has ended.
func follow(s *screen, dir string, args ...string) chan int {
	done := make(chan int, 1)
	go func() {
		code := run(append([]string{"changelog", dir, "--json", "--follow", "--option=continuous.discovery-interval=1 ms"}, args...), strings.NewReader(""), s, s)
		s.mu.Lock()
		s.end = true
		s.more.Broadcast()
		s.mu.Unlock()
		done <- code
	}()
	return done
}

// uncommit hides snapshots from id on, and gives the function that commits the next one of them.
func uncommit(t *testing.T, dir string, id int) (commit func()) {
	for i := id; i <= 4; i++ {
		require.NoError(t, os.Rename(fmt.Sprintf("%s/snapshot/snapshot-%d", dir, i), fmt.Sprintf("%s/later-%d", filepath.Dir(dir), i)))
	}
	require.NoError(t, os.RemoveAll(dir+"/snapshot/LATEST"))
	return func() {
		require.NoError(t, os.Rename(fmt.Sprintf("%s/later-%d", filepath.Dir(dir), id), fmt.Sprintf("%s/snapshot/snapshot-%d", dir, id)))
		id++
	}
}

func TestFollowPrintsNewSnapshotsUntilASignal(t *testing.T) {
	dir := copyTable(t)
	commit := uncommit(t, dir, 1)
	s := newScreen()
	done := follow(s, dir, "--consumer-id=f")
	for id := 1; id <= 4; id++ {
		commit()
		require.Equal(t, mergedRows(t, 1, id), s.await(t, len(mergedRows(t, 1, id))))
	}
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	require.Equal(t, 0, <-done, s.text.String())
	var c struct{ NextSnapshot int }
	require.NoError(t, json.Unmarshal([]byte(consumerFile(t, dir, "f")), &c))
	require.Equal(t, 5, c.NextSnapshot) // recorded in spite of the signal
}

func TestFollowEndsAtTo(t *testing.T) {
	dir := copyTable(t)
	commit := uncommit(t, dir, 3)
	s := newScreen()
	done := follow(s, dir, "--from=2", "--to=3")
	s.await(t, len(mergedRows(t, 2, 2)))
	commit()
	require.Equal(t, 0, <-done)
	require.Equal(t, mergedRows(t, 2, 3), sorted(s.text.String()))
}

func TestFollowNoticesARollback(t *testing.T) {
	dir := copyTable(t)
	s := newScreen()
	done := follow(s, dir)
	s.await(t, len(mergedRows(t, 1, 4)))
	uncommit(t, dir, 2)
	require.Equal(t, cli.ExitUsage, <-done)
	require.Contains(t, s.text.String(), "rolled back")
}
