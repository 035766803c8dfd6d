package s3

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

func noise(n int) []byte {
	b := make([]byte, n)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(b)
	return b
}

func TestReadsGoOnWhereABodyEnded(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	data := noise(3 << 20)
	fstest.Write(t, fsys, "s3://wh/f", data)
	for _, fault := range []func(http.ResponseWriter, *http.Request, http.Handler){cut(0), cut(1000), cut(70_000), drop, answer(503, "SlowDown"), answer(500, "InternalError")} {
		f.on("GET wh/f", 1, fault) // of Open
		r, err := fsys.Open(t.Context(), "s3://wh/f")
		require.NoError(t, err)
		f.on("GET wh/f", 4, fault)
		got := make([]byte, len(data))
		n, err := r.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, len(data), n)
		require.True(t, bytes.Equal(data, got))
		require.NoError(t, r.Close())
	}
}

// A connection that ends again and again is followed as long as it brings something.
func TestReadsThatAdvanceAreNotGivenUp(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	data := noise(1 << 20)
	fstest.Write(t, fsys, "s3://wh/f", data)
	r, err := fsys.Open(t.Context(), "s3://wh/f")
	require.NoError(t, err)
	f.on("GET wh/f", 40, cut(20_000))
	got := make([]byte, len(data))
	_, err = r.ReadAt(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, r.Close())
}

func TestReadsThatStallAreAskedForAgain(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t, func(c *Config) { c.CallTime = 100 * time.Millisecond })
	data := noise(1 << 20)
	fstest.Write(t, fsys, "s3://wh/f", data)
	r, err := fsys.Open(t.Context(), "s3://wh/f")
	require.NoError(t, err)
	f.on("GET wh/f", 2, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:1000])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	got := make([]byte, len(data))
	_, err = r.ReadAt(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, r.Close())
}

func TestFilesReplacedWhileReadAreNoMixture(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	old, young := bytes.Repeat([]byte("a"), 200_000), bytes.Repeat([]byte("b"), 200_000)
	require.NoError(t, fsys.Replace(t.Context(), "s3://wh/hint", old))
	r, err := fsys.Open(t.Context(), "s3://wh/hint")
	require.NoError(t, err)
	require.NoError(t, fsys.Replace(t.Context(), "s3://wh/hint", young))
	got := make([]byte, len(old))
	_, err = r.ReadAt(got, 0)
	require.ErrorContains(t, err, "replaced")
	require.ErrorIs(t, err, fs.ErrTransient)
	require.NoError(t, r.Close())

	// small ones are read when they are opened
	require.NoError(t, fsys.Replace(t.Context(), "s3://wh/hint", []byte("7")))
	r, err = fsys.Open(t.Context(), "s3://wh/hint")
	require.NoError(t, err)
	require.NoError(t, fsys.Replace(t.Context(), "s3://wh/hint", []byte("8")))
	n, err := r.ReadAt(got[:1], 0)
	require.NoError(t, err)
	require.Equal(t, "7", string(got[:n]))
	require.NoError(t, r.Close())
	_, err = r.ReadAt(got[:1], 0)
	require.Error(t, err)
}

func TestSmallFilesAreReadWithOneRequest(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	fstest.Write(t, fsys, "s3://wh/manifest-1", noise(headBytes))
	require.Len(t, fstest.Read(t, fsys, "s3://wh/manifest-1"), headBytes)
	require.Equal(t, 1, f.count("GET", "manifest-1"))
	require.Zero(t, f.count("HEAD", ""))
	require.Equal(t, 1, f.count("PUT", "manifest-1"))
}

// Windows of columns, as the Parquet reader asks for them: in far fewer requests than the 96 windows, also with little memory.
func TestWindowsOfColumnsAreReadAhead(t *testing.T) {
	const column, columns, window = 1 << 20, 6, 64 << 10
	data := noise(column * columns)
	for memory, most := range map[int64]int{16 << 20: 25, 1 << 20: 70} {
		f := newFake(t)
		fsys := f.open(t, func(c *Config) { c.ReadCache = memory })
		fstest.Write(t, fsys, "s3://wh/data", data)
		r, err := fsys.Open(t.Context(), "s3://wh/data")
		require.NoError(t, err)
		got := make([]byte, len(data))
		for off := 0; off < column; off += window {
			for c := range columns {
				at := c*column + off
				_, err := r.ReadAt(got[at:at+window], int64(at))
				require.NoError(t, err)
			}
		}
		require.True(t, bytes.Equal(data, got))
		require.LessOrEqual(t, f.count("GET", "data"), most)
		require.LessOrEqual(t, fsys.cache.bytes, memory)
		require.NoError(t, r.Close())
		require.Zero(t, fsys.cache.bytes)
	}
}

func TestReadsAreAsOfBytes(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t, func(c *Config) { c.ReadCache = 1 << 20 })
	patient(fsys)
	data := noise(2<<20 + 12345)
	fstest.Write(t, fsys, "s3://wh/f", data)
	want := bytes.NewReader(data)
	rapid.Check(t, func(rt *rapid.T) {
		r, err := fsys.Open(t.Context(), "s3://wh/f")
		require.NoError(rt, err)
		defer func() { require.NoError(rt, r.Close()) }()
		var wg sync.WaitGroup
		for range rapid.IntRange(1, 8).Draw(rt, "reads") {
			off := rapid.Int64Range(0, int64(len(data))+10).Draw(rt, "off")
			n := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 1<<20)).Draw(rt, "n")
			if rapid.IntRange(0, 9).Draw(rt, "fault") == 0 {
				f.on("GET wh/f", 1, cut(n/2))
			}
			wg.Go(func() {
				a, b := make([]byte, n), make([]byte, n)
				na, errA := want.ReadAt(a, off)
				nb, errB := r.ReadAt(b, off)
				if n == 0 {
					errA, errB = nil, nil
				}
				if na != nb || errA != errB || !bytes.Equal(a, b) {
					rt.Errorf("ReadAt(%d, %d): %d %v instead of %d %v", n, off, nb, errB, na, errA)
				}
			})
		}
		wg.Wait()
	})
	require.Zero(t, fsys.cache.bytes)
}

func TestReadFailuresHaveTheirClass(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	fstest.Write(t, fsys, "s3://wh/f", noise(1<<20))
	r, err := fsys.Open(t.Context(), "s3://wh/f")
	require.NoError(t, err)
	f.on("GET wh/f", -1, answer(403, "AccessDenied"))
	_, err = r.ReadAt(make([]byte, 1<<20), 0)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NotErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())
	_, err = fsys.Open(t.Context(), "s3://nobucket/f")
	require.NotErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "bucket does not exist")
}
