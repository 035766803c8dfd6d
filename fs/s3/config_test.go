package s3

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

func TestConfigOf(t *testing.T) {
	type conf = map[string]string
	for name, c := range map[string]struct {
		conf conf
		want Config
	}{
		"nothing": {conf{"warehouse": "s3://b/wh", "hive.metastore": "x"}, Config{}},
		"Paimon's keys": {
			conf{"s3.endpoint": "http://minio:9000/", "s3.access-key": "k", "s3.secret-key": " s ", "s3.path.style.access": "true"},
			Config{Endpoint: "http://minio:9000", Region: "us-east-1", AccessKey: "k", SecretKey: "s", PathStyle: true},
		},
		"Hadoop's keys": {
			conf{"fs.s3a.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": "false", "fs.s3a.access.key": "k", "fs.s3a.secret.key": "s",
				"s3a.session.token": "t", "fs.s3a.multipart.size": "64M", "fs.s3a.fast.upload.active.blocks": "4", "fs.s3a.connection.maximum": "100"},
			Config{Endpoint: "http://minio:9000", Region: "us-east-1", AccessKey: "k", SecretKey: "s", SessionToken: "t", PartSize: 64 << 20, Uploads: 4,
				Connections: 100},
		},
		"s3. wins": {
			conf{"fs.s3a.endpoint": "http://a", "s3a.endpoint": "http://b", "s3.endpoint": "http://c"},
			Config{Endpoint: "http://c", Region: "us-east-1"},
		},
		"a bucket's own wins": {
			conf{"s3.endpoint": "http://a", "fs.s3a.bucket.b.endpoint": "http://b", "fs.s3a.bucket.other.endpoint": "http://c"},
			Config{Endpoint: "http://b", Region: "us-east-1"},
		},
		"Amazon's own hosts": {conf{"s3.endpoint": "s3.eu-west-1.amazonaws.com"}, Config{Region: "eu-west-1"}},
		"Amazon":             {conf{"s3.endpoint": "s3.amazonaws.com"}, Config{}},
		"a region besides":   {conf{"s3.endpoint": "https://s3.amazonaws.com", "s3.region": "eu-north-1"}, Config{Region: "eu-north-1"}},
		"a private host": {
			conf{"s3.endpoint": "https://bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com", "s3.endpoint.region": "eu-west-1"},
			Config{Endpoint: "https://bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com", Region: "eu-west-1"},
		},
		"a number has no names below it": {conf{"s3.endpoint": "http://127.0.0.1:9000"}, Config{Endpoint: "http://127.0.0.1:9000", Region: "us-east-1", PathStyle: true}},
		"anonymous": {
			conf{"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}, Config{Anonymous: true}},
		"providers of the SDK": {
			conf{"s3.aws.credentials.provider": "com.amazonaws.auth.InstanceProfileCredentialsProvider,\n software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider"},
			Config{}},
		"a role": {
			conf{"s3.assumed.role.arn": "arn:aws:iam::1:role/r", "s3.web.identity.token.file": "/var/token", "s3.profile": "p"},
			Config{RoleARN: "arn:aws:iam::1:role/r", WebIdentityTokenFile: "/var/token", Profile: "p"}},
		"encryption": {conf{"s3.server-side-encryption-algorithm": "SSE-KMS", "s3.server-side-encryption.key": "k"}, Config{Encryption: "aws:kms", KMSKey: "k"}},
		"unknown":    {conf{"s3.committer.name": "magic", "s3a.fast.upload": "true"}, Config{Ignored: []string{"s3.committer.name"}}},
	} {
		got, err := ConfigOf("b", c.conf)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	for key, c := range map[string]struct{ value, says string }{
		"s3.path.style.access":           {"maybe", "neither true nor false"},
		"s3.multipart.size":              {"much", "no size"},
		"fs.s3a.multipart.size":          {"-1", "no size"},
		"s3.access-key":                  {"k", "belong together"},
		"s3.endpoint":                    {"http://", "no address"},
		"s3.encryption.algorithm":        {"SSE-C", "SSE-C is not supported"},
		"fs.s3a.encryption.algorithm":    {"CSE-KMS", "not supported"},
		"s3.aws.credentials.provider":    {"com.corp.Vault", "com.corp.Vault"},
		"fs.s3a.bucket.b.multipart.size": {"9E", "fs.s3a.bucket.b.multipart.size"},
	} {
		_, err := ConfigOf("b", map[string]string{key: c.value})
		require.ErrorContains(t, err, c.says, key)
	}
}

// TestWhatCantBe is told when the storage is opened, as a wrong setting.
func TestWhatCantBe(t *testing.T) {
	conf := map[string]string{"s3.access-key": "k", "s3.secret-key": "s"}
	for _, uri := range []string{"s3://my bucket/wh", "s3://b%2Fc/wh", "s3://" + strings.Repeat("b", 256) + "/wh"} {
		_, err := Open(t.Context(), uri, conf)
		require.ErrorIs(t, err, fs.ErrConfig, uri)
	}
	conf["s3.endpoint"] = "ftp://host"
	_, err := Open(t.Context(), "s3://b/wh", conf)
	require.ErrorContains(t, err, "s3.endpoint")
	f := newFake(t)
	f.on("PUT f", 1, answer(400, "InvalidBucketName"))
	_, err = f.open(t).Publish(t.Context(), "s3://wh/f", nil)
	require.ErrorIs(t, err, fs.ErrConfig)
}

func TestIgnoredKeysNameTheNearest(t *testing.T) {
	c, err := ConfigOf("b", map[string]string{"s3.acces-key": "k", "fs.s3a.path.style.acces": "true", "s3.committer.name": "magic"})
	require.NoError(t, err)
	require.Equal(t, []string{"fs.s3a.path.style.acces (is fs.s3a.path.style.access meant?)", "s3.acces-key (is s3.access.key meant?)", "s3.committer.name"}, c.Ignored)
}

// TestPartsThatAreTooSmall are of the least size that the protocol has, and it is told.
func TestPartsThatAreTooSmall(t *testing.T) {
	c, err := ConfigOf("b", map[string]string{"s3a.multipart.size": "1M"})
	require.NoError(t, err)
	require.Equal(t, []string{"s3a.multipart.size=1M (parts have 5 MiB at least, which are taken)"}, c.Ignored)
	require.EqualValues(t, 5<<20, c.withDefaults().PartSize)
	for _, size := range []string{"", "5M", "64M"} {
		c, err := ConfigOf("b", map[string]string{"s3a.multipart.size": size})
		require.NoError(t, err)
		require.Empty(t, c.Ignored, size)
	}
}

func TestNoCredentialsAreToldAtOnce(t *testing.T) {
	for _, env := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(env, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	_, err := Open(t.Context(), "s3://b/wh", nil)
	require.ErrorContains(t, err, "s3.access-key")

	_, err = Open(t.Context(), "s3://b/wh", map[string]string{"s3.profile": "none"})
	require.ErrorContains(t, err, "none")

	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	_, err = Open(t.Context(), "s3://b/wh", nil)
	require.NoError(t, err)
}

// A role taken on with a token of a file, whose credentials are renewed when the store calls them expired.
func TestWebIdentity(t *testing.T) {
	var asked atomic.Int32
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") != "AssumeRoleWithWebIdentity" || r.FormValue("WebIdentityToken") != "the token" || r.FormValue("RoleArn") != "arn:aws:iam::1:role/r" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>key%d</AccessKeyId>`+
			`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>`+
			`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, asked.Add(1))
	}))
	defer sts.Close()
	t.Setenv("AWS_ENDPOINT_URL_STS", sts.URL)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("the token"), 0o600))
	f := newFake(t)
	fsys := f.open(t, func(c *Config) {
		c.AccessKey, c.SecretKey = "", ""
		c.RoleARN, c.WebIdentityTokenFile = "arn:aws:iam::1:role/r", token
	})
	hurried(fsys)
	f.on("PUT f", 1, answer(400, "ExpiredToken"))
	var key string
	f.on("PUT f", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key = r.Header.Get("Authorization")
		next.ServeHTTP(w, r)
	})
	require.NoError(t, fsys.Replace(t.Context(), "s3://wh/f", nil))
	require.EqualValues(t, 2, asked.Load())
	require.Contains(t, key, "Credential=key2/")
	http.DefaultClient.CloseIdleConnections()
}

func TestJavaWriterWarning(t *testing.T) {
	require.Empty(t, JavaWriterWarning("hdfs://nn/wh", nil))
	require.Empty(t, JavaWriterWarning("/wh", nil))
	require.Contains(t, JavaWriterWarning("s3://b/wh", nil), "overwrite")
	require.Contains(t, JavaWriterWarning("s3a://b/wh", map[string]string{"lock.enabled": "true"}), "overwrite", "Java's lock does not bind us")
	require.Empty(t, JavaWriterWarning("s3a://b/wh", map[string]string{"s3.sole-committer": "true"}))
}
