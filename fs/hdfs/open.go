package hdfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	hdfs "github.com/colinmarc/hdfs/v2"
	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/sysmem"
)

// Config is what New needs. The zero value of all but URI and Settings is good.
type Config struct {
	URI      string            // hdfs://authority/… or a path in fs.defaultFS
	Settings map[string]string // Hadoop's properties, such as dfs.replication
	Login    map[string]string // for Kerberos: security.kerberos.login.keytab, .principal, .use-ticket-cache, hdfs.krb5-conf

	User        string                   // without Kerberos; HADOOP_USER_NAME or the user of the process by default
	RetryFor    time.Duration            // how long calls and files are tried again; 2 minutes by default
	CallTimeout time.Duration            // limit of one try of a call to the NameNode; 20 s by default
	DataTimeout time.Duration            // limit of a DataNode's silence; 15 s by default
	Connections int                      // to the NameNode at a time; 8 by default
	SpoolMemory int64                    // bytes of a file that is being written that are kept in memory, the others in SpoolShared or a local file; 4 MiB by default
	SpoolShared int64                    // memory for more of them, of all files; by default a thirty-second of the machine's or control group's, at most 256 MiB
	SpoolDir    string                   // of those local files; the system's directory for temporary files by default
	SyncBlocks  bool                     // DataNodes bring each block to disk before a file is complete
	Log         *slog.Logger             // is told of trouble that is dealt with; see LogTo
	MapNameNode func(addr string) string // turns the address of a NameNode into the one that is connected to
	MapDataNode func(addr string) string // the same for DataNodes
}

// Open makes the file system of a URI from catalog options; see loadSettings for those of Hadoop. Its own options are hdfs.user, hdfs.retry-time,
// hdfs.call-timeout, hdfs.data-timeout (durations such as 90s), hdfs.connections, hdfs.spool-memory and hdfs.spool-shared-memory (bytes), hdfs.spool-dir and
// hdfs.sync-blocks.
func Open(ctx context.Context, uri string, conf map[string]string) (*FS, error) {
	if err := misspelt(conf); err != nil {
		return nil, err
	}
	s, err := loadSettings(conf, os.Getenv)
	if err != nil {
		return nil, err
	}
	cfg := Config{URI: uri, Settings: s, Login: conf, User: conf["hdfs.user"], SpoolDir: conf["hdfs.spool-dir"]}
	for key, to := range map[string]*time.Duration{"hdfs.retry-time": &cfg.RetryFor, "hdfs.call-timeout": &cfg.CallTimeout, "hdfs.data-timeout": &cfg.DataTimeout} {
		if v := conf[key]; v != "" {
			if *to, err = time.ParseDuration(v); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", errConfig, key, err)
			}
			if *to <= 0 {
				return nil, fmt.Errorf("%w: %s is %s, it must be more than nothing", errConfig, key, v)
			}
		}
	}
	if v := conf["hdfs.connections"]; v != "" {
		if cfg.Connections, err = strconv.Atoi(v); err != nil || cfg.Connections <= 0 {
			return nil, fmt.Errorf("%w: hdfs.connections is %q, it must be a number from 1 on", errConfig, v)
		}
	}
	for key, to := range map[string]*int64{"hdfs.spool-memory": &cfg.SpoolMemory, "hdfs.spool-shared-memory": &cfg.SpoolShared} {
		if v := conf[key]; v != "" {
			if *to, err = strconv.ParseInt(v, 10, 64); err != nil || *to <= 0 {
				return nil, fmt.Errorf("%w: %s is %q, it must be a number of bytes from 1 on", errConfig, key, v)
			}
		}
	}
	if err := checkSpoolDir(cfg.SpoolDir); err != nil {
		return nil, err
	}
	cfg.SyncBlocks = strings.EqualFold(conf["hdfs.sync-blocks"], "true")
	return New(ctx, cfg)
}

// ownKeys are the options of Open that are not Hadoop's.
var ownKeys = []string{"hdfs.user", "hdfs.retry-time", "hdfs.call-timeout", "hdfs.data-timeout", "hdfs.connections", "hdfs.spool-memory",
	"hdfs.spool-shared-memory", "hdfs.spool-dir", "hdfs.sync-blocks", "hdfs.krb5-conf"}

// misspelt refuses options that can only be meant for us and that nobody would read.
func misspelt(conf map[string]string) error {
	loading := []string{"hadoop-conf-dir", "hadoop-conf-loader"}
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		switch {
		case strings.HasPrefix(k, "hdfs.") && !slices.Contains(ownKeys, k):
			meant := fs.Nearest(k, ownKeys)
			if meant == "" {
				meant = strings.Join(ownKeys, ", ")
			}
			return fmt.Errorf("%w: there is no setting %s; is %s meant? (Hadoop's own are written dfs.…, fs.… or hadoop.…)", errConfig, k, meant)
		case strings.HasPrefix(strings.ToLower(k), "hadoop") && !slices.Contains(loading, k):
			if meant := fs.Nearest(k, loading); meant != "" {
				return fmt.Errorf("%w: there is no setting %s; is %s meant?", errConfig, k, meant)
			}
		}
	}
	return nil
}

// checkSpoolDir refuses a directory in which no file can be made. One that is full may have room later.
func checkSpoolDir(dir string) error {
	if dir == "" {
		return nil
	}
	f, err := os.CreateTemp(dir, ".paimon-go-hdfs-*")
	if err == nil {
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if errors.Is(fs.Classify(err), fs.ErrFull) {
		return nil
	}
	return fmt.Errorf("%w: no file can be made in the directory hdfs.spool-dir=%s: %w", errConfig, dir, err)
}

// perhapsService says what is missing when a host isn't known that may be the name of a name service.
func perhapsService(err error, authority string, c cluster) error {
	var unknown *net.DNSError
	if _, port := splitPort(authority); port != "" || c.service != "" || !errors.As(err, &unknown) && !strings.Contains(err.Error(), "no such host") {
		return err
	}
	return fmt.Errorf("%w; if %s is a name service and no host, set HADOOP_CONF_DIR or --catalog_conf hadoop-conf-dir=… to the directory of the hdfs-site.xml that defines it", err, c.authority)
}

// New makes a file system. It asks the NameNode for its defaults, so that a wrong address or user shows at once.
func New(ctx context.Context, cfg Config) (*FS, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := settings(cfg.Settings)
	authority, _, err := splitURI(cfg.URI)
	if err != nil {
		return nil, err
	}
	c, err := resolve(authority, s)
	if err != nil {
		return nil, err
	}
	options, login, err := clientOptions(cfg, c, s)
	if err != nil {
		return nil, err
	}
	protection, err := parseProtection(s.get("dfs.data.transfer.protection"))
	if err != nil {
		return nil, err
	}
	life, closing := context.WithCancel(context.WithoutCancel(ctx))
	f := &FS{cluster: c, uri: "hdfs://" + c.authority, holder: "paimon-go_" + uuid.NewString(), retryFor: cfg.RetryFor, sync: cfg.SyncBlocks,
		spoolMemory: cfg.SpoolMemory, spoolDir: cfg.SpoolDir, closing: closing}
	f.chunks.limit = cfg.SpoolShared
	p := newPool(cfg.Connections, cfg.CallTimeout, options)
	p.mapAddr = cfg.MapNameNode
	f.trouble.to.Store(cfg.Log)
	f.nn = &namenode{pool: p, retryFor: cfg.RetryFor, uri: f.uri, trouble: &f.trouble, tell: tellAfter}
	f.dn = &connector{useHostname: s.bool("dfs.client.use.datanode.hostname"), timeout: cfg.DataTimeout, mapAddr: cfg.MapDataNode}
	f.login = login
	f.reports.guess.Store(int64(reportFirst))
	f.web = newWeb(cfg, c, s, login, cfg.User)
	f.security = newSecurity(login != nil, protection, f.nn.encryptionKey)
	f.dn.secure = f.security.secure
	f.nodes = newNodes(life, f.dn.probe, &f.trouble)
	f.leases = &leases{ctx: life, renew: func(ctx context.Context) error { return f.nn.renewLease(ctx, f.holder) }}
	if err := f.learnDefaults(ctx, s); err != nil {
		_ = f.Close()
		return nil, perhapsService(err, authority, c)
	}
	return f, nil
}

func (c *Config) setDefaults() error {
	c.User = first(c.User, os.Getenv("HADOOP_USER_NAME"))
	if c.User == "" {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("%w: who is the user? Set HADOOP_USER_NAME: %w", errConfig, err)
		}
		c.User = u.Username
	}
	c.RetryFor = positive(c.RetryFor, 2*time.Minute)
	c.CallTimeout = positive(c.CallTimeout, 20*time.Second)
	c.DataTimeout = positive(c.DataTimeout, 15*time.Second)
	c.Connections = positive(c.Connections, 8)
	c.SpoolMemory = positive(c.SpoolMemory, 4<<20)
	c.SpoolShared = positive(c.SpoolShared, min(sysmem.Limit()/32, 256<<20))
	return nil
}

func positive[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// clientOptions returns what makes the options of a new connection, with credentials that are good at the time.
func clientOptions(cfg Config, c cluster, s settings) (func() (hdfs.ClientOptions, error), *kerberos, error) {
	if os.Getenv("HADOOP_PROXY_USER") != "" {
		return nil, nil, fmt.Errorf("%w: %w", errConfig, errProxyUser)
	}
	switch auth := strings.ToLower(s.get("hadoop.security.authentication")); auth {
	case "", "simple":
	case "kerberos":
		return kerberosOptions(cfg, c, s)
	default:
		return nil, nil, fmt.Errorf("%w: hadoop.security.authentication is %q, known are simple and kerberos", errConfig, auth)
	}
	opts := hdfs.ClientOptions{Addresses: c.addresses, User: cfg.User}
	return func() (hdfs.ClientOptions, error) { return opts, nil }, nil, nil
}

func kerberosOptions(cfg Config, c cluster, s settings) (func() (hdfs.ClientOptions, error), *kerberos, error) {
	service, err := serviceName(s)
	if err != nil {
		return nil, nil, err
	}
	k, err := newKerberos(cfg.Login, os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	addresses := c.addresses
	if strings.Contains(service, "_HOST") {
		addresses = named(addresses, net.LookupAddr)
	}
	return func() (hdfs.ClientOptions, error) {
		client, err := k.login()
		return hdfs.ClientOptions{Addresses: addresses, KerberosClient: client, KerberosServicePrincipleName: service}, err
	}, k, nil
}

// learnDefaults takes block size and replication from the settings, else from the NameNode.
func (f *FS) learnDefaults(ctx context.Context, s settings) error {
	d, err := f.nn.defaults(ctx)
	if err != nil {
		return err
	}
	f.blockSize, f.replication = max(d.blockSize/chunkSize, 1)*chunkSize, d.replication // checksums are of whole chunks
	f.security.encrypt = d.encrypt
	f.mode = 0o644
	if v := s.get("fs.permissions.umask-mode"); v != "" {
		m, err := strconv.ParseUint(v, 8, 9)
		if err != nil {
			return fmt.Errorf("%w: fs.permissions.umask-mode is %q, only octal ones such as 022 are understood", errConfig, v)
		}
		f.mode = 0o666 &^ uint32(m)
	}
	if v := s.get("dfs.replication"); v != "" {
		n, err := strconv.ParseUint(v, 10, 15)
		if err != nil || n == 0 {
			return fmt.Errorf("%w: dfs.replication is %q", errConfig, v)
		}
		f.replication = int(n)
	}
	if v := s.get("dfs.blocksize"); v != "" {
		n, err := parseSize(v)
		if err != nil || n < chunkSize || n%chunkSize != 0 {
			return fmt.Errorf("%w: dfs.blocksize is %q, it must be a multiple of %d", errConfig, v, chunkSize)
		}
		f.blockSize = n
	}
	return nil
}

// parseSize reads a number with an optional k, m, g, t, p or e, each 1024 times the one before.
func parseSize(v string) (int64, error) {
	shift := 0
	if i := strings.IndexByte("kmgtpe", v[len(v)-1]|0x20); i >= 0 {
		shift, v = 10*(i+1), v[:len(v)-1]
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil || n < 0 || n<<shift>>shift != n {
		return 0, fmt.Errorf("%q is no size", v)
	}
	return n << shift, nil
}
