package hdfs

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

// TestCreateThatIsCarriedOutLate has the first try of it arrive when the file is written: what is published is whole.
func TestCreateThatIsCarriedOutLate(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	var late []byte
	c.setFault(func(method string, n int) fault {
		switch {
		case n == 0:
			late = append(late, c.req...)
			return fault{lose: true}
		case method == "rename2":
			c.do("create", late)
		}
		return fault{}
	})
	won, err := f.Publish(t.Context(), "hdfs:///d/f", []byte("whole"))
	require.NoError(t, err)
	require.True(t, won)
	require.Equal(t, "whole", string(fstest.Read(t, f, "hdfs:///d/f")))
}

// TestCreateThatFindsItself takes another name, and leaves nothing under the first.
func TestCreateThatFindsItself(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	c.setFault(once(0, fault{mute: true}))
	fstest.Write(t, f, "hdfs:///d/f", []byte("whole"))
	require.Equal(t, []string{"f"}, fstest.Names(t, f, "hdfs:///d"))
	require.EqualValues(t, 3, f.Calls()["create"])
}

// TestReplacedWhileItIsRead: a reader never gives bytes of two files.
func TestReplacedWhileItIsRead(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t)
	require.NoError(t, f.Replace(t.Context(), "hdfs:///hint", []byte("one")))
	r, err := f.Open(t.Context(), "hdfs:///hint")
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	c.data[0].mu.Lock()
	clear(c.data[0].blocks) // the old one's go when it is replaced
	c.data[0].mu.Unlock()
	require.NoError(t, f.Replace(t.Context(), "hdfs:///hint", []byte("other")))
	n, err := r.ReadAt(make([]byte, 3), 0)
	require.ErrorIs(t, err, fs.ErrTransient)
	require.ErrorContains(t, err, "replaced")
	require.Zero(t, n)
}

// TestConnectionsOutliveTheirFirstUser: the library connects anew when the NameNode has become another.
func TestConnectionsOutliveTheirFirstUser(t *testing.T) {
	a, b := startFake(t, 1), startFake(t, 1)
	f := a.open(t, func(cfg *Config) {
		cfg.URI = "hdfs://ns"
		cfg.Settings = map[string]string{"dfs.ha.namenodes.ns": "x,y", "dfs.namenode.rpc-address.ns.x": a.name.Addr().String(), "dfs.namenode.rpc-address.ns.y": b.name.Addr().String()}
	})
	f.nn.pool.forget()
	first, cancel := context.WithCancel(t.Context())
	_, err := f.Stat(first, "hdfs://ns/")
	require.NoError(t, err)
	cancel()
	a.setFault(func(string, int) fault { return fault{class: javaStandby} })
	before := f.Calls()["getFileInfo"]
	_, err = f.Stat(t.Context(), "hdfs://ns/")
	require.NoError(t, err)
	require.EqualValues(t, 1, f.Calls()["getFileInfo"]-before, "the connection finds the other one by itself")
}

// TestWaitingForTheKeyEndsWithItsContext, while another call fetches it.
func TestWaitingForTheKeyEndsWithItsContext(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := newSecurity(false, nil, func(context.Context) (*encryptionKey, error) {
		close(begun)
		<-release
		return &encryptionKey{fetched: time.Now(), expires: time.Now().Add(time.Hour)}, nil
	})
	done := make(chan error)
	go func() {
		_, err := s.currentKey(t.Context())
		done <- err
	}()
	<-begun
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := s.currentKey(ctx)
	require.ErrorIs(t, err, why)
	close(release)
	require.NoError(t, <-done)
	k, err := s.currentKey(t.Context())
	require.NoError(t, err)
	require.NotNil(t, k)
}

// TestKeyThatTheNameNodeDoesNotGive is no reason to leave DataNodes out.
func TestKeyThatTheNameNodeDoesNotGive(t *testing.T) {
	c := startFake(t, 2)
	f := c.open(t)
	fstest.Write(t, f, "hdfs:///f", []byte("x"))
	r, err := f.Open(t.Context(), "hdfs:///f")
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	f.security.encrypt = true
	f.security.key = func(context.Context) (*encryptionKey, error) {
		return nil, wrap("getDataEncryptionKey", f.uri+"/", &net.OpError{Op: "dial", Err: errors.New("no route")})
	}
	f.dn.close()
	f.dn.closed = false
	_, err = f.Publish(t.Context(), "hdfs:///g", []byte("x"))
	require.ErrorIs(t, err, fs.ErrTransient)
	require.ErrorContains(t, err, "getDataEncryptionKey")
	_, err = r.ReadAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, fs.ErrTransient)
	require.Empty(t, f.nodes.exclude())
}
