package fs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

func TestScheme(t *testing.T) {
	for uri, want := range map[string]string{
		"hdfs://nn:8020/a": "hdfs", "S3A://b/k": "s3a", "file:/a": "file", "/a/b:c": "", "a/b": "", "": "", ":x": "", "1a:/x": "", "a b:/x": "", "rel": "",
	} {
		require.Equal(t, want, fs.Scheme(uri), uri)
	}
}

func TestMasked(t *testing.T) {
	for uri, want := range map[string]string{
		"s3a://KEY:SECRET@bucket/wh": "s3a://***@bucket/wh", "S3://KEY:SEC/RET@bucket/wh": "S3://***@bucket/wh", "s3://KEY:SEC/RET": "s3://***",
		"hdfs://user@nn:8020/a": "hdfs://***@nn:8020/a", "hdfs://nn:8020/a@b": "hdfs://nn:8020/a@b", "s3://bucket/a@b": "s3://bucket/a@b",
		"s3://k:p@ss@bucket/a@b": "s3://***@bucket/a@b", "/a:b@c": "/a:b@c", "s3:/a": "s3:/a", "": "",
	} {
		require.Equal(t, want, fs.Masked(uri), uri)
	}
}

func TestPathParts(t *testing.T) {
	require.Equal(t, "/w/db.db/t", fs.Join("/w/", "db.db", "t"))
	require.Equal(t, "hdfs://nn/a/b", fs.Join("hdfs://nn/a//", "b"))
	require.Equal(t, "/a", fs.Join("/", "a"))
	require.Equal(t, "c", fs.Base("/a/b/c"))
	require.Equal(t, "c", fs.Base("c"))
	require.Equal(t, "/a/b", fs.Dir("/a/b/c"))
	require.Equal(t, "/", fs.Dir("/a"))
	require.Empty(t, fs.Dir("a"))
}

func TestForGivesWhatWasRegistered(t *testing.T) {
	broken := errors.New("no name node")
	fs.Register("test", func(_ context.Context, uri string, conf map[string]string) (fs.FileSystem, error) {
		return nil, fmt.Errorf("%w in %s with %s", broken, uri, conf["k"])
	})
	_, err := fs.For(t.Context(), "TEST://x/y", map[string]string{"k": "v"})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "TEST://x/y with v")
	_, err = fs.For(t.Context(), "gopher://x", nil)
	require.ErrorContains(t, err, `"gopher:"`)
}

func TestClassify(t *testing.T) {
	for no, class := range map[syscall.Errno]error{
		syscall.ENOSPC: fs.ErrFull, syscall.EDQUOT: fs.ErrFull, syscall.EACCES: fs.ErrPermission, syscall.EROFS: fs.ErrPermission,
		syscall.EIO: fs.ErrTransient, syscall.ECONNREFUSED: fs.ErrTransient, syscall.ESTALE: fs.ErrTransient,
	} {
		err := fs.Classify(fmt.Errorf("writing f: %w", no))
		require.ErrorIs(t, err, class)
		require.ErrorIs(t, err, no)
		require.ErrorContains(t, err, "writing f")
		require.True(t, fs.Unavailable(err))
		require.ErrorIs(t, fs.Classify(err), class, "twice is as once")
	}
	for _, no := range []syscall.Errno{syscall.ENOTDIR, syscall.EISDIR} {
		require.ErrorIs(t, fs.Classify(no), fs.ErrInTheWay)
		require.False(t, fs.Unavailable(no))
		require.False(t, fs.Passing(no))
	}
	for _, err := range []error{nil, io.EOF, fs.ErrNotExist, fs.ErrExist, syscall.EINVAL, context.Canceled} {
		require.Equal(t, err, fs.Classify(err))
		require.False(t, fs.Unavailable(err))
	}
}
