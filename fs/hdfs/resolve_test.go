package hdfs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

func TestResolve(t *testing.T) {
	s := settings{
		"fs.defaultFS": "hdfs://${ns}/ignored", "ns": "ns1", "dfs.nameservices": "ns1,ns2,ns3",
		"dfs.ha.namenodes.ns1": "nn0, nn1", "dfs.namenode.rpc-address.ns1.nn0": "a:9000", "dfs.namenode.rpc-address.ns1.nn1": "b",
		"dfs.ha.namenodes.ns2": "x,y", "dfs.namenode.rpc-address.ns2.x": "c:1", "dfs.namenode.rpc-address.ns2.y": "d:2",
		"dfs.namenode.rpc-address.ns3": "e:3", "dfs.ha.namenodes.broken": "p,q", "dfs.namenode.rpc-address.broken.p": "f:4",
		"dfs.namenode.http-address.ns1.nn0": "0.0.0.0:50070", "dfs.namenode.https-address.ns1.nn1": "b2:1",
	}
	for authority, want := range map[string][]string{
		"": {"a:9000", "b:8020"}, "ns1": {"a:9000", "b:8020"}, "ns2": {"c:1", "d:2"}, "ns3": {"e:3"}, "host": {"host:8020"},
		"host:9": {"host:9"}, "10.0.0.1": {"10.0.0.1:8020"}, "[::1]:7": {"[::1]:7"}, "[::1]": {"[::1]:8020"},
	} {
		c, err := resolve(authority, s)
		require.NoError(t, err, authority)
		require.Equal(t, want, c.addresses, authority)
	}
	for authority, want := range map[string]string{"ns1:8020": "has a port", "user@host": "names a user", "user:word@host": "hdfs://***@host names a user", "host:word": "is no port", "broken": "dfs.namenode.rpc-address.broken.q"} {
		_, err := resolve(authority, s)
		require.ErrorIs(t, err, errConfig)
		require.ErrorContains(t, err, want)
	}
	c, err := resolve("ns1", s)
	require.NoError(t, err)
	require.Equal(t, []string{"a:50070", "b:9870"}, c.http(s, false))
	require.Equal(t, []string{"a:9871", "b2:1"}, c.http(s, true))
	c, err = resolve("host", settings{"dfs.namenode.http-address": "web:1"})
	require.NoError(t, err)
	require.Equal(t, []string{"web:1"}, c.http(settings{"dfs.namenode.http-address": "web:1"}, false))
}

func TestResolveRefuses(t *testing.T) {
	for _, def := range []string{"", "file:///", "viewfs://x", "hdfs:///"} {
		_, err := resolve("", settings{"fs.defaultFS": def})
		require.ErrorIs(t, err, errConfig, def)
	}
	_, err := resolve("ns", settings{"fs.hdfs.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"})
	require.ErrorContains(t, err, "view")
	_, err = fs.For(t.Context(), "viewfs://x/y", nil)
	require.ErrorContains(t, err, "hdfs://")
	_, err = fs.For(t.Context(), "gopher://x/y", nil)
	require.ErrorContains(t, err, "hdfs:")
	require.NotContains(t, err.Error(), "viewfs", "it is no choice")
}

func TestSplitURI(t *testing.T) {
	for uri, want := range map[string][2]string{
		"hdfs://a:1/b/c": {"a:1", "/b/c"}, "hdfs:///b": {"", "/b"}, "hdfs:/b": {"", "/b"}, "/b//c/": {"", "/b/c"}, "hdfs://a": {"a", "/"},
		"HDFS://a/k=a%2Fb": {"a", "/k=a%2Fb"}, "hdfs://a//": {"a", "/"},
	} {
		authority, path, err := splitURI(uri)
		require.NoError(t, err, uri)
		require.Equal(t, want, [2]string{authority, path}, uri)
	}
	for _, uri := range []string{"", "b/c", "s3://a/b", "hdfs:b", "/a\x00b"} {
		_, _, err := splitURI(uri)
		require.Error(t, err, uri)
	}
}

func TestOtherAuthorities(t *testing.T) {
	c := startFake(t, 1)
	f := c.open(t)
	_, err := f.Stat(t.Context(), "hdfs://"+c.name.Addr().String()+"/")
	require.NoError(t, err)
	_, err = f.Stat(t.Context(), "hdfs://elsewhere/")
	require.ErrorContains(t, err, "this file system is hdfs://"+c.name.Addr().String())
}

func TestNamed(t *testing.T) {
	lookup := func(ip string) ([]string, error) {
		if ip == "10.0.0.1" {
			return []string{"NN1.example.org."}, nil
		}
		return nil, errors.New("none")
	}
	require.Equal(t, []string{"nn1.example.org:1", "10.0.0.2:2", "host:3"}, named([]string{"10.0.0.1:1", "10.0.0.2:2", "HOST:3"}, lookup))
}
