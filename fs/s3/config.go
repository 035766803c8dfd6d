package s3

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/fs"
)

// Config says how to reach a store. The zero value is Amazon's, with the credentials and the region that the AWS tools
// would take.
type Config struct {
	Endpoint  string // a URL; empty: Amazon's of the region
	Region    string // empty: what the AWS tools would take, else us-east-1
	PathStyle bool   // buckets in the path rather than in the host's name

	AccessKey, SecretKey, SessionToken string
	Profile                            string // of the AWS tools' files
	RoleARN, RoleSession               string // a role to take on with the credentials or the token
	WebIdentityTokenFile               string // a file that holds the token for RoleARN
	Anonymous                          bool   // requests are not signed

	Encryption string // on the server: AES256, aws:kms or aws:kms:dsse; empty: as the bucket says
	KMSKey     string

	// PartSize is how much of a file is held before it is sent (8 MiB). A file that is smaller goes in one request. A file
	// may have 10,000 parts, so this limits its size too.
	PartSize int64
	// Uploads is how many parts of all files are on their way at once (8). Writing files takes memory of up to PartSize for
	// each open file and each of these.
	Uploads int
	// ReadCache is how many bytes of what was read ahead all readers keep together (64 MiB).
	ReadCache int64
	// Connections is how many idle connections are kept (64).
	Connections int

	CallTime time.Duration // how long one try may take, besides the time for its bytes (20 s)
	RetryFor time.Duration // how long a call is tried again before it fails (2 min)

	Transport http.RoundTripper // instead of one of ours

	// Ignored has the keys of ConfigOf that mean nothing here.
	Ignored []string
}

func (c Config) withDefaults() Config {
	if c.PartSize <= 0 {
		c.PartSize = 8 << 20
	}
	c.PartSize = max(c.PartSize, minPart)
	if c.Uploads <= 0 {
		c.Uploads = 8
	}
	if c.ReadCache <= 0 {
		c.ReadCache = 64 << 20
	}
	if c.Connections <= 0 {
		c.Connections = 64
	}
	if c.CallTime <= 0 {
		c.CallTime = 20 * time.Second
	}
	if c.RetryFor <= 0 {
		c.RetryFor = 2 * time.Minute
	}
	return c
}

const (
	minPart  = 5 << 20 // the protocol's least size of all parts but the last
	maxParts = 10_000
)

// prefixes of the keys, the weakest first.
var prefixes = []string{"fs.s3a.", "s3a.", "s3."}

// aliases are other spellings of a key, after Paimon's and Hadoop's.
var aliases = map[string]string{
	"access-key": "access.key", "secret-key": "secret.key", "path-style-access": "path.style.access", "session-token": "session.token",
	"region": "endpoint.region", "server-side-encryption-algorithm": "encryption.algorithm", "server-side-encryption.key": "encryption.key",
}

// ConfigOf reads the settings for a bucket from catalog options: Paimon's s3.*, and s3a.* and fs.s3a.*, of which those
// for the bucket alone (fs.s3a.bucket.NAME.*) win.
func ConfigOf(bucket string, conf map[string]string) (Config, error) {
	set := map[string]string{} // by key without its prefix
	from := map[string]string{}
	ofBucket := "bucket." + bucket + "."
	for _, pass := range []string{"", ofBucket} {
		for _, prefix := range prefixes {
			for _, full := range slices.Sorted(maps.Keys(conf)) {
				key, ok := strings.CutPrefix(full, prefix+pass)
				if !ok || pass == "" && strings.HasPrefix(key, "bucket.") {
					continue
				}
				if a, ok := aliases[key]; ok {
					key = a
				}
				set[key], from[key] = strings.TrimSpace(conf[full]), full
			}
		}
	}
	p := parser{set: set, from: from}
	c := p.config()
	for key := range set {
		if !p.used[key] {
			ignored := from[key]
			if meant := fs.Nearest(key, slices.Collect(maps.Keys(p.used))); meant != "" {
				ignored += " (is " + strings.TrimSuffix(from[key], key) + meant + " meant?)"
			}
			c.Ignored = append(c.Ignored, ignored)
		}
	}
	if c.PartSize > 0 && c.PartSize < minPart {
		c.Ignored = append(c.Ignored, fmt.Sprintf("%s=%s (parts have 5 MiB at least, which are taken)", from["multipart.size"], set["multipart.size"]))
	}
	slices.Sort(c.Ignored)
	return c, p.err
}

// parser takes settings and remembers which, and the first that is wrong.
type parser struct {
	set, from map[string]string
	used      map[string]bool
	err       error
}

func (p *parser) config() Config {
	p.used = map[string]bool{ // these say nothing that a program of ours could do other than it does
		"impl": true, "signing-algorithm": true, "signer-type": true, "fast.upload": true, "fast.upload.buffer": true, "buffer.dir": true,
		"directory.marker.retention": true, "attempts.maximum": true, "retry.limit": true, "sole-committer": true,
	}
	c := Config{
		Region: p.str("endpoint.region"), AccessKey: p.str("access.key"), SecretKey: p.str("secret.key"), SessionToken: p.str("session.token"),
		Profile: p.str("profile"), RoleARN: p.str("assumed.role.arn"), RoleSession: p.str("assumed.role.session.name"),
		WebIdentityTokenFile: p.str("web.identity.token.file"),
		PartSize:             p.size("multipart.size"), Uploads: int(p.size("fast.upload.active.blocks")),
		Connections: int(p.size("connection.maximum")),
	}
	p.endpoint(&c)
	p.encryption(&c)
	p.providers(&c)
	if (c.AccessKey == "") != (c.SecretKey == "") {
		p.fail("access.key and secret.key belong together, and only one is set")
	}
	return c
}

// endpoint understands a URL or a host. Amazon's own regional hosts are left to the SDK, which then also knows their
// other forms.
func (p *parser) endpoint(c *Config) {
	ssl := p.flag("connection.ssl.enabled", true)
	e := p.str("endpoint")
	if e != "" && !strings.Contains(e, "://") {
		if ssl {
			e = "https://" + e
		} else {
			e = "http://" + e
		}
	}
	u, err := url.Parse(e)
	if err != nil || e != "" && u.Host == "" {
		p.fail("%s=%q is no address of a server", p.from["endpoint"], p.set["endpoint"])
		return
	}
	if e != "" && u.Scheme != "http" && u.Scheme != "https" {
		p.fail("%s=%q is neither http:// nor https://", p.from["endpoint"], p.set["endpoint"])
		return
	}
	host := u.Hostname()
	c.Endpoint = strings.TrimRight(e, "/")
	if rest, ok := strings.CutSuffix(host, ".amazonaws.com"); ok && u.Scheme == "https" && u.Port() == "" && strings.Trim(u.Path, "/") == "" {
		region, regional := strings.CutPrefix(rest, "s3.")
		if rest == "s3" || regional && !strings.Contains(region, ".") {
			c.Endpoint = ""
			if c.Region == "" {
				c.Region = region[len(region)*btoi(rest == "s3"):]
			}
		}
	}
	if c.Endpoint != "" && c.Region == "" {
		c.Region = "us-east-1" // any will do with stores that are not Amazon's
	}
	// a number or localhost has no names below it
	c.PathStyle = p.flag("path.style.access", net.ParseIP(host) != nil || host == "localhost")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *parser) encryption(c *Config) {
	alg := p.str("encryption.algorithm")
	c.KMSKey = p.str("encryption.key")
	switch strings.ToUpper(alg) {
	case "", "AES256", "SSE-S3":
		if alg != "" {
			c.Encryption = "AES256"
		}
	case "SSE-KMS":
		c.Encryption = "aws:kms"
	case "DSSE-KMS":
		c.Encryption = "aws:kms:dsse"
	default:
		p.fail("%s=%s is not supported, only SSE-S3 (AES256), SSE-KMS and DSSE-KMS", p.from["encryption.algorithm"], alg)
	}
}

// providers maps Hadoop's credential providers, by the end of their class names, to what the SDK does by itself.
func (p *parser) providers(c *Config) {
	for _, class := range strings.FieldsFunc(p.str("aws.credentials.provider"), func(r rune) bool { return r == ',' || r <= ' ' }) {
		switch name := class[strings.LastIndexAny(class, ".$")+1:]; name {
		case "AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider":
			c.Anonymous = true
		case "SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider", "AssumedRoleCredentialProvider",
			"EnvironmentVariableCredentialsProvider", "SystemPropertiesCredentialsProvider", "ProfileCredentialsProvider", "ProfileAWSCredentialsProvider",
			"WebIdentityTokenCredentialsProvider", "WebIdentityTokenFileCredentialsProvider", "InstanceProfileCredentialsProvider",
			"IAMInstanceCredentialsProvider", "ContainerCredentialsProvider", "EC2ContainerCredentialsProviderWrapper",
			"DefaultCredentialsProvider", "DefaultAWSCredentialsProviderChain":
		default:
			p.fail("%s names %s, which only Java knows: set the keys, a profile or the AWS environment variables instead", p.from["aws.credentials.provider"], class)
		}
	}
	if c.AccessKey != "" {
		c.Anonymous = false
	}
}

func (p *parser) str(key string) string {
	p.used[key] = true
	return p.set[key]
}

func (p *parser) flag(key string, otherwise bool) bool {
	s := p.str(key)
	if s == "" {
		return otherwise
	}
	b, err := strconv.ParseBool(strings.ToLower(s))
	if err != nil {
		p.fail("%s=%q is neither true nor false", p.from[key], s)
	}
	return b
}

// size reads a number with Hadoop's binary suffixes; 0 for a key that is not set.
func (p *parser) size(key string) int64 {
	s := strings.ToUpper(p.str(key))
	if s == "" {
		return 0
	}
	s = strings.TrimSuffix(s, "B")
	shift := 0
	if s != "" {
		if i := strings.IndexByte("KMGT", s[len(s)-1]); i >= 0 {
			shift, s = 10*(i+1), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		p.fail("%s=%q is no size", p.from[key], p.set[key])
		return 0
	}
	return n << shift
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("s3: "+format, args...)
	}
}
