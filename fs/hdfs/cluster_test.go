//go:build integration

package hdfs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/fs/hdfs"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

// TestMain is also the body of the processes of races.
func TestMain(m *testing.M) {
	fstest.Racer(func(root string) (fs.FileSystem, error) {
		return hdfs.Open(context.Background(), root, map[string]string{"hadoop-conf-dir": os.Getenv("PAIMON_GO_HDFS")})
	})
	testkit.Main(m)
}

// open makes a file system of a cluster and a directory in it.
func open(t testing.TB, c *testkit.Cluster, extra ...string) (*hdfs.FS, string) {
	t.Helper()
	conf := map[string]string{"hadoop-conf-dir": c.Conf, "hadoop-conf-loader": "option"}
	for k, v := range c.Catalog {
		conf[k] = v
	}
	for i := 0; i < len(extra); i += 2 {
		conf[extra[i]] = extra[i+1]
	}
	f, err := hdfs.Open(t.Context(), c.URI, conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f, fmt.Sprintf("%s/test/%s-%d", c.URI, strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>9)
	}
	return b
}

func TestSuite(t *testing.T) {
	c := testkit.HDFS(t)
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) { return open(t, c) })
}

func TestRaceOfProcesses(t *testing.T) {
	f, root := open(t, testkit.HDFS(t))
	fstest.RaceProcesses(t, f, root, 100)
}

// TestBlocksReportedInBatches has files of several blocks on a cluster whose DataNodes collect reports, as those of large ones do.
func TestBlocksReportedInBatches(t *testing.T) {
	c := testkit.FaultyHDFS(t)
	f, root := open(t, c, "hadoop.dfs.blocksize", "1m")
	data := pattern(5<<20 + 100)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { fstest.Write(t, f, fmt.Sprint(root, "/", i), data) })
	}
	wg.Wait()
	for i := range 4 {
		require.True(t, bytes.Equal(data, fstest.Read(t, f, fmt.Sprint(root, "/", i))))
	}
	won, err := f.Publish(t.Context(), root+"/p", []byte("x"))
	require.NoError(t, err)
	require.True(t, won)
}

// TestLostAnswers publishes through a proxy that loses what the NameNode says: the outcome is known in the end.
func TestLostAnswers(t *testing.T) {
	c := testkit.HDFS(t)
	p := testkit.NewProxy(t, strings.TrimPrefix(c.URI, "hdfs://"))
	direct, root := open(t, c)
	settings := map[string]string{"dfs.replication": "3"}
	f, err := hdfs.New(t.Context(), hdfs.Config{URI: c.URI, Settings: settings, CallTimeout: 300 * time.Millisecond, MapNameNode: func(string) string { return p.Addr }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	for i := range 20 {
		path := fmt.Sprint(root, "/", i)
		lost := make(chan struct{})
		go func() {
			defer close(lost)
			time.Sleep(time.Duration(i) * time.Millisecond) // a moment of the publish
			p.LoseAnswers()
			time.Sleep(400 * time.Millisecond)
			p.Heal()
		}()
		won, err := f.Publish(t.Context(), path, []byte(path))
		<-lost
		require.NoError(t, err)
		require.True(t, won)
		require.Equal(t, path, string(fstest.Read(t, direct, path)))
	}
	require.Len(t, fstest.Names(t, direct, root), 20)
}

// TestErasureCodedDirectories reads what Java has striped and writes what Java can read.
func TestErasureCodedDirectories(t *testing.T) {
	c := testkit.FaultyHDFS(t)
	root := c.ErasureCoded(t)
	f, _ := open(t, c)
	data := pattern(5<<20 + 12345)
	local := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(local, data, 0o600))
	shell := func(args ...string) []byte {
		cmd := exec.Command("../../integration/servers/hdfs.sh", append([]string{"java", c.Dir, "org.apache.hadoop.fs.FsShell"}, args...)...)
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		return out
	}
	shell("-put", local, root+"/java")
	require.True(t, bytes.Equal(data, fstest.Read(t, f, root+"/java")))
	r, err := f.Open(t.Context(), root+"/java")
	require.NoError(t, err)
	part := make([]byte, 1<<20)
	_, err = r.ReadAt(part, 1<<20-100)
	require.NoError(t, err)
	require.True(t, bytes.Equal(part, data[1<<20-100:2<<20-100]))
	require.NoError(t, r.Close())
	fstest.Write(t, f, root+"/ours", data)
	require.True(t, bytes.Equal(data, shell("-cat", root+"/ours")))
	require.True(t, bytes.Equal(data, fstest.Read(t, f, root+"/ours")))
}

// TestSecuredClusters runs the suite where connections are signed or encrypted.
func TestSecuredClusters(t *testing.T) {
	for _, options := range [][]string{
		{"protection=integrity", "-Dhadoop.rpc.protection=integrity"},
		{"protection=privacy", "-Dhadoop.rpc.protection=privacy", "ticket=40"},
		{"-Ddfs.encrypt.data.transfer=true", "-Ddfs.encrypt.data.transfer.cipher.suites=AES/CTR/NoPadding"},
	} {
		t.Run(options[0], func(t *testing.T) {
			c := testkit.StartHDFSInOne(t, append(options, "kerberos=true", "datanodes=2")...)
			c.Catalog = map[string]string{"hdfs.krb5-conf": c.Dir + "/krb5.conf", "security.kerberos.login.keytab": c.Dir + "/keytab", "security.kerberos.login.principal": "hdfs/localhost@EXAMPLE.COM"}
			fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) { return open(t, c) })
		})
	}
}
