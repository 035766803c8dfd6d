package s3

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// fake is an S3 server in memory with faults: before a request is carried out, or on its answer.
type fake struct {
	*httptest.Server
	store http.Handler

	mu     sync.Mutex
	faults []*fault
	calls  []string // "PUT key?query", in order
}

// fault happens to the requests that match, as often as times says.
type fault struct {
	match string // "METHOD" or "METHOD text in the URL"
	times int
	act   func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

func newFake(t *testing.T) *fake {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("wh"))
	return newFakeOf(t, gofakes3.New(backend, gofakes3.WithTimeSkewLimit(0)).Server())
}

func newFakeOf(t *testing.T, store http.Handler) *fake {
	t.Helper()
	f := &fake{store: store}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	call := r.Method + " " + r.URL.Path
	if r.URL.RawQuery != "" {
		call += "?" + r.URL.RawQuery
	}
	f.calls = append(f.calls, call)
	var hit *fault
	for _, ft := range f.faults {
		method, text, _ := strings.Cut(ft.match, " ")
		if ft.times != 0 && method == r.Method && strings.Contains(r.URL.String(), text) {
			ft.times--
			hit = ft
			break
		}
	}
	f.mu.Unlock()
	if hit != nil {
		hit.act(w, r, f.store)
		return
	}
	f.store.ServeHTTP(w, r)
}

// on adds a fault.
func (f *fake) on(match string, times int, act func(http.ResponseWriter, *http.Request, http.Handler)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault{match, times, act})
}

// count tells how many requests have begun with a method and have a text in their URL.
func (f *fake) count(method, text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if strings.HasPrefix(c, method+" ") && strings.Contains(c, text) {
			n++
		}
	}
	return n
}

// answer is a fault: the request is not carried out, and this is the answer.
func answer(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>the fake says so</Message></Error>", code)
	}
}

// lose is a fault: the request is carried out, and the connection ends instead of an answer.
func lose(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// hang is a fault: no answer comes before the client gives up. A server notices that only when it has read the body.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// cut is a fault: of the answer's body a part comes, then the connection ends.
func cut(n int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:min(n, rec.Body.Len())])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// unconditional is a fault: the condition of a put is not looked at.
func unconditional(w http.ResponseWriter, r *http.Request, next http.Handler) {
	r.Header.Del("If-None-Match")
	next.ServeHTTP(w, r)
}

// config reaches a fake.
func (f *fake) config() Config {
	return Config{Endpoint: f.URL, Region: "us-east-1", PathStyle: true, AccessKey: "test", SecretKey: "testsecret",
		CallTime: 2 * time.Second, RetryFor: 20 * time.Second}
}

func (f *fake) open(t *testing.T, change ...func(*Config)) *FS {
	t.Helper()
	cfg := f.config()
	for _, c := range change {
		c(&cfg)
	}
	fsys, err := New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fsys.Close()) })
	return fsys
}
