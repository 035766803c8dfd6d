//go:build integration

package hdfs_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/fs/hdfs"
)

// TestMain is also the body of the processes of races.
func TestMain(m *testing.M) {
	fstest.Racer(func(root string) (fs.FileSystem, error) {
		return hdfs.Open(context.Background(), root, conf())
	})
	goleak.VerifyTestMain(m)
}

// conf names the cluster to test on: a directory with its client configuration.
func conf() map[string]string {
	c := map[string]string{"hadoop-conf-dir": os.Getenv("PAIMON_GO_HDFS"), "hadoop-conf-loader": "option"}
	if dir := os.Getenv("PAIMON_GO_HDFS_KERBEROS"); dir != "" {
		c["hdfs.krb5-conf"], c["security.kerberos.login.keytab"], c["security.kerberos.login.principal"] = dir+"/krb5.conf", dir+"/keytab", "hdfs/localhost"
	}
	return c
}

func open(t testing.TB, extra ...string) (*hdfs.FS, string) {
	t.Helper()
	require.NotEmpty(t, os.Getenv("PAIMON_GO_HDFS"), "PAIMON_GO_HDFS names no directory with a cluster's client configuration")
	c := conf()
	for i := 0; i < len(extra); i += 2 {
		c[extra[i]] = extra[i+1]
	}
	f, err := hdfs.Open(t.Context(), "hdfs:///", c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f, fmt.Sprintf("hdfs:///test/%s-%d", fs.Base(t.Name()), os.Getpid())
}

func TestSuite(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) {
		f, root := open(t)
		fstest.Write(t, f, root+"/x", nil)
		require.NoError(t, f.Remove(t.Context(), root+"/x"))
		return f, root
	})
}
