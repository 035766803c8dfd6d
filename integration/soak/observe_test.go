//go:build integration

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// watcher knows how far each table has come.
type watcher struct {
	fsys      fs.FileSystem
	warehouse string
	names     []string

	mu     sync.Mutex // guards all below
	tables map[string]*table.Table
	users  map[string]string
	saved  map[string]gomysql.GTIDSet // nil: in the initial read
	when   map[string]time.Time       // when it last moved
}

func newWatcher(fsys fs.FileSystem, warehouse string, names []string) *watcher {
	return &watcher{fsys: fsys, warehouse: warehouse, names: names, tables: map[string]*table.Table{}, users: map[string]string{},
		saved: map[string]gomysql.GTIDSet{}, when: map[string]time.Time{}}
}

// run looks until ctx ends. What can't be read now is read later: the storage is the patient.
func (w *watcher) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, name := range w.names { // each for itself: one may hang
		all.Go(func() {
			for ctx.Err() == nil {
				limited, cancel := context.WithTimeout(ctx, 20*time.Second)
				_ = w.look(limited, name)
				cancel()
				select {
				case <-ctx.Done():
				case <-time.After(500 * time.Millisecond):
				}
			}
		})
	}
	all.Wait()
}

// look reads a table's position.
func (w *watcher) look(ctx context.Context, name string) error {
	w.mu.Lock()
	t, user := w.tables[name], w.users[name]
	w.mu.Unlock()
	var err error
	if t == nil {
		if t, err = table.Open(ctx, w.fsys, table.TablePath(w.warehouse, database, name), nil); err != nil {
			return err
		}
	}
	if user == "" {
		for i, err := range w.fsys.List(ctx, fs.Join(t.Path(), "paimon-go")) {
			if err != nil {
				return err
			}
			if u, ok := strings.CutSuffix(i.Name, ".json"); ok && !strings.HasPrefix(u, ".") {
				user = u
			}
		}
		if user == "" {
			return errors.New("no commit yet")
		}
	}
	state, err := t.FindSinkState(ctx, user, positionProperty)
	if err != nil || state == nil || state.Position == "" {
		return err
	}
	var p struct {
		GTID     string          `json:"gtid"`
		Snapshot json.RawMessage `json:"snapshot"`
	}
	if err := json.Unmarshal([]byte(state.Position), &p); err != nil {
		return fmt.Errorf("position %q: %w", state.Position, err)
	}
	var set gomysql.GTIDSet
	if p.Snapshot == nil && p.GTID != "" {
		if set, err = gomysql.ParseMysqlGTIDSet(p.GTID); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tables[name], w.users[name] = t, user
	if old := w.saved[name]; set != nil && (old == nil || !old.Equal(set)) {
		w.saved[name], w.when[name] = set, time.Now()
	}
	return nil
}

// behind are the tables that lack something of a set.
func (w *watcher) behind(end gomysql.GTIDSet) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.names {
		if s := w.saved[n]; s == nil || !s.Contain(end) {
			moved := "never"
			if at, ok := w.when[n]; ok {
				moved = time.Since(at).Round(time.Second).String() + " ago"
			}
			list = append(list, fmt.Sprintf("%s (moved %s)", n, moved))
		}
	}
	return list
}

// wait waits until all tables have a set.
func (w *watcher) wait(ctx context.Context, end gomysql.GTIDSet, patience time.Duration) error {
	limit := time.Now().Add(patience)
	for {
		late := w.behind(end)
		switch {
		case len(late) == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(limit):
			return fmt.Errorf("not in the tables after %s: %s", patience, strings.Join(late, ", "))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// recovery is how long a kind of fault was felt.
type recovery struct {
	struck, mended []time.Duration // until the tables had what was in MySQL when it struck, since then; when it was mended
}

// recoveries collects them.
type recoveries struct {
	mu   sync.Mutex // guards of
	of   map[Kind]*recovery
	wait sync.WaitGroup
}

func (r *recoveries) add(k Kind, struck bool, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.of[k]
	if x == nil {
		x = &recovery{}
		r.of[k] = x
	}
	if struck {
		x.struck = append(x.struck, d)
	} else {
		x.mended = append(x.mended, d)
	}
}

func (r *recoveries) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []Kind
	for k := range r.of {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	b := fmt.Sprintf("%-34s %5s   %s   %s\n", "fault", "times", "since it struck: median, most", "since it was mended: median, most")
	for _, k := range kinds {
		x := r.of[k]
		b += fmt.Sprintf("%-34s %5d   %14s %14s   %18s %14s\n", k, len(x.struck), middle(x.struck), most(x.struck), middle(x.mended), most(x.mended))
	}
	return b
}

func middle(d []time.Duration) string {
	if len(d) == 0 {
		return "-"
	}
	d = slices.Sorted(slices.Values(d))
	return fmt.Sprintf("%.1fs", d[len(d)/2].Seconds())
}

func most(d []time.Duration) string {
	if len(d) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fs", slices.Max(d).Seconds())
}
