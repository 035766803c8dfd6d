//go:build integration

package s3

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

// These tests need a real server: PAIMON_GO_S3 is its URL, with the keys test and testsecret and a bucket named test.

func server(t testing.TB) string {
	t.Helper()
	addr := os.Getenv("PAIMON_GO_S3")
	require.NotEmpty(t, addr, "PAIMON_GO_S3 names no server; integration/servers/s3.sh starts one")
	return addr
}

func onServer(t testing.TB) (*FS, string) {
	t.Helper()
	fsys, err := New(t.Context(), Config{Endpoint: server(t), PathStyle: true, AccessKey: "test", SecretKey: "testsecret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fsys.Close()) })
	return fsys, "s3://test/fs-s3/" + uuid.NewString()
}

func TestServerConformance(t *testing.T) {
	// a server over folders lets no file be the parent of another, and says so in its own way
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) { return onServer(t) }, fstest.ParentsThatAreFiles)
}

// PAIMON_GO_TEST_RACES is how many names two processes race for.
func TestServerPublishHasOneWinnerAmongProcesses(t *testing.T) {
	count := 1000
	if n, err := strconv.Atoi(os.Getenv("PAIMON_GO_TEST_RACES")); err == nil {
		count = n
	}
	fsys, root := onServer(t)
	fstest.RaceProcesses(t, fsys, root, count)
}

func TestServerTakesFilesOfManyParts(t *testing.T) {
	fsys, root := onServer(t)
	data := make([]byte, 70<<20)
	_, err := rand.Read(data)
	require.NoError(t, err)
	path := fs.Join(root, "large")
	fstest.Write(t, fsys, path, data)
	require.True(t, bytes.Equal(data, fstest.Read(t, fsys, path)))

	w, err := fsys.Create(t.Context(), path)
	require.NoError(t, err)
	_, err = w.Write(data[:20<<20])
	require.NoError(t, err)
	require.ErrorIs(t, w.Close(), fs.ErrExist)
	require.True(t, bytes.Equal(data, fstest.Read(t, fsys, path)))

	w, err = fsys.Create(t.Context(), fs.Join(root, "aborted"))
	require.NoError(t, err)
	_, err = w.Write(data[:30<<20])
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	require.Equal(t, []string{"large"}, fstest.Names(t, fsys, root))
	o, err := parse(root)
	require.NoError(t, err)
	left, err := fsys.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &o.bucket, Prefix: &o.key})
	require.NoError(t, err)
	require.Empty(t, left.Uploads)
}

func TestServerListsAndRemovesMany(t *testing.T) {
	fsys, root := onServer(t)
	const files = 1100
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g; i < files; i += 4 {
				if err := fsys.Replace(t.Context(), fs.Join(root, fmt.Sprint("f", i)), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	fstest.Write(t, fsys, fs.Join(root, "sub", "f"), nil)
	require.Len(t, fstest.Names(t, fsys, root), files+1)

	var paths []string
	for i := range files {
		paths = append(paths, fs.Join(root, fmt.Sprint("f", i)))
	}
	noErrors(t, fsys.RemoveFiles(t.Context(), append(paths, fs.Join(root, "missing"))))
	require.Equal(t, []string{"sub"}, fstest.Names(t, fsys, root))
	require.False(t, fsys.oneByOne.Load(), "the server removes many at once")
}

// proxied is the real server behind a proxy with faults.
func proxied(t *testing.T) (*fake, *FS, string) {
	t.Helper()
	to, err := url.Parse(server(t))
	require.NoError(t, err)
	f := newFakeOf(t, &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }, // the host is signed
		Transport: &http.Transport{DisableKeepAlives: true},
	})
	return f, f.open(t), "s3://test/fs-s3/" + uuid.NewString()
}

func TestServerLosesAnswers(t *testing.T) {
	f, fsys, root := proxied(t)
	f.on("PUT snapshot-", 1, lose)
	ok, err := fsys.Publish(t.Context(), fs.Join(root, "snapshot-1"), []byte("mine"))
	require.NoError(t, err)
	require.True(t, ok, "the store has it, though the answer was lost")
	require.Equal(t, 2, f.count("PUT", "snapshot-1"))

	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	f.on("POST uploadId", 1, lose)
	f.on("PUT partNumber=2", 1, lose)
	fstest.Write(t, fsys, fs.Join(root, "large"), data)
	f.on("GET large", 3, cut(100_000))
	require.True(t, bytes.Equal(data, fstest.Read(t, fsys, fs.Join(root, "large"))))

	require.NoError(t, fsys.Replace(t.Context(), fs.Join(root, "hint"), data))
	r, err := fsys.Open(t.Context(), fs.Join(root, "hint"))
	require.NoError(t, err)
	require.NoError(t, fsys.Replace(t.Context(), fs.Join(root, "hint"), data[1:]))
	_, err = r.ReadAt(make([]byte, len(data)), 0)
	require.ErrorContains(t, err, "replaced")
	require.NoError(t, r.Close())
	require.NoError(t, fsys.Remove(t.Context(), fs.Join(root, "hint")))

	f.on("PUT small", 1, lose)
	fstest.Write(t, fsys, fs.Join(root, "small"), []byte("small"))
	f.on("DELETE small", 1, lose)
	require.NoError(t, fsys.Remove(t.Context(), fs.Join(root, "small")))
	require.Equal(t, []string{"large", "snapshot-1"}, fstest.Names(t, fsys, root))
}

func BenchmarkServer(b *testing.B) {
	fsys, root := onServer(b)
	data := make([]byte, 64<<20)
	_, err := rand.Read(data)
	require.NoError(b, err)
	b.Run("put64MB", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			fstest.Write(b, fsys, fs.Join(root, uuid.NewString()), data)
		}
	})
	fstest.Write(b, fsys, fs.Join(root, "file"), data)
	b.Run("get64MB", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			fstest.Read(b, fsys, fs.Join(root, "file"))
		}
	})
	b.Run("getWindows64MB", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		window := make([]byte, 64<<10)
		for b.Loop() {
			r, err := fsys.Open(b.Context(), fs.Join(root, "file"))
			require.NoError(b, err)
			for off := int64(0); off < r.Size(); off += int64(len(window)) {
				_, err := r.ReadAt(window, off)
				require.NoError(b, err)
			}
			require.NoError(b, r.Close())
		}
	})
	// what the SDK does alone with one request, to compare with
	o, err := parse(fs.Join(root, "plain"))
	require.NoError(b, err)
	b.Run("plainPut64MB", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			_, err := fsys.client.PutObject(b.Context(), fsys.put(o, bytes.NewReader(data), len(data)))
			require.NoError(b, err)
		}
	})
	b.Run("plainGet64MB", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			out, err := fsys.client.GetObject(b.Context(), &s3.GetObjectInput{Bucket: &o.bucket, Key: &o.key})
			require.NoError(b, err)
			_, err = io.ReadFull(out.Body, data)
			require.NoError(b, err)
			require.NoError(b, out.Body.Close())
		}
	})
	b.Run("put4KB", func(b *testing.B) {
		for b.Loop() {
			fstest.Write(b, fsys, fs.Join(root, uuid.NewString()), data[:4096])
		}
	})
	b.Run("publish", func(b *testing.B) {
		for b.Loop() {
			_, err := fsys.Publish(b.Context(), fs.Join(root, uuid.NewString()), data[:1024])
			require.NoError(b, err)
		}
	})
}
