package table

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

// sound makes a table with three snapshots whose files are there.
func sound(t *testing.T) (*mem.FS, *Table, []*Snapshot) {
	t.Helper()
	fsys := mem.New()
	tab := testTable(t, fsys, nil)
	c := tab.NewCommit("u", nil)
	a, b := testFile("a", 0, 0, 9), testFile("b", 0, 5, 14)
	a.ExtraFiles = []string{"a.index"}
	up := b
	up.Level = 5
	changelog := testFile("changelog", 0, 0, 9)
	first := appendOf("x", 0, a)
	first.Data.Changelog = []DataFile{changelog}
	snapshots := []*Snapshot{
		mustCommit(t, c, 1, first),
		mustCommit(t, c, 2, appendOf("x", 0, b)),
		mustCommit(t, c, 3, compactOf("x", 0, []DataFile{b}, []DataFile{up})),
	}
	for _, name := range []string{"a", "b", "changelog", "a.index"} {
		fsys.Overwrite(testPath+"/p=x/bucket-0/"+name, make([]byte, 100))
	}
	return fsys, tab, snapshots
}

func problems(t *testing.T, tab *Table) []string {
	t.Helper()
	fresh, err := Open(t.Context(), tab.fs, tab.path, nil)
	require.NoError(t, err)
	var list []string
	for p := range fresh.Check(t.Context(), nil, true, nil) {
		list = append(list, p.String())
	}
	return list
}

func TestCheckSeesDamage(t *testing.T) {
	fsys, tab, _ := sound(t)
	require.Empty(t, problems(t, tab))
	_ = fsys
	type damage = func(t *testing.T, fsys *mem.FS, tab *Table, s []*Snapshot)
	remove := func(path string) damage {
		return func(t *testing.T, fsys *mem.FS, _ *Table, _ []*Snapshot) {
			require.NoError(t, fsys.Remove(t.Context(), testPath+"/"+path))
		}
	}
	edit := func(i int, f func(*Snapshot)) damage {
		return func(t *testing.T, fsys *mem.FS, tab *Table, s []*Snapshot) {
			f(s[i])
			data, err := s[i].encode()
			require.NoError(t, err)
			fsys.Overwrite(tab.snapshotPath(s[i].ID), data)
		}
	}
	// rewrite replaces the manifests of a list by one with these entries, told as by tell.
	rewrite := func(i int, change func([]Entry) []Entry, tell func(*Manifest)) damage {
		return func(t *testing.T, fsys *mem.FS, tab *Table, s []*Snapshot) {
			var entries []Entry
			for e, err := range tab.ScanDelta(t.Context(), s[i]) {
				require.NoError(t, err)
				entries = append(entries, e)
			}
			w := newTestWriter(t, tab)
			list, err := w.manifests(t.Context(), change(entries))
			require.NoError(t, err)
			for m := range list {
				tell(&list[m])
			}
			name, size, err := w.list(t.Context(), list)
			require.NoError(t, err)
			edit(i, func(s *Snapshot) { s.DeltaManifestList, s.DeltaManifestListSize = name, &size })(t, fsys, tab, s)
		}
	}
	same := func(e []Entry) []Entry { return e }
	each := func(f func(*Entry)) func([]Entry) []Entry {
		return func(entries []Entry) []Entry {
			for i := range entries {
				f(&entries[i])
			}
			return entries
		}
	}
	silent := func(*Manifest) {}
	for check, d := range map[string]damage{
		"error snapshot-gap": remove("snapshot/snapshot-2"),
		"error hint": func(_ *testing.T, fsys *mem.FS, _ *Table, _ []*Snapshot) {
			fsys.Overwrite(testPath+"/snapshot/LATEST", []byte("7"))
		},
		"warn hint": func(_ *testing.T, fsys *mem.FS, _ *Table, _ []*Snapshot) {
			fsys.Overwrite(testPath+"/snapshot/EARLIEST", []byte("7"))
		},
		"error snapshot": func(_ *testing.T, fsys *mem.FS, tab *Table, _ []*Snapshot) {
			fsys.Overwrite(tab.snapshotPath(2), []byte("{"))
		},
		"error snapshot-schema": edit(2, func(s *Snapshot) { s.SchemaID = 7 }),
		"warn snapshot-time":    edit(2, func(s *Snapshot) { s.TimeMillis = 5 }),
		"error identifier":      edit(2, func(s *Snapshot) { s.CommitIdentifier = 1 }),
		"error watermark":       edit(1, func(s *Snapshot) { w := int64(3); s.Watermark = &w }),
		"warn list-size":        edit(1, func(s *Snapshot) { s.BaseManifestListSize = nil }),
		"error manifest-list":   edit(1, func(s *Snapshot) { n := *s.DeltaManifestListSize - 1; s.DeltaManifestListSize = &n }),
		"error delta-count":     edit(2, func(s *Snapshot) { s.DeltaRecordCount++ }),
		"error total-count":     edit(2, func(s *Snapshot) { s.TotalRecordCount++ }),
		"error changelog-count": edit(0, func(s *Snapshot) { n := int64(1); s.ChangelogRecordCount = &n }),
		"error base": edit(2, func(s *Snapshot) {
			s.BaseManifestList, s.BaseManifestListSize = s.DeltaManifestList, s.DeltaManifestListSize
		}),
		"error double-add":      rewrite(1, func(e []Entry) []Entry { return append(e, e...) }, silent),
		"error dangling-delete": rewrite(1, each(func(e *Entry) { e.Kind = Delete }), silent),
		"error manifest":        rewrite(1, same, func(m *Manifest) { m.Size++ }),
		"error manifest-count":  rewrite(1, same, func(m *Manifest) { m.Added++ }),
		"error manifest-schema": rewrite(1, same, func(m *Manifest) { m.SchemaID = 3 }),
		"error manifest-bounds": rewrite(1, same, func(m *Manifest) { m.Buckets.Max = 3 }),
		"error partition-stats": rewrite(1, same, func(m *Manifest) { m.PartitionStats.Max = binaryRow("z") }),
		"error bucket":          rewrite(1, each(func(e *Entry) { e.Bucket = 2 }), silent),
		"error entry-schema":    rewrite(1, each(func(e *Entry) { e.File.SchemaID = 9 }), silent),
		"error sequence":        rewrite(1, each(func(e *Entry) { e.File.MinSeq = 99 }), silent),
		"error delete-count":    rewrite(1, each(func(e *Entry) { e.File.DeleteRows = 99 }), silent),
		"error key-range":       rewrite(1, each(func(e *Entry) { e.File.MinKey = binaryRow(99) }), silent),
		"error key-stats":       rewrite(1, each(func(e *Entry) { e.File.KeyStats = EmptyStats() }), silent),
		"error value-stats":     rewrite(1, each(func(e *Entry) { e.File.ValueStatsCols = nil }), silent),
		"error total-buckets":   rewrite(1, each(func(e *Entry) { e.TotalBuckets = 4 }), silent),
		"warn level":            rewrite(2, each(func(e *Entry) { e.File.Level = 9 }), silent),
		"error overlap": rewrite(1, func(e []Entry) []Entry {
			f := e[0]
			f.File.Level = 3
			g := f
			g.File.Name = "g"
			return append(e, f, g)
		}, silent),
		"error file-missing":                        remove("p=x/bucket-0/a"),
		"error file-missing p=x/bucket-0/a.index":   remove("p=x/bucket-0/a.index"),
		"error file-missing p=x/bucket-0/changelog": remove("p=x/bucket-0/changelog"),
		"error file-size": func(_ *testing.T, fsys *mem.FS, _ *Table, _ []*Snapshot) {
			fsys.Overwrite(testPath+"/p=x/bucket-0/b", []byte("x"))
		},
		"orphan orphan p=x/bucket-0/z": func(_ *testing.T, fsys *mem.FS, _ *Table, _ []*Snapshot) {
			fsys.Overwrite(testPath+"/p=x/bucket-0/z", []byte("x"))
		},
		"orphan orphan manifest/manifest-z": func(_ *testing.T, fsys *mem.FS, _ *Table, _ []*Snapshot) {
			fsys.Overwrite(testPath+"/manifest/manifest-z", []byte("x"))
		},
		"orphan orphan snapshot/.snapshot-9": func(_ *testing.T, fsys *mem.FS, _ *Table, _ []*Snapshot) {
			fsys.Overwrite(testPath+"/snapshot/.snapshot-9.u.tmp", []byte("x"))
		},
	} {
		t.Run(check, func(t *testing.T) {
			fsys, tab, s := sound(t)
			d(t, fsys, tab, s)
			found := problems(t, tab)
			require.True(t, slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, check) }), "found %q", found)
		})
	}
}

func TestCheckKnowsTheStateOfJobs(t *testing.T) {
	fsys, tab, _ := sound(t)
	before := problems(t, tab)
	require.NoError(t, tab.WriteSinkState(t.Context(), SinkState{User: "u", Identifier: 1}))
	require.Contains(t, fsys.Paths(), testPath+"/paimon-go/u.json")
	require.Equal(t, before, problems(t, tab))
}

func TestCheckAsksForTheContentOfEachFileOnce(t *testing.T) {
	_, tab, _ := sound(t)
	var asked []string
	open := func(_ context.Context, _ *Table, e *Entry, changelog bool) iter.Seq[Problem] {
		asked = append(asked, fmt.Sprint(e.File.Name, changelog))
		return func(yield func(Problem) bool) { yield(Problem{SeverityError, "content", e.File.Name, "bad"}) }
	}
	n := 0
	for range tab.Check(t.Context(), nil, true, open) {
		n++
	}
	slices.Sort(asked)
	require.Equal(t, []string{"afalse", "bfalse", "changelogtrue"}, asked)
	require.Equal(t, 3, n)
	for range tab.Check(t.Context(), nil, true, open) {
		break
	}
}

func TestCheckKeepsWhatTagsNeed(t *testing.T) {
	fsys, tab, s := sound(t)
	raw, err := readWhole(t.Context(), fsys, tab.snapshotPath(1))
	require.NoError(t, err)
	fsys.Overwrite(testPath+"/tag/tag-old", raw)
	c := tab.NewCommit("u", nil)
	mustCommit(t, c, 9, CommitMessage{Partition: binaryRow("x"), TotalBuckets: 2, Data: DataIncrement{Deleted: []DataFile{
		{Name: "a", Size: 100, RowCount: 10, MinKey: binaryRow(0), MaxKey: binaryRow(9), KeyStats: EmptyStats(), ValueStats: EmptyStats(), ExtraFiles: []string{"a.index"}}}}})
	for id := s[0].ID; id <= 3; id++ {
		require.NoError(t, fsys.Remove(t.Context(), tab.snapshotPath(id)))
	}
	for _, p := range problems(t, tab) {
		require.NotContains(t, p, "p=x/bucket-0/", "%s", p)
	}
}

// busyFS has something happen right after a directory has been listed.
type busyFS struct {
	*mem.FS
	dir  string
	then func()
}

func (f *busyFS) List(ctx context.Context, dir string) iter.Seq2[fs.Info, error] {
	return func(yield func(fs.Info, error) bool) {
		f.FS.List(ctx, dir)(yield)
		if strings.TrimSuffix(dir, "/") == f.dir {
			f.then()
		}
	}
}

// A commit between the looks at the files, the snapshots and the hint made a sound table seem damaged.
func TestCheckBesideAWriter(t *testing.T) {
	fsys, tab, _ := sound(t)
	busy := &busyFS{FS: fsys, dir: tab.snapshotDir()}
	beside, err := Open(t.Context(), busy, tab.path, nil)
	require.NoError(t, err)
	c := tab.NewCommit("u", nil)
	made := 0
	busy.then = func() {
		made++
		name := fmt.Sprint("c", made)
		fsys.Overwrite(testPath+"/p=x/bucket-0/"+name, make([]byte, 100))
		mustCommit(t, c, int64(3+made), appendOf("x", 0, testFile(name, 0, 20+10*made, 29+10*made)))
	}
	for p := range beside.Check(t.Context(), nil, true, nil) {
		require.NotEqual(t, Severity("error"), p.Severity, p.String())
	}
	require.Positive(t, made)
}
