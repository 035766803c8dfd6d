package faultfs_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func TestConformanceWithoutFaults(t *testing.T) {
	fstest.Run(t, func(*testing.T) (fs.FileSystem, string) { return faultfs.New(mem.New(), nil), "/w" })
}

func TestPublishFailsInEachWay(t *testing.T) {
	for _, c := range []struct {
		how            faultfs.How
		there, unknown bool
	}{
		{faultfs.Before, false, false},
		{faultfs.Lost, false, true},
		{faultfs.ReplyLost, true, true},
	} {
		inner := mem.New()
		f := faultfs.New(inner, faultfs.Nth(2, c.how, faultfs.Ops(faultfs.OpPublish)))
		ok, err := f.Publish(t.Context(), "/w/1", []byte("x"))
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = f.Publish(t.Context(), "/w/2", []byte("x"))
		require.ErrorIs(t, err, faultfs.ErrInjected)
		require.False(t, ok)
		require.Equal(t, c.unknown, !errors.Is(err, fs.ErrNotPublished))
		_, serr := inner.Stat(t.Context(), "/w/2")
		require.Equal(t, c.there, serr == nil)
		ok, err = f.Publish(t.Context(), "/w/3", []byte("x"))
		require.NoError(t, err)
		require.True(t, ok)
	}
}

func TestCutAtLeavesAPrefixOfTheCalls(t *testing.T) {
	work := func(fsys fs.FileSystem) error {
		for _, p := range []string{"/w/a", "/w/b"} {
			w, err := fsys.Create(t.Context(), p)
			if err != nil {
				return err
			}
			if _, err := w.Write([]byte("1234")); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
		}
		return nil
	}
	var states []string
	for n := 1; ; n++ {
		inner := mem.New()
		f := faultfs.New(inner, faultfs.CutAt(n, faultfs.Torn))
		err := work(f)
		state := ""
		for _, p := range inner.Paths() {
			state += p + "=" + string(fstest.Read(t, inner, p)) + " "
		}
		states = append(states, state)
		if err == nil {
			break
		}
		_, serr := f.Stat(t.Context(), "/w/a")
		require.ErrorIs(t, serr, faultfs.ErrInjected, "all is dead after the cut")
	}
	require.Equal(t, []string{
		"", "/w/a=12 ", "/w/a=1234 ", "/w/a=1234 ", "/w/a=1234 /w/b=12 ", "/w/a=1234 /w/b=1234 ", "/w/a=1234 /w/b=1234 ",
	}, states)
}

func TestTraceAndCause(t *testing.T) {
	f := faultfs.New(mem.New(), faultfs.Nth(1, faultfs.Before, faultfs.On(faultfs.OpWrite, "data-")))
	f.FailWith(syscall.ENOSPC)
	w, err := f.Create(t.Context(), "/w/data-1")
	require.NoError(t, err)
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.True(t, fs.Unavailable(err))
	require.NoError(t, w.Abort())
	_, err = f.Open(t.Context(), "/w/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, "create /data-1\nwrite /data-1\nabort /data-1\nopen /none\n", f.Trace("/w"))
	f.Set(nil)
	require.Empty(t, f.Calls())
}
