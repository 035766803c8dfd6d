//go:build integration

package testkit

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/stretchr/testify/require"
)

// Record writes the server's log of what fill does into a directory, as files that the source's binlog-dir reads.
func (d *DB) Record(dir string, fill func(c *Conn)) {
	d.t.Helper()
	c := d.Session()
	c.Exec("FLUSH BINARY LOGS")
	first, _ := c.FilePos()
	fill(c)
	c.Exec("FLUSH BINARY LOGS")
	last, _ := c.FilePos()
	host, port, err := net.SplitHostPort(d.Server.Addr)
	require.NoError(d.t, err)
	n, err := strconv.ParseUint(port, 10, 16)
	require.NoError(d.t, err)
	s := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{ServerID: 990_001, Flavor: d.Server.Flavor, Host: host, Port: uint16(n),
		User: d.Server.User, Password: d.Server.Password, RawModeEnabled: true,
		Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	events, err := s.StartSync(gomysql.Position{Name: first, Pos: 4})
	require.NoError(d.t, err)
	var file *os.File
	ended := false
	h := replication.NewBackupEventHandler(func(name string) (io.WriteCloser, error) {
		if ended = name == last; ended {
			return nopCloser{io.Discard}, nil
		}
		var err error
		file, err = os.Create(filepath.Join(dir, name))
		return file, err
	})
	for !ended {
		e, err := events.GetEvent(d.t.Context())
		require.NoError(d.t, err)
		require.NoError(d.t, h.HandleEvent(e))
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
