package s3

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

const snapshot = "s3://wh/db/t/snapshot/snapshot-1"

// hurried lets all waits pass at once and tells how long they were together. One call at a time.
func hurried(fsys *FS) *time.Duration {
	var waited time.Duration
	begin := time.Now()
	fsys.clock = clock{func() time.Time { return begin.Add(waited) }, func(ctx context.Context, d time.Duration) error {
		waited += d
		return ctx.Err()
	}}
	return &waited
}

// patient lets all waits pass at once and their time stand still. Calls may be made at once.
func patient(fsys *FS) {
	fsys.clock.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
}

// drop is a fault: the connection ends, and the request is not carried out.
func drop(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

func TestPublishOutlastsFaults(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"answer lost":        lose,
		"request lost":       drop,
		"slow down":          answer(503, "SlowDown"),
		"internal error":     answer(500, "InternalError"),
		"bare 502":           answer(502, ""),
		"request timeout":    answer(400, "RequestTimeout"),
		"other puts":         answer(409, "ConditionalRequestConflict"),
		"operation aborted":  answer(409, "OperationAborted"),
		"clock far off":      answer(403, "RequestTimeTooSkewed"),
		"answer cut":         cut(0),
		"body did not match": answer(400, "BadDigest"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			fsys := f.open(t)
			hurried(fsys)
			f.on("PUT snapshot-1", 3, fault)
			ok, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, "mine", string(fstest.Read(t, fsys, snapshot)))

			f.on("PUT snapshot-1", 1, fault)
			ok, err = fsys.Publish(t.Context(), snapshot, []byte("other"))
			require.NoError(t, err)
			require.False(t, ok)
			require.Equal(t, "mine", string(fstest.Read(t, fsys, snapshot)))
			require.Equal(t, []string{"snapshot-1"}, fstest.Names(t, fsys, fs.Dir(snapshot)))
		})
	}
}

func TestPublishReadsBackThroughFaults(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	f.on("PUT snapshot-1", 1, lose)
	f.on("GET snapshot-1", 1, answer(503, "SlowDown"))
	f.on("GET snapshot-1", 1, cut(2))
	f.on("GET snapshot-1", 1, drop)
	ok, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
	require.NoError(t, err)
	require.True(t, ok)
}

// What must not be taken for certain: the store may have done it.
func TestPublishOfUnknownOutcome(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"answers lost": lose, "no answers": drop, "errors": answer(500, "InternalError"), "throttled": answer(503, "SlowDown"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			fsys := f.open(t, func(c *Config) { c.RetryFor = 0 })
			waited := hurried(fsys)
			f.on("PUT snapshot-1", -1, fault)
			f.on("GET snapshot-1", -1, answer(503, "SlowDown"))
			ok, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
			require.False(t, ok)
			require.ErrorIs(t, err, fs.ErrTransient)
			require.NotErrorIs(t, err, fs.ErrNotPublished)
			require.ErrorContains(t, err, snapshot)
			require.GreaterOrEqual(t, *waited, 90*time.Second)
			require.LessOrEqual(t, *waited, 5*time.Minute)
		})
	}
	t.Run("ours or not, it is gone", func(t *testing.T) {
		f := newFake(t)
		fsys := f.open(t)
		hurried(fsys)
		f.on("PUT snapshot-1", 1, lose)
		f.on("GET snapshot-1", 1, answer(404, "NoSuchKey"))
		_, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
		require.Error(t, err)
		require.NotErrorIs(t, err, fs.ErrNotPublished)
	})
	t.Run("the caller gives up", func(t *testing.T) {
		f := newFake(t)
		fsys := f.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.on("PUT snapshot-1", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(nowhere{}, r)
			cancel()
			<-r.Context().Done()
		})
		_, err := fsys.Publish(ctx, snapshot, []byte("mine"))
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, fs.ErrNotPublished)
		require.Equal(t, "mine", string(fstest.Read(t, fsys, snapshot)))
	})
}

type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

func TestPublishThatCertainlyFailed(t *testing.T) {
	for code, c := range map[string]struct {
		status int
		is     error
		says   string
	}{
		"AccessDenied":          {403, fs.ErrPermission, "s3.access-key"},
		"InvalidAccessKeyId":    {403, fs.ErrPermission, "s3.access-key"},
		"XAdminUserNotFound":    {404, fs.ErrPermission, "s3.access-key"},
		"SignatureDoesNotMatch": {403, fs.ErrPermission, "s3.secret-key"},
		"ExpiredToken":          {400, fs.ErrPermission, "expired"},
		"QuotaExceeded":         {403, fs.ErrFull, "QuotaExceeded"},
		"NoSuchBucket":          {404, nil, "create it"},
		"PermanentRedirect":     {301, nil, "s3.endpoint.region"},
		"InvalidArgument":       {400, nil, "InvalidArgument"},
	} {
		t.Run(code, func(t *testing.T) {
			f := newFake(t)
			fsys := f.open(t)
			waited := hurried(fsys)
			f.on("PUT snapshot-1", -1, answer(c.status, code))
			_, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
			require.ErrorIs(t, err, fs.ErrNotPublished)
			require.NotErrorIs(t, err, fs.ErrTransient)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, snapshot)
			require.NotContains(t, err.Error(), "testsecret")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.Zero(t, *waited, "it comes at once")
			require.Equal(t, 1, f.count("PUT", "snapshot-1"))
		})
	}
	t.Run("after a lost answer nothing is certain", func(t *testing.T) {
		f := newFake(t)
		fsys := f.open(t)
		hurried(fsys)
		f.on("PUT snapshot-1", 1, lose)
		f.on("PUT snapshot-1", 1, answer(403, "AccessDenied"))
		_, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
		require.ErrorIs(t, err, fs.ErrPermission)
		require.NotErrorIs(t, err, fs.ErrNotPublished)
	})
	t.Run("no server", func(t *testing.T) {
		f := newFake(t)
		fsys := f.open(t)
		waited := hurried(fsys)
		f.Close()
		_, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
		require.ErrorIs(t, err, fs.ErrNotPublished)
		require.ErrorIs(t, err, fs.ErrTransient)
		require.Greater(t, *waited, 10*time.Second)
	})
}

func TestStoresThatCannotPublishAreRefused(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	fstest.Write(t, fsys, fs.Join(fs.Dir(snapshot), "EARLIEST"), nil)
	f.on("PUT", -1, unconditional)
	for range 2 {
		ok, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
		require.False(t, ok)
		require.ErrorIs(t, err, fs.ErrNotPublished)
		require.ErrorContains(t, err, "ignores If-None-Match")
		require.NotErrorIs(t, err, fs.ErrTransient)
	}
	require.ErrorContains(t, fsys.Check(t.Context(), "s3://wh/db/t"), "ignores If-None-Match")
	require.Equal(t, []string{"EARLIEST"}, fstest.Names(t, fsys, fs.Dir(snapshot)))
	require.Equal(t, 2, f.count("PUT", ".condition."), "a refusal stays")

	f = newFake(t)
	fsys = f.open(t)
	f.on("PUT", -1, answer(501, "NotImplemented"))
	_, err := fsys.Publish(t.Context(), snapshot, []byte("mine"))
	require.ErrorIs(t, err, fs.ErrNotPublished)
	require.ErrorContains(t, err, "proving that the store honours If-None-Match")
}

func TestConditionsAreCheckedOncePerBucket(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	f.on("PUT .condition.", 1, lose) // its answer may be lost like any other
	f.on("PUT .condition.", 1, answer(503, "SlowDown"))
	for _, name := range []string{"s3://wh/a/snapshot-1", "s3://wh/b/snapshot-1", "s3a://wh/c/snapshot-1"} {
		ok, err := fsys.Publish(t.Context(), name, []byte(name))
		require.NoError(t, err)
		require.True(t, ok)
	}
	require.Equal(t, 4, f.count("PUT", ".condition."))
	require.Equal(t, 1, f.count("DELETE", ".condition."))

	// one that could not be made is made again
	f = newFake(t)
	fsys = f.open(t, func(c *Config) { c.RetryFor = time.Second })
	hurried(fsys)
	f.on("PUT .condition.", 1, answer(403, "AccessDenied"))
	_, err := fsys.Publish(t.Context(), snapshot, nil)
	require.ErrorIs(t, err, fs.ErrPermission)
	ok, err := fsys.Publish(t.Context(), snapshot, nil)
	require.NoError(t, err)
	require.True(t, ok)
}

// TestWaitingForTheProofEndsWithItsContext, while another call is busy with it.
func TestWaitingForTheProofEndsWithItsContext(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	begun, why := make(chan struct{}), errors.New("enough")
	f.on("PUT .condition.", 1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		close(begun)
		hang(w, r, nil)
	})
	first, end := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := fsys.Publish(first, snapshot, nil)
		done <- err
	}()
	<-begun
	second, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	o, err := parse(snapshot)
	require.NoError(t, err)
	require.ErrorIs(t, fsys.checkConditions(second, o), why)
	end(why)
	require.ErrorIs(t, <-done, why)
}

func TestWaitsGrowAndDiffer(t *testing.T) {
	f := newFake(t)
	f.on("PUT", -1, answer(503, "SlowDown"))
	var waits [2][]time.Duration
	for i := range waits {
		fsys := f.open(t, func(c *Config) { c.RetryFor = 0 })
		now := time.Now()
		fsys.clock = clock{func() time.Time { return now }, func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			waits[i] = append(waits[i], d)
			return nil
		}}
		require.ErrorIs(t, fsys.Replace(t.Context(), "s3://wh/LATEST", []byte("1")), fs.ErrTransient)
		require.Less(t, len(waits[i]), 20, "a store that wants fewer requests gets few")
		require.GreaterOrEqual(t, waits[i][0], 250*time.Millisecond)
		require.Less(t, waits[i][0], waits[i][3])
	}
	require.NotEqual(t, waits[0][:3], waits[1][:3], "two programs do not come back together")
}

func TestNothingIsTriedAfterTheEndOfTheContext(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.on("HEAD", -1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		cancel()
		answer(500, "InternalError")(w, r, nil)
	})
	_, err := fsys.Stat(ctx, "s3://wh/x")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, f.count("HEAD", ""))
}

func TestHangingStoreIsGivenUpInTime(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t, func(c *Config) { c.CallTime = 50 * time.Millisecond })
	f.on("PUT LATEST", 2, hang)
	require.NoError(t, fsys.Replace(t.Context(), "s3://wh/LATEST", []byte("1")))
	require.Equal(t, 3, f.count("PUT", "LATEST"))
}

// A clock that is far off is corrected by what the store says.
func TestClocksThatAreOff(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	theirs := time.Now().Add(3 * time.Hour)
	f.on("PUT LATEST", 1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Date", theirs.UTC().Format(http.TimeFormat))
		answer(403, "RequestTimeTooSkewed")(w, r, nil)
	})
	var date string
	f.on("PUT LATEST", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		date = r.Header.Get("X-Amz-Date")
		next.ServeHTTP(w, r)
	})
	require.NoError(t, fsys.Replace(t.Context(), "s3://wh/LATEST", nil))
	signed, err := time.Parse("20060102T150405Z", date)
	require.NoError(t, err)
	require.WithinDuration(t, theirs, signed, time.Hour)
}

func TestErrorsAreShort(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	f.on("PUT", -1, answer(403, "AccessDenied"))
	err := fsys.Replace(t.Context(), "s3://wh/LATEST", nil)
	require.True(t, strings.HasPrefix(err.Error(), "s3: replacing s3://wh/LATEST: 403 AccessDenied (the fake says so)"), err.Error())
	require.NotContains(t, err.Error(), "\n")
	var ce *callError
	require.True(t, errors.As(err, &ce))
}
