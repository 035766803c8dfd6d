package mem_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	fstest.Run(t, func(*testing.T) (fs.FileSystem, string) { return mem.New(), "/warehouse" })
}

func TestCrashForgetsWhatIsNotClosed(t *testing.T) {
	m := mem.New()
	fstest.Write(t, m, "/w/closed", []byte("closed"))
	w, err := m.Create(t.Context(), "/w/open")
	require.NoError(t, err)
	_, err = w.Write([]byte("half"))
	require.NoError(t, err)
	_, err = m.Publish(t.Context(), "/w/published", []byte("p"))
	require.NoError(t, err)

	c := m.CrashClone()
	require.Equal(t, []string{"/w/closed", "/w/published"}, c.Paths())
	require.Equal(t, "closed", string(fstest.Read(t, c, "/w/closed")))

	require.NoError(t, w.Close(), "the original goes on")
	require.Equal(t, "half", string(fstest.Read(t, m, "/w/open")))
	require.Len(t, c.Paths(), 2)
}

func TestCrashAtRandomTearsOpenFilesAndUndoesRemovals(t *testing.T) {
	m := mem.New()
	fstest.Write(t, m, "/w/removed", []byte("r"))
	require.NoError(t, m.Remove(context.Background(), "/w/removed"))
	require.NoError(t, m.Replace(context.Background(), "/w/LATEST", []byte("1")))
	require.NoError(t, m.Replace(context.Background(), "/w/LATEST", []byte("2")))
	w, err := m.Create(t.Context(), "/w/open")
	require.NoError(t, err)
	_, err = w.Write([]byte("0123456789"))
	require.NoError(t, err)

	seen := map[string]bool{}
	for seed := range uint64(200) {
		c := m.CrashCloneAtRandom(rand.New(rand.NewPCG(seed, 1)))
		for _, p := range c.Paths() {
			seen[p+" "+string(fstest.Read(t, c, p))] = true
		}
	}
	require.True(t, seen["/w/removed r"])
	require.False(t, seen["/w/LATEST 1"], "what replaces it is durable")
	require.True(t, seen["/w/LATEST 2"])
	require.True(t, seen["/w/open "])
	require.True(t, seen["/w/open 0123456789"])
	require.True(t, seen["/w/open 01234"])
}
