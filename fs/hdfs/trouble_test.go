package hdfs

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/fstest"
)

// told is what a log has been told, a line each, without the times.
type told struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *told) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *told) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.b.String()), "\n")
}

func logTo(l *told) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// TestTroubleWithADataNodeIsTold once, with its reason, and when it is over.
func TestTroubleWithADataNodeIsTold(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	var l told
	f.LogTo(logTo(&l))
	c.data[0].setBroken(func(byte) nodeFault { return nodeFault{failAck: 1, ackNode: 1} })
	fstest.Write(t, f, "hdfs:///d/f", pattern(1000))
	fstest.Write(t, f, "hdfs:///d/g", pattern(1000))
	lines := l.lines()
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `level=WARN msg="a datanode is left out until it answers again" datanode=`+c.data[1].l.Addr().String()+` for=30s error=`)
	require.Contains(t, lines[1], `level=WARN msg="a file is written again" file=hdfs://`)
	f.nodes.mu.Lock()
	b := f.nodes.bad[c.data[1].uuid()]
	f.nodes.mu.Unlock()
	f.nodes.look(c.data[1].uuid(), b)
	require.Equal(t, `level=INFO msg="a datanode answers again" datanode=`+c.data[1].l.Addr().String(), l.lines()[2])
}

// TestOutageOfTheNameNodeIsToldOnce, however many calls meet it, and its end once.
func TestOutageOfTheNameNodeIsToldOnce(t *testing.T) {
	c := startFake(t, 1)
	var l told
	f := c.open(t, func(cfg *Config) { cfg.Log = logTo(&l) })
	f.nn.tell = 60 * time.Millisecond
	c.setFault(func(_ string, n int) fault {
		if n < 12 {
			return fault{class: javaSafe, text: "still on\n\tat java"}
		}
		return fault{}
	})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { _, _ = f.Stat(t.Context(), "hdfs:///f") })
	}
	wg.Wait()
	_, _ = f.Stat(t.Context(), "hdfs:///f")
	lines := l.lines()
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `level=WARN msg="the namenode does not answer, or refuses for the moment; it is asked again" namenode=hdfs://`)
	require.Contains(t, lines[0], ` call=getFileInfo for=`)
	require.Contains(t, lines[0], `error="SafeModeException: still on"`)
	require.Contains(t, lines[1], `level=INFO msg="the namenode answers again" namenode=hdfs://`)
}

// TestShortTroubleOfTheNameNodeIsNotTold: fail-overs are no news.
func TestShortTroubleOfTheNameNodeIsNotTold(t *testing.T) {
	c := startFake(t, 1)
	var l told
	f := c.open(t, func(cfg *Config) { cfg.Log = logTo(&l) })
	c.setFault(once(0, fault{lose: true}))
	_, _ = f.Stat(t.Context(), "hdfs:///f")
	require.Equal(t, []string{""}, l.lines())
}
