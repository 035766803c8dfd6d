package main

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// sessions runs a job whose sessions are given, each of which may use the metrics, and returns how many ran.
func sessions(t *testing.T, list ...func(*metrics) error) (n int, err error) {
	j := newRig(t).job
	j.opened = true
	m := newMetrics(j)
	err = j.overOutages(t.Context(), nil, m, func(context.Context) error {
		n++
		return list[n-1](m)
	})
	return n, err
}

func commits(m *metrics) { m.listener().CommitEnd(writer.CommitInfo{Snapshot: &table.Snapshot{ID: 1}}) }

// fails is a session that lasts for a while, after which the storage fails.
func fails(d time.Duration, works func(*metrics), err error) func(*metrics) error {
	return func(m *metrics) error {
		works(m)
		time.Sleep(d)
		return err
	}
}

func TestAnOutageEndsWithoutACommit(t *testing.T) {
	away, never := fails(0, func(*metrics) {}, fs.ErrTransient), func(*metrics) error { return nil }
	for name, works := range map[string]func(*metrics) error{
		"the state could be written":       fails(30*time.Hour, (*metrics).worksAgain, fs.ErrTransient),
		"a position was saved":             fails(time.Minute, func(m *metrics) { m.positions.Add(1); time.Sleep(30 * time.Hour) }, fs.ErrTransient),
		"the same, just before the hiccup": fails(0, func(m *metrics) { time.Sleep(30 * time.Hour); m.positions.Add(1) }, fs.ErrTransient),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, err := sessions(t, away, works, never)
				require.NoError(t, err)
				require.Equal(t, 3, n)
			})
		})
	}
	// Where only the state can be written, as there is room for nothing else, patience ends.
	synctest.Test(t, func(t *testing.T) {
		var list []func(*metrics) error
		for range 200 {
			list = append(list, fails(10*time.Minute, (*metrics).worksAgain, fs.ErrTransient))
		}
		n, err := sessions(t, list...)
		require.ErrorContains(t, err, "storage_patience")
		require.Less(t, n, 150)
	})
}

// A commit whose outcome is unknown may come late, and is no other instance's. After the next commit nothing is in doubt.
func TestOnlyACommitInDoubtMayComeLate(t *testing.T) {
	doubt, fenced := fails(0, func(*metrics) {}, table.ErrUnknownOutcome), fails(0, func(*metrics) {}, table.ErrFenced)
	done := func(*metrics) error { return nil }
	synctest.Test(t, func(t *testing.T) {
		n, err := sessions(t, doubt, fenced, done)
		require.NoError(t, err)
		require.Equal(t, 3, n)
	})
	synctest.Test(t, func(t *testing.T) {
		n, err := sessions(t, doubt, fails(72*time.Hour, commits, table.ErrFenced), done)
		require.Equal(t, cli.ExitFenced, report(io.Discard, err))
		require.Equal(t, 2, n)
	})
}

// An end that is asked for while the storage is being opened ends that.
func TestAStopEndsTheOpeningOfTheStorage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fs.Register("hanging", func(ctx context.Context, _ string, _ map[string]string) (fs.FileSystem, error) {
		cancel()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Second): // it is not told
			return nil, fs.ErrTransient
		}
	})
	args := &syncArgs{
		sourceArgs: sourceArgs{MySQLConf: []string{"binlog-dir=" + t.TempDir(), "database-name=shop", "table-name=orders"}},
		Warehouse:  "hanging://x/w", Database: "d", Table: "t", PrimaryKeys: "id", SyncPKFromSource: "true",
		CommitInterval: time.Second, StoragePatience: time.Hour,
	}
	_, err := newJob(ctx, args, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, context.Canceled)
}
