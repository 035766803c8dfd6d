package hdfs

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

// webFile is a file that is read through a WebHDFS of this process.
func webFile(t *testing.T, retryFor, patience time.Duration, handler http.HandlerFunc) *webReader {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	f := startFake(t, 1).open(t, func(cfg *Config) { cfg.RetryFor = retryFor })
	f.web.addresses, f.web.patience = []string{strings.TrimPrefix(s.URL, "http://")}, patience
	return &webReader{f: f, ctx: t.Context(), uri: "hdfs:///f", path: "/f", size: 3}
}

func TestWebReadsThroughTheAddressGiven(t *testing.T) {
	r := webFile(t, time.Second, time.Minute, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Query().Get("delegation") == "" {
			http.Redirect(w, q, "http://"+q.Host+"/data?delegation=TOKEN", http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write([]byte("abc"))
	})
	b := make([]byte, 3)
	n, err := r.ReadAt(b, 0)
	require.NoError(t, err)
	require.Equal(t, "abc", string(b[:n]))
}

// TestWebTokensAreNotPrinted, whatever fails with an address that has one.
func TestWebTokensAreNotPrinted(t *testing.T) {
	for name, to := range map[string]string{
		"nobody there": "http://127.0.0.1:1/data?delegation=TOKEN",
		"no host":      "http://%zz/data?delegation=TOKEN",
		"no port":      "http://host:port/data?delegation=TOKEN",
		"no address":   "://data?delegation=TOKEN",
		"no scheme":    "ftp://host/data?delegation=TOKEN",
		"hangs up":     "/hang?delegation=TOKEN",
	} {
		t.Run(name, func(t *testing.T) {
			r := webFile(t, 120*time.Millisecond, time.Minute, func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/hang" {
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusTemporaryRedirect)
			})
			_, err := r.ReadAt(make([]byte, 3), 0)
			require.ErrorIs(t, err, fs.ErrTransient)
			require.NotContains(t, err.Error(), "TOKEN")
		})
	}
}

// TestWebServerThatStalls in the body of an error does not hold a reader.
func TestWebServerThatStalls(t *testing.T) {
	r := webFile(t, 10*time.Millisecond, 50*time.Millisecond, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusInternalServerError)
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	})
	_, err := r.ReadAt(make([]byte, 3), 0)
	require.ErrorIs(t, err, fs.ErrTransient)
}
