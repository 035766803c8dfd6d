//go:build integration

package testkit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Cluster is an HDFS.
type Cluster struct {
	t testing.TB
	// Conf is the directory of the clients' configuration. URI is the root.
	Conf, URI string
	// Dir is the cluster's own directory, empty for one that tests must not harm.
	Dir string
	// HTTP is the NameNode's address for WebHDFS and its metrics.
	HTTP string
	// Catalog are settings that clients need besides.
	Catalog map[string]string
	control string // of one in a single process
}

// HDFS is the cluster of PAIMON_GO_HDFS, which tests share and don't harm.
func HDFS(t testing.TB) *Cluster { return clusterOf(t, env(t, "PAIMON_GO_HDFS")) }

func clusterOf(t testing.TB, conf string) *Cluster {
	props := map[string]string{}
	for _, name := range []string{"core-site.xml", "hdfs-site.xml"} {
		b, err := os.ReadFile(filepath.Join(conf, name))
		require.NoError(t, err)
		var doc struct {
			Property []struct {
				Name  string `xml:"name"`
				Value string `xml:"value"`
			} `xml:"property"`
		}
		require.NoError(t, xml.Unmarshal(b, &doc))
		for _, p := range doc.Property {
			props[p.Name] = p.Value
		}
	}
	return &Cluster{t: t, Conf: conf, URI: props["fs.defaultFS"], HTTP: props["dfs.namenode.http-address"], Catalog: map[string]string{}}
}

// Warehouse is a new directory for a test.
func (c *Cluster) Warehouse(t testing.TB) string {
	conf := map[string]string{"hadoop-conf-dir": c.Conf}
	for k, v := range c.Catalog {
		conf[k] = v
	}
	return newWarehouse(t, c.URI+"/test", conf)
}

func script(name string) string { return filepath.Join(root(), "integration", "servers", name) }

func hdfsScript(t testing.TB, words ...string) string {
	t.Helper()
	out, err := exec.Command(script("hdfs.sh"), words...).CombinedOutput()
	require.NoError(t, err, "hdfs.sh %v: %s", words, out)
	return string(out)
}

// freePorts finds ports in a row.
func freePorts(t testing.TB) int {
	for base := 22100 + 60*(os.Getpid()%5); base < 23000; base += 60 {
		free := true
		for i := 0; i < 50 && free; i++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+i))
			if free = err == nil; free {
				_ = l.Close()
			}
		}
		if free {
			return base
		}
	}
	t.Fatal("no 50 free ports in a row between 22100 and 23000")
	return 0
}

var started = struct {
	sync.Mutex // guards m
	m          map[string]*Cluster
}{m: map[string]*Cluster{}}

// StartHDFS starts a NameNode and three DataNodes as processes that the test may kill and stop; options are those of
// hdfs.sh start. Tests with the same options have the same cluster one after the other: each finds it whole.
func StartHDFS(t testing.TB, options ...string) *Cluster {
	return sharedCluster(t, "start "+strings.Join(options, " "), func(dir string, base int) *Cluster {
		hdfsScript(t, append([]string{"start", dir, fmt.Sprint("base=", base)}, options...)...)
		c := clusterOf(t, filepath.Join(dir, "conf"))
		c.Dir = dir
		return c
	})
}

// FaultyHDFS is the cluster of StartHDFS for tests of faults. Its DataNodes report blocks in batches, as large clusters have it.
func FaultyHDFS(t testing.TB) *Cluster {
	return StartHDFS(t, "-Ddfs.blockreport.incremental.intervalMsec=300")
}

// StartHDFSInOne starts a cluster in one process, of which options are told in servers/hdfs/MiniHdfs.java: ha=true for a
// pair of NameNodes, kerberos=true for a secured one.
func StartHDFSInOne(t testing.TB, options ...string) *Cluster {
	return sharedCluster(t, "mini "+strings.Join(options, " "), func(dir string, base int) *Cluster {
		cmd := exec.Command(script("hdfs.sh"), append([]string{"mini", dir, fmt.Sprint("base=", base), fmt.Sprint("ns=ns", base)}, options...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := os.Create(filepath.Join(dir, "out"))
		require.NoError(t, err)
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		go func() { _ = cmd.Wait() }()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
		Until(t, 2*time.Minute, "HDFS in "+dir, func() bool {
			b, _ := os.ReadFile(out.Name())
			return bytes.Contains(b, []byte("READY"))
		})
		c := clusterOf(t, filepath.Join(dir, "conf"))
		c.Dir, c.control = dir, fmt.Sprintf("127.0.0.1:%d", base+5)
		return c
	})
}

func sharedCluster(t testing.TB, key string, make func(dir string, base int) *Cluster) *Cluster {
	started.Lock()
	defer started.Unlock()
	c := started.m[key]
	if c == nil {
		dir, err := os.MkdirTemp("", "paimon-go-hdfs-")
		require.NoError(t, err)
		c = make(dir, freePorts(t))
		started.m[key] = c
		// Should this process be killed, the servers would stay.
		guard := exec.Command("bash", "-c", `while kill -0 "$1"; do sleep 1; done; "$2" stop "$3"; rm -rf "$3"`, "guard", strconv.Itoa(os.Getpid()), script("hdfs.sh"), dir)
		require.NoError(t, guard.Start())
	}
	d := *c
	d.t = t
	t.Cleanup(d.Heal)
	return &d
}

func stopClusters() {
	for _, c := range started.m {
		if c.control == "" {
			_ = exec.Command(script("hdfs.sh"), "stop", c.Dir).Run()
		} else if pid, err := c.pid("pid"); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = os.RemoveAll(c.Dir)
	}
}

func (c *Cluster) pid(file string) (int, error) {
	b, err := os.ReadFile(filepath.Join(c.Dir, file))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// Signal sends a signal to a process of a cluster of StartHDFS: nn, dn0, dn1, ... SIGKILL ends it as a power cut would, SIGSTOP
// makes it silent until SIGCONT.
func (c *Cluster) Signal(node string, s syscall.Signal) {
	c.t.Helper()
	pid, err := c.pid(node + ".pid")
	require.NoError(c.t, err)
	require.NoError(c.t, syscall.Kill(pid, s))
	if s == syscall.SIGKILL {
		Until(c.t, 10*time.Second, node+" to end", func() bool {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || bytes.Contains(b, []byte(") Z "))
		})
	}
}

// Up starts a killed process of a cluster of StartHDFS again.
func (c *Cluster) Up(node string) { c.t.Helper(); hdfsScript(c.t, "up", c.Dir, node) }

// Heal makes a cluster of StartHDFS whole again.
func (c *Cluster) Heal() {
	if c.control != "" {
		return
	}
	for _, node := range []string{"nn", "dn0", "dn1", "dn2"} {
		if pid, err := c.pid(node + ".pid"); err == nil {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		hdfsScript(c.t, "up", c.Dir, node)
	}
	c.WaitLive(3)
}

// WaitLive waits until the NameNode takes writes and so many DataNodes have been heard of within the last seconds.
func (c *Cluster) WaitLive(n int) {
	c.t.Helper()
	contact := regexp.MustCompile(`\\"lastContact\\":(\d+)`)
	Until(c.t, 2*time.Minute, fmt.Sprintf("%d DataNodes", n), func() bool {
		b, err := c.jmx("Hadoop:service=NameNode,name=NameNodeInfo")
		if err != nil || !bytes.Contains(b, []byte(`"Safemode" : ""`)) {
			return false
		}
		live := 0
		for _, m := range contact.FindAllSubmatch(b, -1) {
			if s, err := strconv.Atoi(string(m[1])); err == nil && s < 4 {
				live++
			}
		}
		return live >= n
	})
}

// Control makes a fault in a cluster of StartHDFSInOne, as told at control() in servers/hdfs/MiniHdfs.java.
func (c *Cluster) Control(path string) {
	c.t.Helper()
	r, err := http.Get("http://" + c.control + path) //nolint:noctx // it ends with its server
	require.NoError(c.t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, r.StatusCode, "%s: %s", path, b)
}

func (c *Cluster) jmx(bean string) ([]byte, error) {
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Get("http://" + c.HTTP + "/jmx?qry=" + bean)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// Calls are the NameNode's own counters of the calls that it answered so far, by name.
func (c *Cluster) Calls() map[string]int64 {
	c.t.Helper()
	b, err := c.jmx("Hadoop:service=NameNode,name=RpcDetailedActivityForPort*")
	require.NoError(c.t, err)
	calls := map[string]int64{}
	for _, m := range regexp.MustCompile(`"(\w+)NumOps" : (\d+)`).FindAllStringSubmatch(string(b), -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		require.NoError(c.t, err)
		calls[m[1]] = n
	}
	return calls
}

// ErasureCoded makes a warehouse whose files are erasure-coded.
func (c *Cluster) ErasureCoded(t testing.TB) string {
	w := c.Warehouse(t)
	hdfsScript(t, "ec", c.Dir, strings.TrimPrefix(w, c.URI))
	return w
}
