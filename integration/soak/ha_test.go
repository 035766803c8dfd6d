//go:build integration

package soak

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// hdfsHA is a cluster in one process with two namenodes, one of them active.
type hdfsHA struct {
	hdfs
	active int
}

func openHA(t *testing.T, o options) *storage {
	h := &hdfsHA{hdfs: hdfs{dir: filepath.Join(o.dir, "hdfs"), base: o.hdfsBase()}}
	require.NoError(t, os.MkdirAll(h.dir, 0o755))
	log, err := os.Create(filepath.Join(o.dir, "hdfs.log"))
	require.NoError(t, err)
	defer log.Close()
	cmd := exec.Command(filepath.Join(servers(), "hdfs.sh"), "mini", h.dir, fmt.Sprintf("base=%d", h.base), fmt.Sprintf("datanodes=%d", dataNodes), "ha=true",
		fmt.Sprintf("-Ddfs.replication=%d", dataNodes))
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	ready := false
	for !ready && lines.Scan() {
		ready = strings.HasPrefix(lines.Text(), "READY")
	}
	require.True(t, ready, "the cluster did not start, see %s", log.Name())
	go func() { _, _ = io.Copy(io.Discard, out) }()
	h.name = []*testkit.Proxy{hdfsProxy(t, h.base), hdfsProxy(t, h.base+1), hdfsProxy(t, h.base+2), hdfsProxy(t, h.base+3)}
	real, fake := filepath.Join(h.dir, "conf"), filepath.Join(o.dir, "conf")
	fakeConf(t, real, fake)
	return hdfsStorage(t, h.strike, HAKinds, real, fake, "hdfs://ns1", "hdfs://ns1", h.base+2, h.base+3)
}

// control asks the cluster for a fault.
func (h *hdfsHA) control(path string) error {
	c := http.Client{Timeout: 2 * time.Minute}
	r, err := c.Get(fmt.Sprintf("http://%s:%d%s", hdfsReal, h.base+5, path))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = errors.New(string(b))
	}
	return err
}

func (h *hdfsHA) strike(f Fault) (mend func() error, err error) {
	switch f.Kind {
	case DataKill:
		return func() error { return h.control(fmt.Sprintf("/dn/start?i=%d", f.Target)) }, h.control(fmt.Sprintf("/dn/stop?i=%d", f.Target))
	case NameFailover:
		h.active = 1 - h.active
		return nothing, h.control(fmt.Sprintf("/ha/active?i=%d", h.active))
	case NameKill: // the active one, for good until the other one is active
		dead := h.active
		h.active = 1 - h.active
		return func() error { return h.control(fmt.Sprintf("/nn/start?i=%d", dead)) }, errors.Join(h.control(fmt.Sprintf("/nn/stop?i=%d", dead)), h.control(fmt.Sprintf("/ha/active?i=%d", h.active)))
	}
	return h.onTheWire(f)
}
