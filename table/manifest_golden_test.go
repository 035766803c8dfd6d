package table

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/avro"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
)

// javaVersions are the versions of Java Paimon whose tables testdata has (see golden.sh).
var javaVersions = []string{"1.4.2", "1.3.1"}

// javaTable is a table that Java wrote, without the content of its data files.
type javaTable struct {
	*Table
	version string
	golden  map[string][]byte // live.jsonl and so on
}

// javaTables loads the tables of a version into memory. Data files are as large as they were, and empty of sense.
func javaTables(t testing.TB, version string) map[string]*javaTable {
	t.Helper()
	z, err := zip.OpenReader("testdata/java-" + version + ".zip")
	require.NoError(t, err)
	defer func() { require.NoError(t, z.Close()) }()
	fsys := mem.New()
	golden := map[string]map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		name, rest, _ := strings.Cut(f.Name, "/")
		if golden[name] == nil {
			golden[name] = map[string][]byte{}
		}
		if strings.Contains(rest, "/") {
			fsys.Overwrite("/java/"+f.Name, data)
		} else {
			golden[name][rest] = data
		}
	}
	tables := map[string]*javaTable{}
	for name, files := range golden {
		for line := range strings.Lines(string(files["files.txt"])) {
			var size int
			n, err := fmt.Sscan(line, &size)
			require.Equal(t, 1, n, err)
			_, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch top, _, _ := strings.Cut(file, "/"); top {
			case "schema", "snapshot", "manifest", "statistics":
			default:
				fsys.Overwrite(path.Join("/java", name, file), make([]byte, size))
			}
		}
		tab, err := Open(t.Context(), fsys, "/java/"+name, nil)
		require.NoError(t, err, name)
		tables[name] = &javaTable{tab, version, files}
	}
	return tables
}

func eachJavaTable(t *testing.T, f func(t *testing.T, tab *javaTable)) {
	for _, version := range javaVersions {
		for name, tab := range javaTables(t, version) {
			t.Run(version+"/"+name, func(t *testing.T) { f(t, tab) })
		}
	}
}

func TestJavaEntriesReadAsJavaReadsThem(t *testing.T) {
	eachJavaTable(t, func(t *testing.T, tab *javaTable) {
		s, err := tab.Latest(t.Context())
		require.NoError(t, err)
		var live, delta, changelog []string
		for e, err := range tab.Scan(t.Context(), s, Filter{}) {
			require.NoError(t, err)
			live = append(live, entryJSON(t, tab, &e))
		}
		for e, err := range tab.ScanDelta(t.Context(), s) {
			require.NoError(t, err)
			delta = append(delta, entryJSON(t, tab, &e))
		}
		for e, err := range tab.ScanChangelog(t.Context(), s) {
			require.NoError(t, err)
			changelog = append(changelog, entryJSON(t, tab, &e))
		}
		requireLines(t, tab.golden["live.jsonl"], live)
		requireLines(t, tab.golden["delta.jsonl"], delta)
		requireLines(t, tab.golden["changelog.jsonl"], changelog)
		require.Zero(t, cmp.Diff(sortedJSON(t, manifestLines(tab.golden["manifests.jsonl"])), sortedJSON(t, manifestsJSON(t, tab, s))))
	})
}

// requireLines compares lines of JSON, whatever their order: Java reads manifests in parallel.
func requireLines(t *testing.T, want []byte, got []string) {
	t.Helper()
	lines := slices.Collect(strings.Lines(string(want)))
	require.Zero(t, cmp.Diff(sortedJSON(t, lines), sortedJSON(t, got)))
}

func sortedJSON(t *testing.T, lines []string) []map[string]any {
	t.Helper()
	slices.Sort(lines)
	list := []map[string]any{}
	for _, l := range lines {
		d := json.NewDecoder(strings.NewReader(l))
		d.UseNumber()
		var m map[string]any
		require.NoError(t, d.Decode(&m), l)
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b map[string]any) int {
		return strings.Compare(fmt.Sprint(a["list"], a["name"], a["level"], a["manifest"]), fmt.Sprint(b["list"], b["name"], b["level"], b["manifest"]))
	})
	return list
}

// entryJSON renders an entry as the Java side does.
func entryJSON(t *testing.T, tab *javaTable, e *Entry) string {
	t.Helper()
	schema, err := tab.SchemaByID(t.Context(), e.File.SchemaID)
	require.NoError(t, err)
	f := &e.File
	orNull := func(n int64) any {
		if n == -1 {
			return nil
		}
		return n
	}
	m := map[string]any{
		"kind": e.Kind.String(), "partition": rowJSON(t, schema, schema.PartitionKeys, e.Partition), "bucket": e.Bucket,
		"totalBuckets": e.TotalBuckets, "level": f.Level, "name": f.Name, "rows": f.RowCount, "size": f.Size,
		"deleteRowCount": orNull(f.DeleteRows), "minSeq": f.MinSeq, "maxSeq": f.MaxSeq, "schemaId": f.SchemaID,
		"source": map[FileSource]any{SourceAppend: "APPEND", SourceCompact: "COMPACT"}[f.Source], "extraFiles": f.ExtraFiles,
		"creationTime":       time.UnixMilli(f.CreationMillis).UTC().Format("2006-01-02T15:04:05.000"),
		"embeddedIndexBytes": nil, "valueStatsCols": nil, "externalPath": nil, "firstRowId": orNull(f.FirstRowID), "writeCols": nil,
		"minKey": nil, "maxKey": nil, "keyStats": nil,
	}
	if f.ExtraFiles == nil {
		m["extraFiles"] = []string{}
	}
	if f.EmbeddedIndex != nil {
		m["embeddedIndexBytes"] = len(f.EmbeddedIndex)
	}
	names := f.ValueStatsCols
	if names != nil {
		m["valueStatsCols"] = names
	} else {
		for i := range schema.Fields {
			names = append(names, schema.Fields[i].Name)
		}
	}
	if keys := schema.TrimmedPrimaryKeys(); len(keys) > 0 {
		m["minKey"], m["maxKey"] = rowJSON(t, schema, keys, f.MinKey), rowJSON(t, schema, keys, f.MaxKey)
		m["keyStats"] = statsJSON(t, schema, keys, &f.KeyStats)
	}
	m["valueStats"] = statsJSON(t, schema, names, &f.ValueStats)
	return toJSON(t, m)
}

func statsJSON(t *testing.T, s *Schema, names []string, st *Stats) any {
	counts := []any{}
	for _, n := range st.NullCounts {
		if n == -1 {
			counts = append(counts, nil)
		} else {
			counts = append(counts, n)
		}
	}
	return map[string]any{"min": rowJSON(t, s, names, st.Min), "max": rowJSON(t, s, names, st.Max), "nullCounts": counts}
}

func rowJSON(t *testing.T, s *Schema, names []string, data []byte) json.RawMessage {
	t.Helper()
	var fields []row.Field
	var types []*row.Type
	for _, n := range names {
		f := s.Fields[s.FieldIndex(n)]
		fields, types = append(fields, f), append(types, &f.Type)
	}
	typ := row.NewRow(fields...)
	b := row.NewBatch(&typ)
	require.NoError(t, row.DecodeSerializedRow(data, types, b))
	return row.AppendJSONRow(nil, b, 0, false)
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// manifestLines keeps what is told of data manifests.
func manifestLines(golden []byte) []string {
	var lines []string
	for l := range strings.Lines(string(golden)) {
		if !strings.Contains(l, `"indexManifest"`) {
			lines = append(lines, l)
		}
	}
	return lines
}

func manifestsJSON(t *testing.T, tab *javaTable, s *Snapshot) []string {
	var lines []string
	add := func(kind, name string, size *int64) {
		if name == "" {
			return
		}
		list, err := tab.readList(t.Context(), name, size)
		require.NoError(t, err)
		lines = append(lines, toJSON(t, map[string]any{"list": kind, "name": name, "size": *size, "manifests": len(list)}))
		for _, m := range list {
			require.True(t, m.Buckets.Known && m.Levels.Known)
			lines = append(lines, toJSON(t, map[string]any{
				"list": kind, "manifest": m.Name, "size": m.Size, "added": m.Added, "deleted": m.Deleted, "schemaId": m.SchemaID,
				"minBucket": m.Buckets.Min, "maxBucket": m.Buckets.Max, "minLevel": m.Levels.Min, "maxLevel": m.Levels.Max,
				"partitionStats": statsJSON(t, tab.Schema(), tab.Schema().PartitionKeys, &m.PartitionStats),
			}))
		}
	}
	add("base", s.BaseManifestList, s.BaseManifestListSize)
	add("delta", s.DeltaManifestList, s.DeltaManifestListSize)
	add("changelog", s.ChangelogManifestList, s.ChangelogListSize)
	return lines
}

// What Java 1.4 wrote, we write byte for byte: snapshots, and the plain bytes of manifests and lists.
func TestWeEncodeAsJavaDoes(t *testing.T) {
	eachJavaTable(t, func(t *testing.T, tab *javaTable) {
		for s, err := range tab.Snapshots(t.Context()) {
			require.NoError(t, err)
			raw, err := readWhole(t.Context(), tab.fs, tab.snapshotPath(s.ID))
			require.NoError(t, err)
			ours, err := s.encode()
			require.NoError(t, err)
			if tab.version == "1.4.2" {
				require.Equal(t, string(raw), string(ours))
			} else {
				old := strings.NewReplacer("  \"logOffsets\" : { },\n", "", "  \"changelogManifestList\" : null,\n", "")
				require.Equal(t, old.Replace(string(raw)), string(ours))
			}
		}
		for info, err := range tab.fs.List(t.Context(), tab.path+"/manifest") {
			require.NoError(t, err)
			raw, err := readWhole(t.Context(), tab.fs, tab.manifestPath(info.Name))
			require.NoError(t, err)
			r, err := avro.NewBlockReader(bytes.NewReader(raw), int64(len(raw)))
			require.NoError(t, err)
			switch {
			case strings.HasPrefix(info.Name, "index-manifest-"):
				if tab.version == "1.4.2" {
					require.Equal(t, indexManifestSchema, r.Schema())
					requireSameBlocks(t, r, func(d *avro.Decoder, dst []byte) []byte {
						e, ok := decodeIndexEntry(d)
						require.True(t, ok)
						return appendIndexEntry(dst, &e)
					})
				}
			case strings.HasPrefix(info.Name, "manifest-list-"):
				if tab.version == "1.4.2" {
					require.Equal(t, manifestListSchema, r.Schema())
					requireSameBlocks(t, r, func(d *avro.Decoder, dst []byte) []byte {
						var m Manifest
						require.True(t, decodeManifest(d, &m))
						return appendManifest(dst, &m)
					})
				}
			default:
				require.Equal(t, manifestSchema, r.Schema())
				requireSameBlocks(t, r, func(d *avro.Decoder, dst []byte) []byte {
					var e Entry
					h, ok := decodeHead(d)
					require.True(t, ok)
					e.Kind, e.Partition, e.Bucket, e.TotalBuckets = h.kind, h.partition, h.bucket, h.totalBuckets
					new(fileDecoder).file(d, &e.File)
					return appendEntry(dst, &e)
				})
			}
		}
	})
}

func requireSameBlocks(t *testing.T, r *avro.BlockReader, again func(d *avro.Decoder, dst []byte) []byte) {
	t.Helper()
	for {
		count, data, err := r.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		var ours []byte
		d := avro.NewDecoder(data)
		for range count {
			ours = again(d, ours)
		}
		require.NoError(t, d.Err())
		require.Equal(t, data, ours)
	}
}

func TestCheckFindsNothingInJavaTables(t *testing.T) {
	eachJavaTable(t, func(t *testing.T, tab *javaTable) {
		for p := range tab.Check(t.Context(), nil, true, nil) {
			t.Error(p)
		}
	})
}

// The partition statistics that Java computed for its manifests are those that we compute.
func TestWeGoOnFromJavaTables(t *testing.T) {
	eachJavaTable(t, func(t *testing.T, tab *javaTable) {
		before := liveNames(t, tab.Table)
		own, err := Open(t.Context(), tab.fs, tab.path, Options{"manifest.merge-min-count": "1"})
		require.NoError(t, err)
		mustCommit(t, own.NewCommit("u", nil), 1)
		require.Equal(t, before, liveNames(t, tab.Table))
		fresh, err := Open(t.Context(), tab.fs, tab.path, nil)
		require.NoError(t, err)
		require.Equal(t, before, liveNames(t, fresh))
		for p := range fresh.Check(t.Context(), nil, true, nil) {
			t.Error(p)
		}
		full, err := Open(t.Context(), tab.fs, tab.path, Options{"manifest.full-compaction-threshold-size": "1 b"})
		require.NoError(t, err)
		s := mustCommit(t, full.NewCommit("u", nil), 2)
		base, err := full.readList(t.Context(), s.BaseManifestList, s.BaseManifestListSize)
		require.NoError(t, err)
		require.LessOrEqual(t, len(base), 1)
		require.Equal(t, before, liveNames(t, full))
	})
}
