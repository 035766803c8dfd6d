package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/avro"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func hashFile(name string) IndexFile { return IndexFile{Type: IndexHash, Name: name, Size: 8, Rows: 2} }

func vectorFile(name string, files ...string) IndexFile {
	f := IndexFile{Type: IndexDeletionVectors, Name: name, Size: 1, Rows: int64(len(files))}
	for _, file := range files {
		n := int64(2)
		f.Vectors = append(f.Vectors, VectorRange{File: file, Offset: int32(f.Size), Length: 24, Cardinality: &n})
		f.Size += 32
	}
	return f
}

// indexesOf lists the index files of a snapshot as "p/bucket/type/name", sorted.
func indexesOf(t require.TestingT, tab *Table, s *Snapshot) []string {
	list := []string{}
	for e, err := range tab.IndexEntries(context.Background(), s, Filter{}) {
		require.NoError(t, err)
		values, err := tab.PartitionValues(e.Partition)
		require.NoError(t, err)
		list = append(list, fmt.Sprintf("%s/%d/%s/%s", strings.Join(values, ","), e.Bucket, e.File.Type, e.File.Name))
	}
	slices.Sort(list)
	return list
}

func TestIndexFilesReplaceThoseOfTheirBucketAndType(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		fsys := mem.New()
		tab := testTable(outer, fsys, nil)
		c := tab.NewCommit("u", nil)
		want := map[string]string{}
		last := ""
		for id := range int64(12) {
			m := appendOf(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "p"), int32(rapid.IntRange(0, 1).Draw(t, "bucket")), testFile(fmt.Sprint("f", id), 0, 0, 9))
			p := "x"
			if bytes.Equal(m.Partition, binaryRow("y")) {
				p = "y"
			}
			slot := func(kind string) string { return fmt.Sprintf("%s/%d/%s/", p, m.Bucket, kind) }
			changed := true
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				changed = false
			case 1, 2:
				name := fmt.Sprint("h", id)
				m.Data.NewIndex = []IndexFile{hashFile(name)}
				want[slot(IndexHash)] = name
			case 3:
				name := fmt.Sprint("v", id)
				m.Compact.NewIndex = []IndexFile{vectorFile(name, "f0")}
				want[slot(IndexDeletionVectors)] = name
			case 4:
				changed = false
				if old := want[slot(IndexHash)]; old != "" {
					m.Data.DeletedIndex = []IndexFile{hashFile(old)}
					delete(want, slot(IndexHash))
					changed = true
				}
			}
			s, err := c.Commit(context.Background(), Committable{ID: id + 1, Messages: []CommitMessage{m}})
			require.NoError(t, err)
			if !changed {
				require.Equal(t, last, s.IndexManifest, "an index manifest that nothing changes is used again")
			} else {
				require.NotEqual(t, last, s.IndexManifest)
			}
			last = s.IndexManifest
			all := []string{}
			for slot, name := range want {
				all = append(all, slot+name)
			}
			slices.Sort(all)
			fresh, err := Open(context.Background(), fsys, testPath, nil)
			require.NoError(t, err)
			require.Equal(t, all, indexesOf(t, fresh, s))
		}
	})
}

func TestOverwriteTakesIndexFilesAlong(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	c := tab.NewCommit("u", nil)
	for id, p := range []string{"x", "y"} {
		m := appendOf(p, 0, testFile("f"+p, 0, 0, 9))
		m.Data.NewIndex = []IndexFile{hashFile("h" + p)}
		mustCommit(t, c, int64(id+1), m)
	}
	gone := CommitMessage{Partition: binaryRow("x"), TotalBuckets: 2, Data: DataIncrement{Deleted: []DataFile{testFile("fx", 0, 0, 9)}}}
	s, err := c.Commit(t.Context(), Committable{ID: 3, Messages: []CommitMessage{gone}, DropIndexes: map[string]bool{string(binaryRow("x")): true}})
	require.NoError(t, err)
	require.Equal(t, []string{"y/0/HASH/hy"}, indexesOf(t, tab, s))
}

// An append of deletion vectors deletes rows: it is no plain APPEND, as in Java.
func TestVectorsOfAnAppendOverwrite(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	m := appendOf("x", 0, testFile("f", 0, 0, 9))
	m.Data.NewIndex = []IndexFile{vectorFile("v", "f")}
	require.Equal(t, CommitOverwrite, mustCommit(t, tab.NewCommit("u", nil), 1, m).CommitKind)
}

func TestIndexFilesThatNobodyCouldReadAreRefused(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	for name, files := range map[string][]IndexFile{
		"two of a type": {hashFile("a"), hashFile("b")},
		"no name":       {hashFile("")},
		"another type":  {{Type: "BTREE", Name: "a"}},
	} {
		m := appendOf("x", 0, testFile("f", 0, 0, 9))
		m.Data.NewIndex = files
		_, err := tab.NewCommit("u", nil).Commit(t.Context(), Committable{ID: 1, Messages: []CommitMessage{m}})
		require.Error(t, err, name)
	}
	require.Empty(t, manifestFiles(t, tab))
}

func TestAForeignAssignerOfBucketsIsNoticed(t *testing.T) {
	x, y := string(binaryRow("x")), string(binaryRow("y"))
	for name, tc := range map[string]struct {
		hashes map[string]map[int32]string
		ok     bool
	}{
		"as it is":              {map[string]map[int32]string{x: {0: "h"}}, true},
		"with an empty bucket":  {map[string]map[int32]string{x: {0: "h", 1: ""}}, true},
		"another partition":     {map[string]map[int32]string{y: {}}, true},
		"nothing said":          {nil, true},
		"an older file":         {map[string]map[int32]string{x: {0: "g"}}, false},
		"none":                  {map[string]map[int32]string{x: {0: ""}}, false},
		"a bucket not known":    {map[string]map[int32]string{x: {}}, false},
		"one that has vanished": {map[string]map[int32]string{x: {0: "h", 1: "i"}}, false},
		"a partition dropped":   {map[string]map[int32]string{x: {0: "h"}, y: {0: "h"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := &publishHook{FileSystem: mem.New()}
			tab := testTable(t, fsys, nil)
			other := appendOf("x", 0, testFile("other", 0, 0, 9))
			other.Data.NewIndex = []IndexFile{hashFile("h")}
			theirs := func() { mustCommit(t, tab.NewCommit("other", nil), 1, other) }
			if name == "a bucket not known" {
				fsys.once(theirs) // between our look and our commit
			} else {
				theirs()
			}
			m := appendOf("x", 0, testFile("f", 0, 0, 9))
			m.Data.NewIndex = []IndexFile{hashFile("n")}
			s, err := tab.NewCommit("u", nil).Commit(t.Context(), Committable{ID: 1, Messages: []CommitMessage{m}, Hashes: tc.hashes})
			if tc.ok {
				require.NoError(t, err)
				require.Equal(t, []string{"x/0/HASH/n"}, indexesOf(t, tab, s))
				return
			}
			require.ErrorIs(t, err, ErrForeignWriter)
			after, err := tab.Latest(t.Context())
			require.NoError(t, err)
			require.Equal(t, "other", after.CommitUser)
			requireNoOrphans(t, tab)
		})
	}
}

// A lost race makes the index manifest anew on what the winner has; the old one goes.
func TestALostRaceKeepsTheWinnersIndexFiles(t *testing.T) {
	fsys := &publishHook{FileSystem: mem.New()}
	tab := testTable(t, fsys, nil)
	ours, theirs := appendOf("x", 0, testFile("a", 0, 0, 9)), appendOf("x", 1, testFile("b", 0, 0, 9))
	ours.Data.NewIndex, theirs.Data.NewIndex = []IndexFile{hashFile("h")}, []IndexFile{hashFile("i")}
	fsys.once(func() { mustCommit(t, tab.NewCommit("them", nil), 1, theirs) })
	s := mustCommit(t, tab.NewCommit("us", nil), 1, ours)
	require.Equal(t, []string{"x/0/HASH/h", "x/1/HASH/i"}, indexesOf(t, tab, s))
	requireNoOrphans(t, tab)
}

func TestVectorsThatSomebodyChangedAreAConflict(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	c := tab.NewCommit("u", nil)
	a, b := testFile("a", 5, 0, 9), testFile("b", 0, 0, 9)
	mustCommit(t, c, 1, appendOf("x", 0, a, b))
	compact := func(base, name string, before []DataFile, files ...string) error {
		m := compactOf("x", 0, before, nil)
		m.Vectors, m.Compact.NewIndex = &base, []IndexFile{vectorFile(name, files...)}
		_, err := tab.NewCommit("v", nil).Commit(t.Context(), Committable{ID: BatchIdentifier, Messages: []CommitMessage{m}})
		return err
	}
	require.NoError(t, compact("", "v1", nil, "a"))
	require.ErrorIs(t, compact("", "v2", nil, "a"), ErrConflict, "somebody has made the first")
	require.ErrorIs(t, compact("v1", "v2", []DataFile{b}, "b"), ErrConflict, "a file that goes has no vector")
	require.NoError(t, compact("v1", "v2", []DataFile{b}, "a"))
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"x/0/DELETION_VECTORS/v2"}, indexesOf(t, tab, s))
}

// Entries of index types that this program does not write stay as they are, byte by byte.
func TestStrangeEntriesStay(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	c := tab.NewCommit("u", nil)
	mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
	path := "/elsewhere/g"
	strange := appendIndexEntry(nil, &IndexEntry{Partition: binaryRow("x"), File: IndexFile{Type: "BTREE", Name: "g", ExternalPath: &path}})
	strange = strange[:len(strange)-1]
	strange = avro.AppendUnion(strange, true)
	strange = avro.AppendLong(avro.AppendLong(strange, 5), 9)
	strange = avro.AppendInt(strange, 3)
	strange = avro.AppendUnion(strange, true)
	strange = avro.AppendEnd(avro.AppendInt(avro.AppendInt(avro.AppendCount(strange, 2), 7), 8))
	strange = avro.AppendBytes(avro.AppendUnion(strange, true), []byte("meta"))
	name := "index-manifest-strange"
	require.NoError(t, tab.fs.Replace(t.Context(), tab.manifestPath(name), container(t, indexManifestSchema, 1, strange)))
	w := newTestWriter(t, tab)
	next, err := w.changeIndexes(t.Context(), name, &indexChanges{entries: []IndexEntry{{Kind: Add, Partition: binaryRow("x"), File: hashFile("h")}}})
	require.NoError(t, err)
	entries, err := tab.readIndexManifest(t.Context(), next)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, strange, entries[0].datum)
	require.Equal(t, "h", entries[1].File.Name)

	// A field that a newer version may have added is not dropped in silence.
	newer := strings.Replace(indexManifestSchema, `{"name":"_VERSION","type":"int"},`, `{"name":"_VERSION","type":"int"},{"name":"_NEW","type":"int"},`, 1)
	require.NoError(t, tab.fs.Replace(t.Context(), tab.manifestPath("newer"), container(t, newer, 1, append([]byte{2, 14}, strange[1:]...))))
	_, err = w.changeIndexes(t.Context(), "newer", &indexChanges{entries: []IndexEntry{{Kind: Add, Partition: binaryRow("x"), File: hashFile("h")}}})
	require.ErrorIs(t, err, ErrNewerFormat)
}

// hashBytesOf writes hashes as a WriterTo.
func hashBytesOf(hashes ...int32) *bytes.Buffer {
	var b bytes.Buffer
	for _, h := range hashes {
		_ = binary.Write(&b, binary.BigEndian, h)
	}
	return &b
}

func TestHashesAreReadAsWritten(t *testing.T) {
	for _, option := range []string{"false", "true"} {
		fsys := mem.New()
		tab := testTable(t, fsys, Options{"index-file-in-data-file-dir": option})
		want := []int32{0x5759f99e, 0x4fe4bbf0, -1, 0} // keys 1 and 2 as Java hashes them
		f, err := tab.CreateHashes(t.Context(), binaryRow("x"), 1, hashBytesOf(want...))
		require.NoError(t, err)
		require.EqualValues(t, 4, f.Rows)
		dir := map[string]string{"false": "/index/", "true": "/p=x/bucket-1/"}[option]
		raw, err := readWhole(t.Context(), fsys, testPath+dir+f.Name)
		require.NoError(t, err)
		require.Equal(t, unhex(t, "5759f99e 4fe4bbf0 ffffffff 00000000"), raw)
		var got []int32
		for h, err := range tab.Hashes(t.Context(), binaryRow("x"), 1, &f) {
			require.NoError(t, err)
			got = append(got, h)
		}
		require.Equal(t, want, got)
		for _, damage := range []func(*IndexFile){func(f *IndexFile) { f.Size++ }, func(f *IndexFile) { f.Rows++ }} {
			bad := f
			damage(&bad)
			_, err := tab.OpenIndex(t.Context(), binaryRow("x"), 1, &bad)
			require.ErrorIs(t, err, ErrCorrupt)
		}
		require.NoError(t, tab.RemoveIndex(t.Context(), binaryRow("x"), 1, &f))
		_, err = tab.OpenIndex(t.Context(), binaryRow("x"), 1, &f)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = tab.CreateHashes(t.Context(), binaryRow("x"), 1, bytes.NewBufferString("abc"))
		require.Error(t, err)
	}
}

func TestVectorFilesAreReadAsWritten(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		tab := testTable(outer, mem.New(), nil)
		want := map[string]*roaring.Bitmap{}
		var list []FileVector
		for i := range rapid.IntRange(0, 4).Draw(t, "files") {
			b := roaring.New()
			for range rapid.IntRange(1, 5).Draw(t, "ranges") {
				from := rapid.Uint64Range(0, 1<<20).Draw(t, "from")
				b.AddRange(from, from+rapid.Uint64Range(1, 1<<17).Draw(t, "rows"))
			}
			name := fmt.Sprint("f", i)
			want[name] = b
			list = append(list, FileVector{name, b})
		}
		f, err := tab.CreateVectors(context.Background(), binaryRow("x"), 0, list)
		require.NoError(t, err)
		if len(list) == 0 {
			require.EqualValues(t, 1, f.Size) // Java's empty file
		}
		_, ok := f.contiguous()
		require.True(t, ok)
		got, err := tab.ReadVectors(context.Background(), binaryRow("x"), 0, &f)
		require.NoError(t, err)
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name, b := range want {
			require.True(t, b.Equals(got[name]), name)
		}
	})
}
