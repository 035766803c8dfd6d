// Package table is what a Paimon table is on disk: option keys, schema, snapshot, manifests, file metadata, paths, scan,
// commit and check. In order of use:
//
//	t, err := table.Open(ctx, fsys, table.TablePath(warehouse, "db", "orders"), nil)
//	s, err := t.Latest(ctx)                       // the newest snapshot
//	for entry, err := range t.Scan(ctx, s, table.Filter{}) { ... }
//	snap, err := t.NewCommit(user, nil).Commit(ctx, committable)
package table

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/paimon-go/paimon-go/fs"
)

// TablePath returns where a filesystem catalog keeps a table.
func TablePath(warehouse, db, table string) string { return fs.Join(warehouse, db+".db", table) }

// Table is an opened table: a place, its newest schema as of Open or the last Refresh, and options. It is safe for
// concurrent use.
type Table struct {
	fs      fs.FileSystem
	path    string
	dynamic Options
	meta    meta
	hinted  atomic.Bool // there was a hint EARLIEST

	mu      sync.RWMutex // guards what is below
	schema  *Schema
	options Options
	byID    map[int64]*Schema
}

// Open opens the table at path. Dynamic options lie over those of the schema and are never stored.
func Open(ctx context.Context, fsys fs.FileSystem, path string, dynamic Options) (*Table, error) {
	t := &Table{fs: fsys, path: strings.TrimRight(path, "/"), dynamic: dynamic.Clone(), byID: map[int64]*Schema{}}
	if err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// FS returns the file system of the table.
func (t *Table) FS() fs.FileSystem { return t.fs }

// Path returns the table's directory.
func (t *Table) Path() string { return t.path }

// Schema returns the schema as of Open or the last Refresh or Alter.
func (t *Table) Schema() *Schema {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.schema
}

// Options returns the schema's options with the dynamic ones over them. Don't change the map.
func (t *Table) Options() Options {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.options
}

// Refresh reads the newest schema.
func (t *Table) Refresh(ctx context.Context) error {
	s, err := t.LatestSchema(ctx)
	if err != nil {
		return err
	}
	return t.use(s)
}

// use makes s the current schema unless a newer one is.
func (t *Table) use(s *Schema) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.schema == nil || s.ID > t.schema.ID {
		if err := checkDynamic(s.Options, t.dynamic); err != nil {
			return err
		}
		t.schema, t.options = s, s.Options.With(t.dynamic)
	}
	t.byID[s.ID] = s
	return nil
}

// LatestSchema reads the newest schema without making it the current one.
func (t *Table) LatestSchema(ctx context.Context) (*Schema, error) {
	last, err := t.latestSchemaID(ctx)
	if err != nil {
		return nil, err
	}
	if last < 0 {
		return nil, fmt.Errorf("%w: no schema in %s", ErrNoTable, fs.Join(t.path, "schema"))
	}
	return t.SchemaByID(ctx, last)
}

// newestSchema is LatestSchema for who comes again and again: it looks for the successor of the newest schema that is known,
// and lists the directory only when there is one.
func (t *Table) newestSchema(ctx context.Context) (*Schema, error) {
	var known *Schema
	t.mu.RLock()
	for _, s := range t.byID {
		if known == nil || s.ID > known.ID {
			known = s
		}
	}
	t.mu.RUnlock()
	if known != nil {
		next, err := t.exists(ctx, t.schemaPath(known.ID+1))
		if err != nil || !next {
			return known, err
		}
	}
	return t.LatestSchema(ctx)
}

// latestSchemaID lists, as there is no hint: -1 when there is no schema. Other files in the directory are none of ours.
func (t *Table) latestSchemaID(ctx context.Context) (int64, error) {
	last := int64(-1)
	dir := fs.Join(t.path, "schema")
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return 0, fmt.Errorf("listing %s: %w", dir, err)
		}
		if id, ok := numbered(info.Name, "schema-"); ok {
			last = max(last, id)
		}
	}
	return last, nil
}

// numbered reads the number of "schema-12".
func numbered(name, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

func (t *Table) schemaPath(id int64) string {
	return fs.Join(t.path, "schema", "schema-"+strconv.FormatInt(id, 10))
}

// SchemaByID returns a version of the schema. Versions never change, so each is read once.
func (t *Table) SchemaByID(ctx context.Context, id int64) (*Schema, error) {
	t.mu.RLock()
	s := t.byID[id]
	t.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	path := t.schemaPath(id)
	data, err := readWhole(ctx, t.fs, path)
	if err != nil {
		return nil, fmt.Errorf("reading schema %s: %w", path, err)
	}
	s, err = DecodeSchema(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("reading %s: %w: it says that its id is %d", path, ErrCorrupt, s.ID)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.byID[id]; first != nil {
		return first, nil
	}
	t.byID[id] = s
	return s, nil
}

// hasSnapshots tells whether anything was ever committed, which freezes some options.
func (t *Table) hasSnapshots(ctx context.Context) (bool, error) {
	dir := fs.Join(t.path, "snapshot")
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return false, fmt.Errorf("listing %s: %w", dir, err)
		}
		if _, ok := numbered(info.Name, "snapshot-"); ok {
			return true, nil
		}
	}
	return false, nil
}

// publishOwn publishes a metadata file whose bytes are like no other's, so that a lost reply can be resolved by reading.
func publishOwn(ctx context.Context, fsys fs.FileSystem, path string, data []byte) (bool, error) {
	ok, err := fsys.Publish(ctx, path, data)
	if err == nil || errors.Is(err, fs.ErrNotPublished) {
		return ok, err
	}
	there, rerr := readWhole(ctx, fsys, path)
	switch {
	case rerr == nil:
		return string(there) == string(data), nil
	case errors.Is(rerr, fs.ErrNotExist):
		return false, err
	}
	return false, fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(err, rerr))
}
