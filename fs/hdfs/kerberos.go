package hdfs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	krbcred "github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// kerberos logs in from a keytab, whose client gets new tickets by itself, or reads a ticket cache, which kinit or the like keeps good.
type kerberos struct {
	krb5conf  string
	keytab    string
	principal string
	cache     string

	mu     sync.Mutex
	client *krb.Client
	old    []*krb.Client

	// of the ticket cache:
	read    time.Time // its modification time when it was read
	expires time.Time // when its ticket to get tickets ends
}

// newKerberos takes keytab and principal, or the ticket cache if there is none, as Paimon does.
func newKerberos(conf map[string]string, getenv func(string) string) (*kerberos, error) {
	k := &kerberos{
		krb5conf:  first(conf["hdfs.krb5-conf"], getenv("KRB5_CONFIG"), "/etc/krb5.conf"),
		keytab:    first(conf["security.kerberos.login.keytab"], conf["security.keytab"]),
		principal: first(conf["security.kerberos.login.principal"], conf["security.principal"]),
	}
	switch {
	case (k.keytab == "") != (k.principal == ""):
		return nil, fmt.Errorf("%w: security.kerberos.login.keytab and security.kerberos.login.principal belong together", errConfig)
	case k.keytab != "":
		return k, nil
	case getenv("HADOOP_TOKEN_FILE_LOCATION") != "":
		return nil, fmt.Errorf("%w: HADOOP_TOKEN_FILE_LOCATION is set: delegation tokens are not supported; set security.kerberos.login.keytab and security.kerberos.login.principal", errConfig)
	case strings.EqualFold(conf["security.kerberos.login.use-ticket-cache"], "false"):
		return nil, fmt.Errorf("%w: the cluster wants Kerberos: set security.kerberos.login.keytab and security.kerberos.login.principal, or allow security.kerberos.login.use-ticket-cache", errConfig)
	}
	kind, path, ok := strings.Cut(first(getenv("KRB5CCNAME"), fmt.Sprintf("FILE:/tmp/krb5cc_%d", os.Getuid())), ":")
	if !ok {
		kind, path = "FILE", kind
	}
	if kind != "FILE" {
		return nil, fmt.Errorf("%w: KRB5CCNAME names a ticket cache of type %s; only files can be read: set it to FILE:/path, or use a keytab", errConfig, kind)
	}
	k.cache = path
	return k, nil
}

func first(v ...string) string {
	for _, x := range v {
		if x = strings.TrimSpace(x); x != "" {
			return x
		}
	}
	return ""
}

// login returns a client with good credentials.
func (k *kerberos) login() (*krb.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keytab == "" {
		return k.fromCache()
	}
	if k.client != nil {
		return k.client, nil
	}
	conf, err := k.config()
	if err != nil {
		return nil, err
	}
	kt, err := keytab.Load(k.keytab)
	if err != nil {
		return nil, fmt.Errorf("%w: keytab %s: %w", errConfig, k.keytab, err)
	}
	name, realm, _ := strings.Cut(k.principal, "@")
	client := krb.NewWithKeytab(name, first(realm, conf.LibDefaults.DefaultRealm), kt, conf, krb.DisablePAFXFAST(true))
	if err := client.Login(); err != nil {
		client.Destroy()
		return nil, fmt.Errorf("kerberos login of %s with keytab %s: %w", k.principal, k.keytab, err)
	}
	k.client = client
	return client, nil
}

func (k *kerberos) config() (*config.Config, error) {
	conf, err := config.Load(k.krb5conf)
	if err != nil {
		return nil, fmt.Errorf("%w: %s (KRB5_CONFIG names another file): %w", errConfig, k.krb5conf, err)
	}
	return conf, nil
}

// fromCache reads the ticket cache again when it has changed. Who renews it may just be making the file anew, or leave a broken one;
// what was read before is taken then, for as long as it is good.
func (k *kerberos) fromCache() (*krb.Client, error) {
	st, err := os.Stat(k.cache)
	switch {
	case k.client != nil && (err != nil || st.ModTime().Equal(k.read)):
		return k.client, k.stillGood()
	case err != nil:
		return nil, fmt.Errorf("%w: no Kerberos tickets (run kinit, or set security.kerberos.login.keytab and security.kerberos.login.principal): %w", errConfig, err)
	}
	conf, err := k.config()
	if err != nil {
		return nil, err
	}
	client, expires, err := readCache(k.cache, conf)
	if err != nil && k.client != nil && k.stillGood() == nil {
		return k.client, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w", k.cache, err)
	}
	if k.client != nil {
		k.old = append(k.old, k.client) // a connection may be using it
	}
	k.client, k.read, k.expires = client, st.ModTime(), expires
	return client, k.stillGood()
}

// readCache returns a client with the tickets of a file, and when the one that gets others ends. The library panics at a file that
// is not whole.
func readCache(path string, conf *config.Config) (client *krb.Client, expires time.Time, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it is not whole: %v", r) // perhaps kinit is writing it
		}
	}()
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, expires, err
	}
	cache := &krbcred.CCache{}
	if err := cache.Unmarshal(slices.Clip(b)); err != nil { // it would read on behind the end
		return nil, expires, err
	}
	for _, e := range cache.GetEntries() {
		if name := e.Server.PrincipalName.NameString; len(name) > 0 && name[0] == "krbtgt" && e.EndTime.After(expires) {
			expires = e.EndTime
		}
	}
	client, err = krb.NewFromCCache(cache, conf, krb.DisablePAFXFAST(true))
	return client, expires, err
}

// stillGood is an error that may pass: whoever keeps the cache may be late.
func (k *kerberos) stillGood() error {
	if time.Now().After(k.expires) {
		return fmt.Errorf("the Kerberos tickets in %s have expired: run kinit, or set security.kerberos.login.keytab and security.kerberos.login.principal", k.cache)
	}
	return nil
}

func (k *kerberos) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range append(k.old, k.client) {
		if c != nil {
			c.Destroy()
		}
	}
	k.old, k.client = nil, nil
}

// serviceName is the NameNode's principal without its realm.
func serviceName(s settings) (string, error) {
	p := s.get("dfs.namenode.kerberos.principal")
	if p == "" {
		return "", fmt.Errorf("%w: dfs.namenode.kerberos.principal is not set, but hadoop.security.authentication is kerberos", errConfig)
	}
	name, _, _ := strings.Cut(p, "@")
	return name, nil
}

// named replaces addresses by host names, for a principal with _HOST in it.
func named(addresses []string, lookup func(string) ([]string, error)) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = strings.ToLower(a)
		host, port := splitPort(a)
		if net.ParseIP(host) == nil {
			continue
		}
		if names, err := lookup(host); err == nil && len(names) > 0 {
			out[i] = net.JoinHostPort(strings.ToLower(strings.TrimSuffix(names[0], ".")), port)
		}
	}
	return out
}

var errProxyUser = errors.New("HADOOP_PROXY_USER is set: acting for another user is not supported")
