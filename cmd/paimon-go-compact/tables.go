package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// warehouse is where tables lie: <root>/<database>.db/<table>. It implements compactor.Tables.
type warehouse struct {
	fsys    fs.FileSystem
	catalog map[string]string // settings of fsys
	log     *slog.Logger
	root    string
	options table.Options // over those of each table
	// only is one table, db.table, whose path is known; "": those that the patterns choose.
	only                            string
	databases, including, excluding *regexp.Regexp // nil: .*, .*, none

	mu    sync.Mutex
	paths map[string]string // guarded by mu; where the tables lie that were found the last time
	found bool              // guarded by mu; they were looked for
	told  time.Time         // guarded by mu; when it was last told that there is no such directory
}

// tellAgain is how often a directory that is missing is told of.
const tellAgain = time.Hour

// missing tells the log when the warehouse isn't there: a service waits for it, perhaps for a mistyped one.
func (w *warehouse) missing(ctx context.Context) {
	_, err := w.fsys.Stat(ctx, w.root)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.told = time.Time{}
	case errors.Is(err, fs.ErrNotExist) && (w.told.IsZero() || time.Since(w.told) >= tellAgain):
		w.told = time.Now()
		w.log.Warn("the warehouse does not exist; it is waited for: is the path right?", "warehouse", w.root)
	}
}

// pattern compiles a regular expression that must match the whole name.
func pattern(flag, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(`^(?:` + text + `)$`)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w: %w", flag, err, cli.ErrUsage)
	}
	return re, nil
}

// exists refuses a directory that isn't there: tables that a wrong name hides would look as if nothing were due.
func (w *warehouse) exists(ctx context.Context, flag, path string) error {
	_, err := w.fsys.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no %s: %w", flag, path, cli.ErrUsage)
	} else if err != nil {
		return fmt.Errorf("looking for %s: %w", path, err)
	}
	return nil
}

// wants tells whether the patterns choose a table. Excluding wins.
func (w *warehouse) wants(database, name string) bool {
	full := database + "." + name
	return (w.including == nil || w.including.MatchString(full)) && (w.excluding == nil || !w.excluding.MatchString(full))
}

// List implements compactor.Tables.
func (w *warehouse) List(ctx context.Context) ([]string, error) {
	if w.only != "" {
		return []string{w.only}, nil
	}
	var out []string
	seen := map[string]string{}
	for db, err := range w.fsys.List(ctx, w.root) {
		if err != nil {
			return nil, fmt.Errorf("listing the warehouse %s: %w", w.root, err)
		}
		database, ok := strings.CutSuffix(db.Name, ".db")
		if !ok || !db.Dir || w.databases != nil && !w.databases.MatchString(database) {
			continue
		}
		for t, err := range w.fsys.List(ctx, db.Path) {
			if err != nil {
				return nil, fmt.Errorf("listing the database %s: %w", db.Path, err)
			}
			if !t.Dir || !w.wants(database, t.Name) {
				continue
			}
			name := database + "." + t.Name
			is, err := w.isTable(ctx, name, t.Path)
			if err != nil {
				return nil, err
			}
			if is {
				seen[name] = t.Path
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 {
		w.missing(ctx)
	}
	w.mu.Lock()
	w.paths, w.found = seen, true
	w.mu.Unlock()
	slices.Sort(out)
	return out, nil
}

func (w *warehouse) isTable(ctx context.Context, name, path string) (bool, error) {
	w.mu.Lock()
	known := w.paths[name] != "" // a schema that was there is not looked for again
	w.mu.Unlock()
	if known {
		return true, nil
	}
	_, err := w.fsys.Stat(ctx, fs.Join(path, "schema"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("looking for a table at %s: %w", path, err)
	}
	return true, nil
}

// errLooking: readiness begins with the first list of tables.
var errLooking = errors.New("the tables are being looked for")

// ready tells whether the tables are known.
func (w *warehouse) ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.only == "" && !w.found {
		return errLooking
	}
	return nil
}

// Open implements compactor.Tables.
func (w *warehouse) Open(ctx context.Context, name string) (*table.Table, error) {
	w.mu.Lock()
	path := w.paths[name]
	w.mu.Unlock()
	if path == "" {
		return nil, fmt.Errorf("%w: %s is not among the tables of %s", table.ErrNoTable, name, w.root)
	}
	return table.Open(ctx, w.fsys, path, w.options)
}
