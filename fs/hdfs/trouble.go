package hdfs

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// trouble tells an operator of what goes wrong and is dealt with: a DataNode that is left out, a file that is written again, a
// NameNode that is waited for. The zero value tells nobody.
type trouble struct {
	to atomic.Pointer[slog.Logger]

	mu      sync.Mutex
	waiting int       // calls that have been told of and go on
	since   time.Time // of the outage of the NameNode that was told of; zero if it answers
}

// tellAfter is for how long a call to the NameNode is tried again before somebody is told: a fail-over takes some seconds.
const tellAfter = 10 * time.Second

var nobody = slog.New(slog.DiscardHandler)

func (t *trouble) log() *slog.Logger {
	if l := t.to.Load(); l != nil {
		return l
	}
	return nobody
}

// LogTo has trouble that passes told in a log, from now on. Config.Log does it from the start.
func (f *FS) LogTo(log *slog.Logger) { f.trouble.to.Store(log) }

// asking is a call to the NameNode.
type asking struct {
	t     *trouble
	begin time.Time
	after time.Duration
	told  bool
}

func (t *trouble) ask(after time.Duration) *asking {
	return &asking{t: t, begin: time.Now(), after: after}
}

// again is called when a try has failed and there is to be another. An outage is told of once, whoever notices it.
func (a *asking) again(uri, method string, err error) {
	if a.told || time.Since(a.begin) < a.after {
		return
	}
	a.told = true
	a.t.mu.Lock()
	defer a.t.mu.Unlock()
	a.t.waiting++
	if a.t.since.IsZero() {
		a.t.since = a.begin
		a.t.log().Warn("the namenode does not answer, or refuses for the moment; it is asked again", "namenode", uri, "call", method,
			"for", time.Since(a.begin).Round(time.Millisecond), "error", message(err))
	}
}

// end is called with whether the NameNode has answered. That counts as the end of an outage only when nobody is waiting: one that is
// in safe mode answers who reads, and not who writes.
func (a *asking) end(uri string, answered bool) {
	a.t.mu.Lock()
	defer a.t.mu.Unlock()
	if a.told {
		a.t.waiting--
	}
	if answered && a.t.waiting == 0 && !a.t.since.IsZero() {
		a.t.log().Info("the namenode answers again", "namenode", uri, "after", time.Since(a.t.since).Round(time.Millisecond))
		a.t.since = time.Time{}
	}
}
