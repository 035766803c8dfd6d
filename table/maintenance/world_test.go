package maintenance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testPath = "/w/d.db/t"

// world is a table (p STRING, k BIGINT) with two buckets, whose data files hold nothing, and somebody who uses it.
type world struct {
	t      tb
	ctx    context.Context
	fs     *mem.FS
	table  *table.Table
	commit *table.Commit
	rng    *rand.Rand
	id     int64
	files  int

	indexes bool // buckets have index files
}

// tb is what both testing and rapid have.
type tb interface {
	require.TestingT
	Helper()
}

func newWorld(t tb, seed uint64, options table.Options) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), fs: mem.New(), rng: rand.New(rand.NewPCG(seed, 1))}
	o := table.Options{"bucket": "2", "manifest.merge-min-count": "3", "manifest.compression": "none", "snapshot.num-retained.min": "1"}.With(options)
	var err error
	w.table, err = table.Create(w.ctx, w.fs, testPath, table.Spec{
		Fields: []row.Field{
			{Name: "p", Type: row.Type{Root: row.VarChar, Length: row.MaxLength}},
			{Name: "k", Type: row.Type{Root: row.BigInt}},
		},
		PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "k"}, Options: o,
	})
	require.NoError(t, err)
	w.commit = w.table.NewCommit("writer", nil)
	return w
}

// on returns the same world on another file system, with what a new process knows of it.
func (w *world) on(fsys fs.FileSystem) *table.Table {
	t, err := table.Open(w.ctx, fsys, testPath, nil)
	require.NoError(w.t, err)
	return t
}

func partition(p string) []byte {
	c := new(row.Column)
	c.Init(&row.Type{Root: row.VarChar, Length: row.MaxLength})
	c.AppendString(p)
	return row.AppendSerializedRow(nil, []*row.Column{c}, 0)
}

// file makes a data file of one key, with an index file beside it now and then.
func (w *world) file(p string, bucket int32, prefix string, level int) table.DataFile {
	w.files++
	key := new(row.Column)
	key.Init(&row.Type{Root: row.BigInt})
	key.AppendI64(int64(w.files))
	key.AppendI64(int64(w.files))
	k := row.AppendSerializedRow(nil, []*row.Column{key}, 0)
	f := table.DataFile{
		Name: fmt.Sprintf("%s-%d-0.parquet", prefix, w.files), Size: 7, RowCount: 1, MinKey: k, MaxKey: k,
		KeyStats:   table.StatsOf([]*row.Type{{Root: row.BigInt}}, []format.ColumnStats{{Bounds: key}}),
		ValueStats: table.EmptyStats(), ValueStatsCols: []string{}, MinSeq: int64(w.files), MaxSeq: int64(w.files), Level: level,
		CreationMillis: 1_700_000_000_000, Source: table.SourceAppend, FirstRowID: -1,
	}
	if level > 0 {
		f.Source = table.SourceCompact
	}
	if w.files%3 == 0 && prefix == "data" {
		f.ExtraFiles = []string{f.Name + ".index"}
	}
	path, err := w.table.DataFilePath(partition(p), bucket, &f)
	require.NoError(w.t, err)
	w.write(path, "content")
	for _, x := range f.ExtraFiles {
		w.write(table.ExtraFilePath(path, x), "index")
	}
	return f
}

// index makes an index file of a bucket.
func (w *world) index(p string, bucket int32, kind string) (f table.IndexFile) {
	var err error
	if kind == table.IndexHash {
		f, err = w.table.CreateHashes(w.ctx, partition(p), bucket, strings.NewReader("keys"))
	} else {
		f, err = w.table.CreateVectors(w.ctx, partition(p), bucket, nil)
	}
	require.NoError(w.t, err)
	return f
}

func (w *world) write(path, content string) {
	require.NoError(w.t, w.fs.Replace(w.ctx, path, []byte(content)))
}

func (w *world) copy(from, to string) {
	data, err := readSmall(w.ctx, w.fs, from)
	require.NoError(w.t, err)
	w.write(to, string(data))
}

func (w *world) do(m ...table.CommitMessage) {
	w.id++
	_, err := w.commit.Commit(w.ctx, table.Committable{ID: w.id, Messages: m})
	require.NoError(w.t, err)
}

func (w *world) place() (string, int32) {
	return []string{"2024-01-01", "2024-01-02", "x"}[w.rng.IntN(3)], int32(w.rng.IntN(2))
}

func (w *world) append() {
	p, b := w.place()
	m := table.CommitMessage{Partition: partition(p), Bucket: b, TotalBuckets: 2}
	for range 1 + w.rng.IntN(2) {
		m.Data.New = append(m.Data.New, w.file(p, b, "data", 0))
	}
	if w.indexes && w.files%2 == 0 {
		m.Data.NewIndex = []table.IndexFile{w.index(p, b, table.IndexHash)}
	}
	if makesChangelogs(w.table.Options()) {
		m.Data.Changelog = append(m.Data.Changelog, w.file(p, b, "changelog", 0))
	}
	w.do(m)
}

// live returns the live files of a bucket.
func (w *world) live(p string, bucket int32) []table.DataFile {
	s, err := w.table.Latest(w.ctx)
	require.NoError(w.t, err)
	var files []table.DataFile
	for e, err := range w.table.Scan(w.ctx, s, table.Filter{Partition: partition(p), Bucket: &bucket}) {
		require.NoError(w.t, err)
		files = append(files, e.File)
	}
	return files
}

// compact merges some files of a bucket into one, and lifts one to the highest level as it is.
func (w *world) compact() {
	p, b := w.place()
	files := w.live(p, b)
	if len(files) < 2 {
		return
	}
	m := table.CommitMessage{Partition: partition(p), Bucket: b, TotalBuckets: 2}
	m.Compact.Before = files
	lifted := files[0]
	if lifted.Level == 0 {
		lifted.Level = 5
		m.Compact.After = append(m.Compact.After, lifted)
	}
	m.Compact.After = append(m.Compact.After, w.file(p, b, "data", 5))
	if w.indexes && w.files%2 == 0 {
		m.Compact.NewIndex = []table.IndexFile{w.index(p, b, table.IndexDeletionVectors)}
	}
	w.do(m)
}

func (w *world) overwrite() {
	p, b := w.place()
	if files := w.live(p, b); len(files) > 0 {
		w.do(table.CommitMessage{Partition: partition(p), Bucket: b, TotalBuckets: 2, Data: table.DataIncrement{Deleted: files}})
	}
}

func (w *world) randomSnapshot() *table.Snapshot {
	ids, err := w.table.SnapshotIDs(w.ctx)
	require.NoError(w.t, err)
	if len(ids) == 0 {
		return nil
	}
	s, err := w.table.Snapshot(w.ctx, ids[w.rng.IntN(len(ids))])
	require.NoError(w.t, err)
	return s
}

func (w *world) tag(name string) {
	if s := w.randomSnapshot(); s != nil {
		_, err := w.table.CreateTag(w.ctx, name, s, time.Duration(w.rng.IntN(3)-1)*time.Hour)
		require.NoError(w.t, err)
	}
}

// branch makes a branch of a tag as Java does.
func (w *world) branch(name string) {
	tags, err := w.table.Tags(w.ctx)
	require.NoError(w.t, err)
	if len(tags) == 0 {
		return
	}
	g := tags[w.rng.IntN(len(tags))]
	if _, err := w.table.Snapshot(w.ctx, g.Snapshot.ID); errors.Is(err, fs.ErrNotExist) {
		return // Java copies the snapshot
	}
	root := w.table.BranchPath(name)
	w.copy(testPath+"/tag/tag-"+g.Name, root+"/tag/tag-"+g.Name)
	w.copy(testPath+"/tag/tag-"+g.Name, fmt.Sprintf("%s/snapshot/snapshot-%d", root, g.Snapshot.ID))
	w.copy(testPath+"/schema/schema-0", root+"/schema/schema-0")
}

func (w *world) dropBranch(name string) {
	for _, path := range w.fs.Paths() {
		if strings.HasPrefix(path, w.table.BranchPath(name)+"/") {
			require.NoError(w.t, w.fs.Remove(w.ctx, path))
		}
	}
	for _, d := range []string{"tag", "snapshot", "schema", ""} {
		require.NoError(w.t, w.fs.Remove(w.ctx, strings.TrimRight(w.table.BranchPath(name)+"/"+d, "/")))
	}
}

func (w *world) consumer(name string) {
	s := w.randomSnapshot()
	if s == nil || w.rng.IntN(2) == 0 {
		require.NoError(w.t, w.table.RemoveConsumer(w.ctx, name))
		return
	}
	w.write(testPath+"/consumer/consumer-"+name, fmt.Sprintf(`{"nextSnapshot":%d}`, s.ID))
}

// needs is what references need, found independently of the code under test: paths and by whom.
type needs map[string]string

func (w *world) needs() needs {
	n := needs{}
	branches, err := w.table.Branches(w.ctx)
	require.NoError(w.t, err)
	for _, b := range append([]string{""}, branches...) {
		refs, err := w.table.References(w.ctx, b)
		require.NoError(w.t, err)
		for i := range refs {
			w.needsOf(n, &refs[i])
		}
	}
	return n
}

func (w *world) needsOf(n needs, r *table.Reference) {
	s := r.Snapshot
	list := func(name string, size *int64, added bool) {
		if name == "" {
			return
		}
		n[w.table.ManifestPath(name)] = r.String()
		manifests, err := w.table.ReadManifestList(w.ctx, name, size)
		require.NoError(w.t, err, "%s needs list %s", r, name)
		for i := range manifests {
			n[w.table.ManifestPath(manifests[i].Name)] = r.String()
			for e, err := range w.table.ReadManifest(w.ctx, &manifests[i]) {
				require.NoError(w.t, err, "%s needs manifest %s", r, manifests[i].Name)
				if added && e.Kind == table.Add {
					w.needsFile(n, r, e)
				}
			}
		}
	}
	changelog := r.Kind == table.SnapshotReference || r.Kind == table.ChangelogReference
	if changelog {
		list(s.ChangelogManifestList, s.ChangelogListSize, true)
	}
	if r.Kind == table.ChangelogReference {
		if s.ChangelogManifestList == "" && s.CommitKind == table.CommitAppend && !makesChangelogs(w.table.Options()) {
			list(s.DeltaManifestList, s.DeltaManifestListSize, true)
		}
		return
	}
	list(s.BaseManifestList, s.BaseManifestListSize, false)
	list(s.DeltaManifestList, s.DeltaManifestListSize, false)
	for e, err := range w.table.Scan(w.ctx, s, table.Filter{}) {
		require.NoError(w.t, err, "%s", r)
		w.needsFile(n, r, &e)
	}
	if s.IndexManifest != "" {
		n[w.table.ManifestPath(s.IndexManifest)] = r.String()
	}
	for e, err := range w.table.IndexEntries(w.ctx, s, table.Filter{}) {
		require.NoError(w.t, err, "%s", r)
		path, err := w.table.IndexFilePath(e.Partition, e.Bucket, &e.File)
		require.NoError(w.t, err)
		n[path] = r.String()
	}
}

func (w *world) needsFile(n needs, r *table.Reference, e *table.Entry) {
	path, err := w.table.DataFilePath(e.Partition, e.Bucket, &e.File)
	require.NoError(w.t, err)
	n[path] = r.String()
	for _, x := range e.File.ExtraFiles {
		n[table.ExtraFilePath(path, x)] = r.String()
	}
}

// requireWhole demands that all files are there that anybody needs.
func (w *world) requireWhole() needs {
	w.table = w.on(w.fs) // nothing from memory
	w.commit = w.table.NewCommit("writer", nil)
	n := w.needs()
	for path, who := range n {
		_, err := w.fs.Stat(w.ctx, path)
		require.False(w.t, errors.Is(err, fs.ErrNotExist), "%s needs %s", who, path)
		require.NoError(w.t, err)
	}
	return n
}

// named returns the bare names that any manifest mentions, which orphan removal leaves alone.
func (w *world) named() map[string]bool {
	names := map[string]bool{}
	branches, err := w.table.Branches(w.ctx)
	require.NoError(w.t, err)
	for _, b := range append([]string{""}, branches...) {
		refs, err := w.table.References(w.ctx, b)
		require.NoError(w.t, err)
		for _, r := range refs {
			if r.Snapshot.IndexManifest != "" {
				names[r.Snapshot.IndexManifest] = true
				entries, _ := w.table.IndexFiles(w.ctx, r.Snapshot.IndexManifest)
				for i := range entries {
					names[entries[i].File.Name] = true
				}
			}
			for _, l := range append(dataLists(r.Snapshot), changelogList(r.Snapshot)...) {
				names[l.name] = true
				manifests, _ := w.table.ReadManifestList(w.ctx, l.name, l.size)
				for i := range manifests {
					names[manifests[i].Name] = true
					for e, err := range w.table.ReadManifest(w.ctx, &manifests[i]) {
						if err != nil {
							break
						}
						for _, n := range append(slices.Clone(e.File.ExtraFiles), e.File.Name) {
							names[n] = true
						}
					}
				}
			}
		}
	}
	return names
}

// requireNoOrphans demands that all files of manifests and buckets are mentioned somewhere.
func (w *world) requireNoOrphans() {
	names := w.named()
	for _, path := range w.fs.Paths() {
		if strings.Contains(path, "/manifest/") || strings.Contains(path, "/bucket-") {
			require.True(w.t, names[fs.Base(path)], "%s is left", path)
		}
	}
}
