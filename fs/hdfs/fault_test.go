//go:build integration

package hdfs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

// signalNode sends a signal to a process of the cluster: nn, dn0, dn1, …
func signalNode(t testing.TB, name string, sig syscall.Signal) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("PAIMON_GO_HDFS")), name+".pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, sig))
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>9)
	}
	return b
}

// TestStoppedDataNode writes while one of the DataNodes is silent.
func TestStoppedDataNode(t *testing.T) {
	f, root := open(t)
	data := pattern(10 << 20)
	for i := range 3 {
		name := fmt.Sprint("dn", i)
		signalNode(t, name, syscall.SIGSTOP)
		begin := time.Now()
		path := fs.Join(root, name)
		fstest.Write(t, f, path, data)
		t.Logf("%s stopped: first file after %v", name, time.Since(begin))
		begin = time.Now()
		fstest.Write(t, f, path+".2", data)
		t.Logf("%s stopped: second file after %v", name, time.Since(begin))
		begin = time.Now()
		require.True(t, bytes.Equal(data, fstest.Read(t, f, path)))
		t.Logf("%s stopped: read after %v", name, time.Since(begin))
		signalNode(t, name, syscall.SIGCONT)
	}
}
