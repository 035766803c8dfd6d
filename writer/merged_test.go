package writer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// segmentOf cuts an entry's file out of a merged one and returns the file that it is in; nil content is a file of its own.
func segmentOf(t require.TestingT, tbl *table.Table, e *table.Entry) (path string, content []byte) {
	part, ok, err := tbl.MergedPart(e.Partition, e.Bucket, &e.File)
	require.NoError(t, err)
	if !ok {
		path, err := tbl.DataFilePath(e.Partition, e.Bucket, &e.File)
		require.NoError(t, err)
		return path, nil
	}
	r, err := tbl.FS().Open(context.Background(), part.Path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	content = make([]byte, part.Length)
	if _, err = r.ReadAt(content, part.Offset); !errors.Is(err, io.EOF) {
		require.NoError(t, err)
	}
	return part.Path, content
}

// mergedChanges reads the changelog of a snapshot, and the files that it is in, by partition.
func mergedChanges(t require.TestingT, fsys fs.FileSystem, tbl *table.Table, id int64) (changes map[string][]string, files map[string]map[string]bool) {
	ctx := context.Background()
	s, err := tbl.Snapshot(ctx, id)
	require.NoError(t, err)
	changes, files = map[string][]string{}, map[string]map[string]bool{}
	kv := lsm.NewKeyValues(tbl.Schema().RowType())
	for e, err := range tbl.ScanChangelog(ctx, s) {
		require.NoError(t, err)
		real, content := segmentOf(t, tbl, &e)
		if files[string(e.Partition)] == nil {
			files[string(e.Partition)] = map[string]bool{}
		}
		files[string(e.Partition)][real] = true
		if content != nil {
			require.EqualValues(t, e.File.Size, len(content))
			e.File.Name = "cut." + strings.TrimPrefix(e.File.Name[strings.LastIndexByte(e.File.Name, '.')+1:], "cc-")
			cut, err := tbl.DataFilePath(e.Partition, e.Bucket, &e.File)
			require.NoError(t, err)
			require.NoError(t, fsys.Replace(ctx, cut, content))
			defer func() { require.NoError(t, fsys.Remove(ctx, cut)) }()
		}
		r, err := lsm.OpenFile(ctx, tbl, e.Partition, e.Bucket, &e.File, tbl.Schema())
		require.NoError(t, err)
		for {
			if err := r.Next(kv); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err)
			}
			for i, k := range kv.Rows.Kinds {
				key := fmt.Sprintf("%d/%s", kv.Rows.Cols[0].I64[i], kv.Rows.Cols[2].Value(i))
				changes[key] = append(changes[key], k.String()+" "+string(kv.Rows.Cols[1].Value(i)))
			}
		}
		require.NoError(t, r.Close())
	}
	return changes, files
}

// existing lists the changelog files in storage.
func existing(fsys *mem.FS) map[string]bool {
	out := map[string]bool{}
	for _, p := range fsys.Paths() {
		if name := p[strings.LastIndexByte(p, '/')+1:]; strings.HasPrefix(name, "changelog-") || strings.HasPrefix(name, "compacted-changelog-") {
			out[p] = true
		}
	}
	return out
}

func TestMergedChangelogFiles(t *testing.T) {
	for _, format := range []string{"avro", "parquet"} {
		fsys, tbl := guideTable(t, "changelog-producer", "input", "changelog.precommit-compact", "true", "bucket", "4", "changelog-file.format", format,
			"page-size", "1 kb", "write-buffer-size", "40 kb")
		ctx := t.Context()
		w := openWriter(t, tbl, Config{PairedUpdates: true})
		named := map[string]bool{}
		for id := range int64(5) {
			b := row.NewBatch(w.Type())
			want := map[string][]string{}
			for i := range 300 {
				dt := fmt.Sprintf("d%d", i%3)
				appendRow(b, row.Insert, int64(i), fmt.Sprintf("%d at %d", i, id), dt)
				want[fmt.Sprintf("%d/%s", i, dt)] = []string{fmt.Sprintf("+I %d at %d", i, id)}
			}
			if id == 4 { // one file in the partition
				appendRow(b, row.Insert, 1, "alone", "x")
				want["1/x"] = []string{"+I alone"}
			}
			require.NoError(t, w.Write(ctx, b))
			if id == 3 { // files of two schemas
				require.NoError(t, w.Alter(ctx, table.SchemaChange{Kind: table.AddColumn, Column: "c", Type: text}))
				b := row.NewBatch(w.Type())
				appendRow(b, row.Insert, 5, "again", "d2")
				want["5/d2"] = append(want["5/d2"], "+I again")
				require.NoError(t, w.Write(ctx, b))
			}
			require.NoError(t, w.Checkpoint(ctx, id+1, nil))
			require.NoError(t, w.Wait(ctx))
			got, files := mergedChanges(t, fsys, tbl, id+1)
			require.Equal(t, want, got)
			for partition, real := range files {
				require.Len(t, real, 1, "partition %q", partition)
				for path := range real {
					named[path] = true
				}
			}
			require.Len(t, files, 3+int(id)/4)
		}
		require.Equal(t, named, existing(fsys))
		require.Zero(t, w.Stats().BufferBytes)
		for p := range tbl.Check(ctx, nil, true, lsm.CheckFile) {
			require.Fail(t, p.String())
		}
		alone := 0
		for path := range named {
			if strings.Contains(path, "/changelog-") {
				alone++
			}
		}
		require.Equal(t, 1, alone, "a file that is alone keeps its name")
	}
}

func TestLargeChangelogFilesAreNotMerged(t *testing.T) {
	for _, limit := range []string{"target-file-size", "changelog.precommit-compact.buffer-size"} {
		fsys, tbl := guideTable(t, "changelog-producer", "input", "precommit-compact", "true", "bucket", "8", limit, "3 kb", "file.compression", "none")
		ctx := t.Context()
		w := openWriter(t, tbl, Config{FlushWorkers: 1})
		b := batchOf(tbl, 0, 400, "d")
		for i := range 30 { // much in one bucket
			appendRow(b, row.Insert, 1000, strings.Repeat(strconv.Itoa(i), 300), "d")
		}
		require.NoError(t, w.Write(ctx, b))
		require.NoError(t, w.Checkpoint(ctx, 1, nil))
		require.NoError(t, w.Wait(ctx))
		got, files := mergedChanges(t, fsys, tbl, 1)
		rows := 0
		for _, l := range got {
			rows += len(l)
		}
		require.Equal(t, 430, rows)
		all := existing(fsys)
		for _, f := range files {
			require.Equal(t, all, f)
		}
		require.Greater(t, len(all), 1)
		large, merged := 0, 0
		for path := range all {
			if strings.Contains(path, "/changelog-") {
				large++
			} else {
				merged++
			}
		}
		require.Positive(t, large)
		require.Positive(t, merged)
		require.NoError(t, w.Close(ctx))
		require.Zero(t, w.Stats().BufferBytes)
	}
}

func TestNothingWaitsAfterAnEpochThatNobodyWants(t *testing.T) {
	fsys, tbl := guideTable(t, "changelog-producer", "input", "precommit-compact", "true")
	w := openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 100, "d")))
	require.NoError(t, w.Flush(t.Context()))
	require.Len(t, w.merged.held, 2)
	require.NoError(t, w.Close(t.Context()))
	require.Empty(t, w.merged.held)
	require.Zero(t, w.Stats().BufferBytes)
	require.Empty(t, dataFiles(t, fsys))
}

// With paimon-go.changelog.pack=bucket-tick a bucket has one changelog file a commit, where it would have several.
func TestOneChangelogFileForABucketAndCommit(t *testing.T) {
	for _, pack := range []string{"none", "bucket-tick"} {
		_, tbl := guideTable(t, "changelog-producer", "input", "paimon-go.changelog.pack", pack, "page-size", "1 kb", "write-buffer-size", "20 kb",
			"write-buffer-spillable", "false", "target-file-size", "20 kb", "bucket", "2")
		ctx := t.Context()
		w := openWriter(t, tbl, Config{PairedUpdates: true})
		for i := range 10 {
			require.NoError(t, w.Write(ctx, batchOf(tbl, i*500, (i+1)*500, "d")))
		}
		require.NoError(t, w.Checkpoint(ctx, 1, nil))
		require.NoError(t, w.Wait(ctx))
		require.Len(t, changesOf(t, tbl, 1), 5000)
		s, err := tbl.Latest(ctx)
		require.NoError(t, err)
		files := map[int32]int{}
		for e, err := range tbl.ScanChangelog(ctx, s) {
			require.NoError(t, err)
			files[e.Bucket]++
		}
		if pack == "none" {
			require.Greater(t, files[0]+files[1], 4)
		} else {
			require.Equal(t, map[int32]int{0: 1, 1: 1}, files)
		}
	}
}
