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

// TestSpoolGivesBackWhatItGot from any offset, whether in memory or in a file.
func TestSpoolGivesBackWhatItGot(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := newSpool(spoolChunk, dir)
		defer s.close()
		var all []byte
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			b := pattern(rapid.IntRange(0, spoolChunk).Draw(t, "size"))
			require.NoError(t, s.append(b))
			all = append(all, b...)
		}
		s.end()
		for range 3 {
			off := rapid.IntRange(0, len(all)).Draw(t, "off")
			b := make([]byte, rapid.IntRange(1, spoolChunk).Draw(t, "n"))
			n, err := s.read(context.Background(), b, int64(off), time.Minute)
			want := all[off:min(len(all), off+len(b))]
			require.True(t, bytes.Equal(want, b[:n]))
			if len(want) < len(b) {
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

func TestSpoolWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpool(spoolChunk, t.TempDir())
		b := make([]byte, 4)
		start := time.Now()
		_, err := s.read(t.Context(), b, 0, time.Minute)
		require.ErrorIs(t, err, errIdle)
		require.Equal(t, time.Minute, time.Since(start))
		go func() {
			time.Sleep(time.Second)
			_ = s.append([]byte("ab"))
			time.Sleep(time.Second)
			_ = s.append([]byte("cd"))
		}()
		n, err := s.read(t.Context(), b, 0, time.Minute)
		require.NoError(t, err)
		require.Equal(t, "abcd", string(b[:n]))
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		_, err = s.read(ctx, b, 4, time.Minute)
		require.ErrorIs(t, err, why)
	})
}

func TestSpoolWithoutRoom(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t, func(cfg *Config) { cfg.SpoolMemory, cfg.SpoolDir = 1, "/no/such/dir" })
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
