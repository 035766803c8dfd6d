package main

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
)

func waitingArgs(warehouse string) *syncArgs {
	return &syncArgs{sourceArgs: sourceArgs{MySQLConf: []string{"hostname=127.0.0.1", "username=u", "password=p", "database-name=d", "table-name=t"}},
		Warehouse: warehouse, Database: "d", Table: "t", SyncPKFromSource: "true", CommitInterval: time.Second}
}

// A storage that does not answer at the start holds no stop back: nothing is open that a last commit could be made of.
func TestStopWhileTheStorageIsWaitedFor(t *testing.T) {
	stop := make(chan struct{})
	fs.Register("mute", func(ctx context.Context, _ string, _ map[string]string) (fs.FileSystem, error) {
		close(stop)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	var log bytes.Buffer
	e := &environment{stdout: &log, stderr: &log, stop: stop, args: &arguments{}}
	require.NoError(t, e.syncTable(t.Context(), waitingArgs("mute://x/w")))
}

// What the storage says is the error, when nobody has asked for a stop.
func TestWaitingPassesErrorsOn(t *testing.T) {
	e := &environment{stop: make(chan struct{})}
	err := e.whileWaiting(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) error { return fs.ErrPermission })
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestTheDemoIsLocal(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitUsage, run([]string{"demo", "--dir", "hdfs://nn:8020/demo"}, &out, &errs))
	require.Contains(t, errs.String(), "local")
	require.NoDirExists(t, "hdfs:")
}

func TestDeniedAccessHasItsOwnWords(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, cli.ExitStorage, report(&out, fs.ErrPermission))
	require.Contains(t, out.String(), "refuses access")
	require.NotContains(t, out.String(), "unreachable")
}
