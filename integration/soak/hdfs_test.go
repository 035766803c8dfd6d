//go:build integration

package soak

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	_ "github.com/paimon-go/paimon-go/fs/hdfs"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

// The cluster's servers listen at 127.0.0.1. Our programs know only 127.0.0.2, where a proxy has each server's port: the namenode
// by their configuration, the datanodes because that is their host name and the programs are told to use host names.
const (
	hdfsReal  = "127.0.0.1"
	hdfsFake  = "127.0.0.2"
	dataNodes = 3
)

// hdfs is a cluster of processes.
type hdfs struct {
	dir  string
	base int                // first port
	name []*testkit.Proxy   // RPC and HTTP of the namenode
	data [][]*testkit.Proxy // data transfer and HTTP of each datanode
}

// hdfsBase is the first port of the run's cluster.
func (o options) hdfsBase() int { return 23000 + 100*o.instance }

func hdfsProxy(t *testing.T, port int) *testkit.Proxy {
	return testkit.NewProxyAt(t, fmt.Sprintf("%s:%d", hdfsFake, port), fmt.Sprintf("%s:%d", hdfsReal, port))
}

func openHDFS(t *testing.T, o options) *storage {
	h := &hdfs{dir: filepath.Join(o.dir, "hdfs"), base: o.hdfsBase()}
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", hdfsReal, h.base+1))
	require.NoError(t, err, "is there a cluster of an earlier run?") // it would be taken for ours
	require.NoError(t, l.Close())
	stopAfter(t, "hdfs.sh", "stop", h.dir)
	require.NoError(t, script("hdfs.sh", "start", h.dir, fmt.Sprintf("base=%d", h.base), fmt.Sprintf("datanodes=%d", dataNodes),
		"-Ddfs.datanode.hostname="+hdfsFake))
	h.name = []*testkit.Proxy{hdfsProxy(t, h.base), hdfsProxy(t, h.base+1)}
	h.proxyDatanodes(t)
	real, fake := filepath.Join(h.dir, "conf"), filepath.Join(o.dir, "conf")
	fakeConf(t, real, fake)
	return hdfsStorage(t, h.strike, HDFSKinds, real, fake, fmt.Sprintf("hdfs://%s:%d", hdfsReal, h.base), fmt.Sprintf("hdfs://%s:%d", hdfsFake, h.base), h.base+1)
}

func (h *hdfs) proxyDatanodes(t *testing.T) {
	for i := range dataNodes {
		port := h.base + 10 + 10*i
		h.data = append(h.data, []*testkit.Proxy{hdfsProxy(t, port), hdfsProxy(t, port+2)})
	}
}

// fakeConf makes a configuration that names the proxies.
func fakeConf(t *testing.T, real, fake string) {
	require.NoError(t, os.MkdirAll(fake, 0o755))
	for _, name := range []string{"core-site.xml", "hdfs-site.xml"} {
		b, err := os.ReadFile(filepath.Join(real, name))
		require.NoError(t, err)
		b = bytes.ReplaceAll(b, []byte(hdfsReal), []byte(hdfsFake))
		if name == "hdfs-site.xml" {
			b = bytes.Replace(b, []byte("</configuration>"), []byte("<property><name>dfs.client.use.datanode.hostname</name><value>true</value></property>\n</configuration>"), 1)
		}
		require.NoError(t, os.WriteFile(filepath.Join(fake, name), b, 0o644))
	}
}

func hdfsStorage(t *testing.T, strike func(f Fault) (func() error, error), kinds []Kind, real, fake, realURI, fakeURI string, httpPorts ...int) *storage {
	s := &storage{warehouse: fakeURI + "/warehouse", conf: []string{"hadoop-conf-dir=" + fake}, directWarehouse: realURI + "/warehouse",
		directConf: []string{"hadoop-conf-dir=" + real}, kinds: kinds, strike: strike,
		age: func(path string, then time.Time) error {
			return ageHDFS(httpPorts, strings.TrimPrefix(path, realURI), then)
		}}
	direct, err := fs.For(t.Context(), s.directWarehouse, pairs(s.directConf))
	require.NoError(t, err)
	t.Cleanup(func() {
		if c, ok := direct.(io.Closer); ok {
			_ = c.Close()
		}
	})
	s.direct = direct
	return s
}

// ageHDFS sets a file's times, by WebHDFS at the active namenode.
func ageHDFS(httpPorts []int, path string, then time.Time) error {
	var errs []error
	for _, port := range httpPorts {
		r, err := http.NewRequest(http.MethodPut, fmt.Sprintf("http://%s:%d/webhdfs/v1%s?op=SETTIMES&modificationtime=%d&accesstime=-1&user.name=root",
			hdfsReal, port, (&url.URL{Path: path}).EscapedPath(), then.UnixMilli()), nil)
		if err != nil {
			return err
		}
		a, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(a.Status)
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("aging %s: %w", path, errors.Join(errs...))
}

// process sends a signal to one of the cluster's processes; gone: it waits for its end.
func (h *hdfs) process(node string, s syscall.Signal, gone bool) error {
	b, err := os.ReadFile(filepath.Join(h.dir, node+".pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, s); err != nil {
		return fmt.Errorf("%s, pid %d: %w", node, pid, err)
	}
	for begin := time.Now(); gone && syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			return fmt.Errorf("%s, pid %d, does not end", node, pid)
		}
	}
	return nil
}

// up starts a process again and, if it is the namenode, waits until it takes writes.
func (h *hdfs) up(node string) error {
	if err := script("hdfs.sh", "up", h.dir, node); err != nil || node != "nn" {
		return err
	}
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if safe, err := safemode(h.base + 1); err == nil && !safe {
			return nil
		} else if time.Since(begin) > 2*time.Minute {
			return errors.Join(errors.New("the namenode does not leave safe mode"), err)
		}
	}
}

// safemode asks a namenode by its HTTP port.
func safemode(port int) (bool, error) {
	c := http.Client{Timeout: 5 * time.Second}
	r, err := c.Get(fmt.Sprintf("http://%s:%d/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo", hdfsReal, port))
	if err != nil {
		return false, err
	}
	defer r.Body.Close()
	var info struct {
		Beans []struct{ Safemode string }
	}
	if err := json.NewDecoder(r.Body).Decode(&info); err != nil {
		return false, err
	}
	if len(info.Beans) == 0 {
		return false, errors.New("it does not say so yet")
	}
	return info.Beans[0].Safemode != "", nil
}

func (h *hdfs) strike(f Fault) (mend func() error, err error) {
	node := fmt.Sprintf("dn%d", f.Target)
	switch f.Kind {
	case DataKill:
		return func() error { return h.up(node) }, h.process(node, syscall.SIGKILL, true)
	case DataFreeze:
		return func() error { return h.process(node, syscall.SIGCONT, false) }, h.process(node, syscall.SIGSTOP, false)
	case NameRestart:
		return func() error { return h.up("nn") }, h.process("nn", syscall.SIGTERM, true)
	case NameKill:
		return func() error { return h.up("nn") }, h.process("nn", syscall.SIGKILL, true)
	case NameFreeze:
		return func() error { return h.process("nn", syscall.SIGCONT, false) }, h.process("nn", syscall.SIGSTOP, false)
	}
	return h.onTheWire(f)
}

// onTheWire makes the faults of the proxies.
func (h *hdfs) onTheWire(f Fault) (mend func() error, err error) {
	proxies, slow := h.name, 200*time.Millisecond
	switch f.Kind {
	case DataCut, DataLost, DataSlow:
		proxies, slow = h.data[f.Target], 50*time.Millisecond
	}
	for _, p := range proxies {
		switch f.Kind {
		case DataCut, NameCut:
			p.Cut()
		case DataLost, NameLost:
			p.LoseAnswers()
		case DataSlow, NameSlow:
			p.Slow(slow)
		case NameDown:
			p.Down()
		default:
			return nil, fmt.Errorf("no such fault here: %s", f.Kind)
		}
	}
	return func() error {
		for _, p := range proxies {
			p.Heal()
		}
		return nil
	}, nil
}
