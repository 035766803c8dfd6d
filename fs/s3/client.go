package s3

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
)

// New makes a file system. It finds the credentials now, so that wrong settings are told at once, and does not speak to
// the store yet.
func New(ctx context.Context, cfg Config) (*FS, error) {
	cfg = cfg.withDefaults()
	f := &FS{cfg: cfg, uploads: make(chan struct{}, cfg.Uploads), clock: wallClock, slowest: slowest, checks: map[string]*check{}, cache: newCache(cfg.ReadCache)}
	f.parts.New = func() any { b := make([]byte, 0, f.cfg.PartSize); return &b }
	ac, err := loadAWS(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if c, ok := ac.Credentials.(*aws.CredentialsCache); ok && !aws.IsCredentialsProvider(c, credentials.StaticCredentialsProvider{}) {
		f.renewable = c
	}
	rt := cfg.Transport
	if rt == nil {
		f.own = ac.HTTPClient.(*awshttp.BuildableClient).GetTransport() // a copy, which can be closed
		rt = f.own
	}
	ac.HTTPClient = &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	f.client = s3.NewFromConfig(ac, func(o *s3.Options) {
		o.UsePathStyle = cfg.PathStyle
		o.Retryer = aws.NopRetryer{} // our own loop sees each answer
		o.Logger = logging.Nop{}
		o.DisableLogOutputChecksumValidationSkipped = true
		if cfg.Endpoint != "" {
			// not all stores know the checksums in trailers that Amazon's knows; the signature covers the bytes anyway
			o.BaseEndpoint = &cfg.Endpoint
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
	})
	return f, nil
}

// httpClient is of the kind that the SDK can add the certificates of AWS_CA_BUNDLE to.
func httpClient(cfg Config) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithDialerOptions(func(d *net.Dialer) {
		d.Timeout, d.KeepAlive = 5*time.Second, 15*time.Second
	}).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = cfg.Connections, cfg.Connections, time.Minute
		t.TLSHandshakeTimeout, t.DisableCompression = 10*time.Second, true
		t.WriteBufferSize, t.ReadBufferSize = 64<<10, 64<<10
	})
}

// loadAWS finds region and credentials: those of the settings, else those that the AWS tools would take (environment,
// profiles, web identity, container, instance).
func loadAWS(ctx context.Context, cfg Config) (aws.Config, error) {
	opts := []func(*config.LoadOptions) error{config.WithHTTPClient(httpClient(cfg)), config.WithDefaultRegion("us-east-1")}
	if cfg.Region != "" {
		opts = append(opts, config.WithRegion(cfg.Region))
	}
	if cfg.Profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(cfg.Profile))
	}
	switch {
	case cfg.Anonymous:
		opts = append(opts, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	case cfg.AccessKey != "":
		opts = append(opts, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(cfg.AccessKey, cfg.SecretKey, cfg.SessionToken)))
	}
	ac, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return ac, fmt.Errorf("s3: reading the settings of the AWS tools: %w", err)
	}
	if cfg.RoleARN != "" {
		ac.Credentials = aws.NewCredentialsCache(role(cfg, sts.NewFromConfig(ac)))
	}
	if cfg.Anonymous {
		return ac, nil
	}
	ctx, cancel := context.WithTimeout(ctx, credentialsTime)
	defer cancel()
	if _, err := ac.Credentials.Retrieve(ctx); err != nil {
		return ac, fmt.Errorf("s3: no credentials: set s3.access-key and s3.secret-key, s3.profile, or what the AWS tools take: %w", err)
	}
	return ac, nil
}

// credentialsTime bounds the first look for credentials, which may ask other servers.
const credentialsTime = 30 * time.Second

func role(cfg Config, client *sts.Client) aws.CredentialsProvider {
	session := cfg.RoleSession
	if session == "" {
		session = "paimon-go"
	}
	if cfg.WebIdentityTokenFile != "" {
		return stscreds.NewWebIdentityRoleProvider(client, cfg.RoleARN, stscreds.IdentityTokenFile(cfg.WebIdentityTokenFile),
			func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = session })
	}
	return stscreds.NewAssumeRoleProvider(client, cfg.RoleARN, func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = session })
}

// put is the request for a whole object.
func (f *FS) put(o object, data io.ReadSeeker, size int) *s3.PutObjectInput {
	in := &s3.PutObjectInput{Bucket: &o.bucket, Key: &o.key, Body: data, ContentLength: aws.Int64(int64(size))}
	in.ServerSideEncryption, in.SSEKMSKeyId = f.encryption()
	return in
}

func (f *FS) encryption() (types.ServerSideEncryption, *string) {
	if f.cfg.KMSKey == "" || !strings.HasPrefix(f.cfg.Encryption, "aws:kms") {
		return types.ServerSideEncryption(f.cfg.Encryption), nil
	}
	return types.ServerSideEncryption(f.cfg.Encryption), &f.cfg.KMSKey
}
