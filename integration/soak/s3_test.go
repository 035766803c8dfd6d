//go:build integration

package soak

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	_ "github.com/paimon-go/paimon-go/fs/s3"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

// openS3 starts an S3 server of the run's own, behind a proxy. It is kept running as our programs are.
func openS3(t *testing.T, o options) *storage {
	_, port, err := net.SplitHostPort(testkit.FreeAddr(t))
	require.NoError(t, err)
	require.NoError(t, script("s3.sh", "install"))
	dir := filepath.Join(o.dir, "s3")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "buckets", "soak"), 0o755))
	server := &Program{Name: "S3", Argv: []string{filepath.Join(servers(), "s3.sh"), "run", dir, port}, Log: filepath.Join(o.dir, "s3.log")}
	require.NoError(t, server.Start(func(err error) { t.Log(err) })) // the tables will tell
	t.Cleanup(server.Kill)
	addr := "127.0.0.1:" + port
	testkit.Until(t, time.Minute, "the S3 server", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	proxy := testkit.NewProxy(t, addr)
	conf := func(addr string) []string {
		return []string{"s3.endpoint=http://" + addr, "s3.access-key=test", "s3.secret-key=testsecret", "s3.path.style.access=true",
			"fs.s3a.endpoint.region=us-east-1", "fs.s3a.directory.marker.retention=keep"}
	}
	s := &storage{warehouse: "s3://soak/warehouse", conf: conf(proxy.Addr), directWarehouse: "s3://soak/warehouse", directConf: conf(addr), kinds: S3Kinds,
		age: func(path string, then time.Time) error {
			return ageLocal(filepath.Join(dir, "buckets", strings.TrimPrefix(path, "s3://")), then)
		}}
	s.direct, err = fs.For(t.Context(), s.directWarehouse, pairs(s.directConf))
	require.NoError(t, err)
	t.Cleanup(func() {
		if c, ok := s.direct.(io.Closer); ok {
			_ = c.Close()
		}
	})
	s.strike = func(f Fault) (mend func() error, err error) {
		switch f.Kind {
		case StoreKill:
			return nothing, server.Strike(syscall.SIGKILL)
		case StoreCut:
			proxy.Cut()
		case StoreLost:
			proxy.LoseAnswers()
		case StoreSlow:
			proxy.Slow(200 * time.Millisecond)
		case StoreDown:
			proxy.Down()
		default:
			return nil, fmt.Errorf("no such fault here: %s", f.Kind)
		}
		return func() error { proxy.Heal(); return nil }, nil
	}
	return s
}
