package hdfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/fs"
)

// readSpool puts together n bytes from an offset, or those up to the end and io.EOF.
func readSpool(ctx context.Context, s *spool, off int64, n int, patience time.Duration) (all []byte, err error) {
	for len(all) < n && err == nil {
		var b []byte
		b, err = s.next(ctx, off+int64(len(all)), n-len(all), patience)
		all = append(all, b...)
	}
	return all, err
}

// TestSpoolGivesBackWhatItGot from any offset, whether in memory or in a file.
func TestSpoolGivesBackWhatItGot(t *testing.T) {
	dir := t.TempDir()
	shared := &chunks{limit: 3 * spoolChunk}
	defer shared.close()
	rapid.Check(t, func(t *rapid.T) {
		s := newSpool(int64(rapid.IntRange(1, 4).Draw(t, "chunks"))*spoolChunk, shared, dir)
		defer s.close()
		var all []byte
		for range rapid.IntRange(0, 8).Draw(t, "writes") {
			b := pattern(rapid.IntRange(0, 2*spoolChunk).Draw(t, "size"))
			require.NoError(t, s.append(b))
			all = append(all, b...)
		}
		s.end()
		for range 3 {
			off := rapid.IntRange(0, len(all)).Draw(t, "off")
			n := rapid.IntRange(1, 2*spoolChunk).Draw(t, "n")
			b, err := readSpool(context.Background(), s, int64(off), n, time.Minute)
			want := all[off:min(len(all), off+n)]
			require.True(t, bytes.Equal(want, b))
			if len(want) < n {
				require.ErrorIs(t, err, io.EOF)
			} else {
				require.NoError(t, err)
			}
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "the file has no name")
	})
}

// TestSpoolIsReadWhileItGrows has a reader, close behind or far, that begins again now and then: what it looks at never changes.
func TestSpoolIsReadWhileItGrows(t *testing.T) {
	shared := &chunks{limit: 3 * spoolChunk}
	defer shared.close()
	rapid.Check(t, func(t *rapid.T) {
		all := pattern(rapid.IntRange(0, 12*spoolChunk).Draw(t, "size"))
		s := newSpool(int64(rapid.IntRange(1, 4).Draw(t, "chunks"))*spoolChunk, shared, os.TempDir())
		defer s.close()
		write := rapid.IntRange(spoolChunk/8, 2*spoolChunk).Draw(t, "write")
		again := rapid.IntRange(1, 12*spoolChunk).Draw(t, "again")
		done := make(chan error, 1)
		go func() {
			defer s.end()
			var err error
			for rest := all; len(rest) > 0 && err == nil; {
				n := min(write, len(rest))
				err, rest = s.append(rest[:n]), rest[n:]
			}
			done <- err
		}()
		for off := 0; ; {
			b, err := s.next(context.Background(), int64(off), packetData, time.Minute)
			if err != io.EOF { //nolint:errorlint // as next says
				require.NoError(t, err)
			}
			require.True(t, bytes.Equal(all[off:off+len(b)], b))
			off += len(b)
			if again > 0 && off >= again {
				off, again = 0, 0
			} else if err == io.EOF { //nolint:errorlint // as next says
				require.Len(t, all, off)
				break
			}
		}
		require.NoError(t, <-done)
	})
}

// TestSpoolsShareMemory up to its limit: who comes then goes to a file, until another is done.
func TestSpoolsShareMemory(t *testing.T) {
	shared := &chunks{limit: 2 * spoolChunk}
	defer shared.close()
	all := pattern(4 * spoolChunk)
	first, second := newSpool(1, shared, t.TempDir()), newSpool(1, shared, t.TempDir())
	for _, s := range []*spool{first, second} {
		require.NoError(t, s.append(all))
		s.end()
		b, err := readSpool(t.Context(), s, 0, len(all), time.Minute)
		require.NoError(t, err)
		require.True(t, bytes.Equal(all, b))
	}
	require.Equal(t, 2, shared.out)
	require.NotNil(t, second.file)
	first.close()
	third := newSpool(1, shared, t.TempDir())
	require.NoError(t, third.append(all[:3*spoolChunk]))
	require.Nil(t, third.file)
	second.close()
	third.close()
	third.close()
	require.Zero(t, shared.out)
}

func TestSpoolWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpool(spoolChunk, &chunks{}, t.TempDir())
		start := time.Now()
		_, err := s.next(t.Context(), 0, 4, time.Minute)
		require.ErrorIs(t, err, errIdle)
		require.Equal(t, time.Minute, time.Since(start))
		go func() {
			time.Sleep(time.Second)
			_ = s.append([]byte("ab"))
			time.Sleep(time.Second)
			_ = s.append([]byte("cd"))
		}()
		b, err := s.next(t.Context(), 0, 4, time.Minute)
		require.NoError(t, err)
		require.Equal(t, "abcd", string(b))
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		_, err = s.next(ctx, 4, 4, time.Minute)
		require.ErrorIs(t, err, why)
	})
}

func TestSpoolWithoutRoom(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t, func(cfg *Config) { cfg.SpoolMemory, cfg.SpoolShared, cfg.SpoolDir = 1, 1, "/no/such/dir" })
	w, err := f.Create(t.Context(), "hdfs:///f")
	require.NoError(t, err)
	_, err = w.Write(make([]byte, spoolChunk+1))
	require.ErrorContains(t, err, "/no/such/dir")
	require.Error(t, w.Close())
	_, err = f.Stat(t.Context(), "hdfs:///f")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestNodesComeBack after a good probe, and are left out for longer when they fail again.
func TestNodesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ok := false
		ctx, cancel := context.WithCancel(t.Context())
		n := newNodes(ctx, func(context.Context, node) error {
			if ok {
				return nil
			}
			return errors.New("dead")
		}, &trouble{})
		x := node{uuid: "x", raw: []byte("x")}
		out := func() bool {
			bad := n.isBad(x)
			require.Equal(t, bad, len(n.exclude()) == 1)
			synctest.Wait()
			return bad
		}
		require.False(t, out())
		n.mark(x, errors.New("dead"))
		require.True(t, out())
		time.Sleep(badFor + 1)
		require.True(t, out(), "until it has been probed")
		require.True(t, out(), "it is still dead")
		ok = true
		time.Sleep(badFor + 1)
		require.True(t, out())
		require.False(t, out(), "it has answered")
		n.mark(x, errors.New("dead"))
		time.Sleep(badFor + 1)
		out()
		require.True(t, out(), "the second time is longer")
		time.Sleep(badFor + 1)
		out()
		require.False(t, out())
		time.Sleep(time.Hour)
		require.False(t, out())
		require.Empty(t, n.bad, "forgotten")
		n.mark(x, errors.New("dead"))
		n.forgive()
		require.False(t, out())
		cancel()
		n.wg.Wait()
	})
}

// TestLeases are renewed while a file is open, and not otherwise.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		l := &leases{ctx: ctx, renew: func(context.Context) error { calls.Add(1); return nil }}
		l.hold()()
		time.Sleep(10 * time.Minute)
		require.Zero(t, calls.Load())
		a, b := l.hold(), l.hold()
		time.Sleep(3*renewEvery + time.Second)
		synctest.Wait()
		require.EqualValues(t, 3, calls.Load())
		a()
		a()
		time.Sleep(renewEvery)
		synctest.Wait()
		require.EqualValues(t, 4, calls.Load())
		b()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.EqualValues(t, 4, calls.Load())
		cancel()
		l.close()
	})
}
