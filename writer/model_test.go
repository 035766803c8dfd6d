package writer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	bigint = row.Type{Root: row.BigInt}
	text   = row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}
)

// guideFields is the guide's table: id BIGINT, data STRING, dt STRING.
func guideFields() []row.Field {
	return []row.Field{{ID: 0, Name: "id", Type: bigint}, {ID: 1, Name: "data", Type: text}, {ID: 2, Name: "dt", Type: text}}
}

func createTable(t require.TestingT, fsys fs.FileSystem, spec table.Spec) *table.Table {
	tbl, err := table.Create(context.Background(), fsys, "/w/db.db/t", spec)
	require.NoError(t, err)
	return tbl
}

// appendRow appends a row of the guide's table.
func appendRow(b *row.Batch, k row.Kind, id int64, data, dt string) {
	b.Cols[0].AppendI64(id)
	b.Cols[1].AppendString(data)
	b.Cols[2].AppendString(dt)
	for c := 3; c < len(b.Cols); c++ {
		b.Cols[c].AppendNull()
	}
	b.EndRow(k)
}

// contents reads the table as a map from id and dt to data.
func contents(t require.TestingT, tbl *table.Table) map[string]string {
	return scanned(t, tbl, lsm.ScanOptions{})
}

// allContents has what is not visible before a compaction too.
func allContents(t require.TestingT, tbl *table.Table) map[string]string {
	return scanned(t, tbl, lsm.ScanOptions{AllLevels: true})
}

func scanned(t require.TestingT, tbl *table.Table, o lsm.ScanOptions) map[string]string {
	ctx := context.Background()
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	out := map[string]string{}
	for b, err := range lsm.Scan(ctx, tbl, s, o) {
		require.NoError(t, err)
		for i := range b.N {
			key := fmt.Sprintf("%d/%s", b.Cols[0].I64[i], b.Cols[2].Value(i))
			if _, twice := out[key]; twice {
				require.Fail(t, "a key comes twice", key)
			}
			out[key] = string(b.Cols[1].Value(i))
		}
	}
	return out
}

// dataFiles lists the data files that exist in the file system.
func dataFiles(t require.TestingT, fsys *mem.FS) []string {
	var out []string
	for _, p := range fsys.Paths() {
		if strings.Contains(p, "/bucket-") {
			out = append(out, p)
		}
	}
	return out
}

// requireNoOrphans checks that every data file is live in the latest snapshot (nothing is compacted in these tests), and
// that sequence numbers of a bucket never overlap between commits.
func requireNoOrphans(t require.TestingT, fsys *mem.FS, tbl *table.Table) {
	ctx := context.Background()
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	var live []string
	for e, err := range tbl.Scan(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		path, err := tbl.DataFilePath(e.Partition, e.Bucket, &e.File)
		require.NoError(t, err)
		live = append(live, path)
	}
	slices.Sort(live)
	have := dataFiles(t, fsys)
	slices.Sort(have)
	require.Equal(t, live, have)
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		fsys := mem.New()
		opts := table.Options{
			"bucket":                          "1",
			"write-only":                      "true",
			"page-size":                       rapid.SampledFrom([]string{"1 kb", "64 kb"}).Draw(t, "page"),
			"write-buffer-size":               rapid.SampledFrom([]string{"2 kb", "20 kb", "300 kb", "256 mb"}).Draw(t, "memory"),
			"write-buffer-spillable":          rapid.SampledFrom([]string{"true", "true", "false"}).Draw(t, "spillable"),
			"spill-compression":               rapid.SampledFrom([]string{"zstd", "lz4", "none"}).Draw(t, "spillCompression"),
			"file.format":                     rapid.SampledFrom([]string{"avro", "parquet"}).Draw(t, "format"),
			"sink.parallelism":                rapid.SampledFrom([]string{"1", "2", "5"}).Draw(t, "shards"),
			"local-sort.max-num-file-handles": "3",
		}
		if rapid.Bool().Draw(t, "buckets") {
			opts["bucket"] = "64"
		}
		if rapid.IntRange(0, 3).Draw(t, "disk") == 0 {
			opts["write-buffer-spill.max-disk-size"] = "5 kb"
		}
		spec := table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, Options: opts}
		if rapid.Bool().Draw(t, "partitioned") {
			spec.PartitionKeys = []string{"dt"}
		}
		tbl := createTable(t, fsys, spec)

		open := func() *Writer { return goOn(t, tbl, Config{}) }
		w := open()
		defer func() { require.NoError(t, w.Close(ctx)) }()
		model, committed := map[string]string{}, map[string]string{}
		id := int64(0)
		seq := 0
		columns := 3
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 5:
				b := row.NewBatch(w.Type())
				n := rapid.SampledFrom([]int{1, 10, 1000, 3000}).Draw(t, "rows")
				keys := int64(rapid.SampledFrom([]int{5, 500, 100000}).Draw(t, "keys"))
				stride := int64(rapid.IntRange(1, 77).Draw(t, "stride"))
				huge := rapid.IntRange(0, 9).Draw(t, "huge") == 0
				for i := range n {
					seq++
					key, dt := int64(i)*stride%keys, fmt.Sprintf("d%d", seq/7%3)
					k := row.Kind(seq % 4)
					data := fmt.Sprintf("v%d", seq)
					if huge && i == n/2 {
						data = strings.Repeat("x", 100_000)
					}
					appendRow(b, k, key, data, dt)
					mk := fmt.Sprintf("%d/%s", key, dt)
					if k.IsRetract() {
						delete(model, mk)
					} else {
						model[mk] = data
					}
				}
				require.NoError(t, w.Write(ctx, b))
			case step < 7:
				id++
				require.NoError(t, w.Checkpoint(ctx, id, map[string]string{"position": fmt.Sprint(id)}))
				committed = maps.Clone(model)
			case step == 7:
				require.NoError(t, w.Wait(ctx))
				require.Equal(t, committed, contents(t, tbl))
			case step == 8:
				columns++
				change := table.SchemaChange{Kind: table.AddColumn, Column: fmt.Sprintf("c%d", columns), Type: text}
				require.NoError(t, w.Alter(ctx, change))
			case step == 9: // rows after the last checkpoint are lost
				require.NoError(t, w.Close(ctx))
				require.Equal(t, committed, contents(t, tbl))
				requireNoOrphans(t, fsys, tbl)
				model = maps.Clone(committed)
				w = open()
			}
		}
		id++
		require.NoError(t, w.Checkpoint(ctx, id, nil))
		require.NoError(t, w.Wait(ctx))
		require.Equal(t, model, contents(t, tbl))
		require.Zero(t, w.Stats().SealedBytes)
		require.Zero(t, w.Stats().BufferBytes)
		require.Zero(t, w.Stats().SpilledBytes)
		requireNoOrphans(t, fsys, tbl)
	})
}
