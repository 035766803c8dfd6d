package s3

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

const part = 100_000 // smaller than a real store allows

func smallParts(f *fake, t *testing.T, change ...func(*Config)) *FS {
	t.Helper()
	fsys := f.open(t, change...)
	fsys.cfg.PartSize = part
	return fsys
}

// unfinished tells how many uploads the store has that are neither complete nor aborted.
func unfinished(t *testing.T, fsys *FS) int {
	t.Helper()
	out, err := fsys.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String("wh")})
	if err != nil { // gofakes3 says so of a bucket that never had one
		require.Equal(t, noUpload, classify(err))
		return 0
	}
	return len(out.Uploads)
}

func TestFilesOfManyPartsOutlastFaults(t *testing.T) {
	data := noise(3*part + 100)
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"answers lost": lose, "requests lost": drop, "slow down": answer(503, "SlowDown"), "internal error": answer(500, "InternalError"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			fsys := smallParts(f, t)
			fsys.clock.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
			f.on("POST uploads", 1, fault)
			f.on("PUT partNumber=2", 2, fault)
			f.on("PUT partNumber=4", 1, fault)
			f.on("POST uploadId", 1, fault)
			f.on("HEAD large", 1, answer(503, "SlowDown"))
			fstest.Write(t, fsys, "s3://wh/d/large", data)
			require.True(t, bytes.Equal(data, fstest.Read(t, fsys, "s3://wh/d/large")))
		})
	}
}

func TestWritersOfOneNameHaveOneWinner(t *testing.T) {
	f := newFake(t)
	fsys := smallParts(f, t)
	fstest.Write(t, fsys, "s3://wh/f", []byte("first"))
	for _, size := range []int{10, part + 10} {
		f.on("POST uploadId", 1, answer(412, "PreconditionFailed")) // which gofakes3 doesn't say itself
		w, err := fsys.Create(t.Context(), "s3://wh/f")
		require.NoError(t, err)
		_, err = w.Write(noise(size))
		require.NoError(t, err)
		require.ErrorIs(t, w.Close(), fs.ErrExist)
		require.Equal(t, "first", string(fstest.Read(t, fsys, "s3://wh/f")))
		require.Zero(t, unfinished(t, fsys))
	}
}

func TestFailedUploadsLeaveNothing(t *testing.T) {
	for name, fail := range map[string]func(f *fake, cancel func()){
		"a part fails": func(f *fake, _ func()) { f.on("PUT partNumber=2", -1, answer(403, "AccessDenied")) },
		"the end fails": func(f *fake, _ func()) {
			f.on("POST uploadId", -1, answer(403, "AccessDenied"))
		},
		"the store is full": func(f *fake, _ func()) { f.on("PUT partNumber=3", -1, answer(507, "XMinioStorageFull")) },
		"the caller gives up": func(f *fake, cancel func()) {
			f.on("PUT partNumber=2", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				cancel()
				next.ServeHTTP(w, r)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			fsys := smallParts(f, t)
			patient(fsys)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			fail(f, cancel)
			w, err := fsys.Create(ctx, "s3://wh/f")
			require.NoError(t, err)
			_, werr := w.Write(noise(5 * part))
			cerr := w.Close()
			require.Error(t, cerr, "write: %v", werr)
			require.NoError(t, w.Abort())
			require.Empty(t, fstest.Names(t, fsys, "s3://wh/"))
			require.Zero(t, unfinished(t, fsys))
			switch name {
			case "the store is full":
				require.ErrorIs(t, cerr, fs.ErrFull)
			case "the caller gives up":
				require.ErrorIs(t, cerr, context.Canceled)
			default:
				require.ErrorIs(t, cerr, fs.ErrPermission)
			}
		})
	}
}

func TestAbortEndsWhatIsOnItsWay(t *testing.T) {
	f := newFake(t)
	fsys := smallParts(f, t)
	started := make(chan struct{})
	f.on("PUT partNumber=1", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		close(started)
		hang(w, r, next)
	})
	w, err := fsys.Create(t.Context(), "s3://wh/f")
	require.NoError(t, err)
	_, err = w.Write(noise(part + 1))
	require.NoError(t, err)
	<-started
	require.NoError(t, w.Abort())
	require.Error(t, w.Close())
	require.Zero(t, unfinished(t, fsys))
	require.Empty(t, fstest.Names(t, fsys, "s3://wh/"))
	require.Empty(t, fsys.uploads, "its place is free again")
}

func TestPartsOnTheirWayAreBounded(t *testing.T) {
	f := newFake(t)
	fsys := smallParts(f, t, func(c *Config) { c.Uploads = 2 })
	var now, most atomic.Int32
	both := make(chan struct{})
	f.on("PUT partNumber", -1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		n := now.Add(1)
		for m := most.Load(); n > m; m = most.Load() {
			if most.CompareAndSwap(m, n) && n == 2 {
				close(both)
			}
		}
		select { // the first waits for a second, however the scheduler has it
		case <-both:
		case <-r.Context().Done():
		}
		next.ServeHTTP(w, r)
		now.Add(-1)
	})
	data := noise(5*part + 1)
	var writers []fs.Writer
	for _, name := range []string{"a", "b", "c"} {
		w, err := fsys.Create(t.Context(), "s3://wh/"+name)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
		writers = append(writers, w)
	}
	for _, w := range writers {
		require.NoError(t, w.Close())
	}
	require.EqualValues(t, 2, most.Load())
	for _, name := range []string{"a", "b", "c"} {
		require.True(t, bytes.Equal(data, fstest.Read(t, fsys, "s3://wh/"+name)))
	}
}

// A store that takes bytes slowly is waited for, longer than the time for an answer.
func TestSlowStoresAreWaitedFor(t *testing.T) {
	f := newFake(t)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetWriteBuffer(32 << 10) // else the whole file is in the kernel's hands at once
		}
		return c, err
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	fsys := f.open(t, func(c *Config) { c.CallTime, c.Transport = 300*time.Millisecond, transport })
	fsys.slowest = 1 << 40
	f.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			_ = c.(*net.TCPConn).SetReadBuffer(32 << 10)
		}
	}
	var took time.Duration
	f.on("PUT f", -1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		begin := time.Now()
		var body bytes.Buffer
		for {
			time.Sleep(20 * time.Millisecond) // the rate
			if _, err := io.CopyN(&body, r.Body, 64<<10); err != nil {
				break
			}
		}
		took = time.Since(begin)
		r.Body = io.NopCloser(&body)
		next.ServeHTTP(w, r)
	})
	data := noise(3 << 20)
	fstest.Write(t, fsys, "s3://wh/f", data)
	require.Equal(t, 1, f.count("PUT", "wh/f"))
	require.Greater(t, took, 2*fsys.cfg.CallTime)
	require.True(t, bytes.Equal(data, fstest.Read(t, fsys, "s3://wh/f")))
}

func TestEncryptionIsAskedFor(t *testing.T) {
	f := newFake(t)
	fsys := smallParts(f, t, func(c *Config) { c.Encryption, c.KMSKey = "aws:kms", "key-1" })
	var seen atomic.Int32
	look := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("X-Amz-Server-Side-Encryption") == "aws:kms" && r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id") == "key-1" {
			seen.Add(1)
		}
		next.ServeHTTP(w, r)
	}
	f.on("PUT small", -1, look)
	f.on("POST uploads", -1, look)
	fstest.Write(t, fsys, "s3://wh/small", nil)
	fstest.Write(t, fsys, "s3://wh/large", noise(part))
	require.EqualValues(t, 2, seen.Load())
}
