package writer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// engineRecord is a row of the table id, dt, a, b, g, s; nil is NULL.
type engineRecord struct {
	id      int64
	dt      string
	a, b, g *int64
	s       *string
	kind    row.Kind
	seq     int64
}

func engineFields() []row.Field {
	null := bigint
	null.Nullable = true
	return append(guideFields()[:1:1], row.Field{ID: 1, Name: "dt", Type: text}, row.Field{ID: 2, Name: "a", Type: null}, row.Field{ID: 3, Name: "b", Type: null},
		row.Field{ID: 4, Name: "g", Type: null}, row.Field{ID: 5, Name: "s", Type: text})
}

func (r *engineRecord) String() string {
	number := func(x *int64) string {
		if x == nil {
			return "null"
		}
		return strconv.FormatInt(*x, 10)
	}
	s := "null"
	if r.s != nil {
		s = strconv.Quote(*r.s)
	}
	return fmt.Sprintf(`{"_kind":%q,"id":%d,"dt":%q,"a":%s,"b":%s,"g":%s,"s":%s}`, r.kind.String(), r.id, r.dt, number(r.a), number(r.b), number(r.g), s)
}

// engineModel is a merge engine told by its rules: what the records of a key, from the oldest to the newest, come to.
type engineModel struct {
	options table.Options
	kinds   []row.Kind
	fold    func(records []engineRecord) engineRecord
}

var engineModels = map[string]engineModel{
	"first-row": {table.Options{"merge-engine": "first-row"}, []row.Kind{row.Insert, row.UpdateAfter},
		func(records []engineRecord) engineRecord { return records[0] }},
	"partial-update": {table.Options{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		[]row.Kind{row.Insert, row.UpdateAfter, row.UpdateBefore, row.Delete}, foldPartial},
	"sequence groups": {table.Options{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.b.aggregate-function": "sum"},
		[]row.Kind{row.Insert, row.UpdateAfter, row.UpdateBefore, row.Delete}, foldGroups},
	"aggregation": {table.Options{"merge-engine": "aggregation", "fields.a.aggregate-function": "max", "fields.a.ignore-retract": "true",
		"fields.b.aggregate-function": "sum", "fields.s.aggregate-function": "last_value"},
		[]row.Kind{row.Insert, row.UpdateAfter, row.UpdateBefore, row.Delete}, foldAggregates},
}

func foldPartial(records []engineRecord) engineRecord {
	var out engineRecord
	begun, added, deleted := false, false, false
	for _, r := range records {
		deleted = r.kind == row.Delete
		if !begun && r.kind.IsRetract() || deleted {
			out = r
		}
		begun, out.seq = true, r.seq
		if !r.kind.IsRetract() {
			added = true
			out.id, out.dt = r.id, r.dt
			out.lay(r)
		}
	}
	if out.kind = row.Insert; deleted || !added {
		out.kind = row.Delete
	}
	return out
}

// lay lays the values of r that are not NULL over those of out.
func (r *engineRecord) lay(in engineRecord) {
	if in.a != nil {
		r.a = in.a
	}
	if in.b != nil {
		r.b = in.b
	}
	if in.g != nil {
		r.g = in.g
	}
	if in.s != nil {
		r.s = in.s
	}
}

func foldGroups(records []engineRecord) engineRecord {
	out := engineRecord{kind: row.Delete}
	if records[0].kind.IsRetract() {
		out = records[0]
		out.kind = row.Delete
	}
	for _, r := range records {
		retract := r.kind.IsRetract()
		out.id, out.dt, out.seq = r.id, r.dt, r.seq
		if !retract {
			out.kind = row.Insert
			if r.s != nil {
				out.s = r.s
			}
		}
		if r.g == nil {
			continue
		}
		out.b = added(out.b, r.b, retract)
		if out.g == nil || *r.g >= *out.g {
			if out.g, out.a = r.g, r.a; retract {
				out.a = nil
			}
		}
	}
	return out
}

func foldAggregates(records []engineRecord) (out engineRecord) {
	for _, r := range records {
		retract := r.kind.IsRetract()
		out.id, out.dt, out.seq = r.id, r.dt, r.seq
		out.b = added(out.b, r.b, retract)
		switch {
		case retract:
			out.s, out.g = nil, nil
		default:
			out.s, out.g = r.s, r.g
			if out.a == nil || r.a != nil && *r.a > *out.a {
				out.a = r.a
			}
		}
	}
	return out
}

func added(acc, in *int64, minus bool) *int64 {
	if in == nil {
		return acc
	}
	sum := *in
	if minus {
		sum = -sum
	}
	if acc != nil {
		sum += *acc
	}
	return &sum
}

// engineHistory is what a writer is given, and what it should make of it.
type engineHistory struct {
	engineModel
	sequence bool
	next     map[string]int64 // sequence number by dt
	now      []engineRecord   // since the last checkpoint
	want     [][2][]string    // of each snapshot: level 0 and, if there is one, the changelog
}

// less orders records of a partition as files do.
func (h *engineHistory) less(a, b engineRecord) int {
	switch {
	case a.dt != b.dt:
		return strings.Compare(a.dt, b.dt)
	case a.id != b.id:
		return int(a.id - b.id)
	case h.sequence && a.g == nil && b.g != nil:
		return -1
	case h.sequence && a.g != nil && b.g == nil:
		return 1
	case h.sequence && a.g != nil && *a.g != *b.g:
		return int(*a.g - *b.g)
	}
	return int(a.seq - b.seq)
}

func (h *engineHistory) checkpoint() {
	slices.SortFunc(h.now, h.less)
	var want [2][]string
	for len(h.now) > 0 {
		n := 1
		for n < len(h.now) && h.now[n].id == h.now[0].id && h.now[n].dt == h.now[0].dt {
			n++
		}
		out := h.now[0]
		if n > 1 { // one alone stays as it is
			out = h.fold(slices.Clone(h.now[:n]))
		}
		want[0] = append(want[0], fmt.Sprintf("%s #%d", &out, out.seq))
		for i := range h.now[:n] {
			want[1] = append(want[1], fmt.Sprintf("%s #%d", &h.now[i], h.now[i].seq))
		}
		h.now = h.now[n:]
	}
	h.want = append(h.want, want)
	h.now = nil
}

// TestEnginesFold: whatever is spilled meanwhile, a checkpoint has one row for each key, folded from the oldest record to the
// newest, and with changelog-producer=input each record.
func TestEnginesFold(t *testing.T) {
	for name, m := range engineModels {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := &engineHistory{engineModel: m, next: map[string]int64{}}
				options := table.Options{
					"bucket": "1", "write-only": "true", "page-size": "1 kb", "local-sort.max-num-file-handles": "3", "file.format": "avro",
					"write-buffer-size": rapid.SampledFrom([]string{"2 kb", "20 kb", "300 kb", "256 mb"}).Draw(t, "memory"),
					"sink.parallelism":  rapid.SampledFrom([]string{"1", "3"}).Draw(t, "shards"),
				}.With(m.options)
				if name != "first-row" && name != "sequence groups" && rapid.Bool().Draw(t, "sequence") {
					h.sequence = true
					options["sequence.field"] = "g"
				} else if name == "aggregation" {
					options["fields.g.aggregate-function"] = "last_value"
				}
				if name != "first-row" && rapid.Bool().Draw(t, "changelog") {
					options["changelog-producer"] = "input"
				}
				tbl := createTable(t, mem.New(), table.Spec{Fields: engineFields(), PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"}, Options: options})
				h.play(t, tbl)
			})
		})
	}
}

func (h *engineHistory) play(t *rapid.T, tbl *table.Table) {
	ctx := context.Background()
	w, err := Open(ctx, tbl, Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close(ctx)) }()
	r := uint64(rapid.Int64().Draw(t, "seed"))
	random := func(n int64) int64 { // rapid draws too slowly for each cell
		r = r*6364136223846793005 + 1442695040888963407
		return int64(r>>33) % n
	}
	number := func(n int64) *int64 {
		if x := random(n + n/3 + 1); x < n {
			return &x
		}
		return nil
	}
	for id := range int64(rapid.IntRange(1, 3).Draw(t, "checkpoints")) {
		for range rapid.IntRange(1, 2).Draw(t, "batches") {
			b := row.NewBatch(w.Type())
			keys := int64(rapid.SampledFrom([]int{1, 5, 500}).Draw(t, "keys"))
			for range rapid.SampledFrom([]int{1, 20, 20, 400}).Draw(t, "rows") {
				x := engineRecord{id: random(keys), dt: fmt.Sprint("d", random(2)), a: number(50), b: number(50), g: number(4), kind: h.kinds[random(int64(len(h.kinds)))]}
				if n := number(40); n != nil {
					s := strings.Repeat("s", int(*n))
					x.s = &s
				}
				x.seq = h.next[x.dt]
				h.next[x.dt]++
				h.now = append(h.now, x)
				require.NoError(t, row.ParseJSONRow([]byte(x.String()), b))
			}
			require.NoError(t, w.Write(ctx, b))
		}
		require.NoError(t, w.Checkpoint(ctx, id+1, nil))
		h.checkpoint()
	}
	require.NoError(t, w.Wait(ctx))
	for i, want := range h.want {
		s, err := tbl.Snapshot(ctx, int64(i+1))
		require.NoError(t, err)
		require.Equal(t, want[0], recordsOf(t, tbl, s, false), "snapshot %d", i+1)
		if tbl.Options().Enum(table.KeyChangelogProducer) == "input" {
			require.Equal(t, want[1], recordsOf(t, tbl, s, true), "changelog of snapshot %d", i+1)
		}
	}
	require.Zero(t, w.Stats().SpilledBytes)
}

// recordsOf reads what a snapshot added, by partition and file.
func recordsOf(t require.TestingT, tbl *table.Table, s *table.Snapshot, changelog bool) (out []string) {
	ctx := context.Background()
	entries := tbl.ScanDelta(ctx, s)
	if changelog {
		entries = tbl.ScanChangelog(ctx, s)
	}
	parts := map[string][]string{}
	kv := lsm.NewKeyValues(tbl.Schema().RowType())
	for e, err := range entries {
		require.NoError(t, err)
		r, err := lsm.OpenFile(ctx, tbl, e.Partition, e.Bucket, &e.File, tbl.Schema())
		require.NoError(t, err)
		for r.Next(kv) == nil {
			for i := range kv.Len() {
				parts[string(e.Partition)] = append(parts[string(e.Partition)], fmt.Sprintf("%s #%d", row.AppendJSONRow(nil, kv.Rows, i, true), kv.Seq[i]))
			}
		}
		require.NoError(t, r.Close())
	}
	names := make([]string, 0, len(parts))
	for p := range parts {
		names = append(names, p)
	}
	slices.Sort(names)
	for _, p := range names {
		out = append(out, parts[p]...)
	}
	return out
}

// TestAHugeRowTakesNoOtherWithIt: memory that a huge row has grown is given up while the first record of another key waits.
func TestAHugeRowTakesNoOtherWithIt(t *testing.T) {
	_, tbl := guideTable(t, "merge-engine", "partial-update", "write-buffer-size", "512 mb", "file.compression", "none")
	w, err := Open(t.Context(), tbl, Config{})
	require.NoError(t, err)
	b := row.NewBatch(w.Type())
	appendRow(b, row.Insert, 1, strings.Repeat("x", 34<<20), "d")
	for id := range int64(5) {
		appendRow(b, row.Insert, 2+id, "small", "d")
	}
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Close(t.Context()))
	require.Len(t, contents(t, tbl), 6)
}

// TestARecordThatTheEngineRefuses ends the writer at its checkpoint, with an error that says which, where and what helps.
// Nothing of the checkpoint gets into the table, and no file stays.
func TestARecordThatTheEngineRefuses(t *testing.T) {
	for _, c := range []struct{ engine, help string }{
		{"first-row", "ignore-delete=true"}, {"partial-update", "partial-update.remove-record-on-delete=true"}, {"aggregation", "fields.data.ignore-retract=true"},
	} {
		for _, memory := range []string{"2 kb", "256 mb"} {
			options := []string{"merge-engine", c.engine, "write-buffer-size", memory, "page-size", "1 kb"}
			if c.engine == "aggregation" {
				options = append(options, "fields.data.aggregate-function", "max")
			}
			fsys, tbl := guideTable(t, options...)
			w, err := Open(t.Context(), tbl, Config{PairedUpdates: true})
			require.NoError(t, err)
			require.ErrorContains(t, w.Traits().Refuses, c.help)
			require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 500, "d")))
			require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
			require.NoError(t, w.Wait(t.Context()))
			files := dataFiles(t, fsys)
			b := batchOf(tbl, 1000, 1500, "d")
			appendRow(b, row.Delete, 1200, "old", "d")
			appendRow(b, row.Delete, 77, "old", "d")
			require.NoError(t, w.Write(t.Context(), b))
			require.NoError(t, w.Checkpoint(t.Context(), 2, nil))
			err = w.Wait(t.Context())
			require.ErrorIs(t, err, lsm.ErrRefusedRecord)
			for _, part := range []string{"checkpoint 2", tbl.Path(), "bucket", `"_kind":"-D","id":`, c.help} {
				require.ErrorContains(t, err, part)
			}
			require.Equal(t, err, w.Close(t.Context()))
			require.Equal(t, files, dataFiles(t, fsys))
		}
	}
}

// TestPairedUpdatesOfEngines: where the +U says all, its -U doesn't count; sums need both.
func TestPairedUpdatesOfEngines(t *testing.T) {
	for _, c := range []struct {
		options table.Options
		want    string
	}{
		{table.Options{"merge-engine": "partial-update"}, `{"_kind":"+I","id":1,"dt":"d","a":7,"b":2,"g":1,"s":null} #1`},
		{table.Options{"merge-engine": "partial-update", "changelog-producer": "input"}, `{"_kind":"+I","id":1,"dt":"d","a":7,"b":2,"g":1,"s":null} #2`},
		{table.Options{"merge-engine": "first-row"}, `{"_kind":"+I","id":1,"dt":"d","a":5,"b":2,"g":1,"s":null} #0`},
		{table.Options{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.b.aggregate-function": "sum"},
			`{"_kind":"+I","id":1,"dt":"d","a":7,"b":0,"g":1,"s":null} #2`},
		{table.Options{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}, `{"_kind":"+I","id":1,"dt":"d","a":7,"b":null,"g":1,"s":null} #2`},
	} {
		tbl := createTable(t, mem.New(), table.Spec{Fields: engineFields(), PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"},
			Options: table.Options{"bucket": "1", "write-only": "true"}.With(c.options)})
		w, err := Open(t.Context(), tbl, Config{PairedUpdates: true})
		require.NoError(t, err)
		b := row.NewBatch(w.Type())
		for _, line := range []string{`{"_kind":"+I","id":1,"dt":"d","a":5,"b":2,"g":1}`, `{"_kind":"-U","id":1,"dt":"d","a":5,"b":2,"g":1}`, `{"_kind":"+U","id":1,"dt":"d","a":7,"b":null,"g":1}`} {
			require.NoError(t, row.ParseJSONRow([]byte(line), b))
		}
		require.NoError(t, w.Write(t.Context(), b))
		require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
		require.NoError(t, w.Close(t.Context()))
		s, err := tbl.Latest(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{c.want}, recordsOf(t, tbl, s, false), c.options)
	}
}

// TestCatchUpIsRefusedWhereItIsWrong: there is no catching up where changes must not be merged twice, or where the changelog
// can't tell from the table's rows which of them are new.
func TestCatchUpIsRefusedWhereItIsWrong(t *testing.T) {
	partial := table.Options{"merge-engine": "partial-update"}
	for _, c := range []struct {
		options table.Options
		part    string // of the error, "" for none
		needs   bool
	}{
		{table.Options{}, "", false},
		{partial, "", false},
		{table.Options{"merge-engine": "first-row"}, "", false},
		{partial.With(table.Options{"changelog-producer": "input"}), "changelog-producer=lookup", true},
		{partial.With(table.Options{"fields.g.sequence-group": "a", "fields.a.aggregate-function": "sum"}), "function sum of column a", true},
		{table.Options{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}, "function sum of column a", true},
		{table.Options{"merge-engine": "aggregation", "fields.a.aggregate-function": "max"}, "", false},
		{table.Options{"merge-engine": "aggregation", "fields.s.aggregate-function": "listagg"}, "function listagg of column s", true},
		{table.Options{"merge-engine": "aggregation", "fields.s.aggregate-function": "listagg", "fields.s.distinct": "true"}, "", false},
	} {
		tbl := createTable(t, mem.New(), table.Spec{Fields: engineFields(), PrimaryKeys: []string{"dt", "id"}, Options: table.Options{"bucket": "1"}.With(c.options)})
		w, err := Open(t.Context(), tbl, Config{PairedUpdates: true})
		require.NoError(t, err)
		require.Equal(t, c.needs, w.NeedsCatchUp(), c.options)
		err = w.CatchUp(t.Context())
		if c.part == "" {
			require.NoError(t, err, c.options)
		} else {
			require.ErrorIs(t, err, table.ErrOption)
			require.ErrorContains(t, err, c.part)
		}
		require.NoError(t, w.Close(t.Context()))
	}
}
