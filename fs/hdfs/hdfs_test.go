package hdfs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>9)
	}
	return b
}

func TestSuiteOnFake(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) { return startFake(t, 3).open(t), "hdfs:///root" })
}

// once makes the fault at the n-th call only.
func once(n int, x fault) func(string, int) fault {
	return func(_ string, i int) fault {
		if i == n {
			return x
		}
		return fault{}
	}
}

// TestPublishWithAFaultAtEachCall loses each call and each answer of a publish, in turn, and refuses it for the moment: it is
// published all the same, once, and nothing else is left.
func TestPublishWithAFaultAtEachCall(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	for kind, x := range map[string]fault{"call-lost": {lose: true}, "answer-lost": {mute: true}, "standby": {class: javaStandby}, "safe-mode": {class: javaSafe}} {
		for n := 0; ; n++ {
			dir := fmt.Sprintf("hdfs:///%s-%d", kind, n)
			hit := false
			c.setFault(func(_ string, i int) fault {
				if i == n {
					hit = true
					return x
				}
				return fault{}
			})
			won, err := f.Publish(t.Context(), dir+"/f", []byte(kind))
			require.NoError(t, err, "%s at call %d", kind, n)
			require.True(t, won, "%s at call %d", kind, n)
			c.setFault(nil)
			require.Equal(t, kind, string(fstest.Read(t, f, dir+"/f")))
			require.Equal(t, []string{"f"}, fstest.Names(t, f, dir), "%s at call %d", kind, n)
			won, err = f.Publish(t.Context(), dir+"/f", []byte("other"))
			require.NoError(t, err)
			require.False(t, won)
			if !hit {
				require.GreaterOrEqual(t, n, 4)
				break
			}
		}
	}
}

// TestPublishThatLosesWithALostAnswer has another file of that name while answers are lost: it is never taken for ours.
func TestPublishThatLosesWithALostAnswer(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	for n := range 6 {
		path := "hdfs:///d/" + string(rune('a'+n))
		fstest.Write(t, f, path, []byte("theirs"))
		c.setFault(once(n, fault{mute: true}))
		won, err := f.Publish(t.Context(), path, []byte("theirs"))
		require.NoError(t, err)
		require.False(t, won, "equal bytes, but not ours: answer %d lost", n)
	}
	require.Len(t, fstest.Names(t, f, "hdfs:///d"), 6)
}

// TestPublishThatIsCancelled knows what became of it.
func TestPublishThatIsCancelled(t *testing.T) {
	for _, x := range []fault{{lose: true}, {mute: true}} {
		c := startFake(t, 2)
		f := c.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		c.setFault(func(method string, _ int) fault {
			if method == "rename2" {
				cancel()
				return x
			}
			return fault{}
		})
		won, err := f.Publish(ctx, "hdfs:///f", []byte("x"))
		if x.lose {
			require.ErrorIs(t, err, fs.ErrNotPublished)
			require.ErrorIs(t, err, context.Canceled)
			require.Empty(t, fstest.Names(t, f, "hdfs:///"))
		} else {
			require.NoError(t, err)
			require.True(t, won)
		}
	}
}

// TestFinalAnswers come back at once, with their class.
func TestFinalAnswers(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	for class, want := range map[string]error{javaDenied: fs.ErrPermission, javaQuota: fs.ErrFull} {
		for _, method := range []string{"create", "addBlock", "complete", "rename2"} {
			c.setFault(func(m string, _ int) fault {
				if m == method {
					return fault{class: class, text: class + ": no\n\tat org.apache.hadoop"}
				}
				return fault{}
			})
			won, err := f.Publish(t.Context(), "hdfs:///f", []byte("x"))
			require.ErrorIs(t, err, want, method)
			require.ErrorIs(t, err, fs.ErrNotPublished, method)
			require.NotErrorIs(t, err, fs.ErrTransient)
			require.False(t, won)
			require.NotContains(t, err.Error(), "\n")
			w, err := f.Create(t.Context(), "hdfs:///g")
			require.NoError(t, err)
			_, err = w.Write([]byte("x"))
			require.NoError(t, err)
			require.ErrorIs(t, w.Close(), want, method)
			c.setFault(nil)
			require.Empty(t, fstest.Names(t, f, "hdfs:///"), method)
		}
	}
}

// TestDataNodesThatFail writes again without them.
func TestDataNodesThatFail(t *testing.T) {
	data := pattern(9<<20 + 77) // three blocks of the fake's 4 MiB
	for name, broken := range map[string]func(c *fakeCluster) nodeFault{
		"first hangs up":          func(*fakeCluster) nodeFault { return nodeFault{hangUp: true} },
		"second is not reachable": func(c *fakeCluster) nodeFault { return nodeFault{badLink: c.data[1]} },
		"second fails":            func(*fakeCluster) nodeFault { return nodeFault{failAck: 3, ackNode: 1} },
		"first ends":              func(*fakeCluster) nodeFault { return nodeFault{cutAfter: 5} },
	} {
		t.Run(name, func(t *testing.T) {
			c := startFake(t, 3)
			f := c.open(t, func(cfg *Config) { cfg.SpoolMemory = 1 << 20 })
			x := broken(c)
			c.data[0].setBroken(func(op byte) nodeFault {
				if op == opWriteBlock {
					return x
				}
				return nodeFault{}
			})
			fstest.Write(t, f, "hdfs:///d/f", data)
			require.True(t, bytes.Equal(data, fstest.Read(t, f, "hdfs:///d/f")))
			require.Equal(t, []string{"f"}, fstest.Names(t, f, "hdfs:///d"))
			before := f.Calls()["create"]
			fstest.Write(t, f, "hdfs:///d/g", data)
			require.EqualValues(t, 1, f.Calls()["create"]-before, "the next file knows")
		})
	}
}

// TestAllDataNodesMarked takes the nodes back when no others are left.
func TestAllDataNodesMarked(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	for _, n := range c.data {
		failed := false
		n.setBroken(func(op byte) nodeFault {
			first := op == opWriteBlock && !failed
			failed = failed || first
			return nodeFault{hangUp: first}
		})
	}
	c.setFault(func(string, int) fault { return fault{} })
	fstest.Write(t, f, "hdfs:///f", pattern(1000))
}

// TestReadsFailOver to another replica, also from a damaged one.
func TestReadsFailOver(t *testing.T) {
	data := pattern(5<<20 + 3)
	for name, x := range map[string]nodeFault{"hangs up": {hangUp: true}, "ends": {cutAfter: 3}, "is damaged": {rot: true}} {
		t.Run(name, func(t *testing.T) {
			c := startFake(t, 2)
			f := c.open(t)
			fstest.Write(t, f, "hdfs:///f", data)
			c.data[0].setBroken(func(byte) nodeFault { return x })
			require.True(t, bytes.Equal(data, fstest.Read(t, f, "hdfs:///f")))
		})
	}
}

// TestLostLease writes the file again when somebody took the hidden one away.
func TestLostLease(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	done := false
	c.setFault(func(method string, _ int) fault {
		if method == "complete" && !done {
			done = true
			return fault{class: javaLease}
		}
		return fault{}
	})
	fstest.Write(t, f, "hdfs:///f", pattern(1000))
	require.Equal(t, pattern(1000), fstest.Read(t, f, "hdfs:///f"))
}

// TestCallsOfAFile keeps the number of calls small.
func TestCallsOfAFile(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	c.setFault(nil)
	fstest.Write(t, f, "hdfs:///a/b/f", pattern(3000))
	require.Equal(t, []string{"create", "addBlock", "complete", "rename2"}, c.seen)
	c.setFault(nil)
	fstest.Read(t, f, "hdfs:///a/b/f")
	require.Equal(t, []string{"getBlockLocations"}, c.seen)
	c.setFault(nil)
	require.NoError(t, f.Replace(t.Context(), "hdfs:///a/LATEST", []byte("1")))
	require.Equal(t, []string{"create", "addBlock", "complete", "rename2"}, c.seen)
	require.EqualValues(t, 2, f.Calls()["rename2"])
}

// TestStandby goes to the NameNode that is active, also when the two change places.
func TestStandby(t *testing.T) {
	a, b := startFake(t, 1), startFake(t, 1)
	standby := func(string, int) fault { return fault{class: javaStandby} }
	a.setFault(standby)
	b.setFault(nil)
	f := a.open(t, func(cfg *Config) {
		cfg.URI = "hdfs://ns"
		cfg.Settings = map[string]string{"dfs.ha.namenodes.ns": "x,y", "dfs.namenode.rpc-address.ns.x": a.name.Addr().String(), "dfs.namenode.rpc-address.ns.y": b.name.Addr().String()}
	})
	fstest.Write(t, f, "hdfs://ns/f", []byte("on b"))
	require.Equal(t, "on b", string(fstest.Read(t, b.open(t), "/f")))
	a.setFault(standby)
	f.nn.pool.forget()
	fstest.Read(t, f, "hdfs://ns/f")
	require.Empty(t, a.seen, "the active one is remembered")
	a.setFault(nil)
	b.setFault(standby)
	fstest.Write(t, f, "hdfs://ns/g", []byte("on a"))
	require.Equal(t, "on a", string(fstest.Read(t, a.open(t), "/g")))
}

// TestContextsEndWhatIsUnderWay also when a server is silent.
func TestContextsEndWhatIsUnderWay(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing, as a stopped process does
	require.NoError(t, err)
	defer silent.Close()
	why := errors.New("enough")
	end := func() context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
		return ctx
	}
	to := ""
	f.dn.mapAddr = func(a string) string { return first(to, a) }
	to = silent.Addr().String()
	w, err := f.Create(end(), "hdfs:///f")
	require.NoError(t, err)
	_, err = w.Write(pattern(1000))
	require.NoError(t, err)
	require.ErrorIs(t, w.Close(), why)
	to = ""
	f.nn.pool.forget()
	f.nn.pool.mapAddr = func(string) string { return silent.Addr().String() }
	_, err = f.Stat(end(), "hdfs:///x")
	require.ErrorIs(t, err, why)
	_, err = f.Publish(end(), "hdfs:///x", []byte("x"))
	require.ErrorIs(t, err, why)
	require.ErrorIs(t, err, fs.ErrNotPublished)
	require.NotErrorIs(t, err, fs.ErrTransient)
	f.nn.pool.mapAddr = nil
}

// TestSilentDataNode is found out and left out.
func TestSilentDataNode(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t, func(cfg *Config) { cfg.DataTimeout = 100 * time.Millisecond })
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	dead := c.data[0].l.Addr().String()
	f.dn.mapAddr = func(a string) string {
		if a == dead {
			return silent.Addr().String()
		}
		return a
	}
	fstest.Write(t, f, "hdfs:///f", pattern(1000))
	require.True(t, f.nodes.isBad(node{uuid: c.data[0].uuid()}))
	require.False(t, f.nodes.isBad(node{uuid: c.data[1].uuid()}))
	require.Equal(t, pattern(1000), fstest.Read(t, f, "hdfs:///f"))
}

// TestKeysAreFetchedAgain when they get old, and when a DataNode doesn't know them.
func TestKeysAreFetchedAgain(t *testing.T) {
	n := 0
	s := newSecurity(false, nil, func(context.Context) (*encryptionKey, error) {
		n++
		return &encryptionKey{id: uint32(n), fetched: time.Now(), expires: time.Now().Add(time.Hour)}, nil
	})
	s.encrypt = true
	try := func(answer []byte) error {
		a, b := net.Pipe()
		defer a.Close()
		go func() {
			defer b.Close()
			r := bufio.NewReader(b)
			if _, err := r.Discard(4); err == nil {
				if _, err := readMessage(r); err == nil {
					_, _ = b.Write(enc(answer).delimited())
				}
			}
		}()
		_, err := s.secure(t.Context(), a, token{})
		return err
	}
	require.ErrorIs(t, try([]byte{8, 1, 0x12, 0}), errUnknownKey)
	require.Equal(t, 1, n)
	require.Error(t, try([]byte{8, 2, 0x12, 0}))
	require.Equal(t, 2, n)
	require.Error(t, try([]byte{8, 2, 0x12, 0}))
	require.Equal(t, 2, n, "kept")
	s.current.expires = time.Now().Add(time.Second)
	s.current.fetched = time.Now().Add(-time.Hour)
	require.Error(t, try([]byte{8, 2, 0x12, 0}))
	require.Equal(t, 3, n, "fetched before it is too late")
}
