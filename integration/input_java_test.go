//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// An inputCase is a table with changelog-producer=input that Java's writer and ours write, each its own copy, from the same rows.
type inputCase struct {
	name        string
	conf        table.Options
	partitioned bool
	once        bool // no key comes twice in a commit
	images      bool // rows are the true images of a source's changes, and our writer is told so
	bigTicks    bool
}

var inputCases = []inputCase{
	{name: "plain"},
	{name: "images", images: true},
	{name: "images partitioned parquet", images: true, partitioned: true, conf: table.Options{"bucket": "3", "file.format": "parquet"}},
	{name: "images merged", images: true, conf: table.Options{"precommit-compact": "true"}},
	{name: "partitioned", partitioned: true, conf: table.Options{"bucket": "3", "file.format": "parquet"}},
	{name: "a sequence field", conf: table.Options{"sequence.field": "s1"}},
	{name: "sequence fields", partitioned: true, conf: table.Options{"sequence.field": "s5,s1"}},
	{name: "a sequence field of fractions", conf: table.Options{"sequence.field": "s3", "file.format": "parquet"}},
	{name: "a sequence field of floats", conf: table.Options{"sequence.field": "s4,s2"}},
	{name: "a sequence field of times", conf: table.Options{"sequence.field": "s2", "bucket": "1"}},
	{name: "images with a sequence field", images: true, conf: table.Options{"sequence.field": "s1"}},
	{name: "descending", once: true, conf: table.Options{"sequence.field": "s1,s3", "sequence.field.sort-order": "descending"}},
	{name: "ignore-delete", conf: table.Options{"ignore-delete": "true"}},
	{name: "ignore-update-before", conf: table.Options{"ignore-update-before": "true", "sequence.field": "s1"}},
	{name: "rowkind.field", conf: table.Options{"rowkind.field": "kind"}},
	{name: "rowkind.field ignore-delete", partitioned: true, conf: table.Options{"rowkind.field": "kind", "ignore-delete": "true", "sequence.field": "s2"}},
	{name: "row-deduplicate", images: true, conf: table.Options{"changelog-producer.row-deduplicate": "true"}},
	{name: "row-deduplicate ignore-fields", partitioned: true, conf: table.Options{"sequence.field": "s1", "changelog-producer.row-deduplicate": "true",
		"changelog-producer.row-deduplicate-ignore-fields": "s1,s2,s3,s4,s5,kind,p,k,name"}},
	{name: "spilled", bigTicks: true, conf: table.Options{"write-buffer-size": "64 kb", "page-size": "2 kb", "local-sort.max-num-file-handles": "3"}},
	{name: "spilled with sequence fields", bigTicks: true, partitioned: true,
		conf: table.Options{"write-buffer-size": "128 kb", "page-size": "2 kb", "sequence.field": "s1,s4", "file.format": "parquet"}},
	{name: "files of another kind", conf: table.Options{"file.format": "parquet", "changelog-file.format": "avro", "changelog-file.prefix": "c-",
		"changelog-file.compression": "snappy", "changelog-file.stats-mode": "full"}},
	{name: "files by level", conf: table.Options{"file.format": "parquet", "file.format.per.level": "0:avro", "metadata.stats-mode": "counts", "sequence.field": "s5"}},
}

// TestInputChangelogIsJavas feeds random histories to Java's writer and to ours: files of the same rows, with the same kinds,
// order and sequence numbers, in the changelog and in level 0, and the same statistics of them; the same stream and the same
// rows of each snapshot, as Java reads them. PAIMON_GO_TEST_SEEDS is how many histories there are of each case, by hand.
func TestInputChangelogIsJavas(t *testing.T) {
	rounds := 1
	if v := os.Getenv("PAIMON_GO_TEST_SEEDS"); v != "" {
		var err error
		rounds, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	for _, c := range inputCases {
		t.Run(c.name, func(t *testing.T) {
			for i := range rounds {
				c.run(t, testkit.JavaVersions[i%2])
			}
		})
	}
}

func (c *inputCase) run(t *testing.T, java string) {
	h := newInputHistory(c, seed(t))
	ours, theirs := c.create(t)
	var merge []string
	if c.conf["precommit-compact"] != "" {
		merge = []string{"--merge-changelog"}
		java = testkit.JavaVersions[0] // 1.3 never comes to the end of a merged Avro part
	}
	for range 3 { // each part by a new process, as it were
		var input bytes.Buffer
		w := c.open(t, ours)
		for range h.ticks() {
			b := h.tick(w.Type())
			for i := range b.N {
				input.Write(append(row.AppendJSONRow(nil, b, i, true), '\n'))
			}
			input.WriteString(`{"_commit":1}` + "\n")
			writeInParts(t, w, b, h.rng)
			h.commits++
			require.NoError(t, w.Checkpoint(t.Context(), h.commits, nil))
		}
		require.NoError(t, w.Wait(t.Context()))
		require.NoError(t, w.Close(t.Context()))
		file := filepath.Join(t.TempDir(), "rows")
		require.NoError(t, os.WriteFile(file, input.Bytes(), 0o600))
		theirs.Java(java, "write", append([]string{"--input", file}, merge...)...)
	}
	c.requireEqual(t, java, theirs, ours, h.commits)
}

// TestInputChangelogInDescendingOrder has Java commit each row by itself: within a commit, Java 1.4 neglects the sort order of
// sequence fields, Paimon 2.0 and we don't. Then both have the same rows after each commit of ours, and the same changes, of
// which the one that lasts comes last.
func TestInputChangelogInDescendingOrder(t *testing.T) {
	c := &inputCase{conf: table.Options{"sequence.field": "s1", "sequence.field.sort-order": "descending"}}
	h := newInputHistory(c, seed(t))
	ours, theirs := c.create(t)
	w := c.open(t, ours)
	var input bytes.Buffer
	var ends []int64 // Java's snapshot at the end of each commit
	rows := int64(0)
	for range 3 {
		b := h.tick(w.Type())
		b.Truncate(min(b.N, 60))
		for i := range b.N {
			fmt.Fprintf(&input, "%s\n{\"_commit\":1}\n", row.AppendJSONRow(nil, b, i, true))
		}
		writeInParts(t, w, b, h.rng)
		rows += int64(b.N)
		ends = append(ends, rows)
		require.NoError(t, w.Checkpoint(t.Context(), int64(len(ends)), nil))
	}
	require.NoError(t, w.Wait(t.Context()))
	require.NoError(t, w.Close(t.Context()))
	file := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(file, input.Bytes(), 0o600))
	java, from := testkit.JavaVersions[0], int64(1)
	theirs.Java(java, "write", "--input", file)
	for i, end := range ends {
		want := map[string][]string{}
		for ; from <= end; from++ {
			for at, set := range filesOfSnapshot(t, theirs, from, true) {
				want[at] = append(want[at], set.Rows...)
			}
		}
		got := rowsOfFiles(filesOfSnapshot(t, ours, int64(i+1), true))
		require.Len(t, got, len(want))
		for at := range want {
			require.ElementsMatch(t, want[at], got[at])
			requireDescending(t, got[at])
		}
		testkit.RequireSameRows(t, "java", theirs.JavaRows(java, "--snapshot", strconv.FormatInt(end, 10)), ours.JavaRows(java, "--snapshot", strconv.Itoa(i+1)))
	}
	ours.RequireCleanFiles()
}

// requireDescending requires that rows of one key come from no s1 to the largest and then the smaller ones, equal ones as they came.
func requireDescending(t *testing.T, rows []string) {
	last, lastSeq := map[string]string{}, 0
	for _, r := range rows {
		number, text, _ := strings.Cut(r, " ")
		seq, err := strconv.Atoi(number)
		require.NoError(t, err)
		now := cells(t, text)
		if last["k"]+last["name"]+last["p"] == now["k"]+now["name"]+now["p"] {
			a, errA := strconv.ParseFloat(last["s1"], 64)
			b, errB := strconv.ParseFloat(now["s1"], 64)
			switch {
			case last["s1"] == now["s1"]:
				require.Less(t, lastSeq, seq, "%v then %v", last, now)
			case errA == nil: // else there is none
				require.NoError(t, errB, "%v then %v", last, now)
				require.Greater(t, a, b)
			}
		}
		last, lastSeq = now, seq
	}
}

// requireEqual compares the two tables.
func (c *inputCase) requireEqual(t *testing.T, java string, theirs, ours *testkit.Table, commits int64) {
	stream := theirs.JavaChanges(java)
	dedup := c.conf["changelog-producer.row-deduplicate"] != ""
	// Java takes the -U of a pair that came late for the newest record, and so loses the row.
	sameRows := !c.images || c.conf["sequence.field"] == ""
	require.Equal(t, commits, theirs.Latest())
	require.Equal(t, commits, ours.Latest())
	var replay *testkit.Replay
	if c.images && c.conf["sequence.field"] == "" {
		replay = testkit.NewReplay(t)
	}
	ourStream := ours.JavaChanges(java)
	for id := int64(1); id <= commits; id++ {
		want, got := filesOfSnapshot(t, theirs, id, true), filesOfSnapshot(t, ours, id, true)
		switch {
		case dedup:
			require.Equal(t, c.withoutEqualPairs(t, want), rowsOfFiles(got), "the changelog of snapshot %d", id)
		case sameRows:
			require.Equal(t, want, got, "the changelog of snapshot %d", id)
		default: // numbers go on from those of level 0
			require.Equal(t, withoutNumbers(want), withoutNumbers(got), "the changelog of snapshot %d", id)
		}
		if sameRows {
			// Then each snapshot has the same rows.
			require.Equal(t, filesOfSnapshot(t, theirs, id, false), filesOfSnapshot(t, ours, id, false), "level 0 of snapshot %d", id)
		}
		if replay != nil {
			for ; len(ourStream) > 0 && ourStream[0].Snapshot == id; ourStream = ourStream[1:] {
				replay.Apply(ourStream[0])
			}
			testkit.RequireSameRows(t, "the replay", ours.JavaRows(java, "--snapshot", strconv.FormatInt(id, 10)), replay.Rows())
		}
	}
	if sameRows {
		testkit.RequireSameRows(t, "java", theirs.JavaRows(java), ours.JavaRows(java))
	}
	if !dedup {
		testkit.RequireSameChanges(t, stream, ours.JavaChanges(java))
		testkit.RequireSameChanges(t, stream, ours.Changes())
		ours.RequireChangelogCounts(stream)
	}
	ours.RequireCleanFiles()
}

func (c *inputCase) create(t *testing.T) (ours, theirs *testkit.Table) {
	typ := func(s string) row.Type {
		x, err := row.ParseType(s)
		require.NoError(t, err)
		return x
	}
	text, times := "by default", "TIMESTAMP(6)" // Avro's limit
	if c.conf["file.format"] == "parquet" && c.conf["changelog-file.format"]+c.conf["file.format.per.level"] == "" {
		times = "TIMESTAMP(9)"
	}
	spec := table.Spec{
		Fields: []row.Field{{Name: "k", Type: typ("INT NOT NULL")}, {Name: "name", Type: typ("STRING NOT NULL")}, {Name: "p", Type: typ("STRING NOT NULL")},
			{Name: "s1", Type: typ("BIGINT")}, {Name: "s2", Type: typ(times)}, {Name: "s3", Type: typ("DECIMAL(25,3)")}, {Name: "s4", Type: typ("DOUBLE")},
			{Name: "s5", Type: typ("STRING")}, {Name: "kind", Type: typ("STRING")}, {Name: "v", Type: typ("STRING"), Default: &text}, {Name: "b", Type: typ("BOOLEAN")}},
		PrimaryKeys: []string{"p", "k", "name"},
		Options:     table.Options{"bucket": "2", "write-only": "true", "file.format": "avro", "changelog-producer": "input"}.With(c.conf),
	}
	if c.partitioned {
		spec.PartitionKeys = []string{"p"}
	}
	ours = testkit.TableAt(t, t.TempDir(), "d", "t")
	_, err := table.Create(t.Context(), local.FS{}, ours.Path(), spec)
	require.NoError(t, err)
	return ours, ours.Copy(t.TempDir())
}

func (c *inputCase) open(t *testing.T, x *testkit.Table) *writer.Writer {
	w, err := writer.Open(t.Context(), x.Open(), writer.Config{CommitUser: "ours", PairedUpdates: c.images})
	require.NoError(t, err)
	return w
}

// writeInParts writes a batch in a few calls.
func writeInParts(t *testing.T, w *writer.Writer, b *row.Batch, rng *rand.Rand) {
	for from := 0; from < b.N; {
		to := min(b.N, from+1+rng.IntN(b.N))
		part := row.NewBatch(b.Type)
		part.AppendRange(b, from, to)
		require.NoError(t, w.Write(t.Context(), part))
		from = to
	}
}

// inputHistory makes rows. In the form of AppendJSONRow, without the kind, images remembers those that there are.
type inputHistory struct {
	c       *inputCase
	rng     *rand.Rand
	keys    int
	commits int64
	images  map[string]*row.Batch // by key
}

func newInputHistory(c *inputCase, rng *rand.Rand) *inputHistory {
	return &inputHistory{c: c, rng: rng, keys: []int{2, 8, 60}[rng.IntN(3)], images: map[string]*row.Batch{}}
}

// ticks is how many commits a part has.
func (h *inputHistory) ticks() int {
	if h.c.bigTicks {
		return 1
	}
	return 1 + h.rng.IntN(4)
}

// tick makes the rows of a commit; there is one at least.
func (h *inputHistory) tick(typ *row.Type) *row.Batch {
	b := row.NewBatch(typ)
	n, seen := 1+h.rng.IntN(120), map[string]bool{}
	if h.c.bigTicks {
		n += 3000
	}
	for b.N < n {
		k := h.rng.IntN(h.keys)
		if h.c.bigTicks {
			k = h.rng.IntN(40 * h.keys)
		}
		id := fmt.Sprint(k)
		if h.c.once && seen[id] {
			break
		}
		if seen[id] = true; h.c.images {
			h.change(b, id, k)
			continue
		}
		kind := row.Kind(h.rng.IntN(4))
		if b.N == 0 {
			kind = row.Insert
		}
		h.row(b, k, kind)
	}
	return b
}

// change appends the images of a change of a key.
func (h *inputHistory) change(b *row.Batch, id string, k int) {
	old := h.images[id]
	kind := row.Insert
	if old != nil {
		if h.rng.IntN(4) == 0 {
			b.AppendRow(old, 0)
			b.Kinds[b.N-1] = row.Delete
			delete(h.images, id)
			return
		}
		b.AppendRow(old, 0)
		b.Kinds[b.N-1] = row.UpdateBefore
		if kind = row.UpdateAfter; h.rng.IntN(6) == 0 { // it changes nothing
			b.AppendRow(old, 0)
			b.Kinds[b.N-1] = kind
			return
		}
	}
	h.row(b, k, kind)
	image := row.NewBatch(b.Type)
	image.AppendRow(b, b.N-1)
	h.images[id] = image
}

// row appends a row with few different values.
func (h *inputHistory) row(b *row.Batch, k int, kind row.Kind) {
	pick := func(c int, choices ...string) {
		if err := row.ParseJSONValue([]byte(choices[h.rng.IntN(len(choices))]), &b.Cols[c]); err != nil {
			panic(err)
		}
	}
	b.Cols[0].AppendI32(int32(k%5 - 2))
	b.Cols[1].AppendString([]string{"", "a", "key of some length", "key of some lengty", "ключ", "a\x00b"}[k%6] + strconv.Itoa(k/6))
	b.Cols[2].AppendString(fmt.Sprint("p", k%3))
	pick(3, "null", "-1", "0", "1", "2", "9000000000000000")
	nanos := "000"
	if b.Cols[4].Type.Precision == 9 {
		nanos = fmt.Sprintf("%03d", h.rng.IntN(3))
	}
	pick(4, "null", `"2024-02-29T12:00:00.000000`+nanos+`"`, `"2024-02-29T12:00:00.000001`+nanos+`"`, `"1969-12-31T23:59:59.999999`+nanos+`"`, `"0001-01-01T00:00:00.123456`+nanos+`"`)
	pick(5, "null", `"-0.001"`, `"0.000"`, `"1234567890123456789012.345"`, `"1.500"`)
	pick(6, "null", "-1.5", "0.1", "1e300", "3")
	pick(7, "null", `""`, `"a"`, `"ab"`, `"é"`, `"a rather long value of a sequence"`)
	b.Cols[8].AppendString(kind.String())
	if kind = row.Insert; h.c.conf["rowkind.field"] == "" {
		kind, _ = row.ParseKind(string(b.Cols[8].Value(b.N)))
	}
	pick(9, `"x"`, `"y"`, `"a value that statistics cut somewhere"`, "null")
	pick(10, "null", "true", "false")
	b.EndRow(kind)
}

// A fileSet is what lies in a bucket: what is known of its files, and their rows in order.
type fileSet struct {
	Known []string
	Rows  []string
}

// filesOfSnapshot reads the changelog files of a snapshot, or those that it added to level 0, by bucket.
func filesOfSnapshot(t *testing.T, x *testkit.Table, id int64, changelog bool) map[string]fileSet {
	tbl := x.Open()
	s, err := tbl.Snapshot(t.Context(), id)
	require.NoError(t, err)
	entries := tbl.ScanDelta(t.Context(), s)
	if changelog {
		entries = tbl.ScanChangelog(t.Context(), s)
	}
	m := map[string]fileSet{}
	kv := lsm.NewKeyValues(tbl.Schema().RowType())
	for e, err := range entries {
		require.NoError(t, err)
		f := &e.File
		at := fmt.Sprintf("%x bucket %d", e.Partition, e.Bucket)
		set := m[at]
		set.Known = append(set.Known, fmt.Sprintf("%s %d rows, %d deletes, sequence %d to %d, keys %x to %x, level %d, source %v, key stats %x, stats %x of %q, schema %d",
			strings.Replace(filepath.Ext(f.Name), ".cc-", ".", 1),
			f.RowCount, f.DeleteRows, f.MinSeq, f.MaxSeq, f.MinKey, f.MaxKey, f.Level, f.Source, f.KeyStats, f.ValueStats, f.ValueStatsCols, f.SchemaID))
		r, err := lsm.OpenFile(t.Context(), tbl, e.Partition, e.Bucket, f, tbl.Schema())
		require.NoError(t, err)
		for r.Next(kv) == nil {
			for i := range kv.Len() {
				set.Rows = append(set.Rows, fmt.Sprintf("%d %s", kv.Seq[i], row.AppendJSONRow(nil, kv.Rows, i, true)))
			}
		}
		require.NoError(t, r.Close())
		m[at] = set
	}
	return m
}

// cells are the texts of a row's columns by name.
func cells(t *testing.T, text string) map[string]string {
	var raw map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &raw), text)
	out := map[string]string{}
	for name, v := range raw {
		out[name] = fmt.Sprint(v)
	}
	return out
}

func rowsOfFiles(m map[string]fileSet) map[string][]string {
	rows := map[string][]string{}
	for at, set := range m {
		rows[at] = set.Rows
	}
	return rows
}

// withoutNumbers are the rows without their sequence numbers.
func withoutNumbers(m map[string]fileSet) map[string][]string {
	out := rowsOfFiles(m)
	for _, rows := range out {
		for i, r := range rows {
			_, rows[i], _ = strings.Cut(r, " ")
		}
	}
	return out
}

// withoutEqualPairs leaves out each -U that a +U follows which has the same in all columns that count.
func (c *inputCase) withoutEqualPairs(t *testing.T, m map[string]fileSet) map[string][]string {
	ignored := strings.Split(c.conf["changelog-producer.row-deduplicate-ignore-fields"], ",")
	keys := []string{"p", "k", "name"} // a pair has one
	counted := func(r string) map[string]string {
		_, text, _ := strings.Cut(r, " ")
		all := cells(t, text)
		maps.DeleteFunc(all, func(name, _ string) bool {
			return slices.Contains(ignored, name) && !slices.Contains(keys, name) || name == "_kind"
		})
		return all
	}
	kind := func(r string) string { _, text, _ := strings.Cut(r, " "); return cells(t, text)["_kind"] }
	out := map[string][]string{}
	for at, set := range m {
		var kept []string
		for i := 0; i < len(set.Rows); i++ {
			if r := set.Rows[i:]; len(r) > 1 && kind(r[0]) == "-U" && kind(r[1]) == "+U" && maps.Equal(counted(r[0]), counted(r[1])) {
				i++
				continue
			}
			kept = append(kept, set.Rows[i])
		}
		if len(kept) > 0 {
			out[at] = kept
		}
	}
	return out
}
