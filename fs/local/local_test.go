package local_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/fs/local"
)

func TestMain(m *testing.M) {
	fstest.Racer(func(root string) (fs.FileSystem, error) { return fs.For(context.Background(), root, nil) })
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) { return local.FS{}, t.TempDir() })
}

func TestConformanceOfURIs(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) {
		root := "file://" + t.TempDir()
		fsys, err := fs.For(t.Context(), root, nil)
		require.NoError(t, err)
		return fsys, root
	})
}

// PAIMON_GO_TEST_RACES is how many names the processes race for.
func TestPublishHasOneWinnerAmongProcesses(t *testing.T) {
	count := 1000
	if testing.Short() {
		count = 100
	}
	if v := os.Getenv("PAIMON_GO_TEST_RACES"); v != "" {
		var err error
		count, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	fstest.RaceProcesses(t, local.FS{}, t.TempDir(), count)
}

// TestWhatLiesInTheWayIsNamed also when it is far above the path of the call.
func TestWhatLiesInTheWayIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dt=1"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "LATEST"), 0o700))
	_, err := local.FS{}.Create(t.Context(), filepath.Join(dir, "dt=1", "bucket-0", "f"))
	require.ErrorIs(t, err, fs.ErrInTheWay)
	require.ErrorContains(t, err, "a file lies at "+filepath.Join(dir, "dt=1")+", where a directory belongs")
	_, err = local.FS{}.Open(t.Context(), filepath.Join(dir, "LATEST"))
	require.ErrorContains(t, err, "a directory lies at "+filepath.Join(dir, "LATEST")+", where a file belongs")
	require.ErrorIs(t, local.FS{}.Replace(t.Context(), filepath.Join(dir, "LATEST"), nil), fs.ErrInTheWay)
}

func TestPath(t *testing.T) {
	for uri, want := range map[string]string{
		"/a/b": "/a/b", "file:/a/b": "/a/b", "file:///a/b": "/a/b", "file://localhost/a": "/a", "FILE:///a%25b": "/a%25b", "rel/a": "rel/a",
		"a:b/c": "a:b/c", // "a" is a scheme, but none of ours: the registry refuses it before
	} {
		got, err := local.Path(uri)
		require.NoError(t, err, uri)
		require.Equal(t, want, got, uri)
	}
	for _, uri := range []string{"", "file://host/a", "file://", "a\x00b", "file:/a\x00b"} {
		_, err := local.Path(uri)
		require.Error(t, err, "%q", uri)
	}
}

func TestRegistryNamesWhatIsLinkedIn(t *testing.T) {
	_, err := fs.For(t.Context(), "hdfs://nn/warehouse", nil)
	require.ErrorContains(t, err, `"hdfs:"`)
	require.ErrorContains(t, err, "file:")
}

func TestErrorsKeepTheirCauseAndClass(t *testing.T) {
	if os.Getuid() != 0 {
		dir := filepath.Join(t.TempDir(), "locked")
		require.NoError(t, os.Mkdir(dir, 0o555))
		_, err := local.FS{}.Create(t.Context(), filepath.Join(dir, "f"))
		require.ErrorIs(t, err, fs.ErrPermission)
		require.ErrorIs(t, err, syscall.EACCES)
		require.True(t, fs.Unavailable(err))
		_, err = local.FS{}.Publish(t.Context(), filepath.Join(dir, "f"), nil)
		require.ErrorIs(t, err, fs.ErrNotPublished)
		require.ErrorIs(t, err, fs.ErrPermission)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		return
	}
	// /dev/full fails every write for want of space
	link := filepath.Join(t.TempDir(), "full")
	require.NoError(t, os.Symlink("/dev/full", link))
	f, err := os.OpenFile(link, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write([]byte("x"))
	require.NoError(t, f.Close())
	err = fs.Classify(err)
	require.ErrorIs(t, err, fs.ErrFull)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NotErrorIs(t, err, fs.ErrTransient)
	require.True(t, fs.Unavailable(err))
	require.False(t, fs.Unavailable(fs.ErrNotExist))
}

func TestFailedWriteCannotPassForAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	w, err := local.FS{}.Create(t.Context(), path)
	require.NoError(t, err)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	small := limit
	small.Cur = 1 << 10
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small))
	_, werr := w.Write([]byte(strings.Repeat("x", 4<<10)))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	require.ErrorIs(t, werr, fs.ErrFull)
	require.ErrorIs(t, w.Close(), fs.ErrFull)
	_, err = os.Stat(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
