//go:build integration

package testkit

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// Change is one row of a changelog.
type Change struct {
	Snapshot int64
	Kind     string // +I -U +U -D
	Key      string
	Row      string // in the form of Table.JavaRows
}

// JavaChanges are what Java's streaming reader gives, from the earliest change that is kept unless words say --from.
func (x *Table) JavaChanges(version string, words ...string) []Change {
	x.t.Helper()
	return x.changes(x.Java(version, "changelog", words...))
}

// Changes are what paimon-go changelog prints.
func (x *Table) Changes(words ...string) []Change {
	x.t.Helper()
	cmd := exec.Command(Program(x.t, "paimon-go"), append(append([]string{"changelog", "--json"}, x.Args()...), words...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(x.t, err)
	return x.changes(strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }))
}

func (x *Table) changes(lines []string) []Change {
	x.t.Helper()
	s := x.Open().Schema() // the changes of a partition are in order
	keys := slices.Clone(s.PrimaryKeys)
	for _, k := range s.PartitionKeys {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return ParseChanges(x.t, lines, keys)
}

// ParseChanges reads changes as the oracle and paimon-go changelog print them.
func ParseChanges(t testing.TB, lines, keys []string) []Change {
	t.Helper()
	out := make([]Change, len(lines))
	for i, l := range lines {
		var head struct {
			Snapshot int64  `json:"_snapshot"`
			Kind     string `json:"_kind"`
		}
		var cells map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(l), &head), l)
		require.NoError(t, json.Unmarshal([]byte(l), &cells), l)
		c := &out[i]
		c.Snapshot, c.Kind = head.Snapshot, head.Kind
		for _, k := range keys {
			c.Key += string(cells[k]) + " "
		}
		parts := strings.SplitN(l, ",", 3) // after the snapshot and the kind
		require.Len(t, parts, 3, l)
		c.Row = "{" + parts[2]
	}
	return out
}

// RequireSameChanges requires that two streams have the same changes of each key in the same order, in the same snapshots.
func RequireSameChanges(t testing.TB, want, got []Change) {
	t.Helper()
	require.Equal(t, byKey(want), byKey(got))
}

// RequireSameHistory is RequireSameChanges for tables whose snapshots have other numbers.
func RequireSameHistory(t testing.TB, want, got []Change) {
	t.Helper()
	blind := func(list []Change) []Change {
		list = slices.Clone(list)
		for i := range list {
			list[i].Snapshot = 0
		}
		return list
	}
	RequireSameChanges(t, blind(want), blind(got))
}

func byKey(list []Change) map[string][]Change {
	m := map[string][]Change{}
	for _, c := range list {
		m[c.Key] = append(m[c.Key], c)
	}
	return m
}

// Replay makes a table of a changelog, and minds that each change fits to what there was: nothing comes twice, nothing is
// missing in between.
type Replay struct {
	t    testing.TB
	rows map[string]string
	half map[string]bool // the key's -U has come, its +U has not
}

// NewReplay begins with nothing.
func NewReplay(t testing.TB) *Replay {
	return &Replay{t: t, rows: map[string]string{}, half: map[string]bool{}}
}

// Apply applies a change.
func (r *Replay) Apply(c Change) {
	old, has := r.rows[c.Key]
	if c.Kind == "+I" && has || c.Kind == "+U" && !r.half[c.Key] || c.Kind[0] == '-' && (!has || old != c.Row) || r.half[c.Key] && c.Kind != "+U" {
		r.t.Fatalf("snapshot %d has %s of %s where there is %q (half %t)", c.Snapshot, c.Kind, c.Row, old, r.half[c.Key])
	}
	if delete(r.half, c.Key); c.Kind == "-U" {
		r.half[c.Key] = true
	}
	if r.rows[c.Key] = c.Row; c.Kind[0] == '-' {
		delete(r.rows, c.Key)
	}
}

// Rows are the rows that there are now, sorted.
func (r *Replay) Rows() []string {
	require.Empty(r.t, r.half, "an update's first half without its second")
	out := make([]string, 0, len(r.rows))
	for _, row := range r.rows {
		out = append(out, row)
	}
	sort.Strings(out)
	return out
}

// Replayed applies a whole stream and returns the rows at the end.
func Replayed(t testing.TB, list []Change) []string {
	t.Helper()
	r := NewReplay(t)
	for _, c := range list {
		r.Apply(c)
	}
	return r.Rows()
}

// JavaReplayed is Replayed of the whole stream as a Java version reads it, a few snapshots at a time.
func (x *Table) JavaReplayed(version string) []string {
	x.t.Helper()
	r := NewReplay(x.t)
	const step = 20
	for from, last := int64(1), x.Latest(); from <= last; from += step {
		for _, c := range x.JavaChanges(version, "--from", fmt.Sprint(from), "--to", fmt.Sprint(from+step-1)) {
			r.Apply(c)
		}
	}
	return r.Rows()
}

// RowsAbove are a snapshot's rows as they are without the levels below one, sorted: the newest record of each key, found by a
// plain look at all of them. It is for deduplicate tables without a sequence field.
func (x *Table) RowsAbove(s *table.Snapshot, level int) []string {
	x.t.Helper()
	t, newest, rows := x.Open(), map[string]int64{}, map[string]string{}
	kv := lsm.NewKeyValues(t.Schema().RowType())
	keys := t.Schema().PrimaryKeys
	for e, err := range t.Scan(x.t.Context(), s, table.Filter{}) {
		require.NoError(x.t, err)
		if e.File.Level < level {
			continue
		}
		r, err := lsm.OpenFile(x.t.Context(), t, e.Partition, e.Bucket, &e.File, t.Schema())
		require.NoError(x.t, err)
		for r.Next(kv) == nil {
			for i, k := range kv.Rows.Kinds {
				text := string(row.AppendJSONRow(nil, kv.Rows, i, false))
				var cells map[string]json.RawMessage
				require.NoError(x.t, json.Unmarshal([]byte(text), &cells), text)
				key := ""
				for _, c := range keys {
					key += string(cells[c]) + " "
				}
				if seq, ok := newest[key]; ok && seq > kv.Seq[i] {
					continue
				}
				newest[key] = kv.Seq[i]
				if rows[key] = text; k == row.Delete || k == row.UpdateBefore {
					delete(rows, key)
				}
			}
		}
		require.NoError(x.t, r.Close())
	}
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		out = append(out, r)
	}
	sort.Strings(out)
	return out
}

// ChangelogFiles are the files on disk that hold a snapshot's changelog, with the rows of each, by the partition's directory
// and, unless merged, the bucket's.
func (x *Table) ChangelogFiles(s *table.Snapshot, merged bool) map[string]map[string]int64 {
	x.t.Helper()
	t, m := x.Open(), map[string]map[string]int64{}
	for e, err := range t.ScanChangelog(x.t.Context(), s) {
		require.NoError(x.t, err)
		path, err := t.DataFilePath(e.Partition, e.Bucket, &e.File)
		require.NoError(x.t, err)
		at := filepath.Dir(path)
		if merged {
			at = filepath.Dir(at)
		}
		part, ok, err := t.MergedPart(e.Partition, e.Bucket, &e.File)
		require.NoError(x.t, err)
		if ok {
			path = part.Path
		}
		_, err = os.Stat(strings.TrimPrefix(path, "file://"))
		require.NoError(x.t, err, "snapshot %d, %s", s.ID, e.File.Name)
		if m[at] == nil {
			m[at] = map[string]int64{}
		}
		m[at][path] += e.File.RowCount
	}
	return m
}

// RequireChangelogCounts requires that the snapshots' changelog record counts are what the stream has.
func (x *Table) RequireChangelogCounts(list []Change) {
	x.t.Helper()
	got := map[int64]int64{}
	for _, c := range list {
		got[c.Snapshot]++
	}
	for _, s := range x.Snapshots() {
		var said int64
		if s.ChangelogRecordCount != nil {
			said = *s.ChangelogRecordCount
		}
		require.Equal(x.t, got[s.ID], said, fmt.Sprintf("changelogRecordCount of snapshot %d", s.ID))
	}
}
