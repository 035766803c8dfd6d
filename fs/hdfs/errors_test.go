package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

type answer struct{ class, msg string }

func (a answer) Error() string     { return "call failed" }
func (a answer) Exception() string { return a.class }
func (a answer) Message() string   { return a.msg }

func TestClassify(t *testing.T) {
	for want, list := range map[class][]error{
		busy: {answer{javaStandby, ""}, answer{javaSafe, ""}, answer{"org.apache.hadoop.ipc.RetriableException", "NameNode still not started"},
			answer{"org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException", ""}, answer{javaIO, "NameNode still not started"}},
		unknown: {io.EOF, io.ErrUnexpectedEOF, errors.New("no available namenodes: dial tcp: connection refused"), context.DeadlineExceeded, context.Canceled},
		missing: {answer{javaMissing, "File does not exist: /x"}},
		exists:  {answer{javaExists, ""}},
		denied: {answer{javaDenied, "Permission denied"}, errors.New("no available namenodes: SASL handshake: kerberos authentication not supported by namenode"),
			errors.New("SASL handshake: [Root cause: KDC_Error] KDC_Error: AS Exchange Error: kerberos error response from KDC: KRB Error: (6) KDC_ERR_C_PRINCIPAL_UNKNOWN")},
		full:    {answer{javaQuota, ""}, answer{"org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", ""}},
		noNodes: {answer{javaIO, "File /x could only be written to 0 of the 1 minReplication nodes.\n\tat"}},
		misset:  {answer{javaIO, tooManyCopies}, answer{javaIO, blockTooSmall}},
		fatal:   {answer{javaIO, "something else"}, answer{javaEmpty, ""}, errClosed, fmt.Errorf("%w: x", errConfig), errLibrary},
	} {
		for _, err := range list {
			require.Equal(t, want, classify(err), "%v", err)
			require.Equal(t, want, classify(fmt.Errorf("wrapped: %w", err)), "%v", err)
		}
	}
}

// TestClassifyOneMessage is the same each time, also where two texts fit.
func TestClassifyOneMessage(t *testing.T) {
	for range 50 {
		require.Equal(t, noNodes, classify(answer{javaIO, "File /StandbyException could only be written to 0 of the 1 minReplication nodes, too busy"}))
	}
}

const (
	tooManyCopies = "Requested replication factor of 600 exceeds maximum of 512 for /x from 10.0.0.1\n\tat org"
	blockTooSmall = "Specified block size 512 is less than configured minimum value dfs.namenode.fs-limits.min-block-size=1024\n\tat org"
)

// TestSettingsThatTheNameNodeRefuses end a write at once, as wrong settings.
func TestSettingsThatTheNameNodeRefuses(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t)
	for text, key := range map[string]string{tooManyCopies: "dfs.replication", blockTooSmall: "dfs.blocksize"} {
		c.setFault(func(method string, _ int) fault {
			if method == "create" {
				return fault{class: javaIO, text: text}
			}
			return fault{}
		})
		_, err := f.Publish(t.Context(), "hdfs:///f", []byte("x"))
		require.ErrorIs(t, err, fs.ErrConfig)
		require.ErrorIs(t, err, fs.ErrNotPublished)
		require.ErrorContains(t, err, "correct "+key)
		require.False(t, fs.Passing(err))
	}
}

func TestErrorsForCallers(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
		text string
	}{
		{answer{javaMissing, "File does not exist: /x\n\tat org"}, fs.ErrNotExist, "open hdfs://c/x: FileNotFoundException: File does not exist: /x"},
		{answer{javaDenied, "Permission denied: user=u"}, fs.ErrPermission, "HADOOP_USER_NAME"},
		{answer{javaQuota, "The quota is exceeded"}, fs.ErrFull, "make room"},
		{answer{javaMissing, "Path is not a file: /t/snapshot/snapshot-2"}, fs.ErrInTheWay, "/t/snapshot/snapshot-2 (a directory lies there, where a file belongs: remove or rename it)"},
		{answer{javaNoDir, "/t/dt=1 (is not a directory)"}, fs.ErrInTheWay, "/t/dt=1 (is not a directory) (a file lies there, where a directory belongs: remove or rename it)"},
		{answer{javaIO, "Source /t/.LATEST.tmp and destination /t/LATEST must both be directories"}, fs.ErrInTheWay, "(a directory lies there, where a file belongs: remove or rename it)"},
		{answer{javaIO, tooManyCopies}, fs.ErrConfig, "correct dfs.replication"},
		{answer{javaIO, blockTooSmall}, fs.ErrConfig, "correct dfs.blocksize"},
		{io.EOF, fs.ErrTransient, "hadoop.security.authentication"},
	} {
		err := wrap("open", "hdfs://c/x", c.err)
		require.ErrorIs(t, err, c.want)
		require.ErrorContains(t, err, c.text)
		require.NotContains(t, err.Error(), "\n")
		require.Equal(t, err, wrap("outer", "y", err), "wrapped once")
	}
	require.NotErrorIs(t, wrap("open", "x", answer{javaMissing, "Path is not a file: /x"}), fs.ErrNotExist)
	require.NoError(t, wrap("open", "x", nil))
}

// TestUnreachable is told as passing trouble after the time for it is over, and ends at once with its context.
func TestUnreachable(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t, func(cfg *Config) { cfg.RetryFor = 300 * time.Millisecond })
	c.setFault(func(string, int) fault { return fault{lose: true} })
	_, err := f.Stat(t.Context(), "hdfs:///x")
	require.ErrorIs(t, err, fs.ErrTransient)
	c.mu.Lock()
	require.Greater(t, c.calls, 1)
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	c.setFault(func(string, int) fault { cancel(why); return fault{lose: true} })
	g := c.nn(f, time.Hour)
	_, _, err = g.stat(ctx, "/x")
	require.ErrorIs(t, err, why)
}

func (c *fakeCluster) nn(f *FS, retryFor time.Duration) *namenode {
	return &namenode{pool: f.nn.pool, retryFor: retryFor, uri: f.uri, trouble: &f.trouble, tell: tellAfter}
}

// TestTurnedAway does not wait for a cluster that ends each connection.
func TestTurnedAway(t *testing.T) {
	c := startFake(t, 1)
	c.setFault(func(string, int) fault { return fault{lose: true} })
	_, err := New(t.Context(), Config{URI: "hdfs://" + c.name.Addr().String(), User: "u", RetryFor: time.Hour})
	require.ErrorContains(t, err, "hadoop.security.authentication")
}

func TestClosed(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t)
	require.NoError(t, f.Close())
	_, err := f.Stat(t.Context(), "hdfs:///x")
	require.ErrorIs(t, err, errClosed)
	require.NotErrorIs(t, err, fs.ErrTransient)
}
