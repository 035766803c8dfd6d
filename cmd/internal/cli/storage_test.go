package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

// A storage that can't be opened is a wrong argument only when it is not the storage that fails, or an end was asked for.
func TestStorageThatCantBeOpened(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		err   error
		usage bool
	}{
		{t.Context(), errors.New("no such setting"), true}, {t.Context(), fs.ErrNotExist, true},
		{t.Context(), fs.ErrPermission, false}, {t.Context(), fs.ErrTransient, false}, {ended, context.Canceled, false},
	} {
		fs.Register("refusing", func(ctx context.Context, _ string, _ map[string]string) (fs.FileSystem, error) {
			require.Equal(t, c.ctx.Err(), ctx.Err())
			return nil, c.err
		})
		_, _, _, err := Storage(c.ctx, "--warehouse", "refusing://x/w", nil)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.usage, errors.Is(err, ErrUsage), "%v", err)
	}
}

// TestWrongDirectoriesOfHDFS are refused, or doubted, before the cluster is asked.
func TestWrongDirectoriesOfHDFS(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Setenv("HADOOP_CONF_DIR", none)
	for _, conf := range []string{"hadoop-conf-dir=" + none, "hdfs.spool-dir=" + none} {
		_, _, _, err := Storage(t.Context(), "--warehouse", "hdfs://127.0.0.1:1/w", []string{conf})
		require.ErrorIs(t, err, fs.ErrConfig, conf)
		require.ErrorContains(t, err, none)
		require.Equal(t, ExitUsage, Report(io.Discard, err, []Class{{Is: Wraps(ErrUsage), Code: ExitUsage}}, ""))
	}
	require.Contains(t, log.String(), "HADOOP_CONF_DIR="+none+" gives no settings")
	_, _, _, err := Storage(t.Context(), "--warehouse", "hdfs://127.0.0.1:1/w", nil, "/dev/null/spill")
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, "--spill_dir")
}

// TestWaitingIsTold soon, with what is waited for and what may be wrong with it.
func TestWaitingIsTold(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	told := make(chan struct{}, 1)
	slog.SetDefault(slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		log.Write(b)
		told <- struct{}{}
		return len(b), nil
	}), nil)))
	require.LessOrEqual(t, quiet, 3*time.Second)
	defer func(d time.Duration) { quiet = d }(quiet)
	quiet = time.Millisecond
	for uri, says := range map[string]string{"hdfs://ns/w": "hadoop-conf-dir=/etc/hadoop", "s3://b/w": "s3.endpoint=http://***@host"} {
		stop := tellOfWaiting(uri, map[string]string{"hadoop-conf-dir": "/etc/hadoop", "s3.endpoint": "http://key:secret@host"})
		<-told
		stop()
		mu.Lock()
		require.Contains(t, log.String(), says)
		require.Contains(t, log.String(), uri)
		require.NotContains(t, log.String(), "secret")
		mu.Unlock()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestPrintableHidesSecrets(t *testing.T) {
	require.Equal(t, [][2]string{
		{"fs.s3a.secret.key", "***"}, {"hadoop-conf-dir", "/etc"}, {"s3.access-key", "***"}, {"s3.endpoint", "http://***@host"}, {"s3.session.token", "***"},
		{"s3.web.identity.token.file", "/t"}, {"security.kerberos.login.keytab", "/k"},
	}, Printable(map[string]string{"s3.access-key": "k", "fs.s3a.secret.key": "s", "s3.session.token": "t", "s3.endpoint": "http://a:b@host",
		"hadoop-conf-dir": "/etc", "security.kerberos.login.keytab": "/k", "s3.web.identity.token.file": "/t"}))
}
