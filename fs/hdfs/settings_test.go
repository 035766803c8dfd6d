package hdfs

import (
	"context"
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/fs"
)

func writeConf(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, props := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("<?xml version=\"1.0\"?>\n<configuration>"+props+"</configuration>"), 0o644))
	}
}

func property(k, v string) string {
	return "<property><name> " + k + "</name><value>" + v + "</value><final>true</final></property>"
}

// TestPrecedenceOfSettings has each place overridden by the next.
func TestPrecedenceOfSettings(t *testing.T) {
	home, env, opt := t.TempDir(), t.TempDir(), t.TempDir()
	all := []string{"a", "b", "c", "d", "e", "f"}
	set := func(from int, v string) (s string) {
		for _, k := range all[from:] {
			s += property(k, v)
		}
		return s
	}
	writeConf(t, home+"/conf", map[string]string{"core-site.xml": set(0, "home/conf")})
	writeConf(t, home+"/etc/hadoop", map[string]string{"core-site.xml": set(1, "etc"), "hdfs-site.xml": set(2, "etc/hdfs")})
	writeConf(t, env, map[string]string{"hdfs-site.xml": set(3, "env") + property("e", " ")})
	writeConf(t, opt, map[string]string{"core-site.xml": set(4, "option")})
	getenv := func(k string) string { return map[string]string{"HADOOP_HOME": home, "HADOOP_CONF_DIR": env}[k] }
	conf := map[string]string{"hadoop-conf-dir": opt, "hadoop.f": "own", "dfs.replication": "2", "hadoop.dfs.blocksize": "1m", "fs.defaultFS": "hdfs://x", "s3.endpoint": "y"}
	s, err := loadSettings(conf, getenv)
	require.NoError(t, err)
	require.Equal(t, settings{"a": "home/conf", "b": "etc", "c": "etc/hdfs", "d": "env", "e": "option", "f": "own",
		"dfs.replication": "2", "dfs.blocksize": "1m", "fs.defaultFS": "hdfs://x"}, s)

	conf["hadoop-conf-loader"] = "env"
	s, err = loadSettings(conf, getenv)
	require.NoError(t, err)
	require.Equal(t, "env", s.get("e"))
	conf["hadoop-conf-loader"] = "option"
	s, err = loadSettings(conf, getenv)
	require.NoError(t, err)
	require.Equal(t, "", s.get("d"))
}

func TestSettingsThatAreWrong(t *testing.T) {
	none := func(string) string { return "" }
	_, err := loadSettings(map[string]string{"hadoop-conf-dir": "/no/such/dir"}, none)
	require.ErrorIs(t, err, errConfig)
	require.ErrorContains(t, err, "/no/such/dir")
	_, err = loadSettings(map[string]string{"hadoop-conf-loader": "some"}, none)
	require.ErrorContains(t, err, "all, env or option")
	require.ErrorIs(t, err, fs.ErrConfig)
	dir := t.TempDir()
	_, err = loadSettings(map[string]string{"hadoop-conf-dir": "/dev/null"}, none)
	require.ErrorContains(t, err, "/dev/null is a file")
	writeConf(t, dir, map[string]string{"core-site.xml": "<property>"})
	_, err = loadSettings(map[string]string{"hadoop-conf-dir": dir}, none)
	require.ErrorContains(t, err, "core-site.xml")
	require.NoError(t, os.WriteFile(dir+"/core-site.xml", []byte(`<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="other.xml"/></configuration>`), 0o644))
	_, err = loadSettings(map[string]string{"hadoop-conf-dir": dir}, none)
	require.ErrorContains(t, err, "other.xml")
}

// TestDoubts are about what is named and gives nothing.
func TestDoubts(t *testing.T) {
	empty, good := t.TempDir(), t.TempDir()
	none := filepath.Join(empty, "none")
	writeConf(t, good, map[string]string{"hdfs-site.xml": ""})
	t.Setenv("HADOOP_CONF_DIR", "")
	require.Empty(t, Doubts(nil))
	require.Empty(t, Doubts(map[string]string{"hadoop-conf-dir": "file://" + good}))
	require.Equal(t, []string{"hadoop-conf-dir=" + empty + " gives no settings: there is neither core-site.xml nor hdfs-site.xml in it"}, Doubts(map[string]string{"hadoop-conf-dir": empty}))
	require.Empty(t, Doubts(map[string]string{"hadoop-conf-dir": empty, "hadoop-conf-loader": "env"}))
	t.Setenv("HADOOP_CONF_DIR", none)
	require.Equal(t, []string{"HADOOP_CONF_DIR=" + none + " gives no settings: there is no such directory"}, Doubts(nil))
	require.Empty(t, Doubts(map[string]string{"hadoop-conf-loader": "option"}))
}

func TestExpand(t *testing.T) {
	t.Setenv("PAIMON_TEST_X", "x")
	t.Setenv("PAIMON_TEST_EMPTY", "")
	u, err := user.Current()
	require.NoError(t, err)
	s := settings{"a": "1", "b": "${a}2", "c": "${b}-${b}", "loop": "${loop}", "x": "${y}", "y": "${x}", "name": "a", "nested": "${${name}}"}
	for in, want := range map[string]string{
		"plain": "plain", "${a}": "1", "${c}": "12-12", "${no}": "${no}", "${nested}": "1", "$a {a} $": "$a {a} $", "${": "${", "${}": "${}",
		"${env.PAIMON_TEST_X}": "x", "${env.PAIMON_TEST_NO:-d}": "d", "${env.PAIMON_TEST_NO-d-e}": "d-e", "${env.PAIMON_TEST_EMPTY-d}": "",
		"${env.PAIMON_TEST_EMPTY:-d}": "d", "${env.PAIMON_TEST_NO}": "${env.PAIMON_TEST_NO}", "${user.name}": u.Username,
	} {
		require.Equal(t, want, s.expand(in), in)
	}
	require.Contains(t, s.expand("${loop}"), "${") // ends
	require.Contains(t, s.expand("${x}"), "${")
}

// TestExpandEnds whatever refers to whatever.
func TestExpandEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"${a}", "${b}", "${c}", "x", "${", "}", "$"})
		gen := rapid.Custom(func(t *rapid.T) string {
			v := ""
			for range rapid.IntRange(0, 3).Draw(t, "parts") {
				v += part.Draw(t, "part")
			}
			return v
		})
		s := settings{"a": gen.Draw(t, "a"), "b": gen.Draw(t, "b"), "c": gen.Draw(t, "c")}
		_ = s.get("a")
	})
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "134217728": 1 << 27, "128m": 1 << 27, "1G": 1 << 30, "4 k": 4096} {
		n, err := parseSize(in)
		require.NoError(t, err, in)
		require.Equal(t, want, n, in)
	}
	for _, in := range []string{"x", "-1", "1z", "9999999999g", "m"} {
		_, err := parseSize(in)
		require.Error(t, err, in)
	}
}

// TestWrongOptionsAreRefused before anything is connected to.
func TestWrongOptionsAreRefused(t *testing.T) {
	for key, c := range map[string]struct{ value, says string }{
		"hdfs.conections":      {"4", "hdfs.connections meant"},
		"hdfs.retry_time":      {"4s", "hdfs.retry-time meant"},
		"hdfs.something.else":  {"4s", "hdfs.call-timeout"},
		"hadoop.conf.dir":      {"/etc", "hadoop-conf-dir meant"},
		"hadoop-config-dir":    {"/etc", "hadoop-conf-dir meant"},
		"hdfs.connections":     {"0", "from 1 on"},
		"hdfs.call-timeout":    {"-1s", "more than nothing"},
		"hdfs.data-timeout":    {"0s", "more than nothing"},
		"hdfs.retry-time":      {"-3m", "more than nothing"},
		"hdfs.spool-memory":    {"-1", "bytes"},
		"hadoop-conf-loader":   {"envv", "env"},
		"hdfs.spool-dir":       {"/dev/null/x", "hdfs.spool-dir=/dev/null/x"},
		"dfs.blocksize.unused": {"x", ""},
	} {
		_, err := Open(endedContext(), "hdfs://127.0.0.1:1/wh", map[string]string{key: c.value})
		require.Equal(t, c.says != "", errors.Is(err, errConfig), "%s: %v", key, err)
		require.ErrorContains(t, err, c.says)
	}
}

func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestAnUnknownHostMayBeANameService is told when nothing defines one.
func TestAnUnknownHostMayBeANameService(t *testing.T) {
	err := wrap("connect", "hdfs://nameservice1", &net.DNSError{Err: "no such host", Name: "nameservice1", IsNotFound: true})
	c := cluster{authority: "nameservice1"}
	require.ErrorContains(t, perhapsService(err, "nameservice1", c), "hadoop-conf-dir")
	require.ErrorIs(t, perhapsService(err, "nameservice1", c), fs.ErrTransient)
	require.NotContains(t, perhapsService(err, "nameservice1:8020", c).Error(), "hadoop-conf-dir")
	require.NotContains(t, perhapsService(errors.New("refused"), "nameservice1", c).Error(), "hadoop-conf-dir")
}
