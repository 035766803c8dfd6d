package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

// CommitKind says what a snapshot did to the table; readers refuse any other text.
type CommitKind string

// The commit kinds. A Compact snapshot doesn't change what a query answers; streaming readers of tables without changelog
// files read Append deltas only.
const (
	CommitAppend    CommitKind = "APPEND"
	CommitCompact   CommitKind = "COMPACT"
	CommitOverwrite CommitKind = "OVERWRITE"
	CommitAnalyze   CommitKind = "ANALYZE"
)

const snapshotVersion = 3

// Snapshot is one version of the table: the file snapshot/snapshot-<ID>. The content of the table is the entries of the
// base list and then of the delta list; the changelog list is for streaming readers and not part of it.
//
// Nil pointers and empty strings are keys that the file doesn't have. Snapshots are immutable once read or committed.
type Snapshot struct {
	Version               int               `json:"version"`
	UUID                  string            `json:"uuid,omitempty"` // Paimon 2.0+; older versions ignore it
	ID                    int64             `json:"id"`
	SchemaID              int64             `json:"schemaId"`
	BaseManifestList      string            `json:"baseManifestList"`
	BaseManifestListSize  *int64            `json:"baseManifestListSize,omitempty"`
	DeltaManifestList     string            `json:"deltaManifestList"`
	DeltaManifestListSize *int64            `json:"deltaManifestListSize,omitempty"`
	ChangelogManifestList string            `json:"changelogManifestList,omitempty"`
	ChangelogListSize     *int64            `json:"changelogManifestListSize,omitempty"`
	IndexManifest         string            `json:"indexManifest,omitempty"`
	CommitUser            string            `json:"commitUser"`
	CommitIdentifier      int64             `json:"commitIdentifier"`
	CommitKind            CommitKind        `json:"commitKind"`
	TimeMillis            int64             `json:"timeMillis"`
	TotalRecordCount      int64             `json:"totalRecordCount"`
	DeltaRecordCount      int64             `json:"deltaRecordCount"`
	ChangelogRecordCount  *int64            `json:"changelogRecordCount,omitempty"`
	Watermark             *int64            `json:"watermark,omitempty"`
	Statistics            string            `json:"statistics,omitempty"`
	Properties            map[string]string `json:"properties,omitempty"`
	NextRowID             *int64            `json:"nextRowId,omitempty"`
}

// encode returns the bytes of the snapshot file, laid out as Java's.
func (s *Snapshot) encode() ([]byte, error) {
	compact, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding snapshot %d: %w", s.ID, err)
	}
	return prettyJSON(compact)
}

// parseSnapshot reads the bytes of a snapshot file; errors wrap ErrCorrupt and name the path and offset.
func parseSnapshot(path string, data []byte) (*Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("reading snapshot %s: %w at byte %d: %w", path, ErrCorrupt, jsonOffset(err), err)
	}
	bad := func(format string, args ...any) (*Snapshot, error) {
		return nil, fmt.Errorf("reading snapshot %s: %w: %s", path, ErrCorrupt, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Version > snapshotVersion:
		return nil, fmt.Errorf("reading snapshot %s: version %d: %w", path, s.Version, ErrNewerFormat)
	case s.ID <= 0:
		return bad("id is %d", s.ID)
	case s.BaseManifestList == "" || s.DeltaManifestList == "":
		return bad("a manifest list is missing")
	}
	switch s.CommitKind {
	case CommitAppend, CommitCompact, CommitOverwrite, CommitAnalyze:
	default:
		return bad("commit kind is %q", string(s.CommitKind))
	}
	for _, n := range []*int64{s.BaseManifestListSize, s.DeltaManifestListSize, s.ChangelogListSize} {
		if n != nil && *n < 0 {
			return bad("a manifest list has size %d", *n)
		}
	}
	return &s, nil
}

func jsonOffset(err error) int64 {
	var syn *json.SyntaxError
	if errors.As(err, &syn) {
		return syn.Offset
	}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return typ.Offset
	}
	return 0
}

// snapshotPrefix precedes the id in the names of snapshot files.
const snapshotPrefix = "snapshot-"

func (t *Table) snapshotDir() string { return t.path + "/snapshot" }

func (t *Table) snapshotPath(id int64) string {
	return t.snapshotDir() + "/" + snapshotPrefix + strconv.FormatInt(id, 10)
}

// cachedSnapshot is a snapshot with the bytes it was read from. A rollback lets an id be used a second time with another
// content, so an id alone identifies nothing: bytes are compared.
type cachedSnapshot struct {
	*Snapshot
	raw []byte
}

// Snapshot reads the snapshot with this id; the error wraps fs.ErrNotExist when there is none (or it has expired).
func (t *Table) Snapshot(ctx context.Context, id int64) (*Snapshot, error) {
	c, err := t.readSnapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.Snapshot, nil
}

func (t *Table) readSnapshot(ctx context.Context, id int64) (*cachedSnapshot, error) {
	path := t.snapshotPath(id)
	raw, err := readWhole(ctx, t.fs, path)
	if err != nil {
		return nil, fmt.Errorf("reading snapshot %s: %w", path, err)
	}
	s, err := parseSnapshot(path, raw)
	if err != nil {
		return nil, err
	}
	if s.ID != id {
		return nil, fmt.Errorf("reading snapshot %s: %w: its id is %d", path, ErrCorrupt, s.ID)
	}
	return &cachedSnapshot{Snapshot: s, raw: raw}, nil
}

// maxForward is how many snapshots past the last known one are read one by one before the hint is asked.
const maxForward = 64

// Latest returns the newest snapshot, nil when the table has none. It starts at the newest one seen before, so it usually
// costs a look for the next file and a read of this one.
func (t *Table) Latest(ctx context.Context) (*Snapshot, error) {
	c, err := t.latest(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	return c.Snapshot, nil
}

func (t *Table) latest(ctx context.Context) (*cachedSnapshot, error) {
	c, _, err := t.latestWalked(ctx)
	return c, err
}

// latestWalked is latest, and the snapshots that were read on the way to it: the last of them is the latest. There may be none.
func (t *Table) latestWalked(ctx context.Context) (c *cachedSnapshot, walked []*cachedSnapshot, err error) {
	if seen := t.meta.lastSeen(); seen != nil {
		c, walked, err = t.walkForward(ctx, seen, maxForward)
	}
	if c == nil && err == nil {
		c, err = t.findLatest(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	t.meta.setLastSeen(c)
	return c, walked, nil
}

// walkForward returns the newest snapshot after c by looking for the ids that follow, at most so many, and those that it read
// for that. It returns nil when c is no use for it.
func (t *Table) walkForward(ctx context.Context, c *cachedSnapshot, most int) (last *cachedSnapshot, walked []*cachedSnapshot, err error) {
	last = c
	for range most {
		next, err := t.readSnapshot(ctx, last.ID+1)
		if errors.Is(err, fs.ErrNotExist) {
			if last != c {
				return last, walked, nil
			}
			// Nothing new, if c is still there: otherwise c and its successors have expired, or were rolled back.
			again, err := t.readSnapshot(ctx, c.ID)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil, nil, nil
			case err != nil:
				return nil, nil, err
			case bytes.Equal(again.raw, c.raw):
				return c, nil, nil
			}
			return again, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		last = next
		walked = append(walked, next)
	}
	return nil, nil, nil // far behind
}

// After returns the snapshots after s, oldest first, at most so many. It is nil, not empty, when the way from s on is
// interrupted or too long: s has expired, was rolled back, or is not the snapshot of its id any more.
func (t *Table) After(ctx context.Context, s *Snapshot, most int) ([]*Snapshot, error) {
	known, err := t.readSnapshot(ctx, s.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if known.UUID != s.UUID || known.BaseManifestList != s.BaseManifestList || known.DeltaManifestList != s.DeltaManifestList {
		return nil, nil
	}
	list := []*Snapshot{}
	for last := known; len(list) <= most; {
		next, err := t.readSnapshot(ctx, last.ID+1)
		if errors.Is(err, fs.ErrNotExist) {
			if seen := t.meta.lastSeen(); len(list) > 0 || seen == nil || seen.ID != last.ID {
				t.meta.setLastSeen(last)
			}
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, next.Snapshot)
		last = next
	}
	return nil, nil
}

// findLatest finds the newest snapshot by the hint and the directory; nil when there is none.
func (t *Table) findLatest(ctx context.Context) (*cachedSnapshot, error) {
	if n, ok := t.readHint(ctx, hintLatest); ok {
		exists, err := t.exists(ctx, t.snapshotPath(n+1))
		if err != nil {
			return nil, err
		}
		if !exists {
			c, err := t.readSnapshot(ctx, n)
			if err == nil || !errors.Is(err, fs.ErrNotExist) {
				return c, err
			}
		}
	}
	// The newest one can only vanish between listing and reading by a rollback, so a few rounds are plenty.
	for range 5 {
		ids, err := t.snapshotIDs(ctx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		c, err := t.readSnapshot(ctx, ids[len(ids)-1])
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return nil, fmt.Errorf("looking for the latest snapshot in %s: %w: listed ones are never there", t.snapshotDir(), fs.ErrTransient)
}

// Earliest returns the oldest snapshot that has not expired, nil when the table has none.
func (t *Table) Earliest(ctx context.Context) (*Snapshot, error) {
	if n, ok := t.readHint(ctx, hintEarliest); ok {
		s, err := t.Snapshot(ctx, n)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	for s, err := range t.Snapshots(ctx) {
		return s, err
	}
	return nil, nil
}

// Snapshots gives the snapshots there are, oldest first. One that expires meanwhile is left out.
func (t *Table) Snapshots(ctx context.Context) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		ids, err := t.snapshotIDs(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range ids {
			s, err := t.Snapshot(ctx, id)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// LatestOf returns the newest snapshot of a commit user, nil when none of those that have not expired is theirs.
func (t *Table) LatestOf(ctx context.Context, user string) (*Snapshot, error) {
	s, err := t.Latest(ctx)
	for s != nil && err == nil {
		if s.CommitUser == user {
			return s, nil
		}
		if s.ID == 1 {
			return nil, nil
		}
		s, err = t.Snapshot(ctx, s.ID-1)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // expired, and so are all before it
	}
	return nil, err
}

// snapshotIDs lists the ids of the snapshot files, ascending.
func (t *Table) snapshotIDs(ctx context.Context) ([]int64, error) {
	var ids []int64
	for info, err := range t.fs.List(ctx, t.snapshotDir()) {
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", t.snapshotDir(), err)
		}
		if digits, ok := strings.CutPrefix(info.Name, snapshotPrefix); ok && !info.Dir {
			if id, err := strconv.ParseInt(digits, 10, 64); err == nil && id > 0 {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (t *Table) exists(ctx context.Context, path string) (bool, error) {
	_, err := t.fs.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", path, err)
	}
	return true, nil
}

// readWhole returns the content of a file.
func readWhole(ctx context.Context, fsys fs.FileSystem, path string) ([]byte, error) {
	r, err := fsys.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	data := make([]byte, r.Size())
	n, err := r.ReadAt(data, 0)
	if n == len(data) && errors.Is(err, io.EOF) {
		err = nil
	}
	return data, errors.Join(err, r.Close())
}
