package hdfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/paimon-go/paimon-go/fs"
)

// Erasure-coded files are read through WebHDFS, where a DataNode's own Java client puts the stripes together and repairs what is
// missing. Nothing else needs WebHDFS.

// webPatience is how long a web server may think: the first request has it load a good deal.
const webPatience = 40 * time.Second

type webhdfs struct {
	addresses []string // of the NameNodes' web servers
	scheme    string
	user      string          // without Kerberos
	login     *kerberos       // nil without
	service   string          // principal of the web servers, with _HOST
	client    *http.Transport // not a Client, whose errors show whole addresses, and which follows them
	patience  time.Duration
	mapName   func(string) string
	mapData   func(string) string
}

func newWeb(cfg Config, c cluster, s settings, login *kerberos, user string) *webhdfs {
	https := strings.EqualFold(s.get("dfs.http.policy"), "HTTPS_ONLY")
	w := &webhdfs{addresses: c.http(s, https), scheme: "http", user: user, login: login, patience: webPatience, mapName: cfg.MapNameNode, mapData: cfg.MapDataNode}
	if https {
		w.scheme = "https"
	}
	w.service, _, _ = strings.Cut(s.get("dfs.web.authentication.kerberos.principal"), "@")
	w.client = &http.Transport{DialContext: (&net.Dialer{Timeout: cfg.DataTimeout}).DialContext, ResponseHeaderTimeout: w.patience, IdleConnTimeout: 5 * time.Second}
	return w
}

// openWeb opens an erasure-coded file.
func (f *FS) openWeb(ctx context.Context, uri, path string, size int64) (fs.Reader, error) {
	r := &webReader{f: f, ctx: ctx, uri: uri, path: path, size: size}
	if _, err := r.location(0, 1); err != nil { // so that a cluster without WebHDFS shows when the file is opened
		return nil, err
	}
	return r, nil
}

// webReader reads a file through WebHDFS.
type webReader struct {
	f         *FS
	ctx       context.Context // of Open; ends the waiting for another try
	uri, path string
	size      int64
}

func (r *webReader) Size() int64  { return r.size }
func (r *webReader) Close() error { return nil }

func (r *webReader) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &opError{op: "read", path: r.uri, cause: errors.New("negative offset")}
	}
	if off >= r.size {
		return 0, io.EOF
	}
	want := b[:min(int64(len(b)), r.size-off)]
	if err := r.readFull(want, off); err != nil {
		return 0, err
	}
	if len(want) < len(b) {
		return len(want), io.EOF
	}
	return len(want), nil
}

func (r *webReader) readFull(b []byte, off int64) error {
	more := retryUntil(r.f.retryFor)
	for {
		at, err := r.location(off, int64(len(b)))
		if err != nil {
			return err
		}
		err = r.fetch(at, b)
		if err == nil {
			return nil
		}
		if !more.again(r.ctx) {
			return &opError{"read", r.uri, fs.ErrTransient, err, "erasure-coded files are read through WebHDFS; can this host reach the web ports of the datanodes?"}
		}
	}
}

// fetch reads what a DataNode gives at an address.
func (r *webReader) fetch(at string, b []byte) error {
	w := r.f.web
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), w.patience+time.Duration(len(b)/(1<<20))*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return unnamed(err)
	}
	resp, err := w.do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return webError(resp)
	}
	_, err = io.ReadFull(resp.Body, b)
	return noEOF(err)
}

// location asks the NameNode where to read a part of the file. It tries both NameNodes, for as long as a fail-over may take.
func (r *webReader) location(off, n int64) (string, error) {
	w := r.f.web
	query := url.Values{"op": {"OPEN"}, "offset": {strconv.FormatInt(off, 10)}, "length": {strconv.FormatInt(n, 10)}}
	if w.login == nil {
		query.Set("user.name", w.user)
	}
	more := retryUntil(r.f.retryFor)
	for try := 0; ; try++ {
		nn := w.addresses[try%len(w.addresses)]
		at, err := w.redirect(r.ctx, nn, r.path, query)
		if err == nil {
			return at, nil
		}
		if r.ctx.Err() != nil {
			err = endedBy(r.ctx, err)
		}
		var answer *webAnswer
		if errors.As(err, &answer) && answer.final() || isEnded(err) || errors.Is(err, errConfig) {
			return "", wrap("open", r.uri, err)
		}
		if !more.again(r.ctx) {
			return "", &opError{"open", r.uri, fs.ErrTransient, err,
				"the file is erasure coded and is read through WebHDFS: is dfs.webhdfs.enabled set on the cluster and can this host reach " + nn + "?"}
		}
	}
}

func (w *webhdfs) redirect(ctx context.Context, nn, path string, query url.Values) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	dialed := nn
	if w.mapName != nil {
		dialed = w.mapName(nn)
	}
	u := url.URL{Scheme: w.scheme, Host: dialed, Path: "/webhdfs/v1" + path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", unnamed(err)
	}
	if err := w.authenticate(req, nn); err != nil {
		return "", err
	}
	resp, err := w.do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusTemporaryRedirect {
		return "", webError(resp)
	}
	to, err := resp.Location()
	if err != nil {
		return "", unnamed(err)
	}
	if w.mapData != nil {
		to.Host = w.mapData(to.Host)
	}
	return to.String(), nil
}

// do sends a request. Its errors name host and path only: the rest of an address may hold a token.
func (w *webhdfs) do(req *http.Request) (*http.Response, error) {
	resp, err := w.client.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s://%s%s: %w", req.URL.Scheme, req.URL.Host, req.URL.Path, err)
	}
	return resp, nil
}

// unnamed is the cause of an error that would name an address, of which nothing is shown.
func unnamed(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}

// authenticate proves to a NameNode who we are. The address that it gives has a token for the DataNode in it.
func (w *webhdfs) authenticate(req *http.Request, nn string) error {
	if w.login == nil {
		return nil
	}
	client, err := w.login.login()
	if err != nil {
		return err
	}
	host, _ := splitPort(nn)
	if names, err := net.LookupAddr(host); net.ParseIP(host) != nil && err == nil && len(names) > 0 {
		host = strings.TrimSuffix(names[0], ".")
	}
	spn := strings.ReplaceAll(first(w.service, "HTTP/_HOST"), "_HOST", strings.ToLower(host))
	return spnego.SetSPNEGOHeader(client, req, spn)
}

// webAnswer is an error that the server explains.
type webAnswer struct {
	code       int
	class, msg string
}

func (e *webAnswer) Error() string {
	return fmt.Sprintf("WebHDFS answers %d %s: %s", e.code, e.class, e.msg)
}
func (e *webAnswer) Exception() string { return e.class }
func (e *webAnswer) Message() string   { return e.msg }

// final tells whether another try would get the same answer.
func (e *webAnswer) final() bool {
	if e.class == "" {
		return e.code == http.StatusUnauthorized || e.code == http.StatusForbidden
	}
	c := classify(e)
	return c != busy && c != unknown && !strings.Contains(e.msg, "StandbyException")
}

func webError(resp *http.Response) error {
	e := &webAnswer{code: resp.StatusCode}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	var doc struct {
		RemoteException struct{ Exception, JavaClassName, Message string }
	}
	if json.Unmarshal(b, &doc) == nil {
		e.class, e.msg = first(doc.RemoteException.JavaClassName, doc.RemoteException.Exception), doc.RemoteException.Message
	}
	return e
}
