package hdfs

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

const defaultPort = "8020"

// cluster is where a URI leads to.
type cluster struct {
	authority string   // as in URIs; a name service or host:port
	service   string   // the name service, "" for a plain NameNode
	ids       []string // of the service's NameNodes
	addresses []string // host:port
}

// resolve finds the NameNodes of a URI's authority, "" being that of fs.defaultFS.
func resolve(authority string, s settings) (cluster, error) {
	if impl := s.get("fs.hdfs.impl"); strings.Contains(impl, "ViewFileSystem") {
		return cluster{}, fmt.Errorf("%w: fs.hdfs.impl is %s, a view over several file systems: give the hdfs:// URI of the file system behind it", errConfig, impl)
	}
	if authority == "" {
		var err error
		if authority, err = defaultAuthority(s); err != nil {
			return cluster{}, err
		}
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return cluster{}, fmt.Errorf("%w: %s names a user, HDFS takes that from HADOOP_USER_NAME or Kerberos", errConfig, fs.Masked("hdfs://"+authority))
	}
	host, port := splitPort(authority)
	if _, p, err := net.SplitHostPort(authority); err == nil && p != port { // not printed: it may be a password with a slash in it
		return cluster{}, fmt.Errorf("%w: what follows the colon behind the host is no port", errConfig)
	}
	if ids := list(s.get("dfs.ha.namenodes." + host)); len(ids) > 0 {
		return highlyAvailable(authority, host, port, ids, s)
	}
	if port == "" {
		if a := s.get("dfs.namenode.rpc-address." + host); a != "" {
			return cluster{authority: authority, service: host, ids: []string{""}, addresses: []string{withPort(a)}}, nil
		}
	}
	return cluster{authority: authority, addresses: []string{withPort(authority)}}, nil
}

func defaultAuthority(s settings) (string, error) {
	def := s.get("fs.defaultFS")
	if def == "" {
		def = s.get("fs.default.name")
	}
	rest, ok := strings.CutPrefix(def, "hdfs://")
	authority, _, _ := strings.Cut(rest, "/")
	if !ok || authority == "" {
		return "", fmt.Errorf("%w: the path names no cluster and fs.defaultFS is %q, not hdfs://…: set HADOOP_CONF_DIR or hadoop-conf-dir, or name it", errConfig, def)
	}
	return authority, nil
}

func highlyAvailable(authority, service, port string, ids []string, s settings) (cluster, error) {
	if port != "" {
		return cluster{}, fmt.Errorf("%w: %q has a port, but %s is a name service with several namenodes", errConfig, authority, service)
	}
	c := cluster{authority: authority, service: service, ids: ids}
	for _, id := range ids {
		key := "dfs.namenode.rpc-address." + service + "." + id
		a := s.get(key)
		if a == "" {
			return cluster{}, fmt.Errorf("%w: dfs.ha.namenodes.%s names %s, but %s is not set", errConfig, service, id, key)
		}
		c.addresses = append(c.addresses, withPort(a))
	}
	return c, nil
}

// http returns the address of each NameNode's web server for WebHDFS.
func (c cluster) http(s settings, secure bool) []string {
	key, port := "dfs.namenode.http-address", "9870"
	if secure {
		key, port = "dfs.namenode.https-address", "9871"
	}
	var out []string
	for i, rpc := range c.addresses {
		host, _ := splitPort(rpc)
		k := key
		if c.service != "" {
			k += "." + c.service
			if c.ids[i] != "" {
				k += "." + c.ids[i]
			}
		}
		a := s.get(k)
		if a == "" && c.service == "" {
			a = s.get(key)
		}
		h, p := splitPort(a)
		if h == "" || h == "0.0.0.0" || h == "::" {
			h = host
		}
		if p == "" {
			p = port
		}
		out = append(out, net.JoinHostPort(h, p))
	}
	return out
}

// splitPort cuts host:port; port is "" if there is none.
func splitPort(a string) (host, port string) {
	if h, p, err := net.SplitHostPort(a); err == nil {
		if _, err := strconv.ParseUint(p, 10, 16); err == nil {
			return h, p
		}
	}
	return strings.Trim(a, "[]"), ""
}

func withPort(a string) string {
	host, port := splitPort(a)
	if port == "" {
		port = defaultPort
	}
	return net.JoinHostPort(host, port)
}

// list splits at commas and drops what is empty.
func list(v string) []string {
	var out []string
	for x := range strings.SplitSeq(v, ",") {
		if x = strings.TrimSpace(x); x != "" {
			out = append(out, x)
		}
	}
	return out
}

// splitURI cuts a URI into authority and path. Nothing is unescaped: Paimon's partition directories hold per cent signs that are part of
// the name.
func splitURI(uri string) (authority, path string, err error) {
	rest := uri
	switch fs.Scheme(uri) {
	case "":
	case "hdfs":
		rest = uri[len("hdfs:"):]
	default:
		return "", "", fmt.Errorf("%q is no path in HDFS", uri)
	}
	if strings.HasPrefix(rest, "//") {
		authority, path, _ = strings.Cut(rest[2:], "/")
		path = "/" + path
	} else {
		path = rest
	}
	if !strings.HasPrefix(path, "/") || strings.IndexByte(path, 0) >= 0 {
		return "", "", fmt.Errorf("%q is no absolute path", uri)
	}
	return authority, clean(path), nil
}

// clean drops repeated slashes and those at the end. "." and ".." stay, the NameNode refuses them.
func clean(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}
