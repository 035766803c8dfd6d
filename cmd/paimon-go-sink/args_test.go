package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
)

func TestArgumentsTakeBothSpellingsInAnyPlace(t *testing.T) {
	for _, args := range [][]string{
		{"mysql_sync_table", "--warehouse", "/w", "--mysql_conf", "a_b=c_d", "--table_conf=x=y=z", "--commit_interval", "1s"},
		{"--log_level", "debug", "mysql-sync-table", "--warehouse=/w", "--mysql-conf", "a_b=c_d", "--table-conf", "x=y=z", "--commit-interval=1s"},
	} {
		a, command, err := parse(args, io.Discard)
		require.NoError(t, err, "%v", args)
		require.Equal(t, "mysql-sync-table", command)
		require.Equal(t, "/w", a.SyncTable.Warehouse)
		require.Equal(t, []string{"a_b=c_d"}, a.SyncTable.MySQLConf)
		require.Equal(t, []string{"x=y=z"}, a.SyncTable.TableConf)
		require.Equal(t, time.Second, a.SyncTable.CommitInterval)
	}
}

func TestCommandLineWinsOverConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sink.yaml")
	require.NoError(t, os.WriteFile(file, []byte("warehouse: /from/file\ndatabase: db\ncommit_interval: 3s\nmysql_conf:\n  hostname: h\n  port: 3307\n"), 0o600))
	got, _, err := parse([]string{"--log-level=warn", "mysql_sync_table", "--config", file, "--warehouse", "/w", "--mysql_conf", "port=3308"}, io.Discard)
	require.NoError(t, err)
	a := got.SyncTable
	require.Equal(t, "/w", a.Warehouse)
	require.Equal(t, "db", a.Database)
	require.Equal(t, 3*time.Second, a.CommitInterval)
	conf, err := cli.Pairs("mysql_conf", a.MySQLConf)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"hostname": "h", "port": "3308"}, conf)
}

func TestCheckSourceTakesTheConfigFileOfAJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sink.yaml")
	require.NoError(t, os.WriteFile(file, []byte("warehouse: /w\nlisten: :9100\nmysql_conf:\n  hostname: h\ntable_conf:\n  bucket: 4\nspill_dir: [/a, /b]\n"), 0o600))
	a, command, err := parse([]string{"check_source", "--config", file}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "check-source", command)
	require.Equal(t, []string{"hostname=h"}, a.CheckSource.MySQLConf)
	require.NoError(t, os.WriteFile(file, []byte("warehous: /w\n"), 0o600))
	_, _, err = parse([]string{"check_source", "--config", file}, io.Discard)
	require.ErrorContains(t, err, "--warehous")
}

func TestWrongArgumentsAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"no_such_command"}, {"mysql_sync_table", "--warehous", "/w"}, {"demo", "--config", "/no/such/file"}} {
		_, _, err := parse(args, io.Discard)
		require.ErrorIs(t, err, cli.ErrUsage, "%v", args)
	}
}
