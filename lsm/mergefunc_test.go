package lsm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// mergeAll merges records, which come in any order, as one merge of all runs would.
func mergeAll(s *table.Schema, o table.Options, merge MergeFunc, kv *KeyValues) (*KeyValues, error) {
	var keys []*row.Column
	for _, c := range s.KeyIndexes() {
		keys = append(keys, &kv.Rows.Cols[c])
	}
	idx := make([]int, kv.Len())
	key, order := make([][]byte, kv.Len()), make([][]byte, kv.Len())
	for i := range idx {
		idx[i] = i
		key[i] = row.AppendKey(nil, keys, i)
		for _, c := range s.SequenceIndexes() {
			order[i] = row.AppendSortField(order[i], &kv.Rows.Cols[c], i, o.Get(table.KeySequenceFieldSortOrder) == "descending")
		}
	}
	slices.SortFunc(idx, func(a, b int) int {
		if c := bytes.Compare(key[a], key[b]); c != 0 {
			return c
		}
		if c := bytes.Compare(order[a], order[b]); c != 0 {
			return c
		}
		return int(kv.Seq[a] - kv.Seq[b])
	})
	out := NewKeyValues(s.RowType())
	r := reducer{merge: merge, keys: s.KeyIndexes(), first: NewKeyValues(s.RowType())}
	for n, i := range idx {
		if err := r.add(kv, i, n == 0 || !bytes.Equal(key[i], key[idx[n-1]]), out); err != nil {
			return nil, err
		}
	}
	return out, r.finish(out)
}

// records parses lines of JSON; each has the next sequence number.
func records(t require.TestingT, s *table.Schema, lines ...string) *KeyValues {
	kv := NewKeyValues(s.RowType())
	for i, l := range lines {
		require.NoError(t, row.ParseJSONRow([]byte(l), kv.Rows), l)
		kv.Seq = append(kv.Seq, int64(i+1))
	}
	return kv
}

// keyed is the schema of a table with key k and other columns, each "name type".
func keyed(t require.TestingT, o table.Options, columns ...string) *table.Schema {
	s := &table.Schema{PrimaryKeys: []string{"k"}, Options: o}
	for _, c := range append([]string{"k INT NOT NULL"}, columns...) {
		name, typ, _ := strings.Cut(c, " ")
		parsed, err := row.ParseType(typ)
		require.NoError(t, err)
		s.Fields = append(s.Fields, row.Field{ID: len(s.Fields), Name: name, Type: parsed})
	}
	return s
}

func mergedLines(s *table.Schema, kv *KeyValues) ([]string, error) {
	merge, err := NewMergeFunc(s, s.Options)
	if err != nil {
		return nil, err
	}
	out, err := mergeAll(s, s.Options, merge, kv)
	if err != nil {
		return nil, err
	}
	var got []string
	for i := range out.Len() {
		got = append(got, fmt.Sprintf("%s #%d", row.AppendJSONRow(nil, out.Rows, i, true), out.Seq[i]))
	}
	return got, nil
}

func TestMergeEngines(t *testing.T) {
	partial := table.Options{"merge-engine": "partial-update"}
	grouped := partial.With(table.Options{"fields.g.sequence-group": "a", "fields.h,i.sequence-group": "s", "fields.s.aggregate-function": "sum"})
	removing := grouped.With(table.Options{"partial-update.remove-record-on-sequence-group": "i"})
	columns := []string{"a STRING", "g INT", "s INT", "h INT", "i INT", "o STRING"}
	summed := table.Options{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
	for name, c := range map[string]struct {
		options table.Options
		columns []string
		records []string
		want    string // the one record; or
		err     string // part of the error
	}{
		"deduplicate keeps the last": {table.Options{}, []string{"a INT"},
			[]string{`{"k":1,"a":1}`, `{"_kind":"-D","k":1,"a":null}`}, `{"_kind":"-D","k":1,"a":null} #2`, ""},
		"a lone record stays as it is": {partial.With(table.Options{"partial-update.remove-record-on-delete": "true"}), []string{"a INT"},
			[]string{`{"_kind":"-U","k":1,"a":1}`}, `{"_kind":"-U","k":1,"a":1} #1`, ""},
		"a lone retract that is not taken": {partial, []string{"a INT"}, []string{`{"_kind":"-D","k":7,"a":1}`}, "", `key {"_kind":"-D","k":7}: merge-engine partial-update takes no`},
		"first-row keeps the first": {table.Options{"merge-engine": "first-row"}, []string{"a INT"},
			[]string{`{"_kind":"+U","k":1,"a":null}`, `{"k":1,"a":2}`}, `{"_kind":"+U","k":1,"a":null} #1`, ""},
		"first-row takes no retract": {table.Options{"merge-engine": "first-row"}, []string{"a INT"},
			[]string{`{"k":1}`, `{"_kind":"-D","k":1}`}, "", "ignore-delete"},
		"first-row skips retracts": {table.Options{"merge-engine": "first-row", "ignore-delete": "true"}, []string{"a INT"},
			[]string{`{"_kind":"-D","k":1,"a":1}`, `{"k":1,"a":2}`}, `{"_kind":"+I","k":1,"a":2} #2`, ""},
		"partial update lays over": {partial, []string{"a INT", "b INT"},
			[]string{`{"k":1,"a":1,"b":1}`, `{"_kind":"+U","k":1,"a":2,"b":null}`}, `{"_kind":"+I","k":1,"a":2,"b":1} #2`, ""},
		"partial update takes no retract": {partial, []string{"a INT"},
			[]string{`{"k":1,"a":1}`, `{"_kind":"-U","k":1,"a":2}`}, "", "partial-update.remove-record-on-delete"},
		"partial update skips retracts": {partial.With(table.Options{"ignore-delete": "true"}), []string{"a INT"},
			[]string{`{"k":1,"a":1}`, `{"_kind":"-D","k":1,"a":2}`}, `{"_kind":"+I","k":1,"a":1} #1`, ""},
		"values of a first retract stay, though it is skipped": {partial.With(table.Options{"ignore-delete": "true"}), []string{"a INT", "b INT"},
			[]string{`{"_kind":"-D","k":1,"a":2,"b":3}`, `{"k":1,"a":1}`}, `{"_kind":"+I","k":1,"a":1,"b":3} #2`, ""},
		"nothing but skipped retracts": {partial.With(table.Options{"ignore-delete": "true"}), []string{"a INT"},
			[]string{`{"_kind":"-D","k":1,"a":2}`, `{"_kind":"-D","k":1,"a":3}`}, `{"_kind":"-D","k":1,"a":2} #0`, ""},
		"a delete removes the row": {partial.With(table.Options{"partial-update.remove-record-on-delete": "true"}), []string{"a INT", "b INT"},
			[]string{`{"k":1,"a":1,"b":1}`, `{"_kind":"-D","k":1,"a":2}`}, `{"_kind":"-D","k":1,"a":2,"b":null} #2`, ""},
		"after a delete its values are laid over": {partial.With(table.Options{"partial-update.remove-record-on-delete": "true"}), []string{"a INT", "b INT"},
			[]string{`{"k":1,"a":1,"b":1}`, `{"_kind":"-D","k":1,"a":2}`, `{"k":1,"b":3}`}, `{"_kind":"+I","k":1,"a":2,"b":3} #3`, ""},
		"an update-before removes nothing": {partial.With(table.Options{"partial-update.remove-record-on-delete": "true"}), []string{"a INT"},
			[]string{`{"k":1,"a":1}`, `{"_kind":"-U","k":1,"a":2}`}, `{"_kind":"+I","k":1,"a":1} #2`, ""},
		"NULL in a NOT NULL column": {partial, []string{"a INT NOT NULL"}, []string{`{"k":1,"a":1}`, `{"k":1}`}, "", "column a is NOT NULL"},
		"a first retract with NULL in a NOT NULL column": {grouped, append(columns, "n INT NOT NULL"),
			[]string{`{"_kind":"-D","k":1}`, `{"k":1}`}, "", "column n is NOT NULL"},
		"a newer sequence takes NULL, too": {grouped, columns,
			[]string{`{"k":1,"a":"x","g":1,"o":"p"}`, `{"k":1,"a":null,"g":2,"o":null}`}, `{"_kind":"+I","k":1,"a":null,"g":2,"s":null,"h":null,"i":null,"o":"p"} #2`, ""},
		"an older sequence changes nothing but what is aggregated": {grouped, columns,
			[]string{`{"k":1,"a":"x","g":2,"s":5,"h":1,"i":9}`, `{"k":1,"a":"y","g":1,"s":7,"h":1,"i":8,"o":"q"}`},
			`{"_kind":"+I","k":1,"a":"x","g":2,"s":12,"h":1,"i":9,"o":"q"} #2`, ""},
		"a record without a sequence has nothing for the group": {grouped, columns,
			[]string{`{"k":1,"a":"x","g":2,"s":5,"h":1}`, `{"k":1,"a":"y","s":7}`}, `{"_kind":"+I","k":1,"a":"x","g":2,"s":5,"h":1,"i":null,"o":null} #2`, ""},
		"a retract takes back the columns of its groups": {grouped, columns,
			[]string{`{"k":1,"a":"x","g":2,"s":5,"h":1,"i":2,"o":"o"}`, `{"_kind":"-D","k":1,"a":"y","g":3,"s":2,"h":0,"i":2,"o":"z"}`},
			`{"_kind":"+I","k":1,"a":null,"g":3,"s":3,"h":1,"i":2,"o":"o"} #2`, ""},
		"a delete of a group removes the row": {removing, columns,
			[]string{`{"k":1,"a":"x","g":2,"s":5,"h":1,"i":2,"o":"o"}`, `{"_kind":"-D","k":1,"a":"y","h":1,"i":3}`},
			`{"_kind":"-D","k":1,"a":"y","g":null,"s":null,"h":1,"i":3,"o":null} #2`, ""},
		"an older delete of a group doesn't": {removing, columns,
			[]string{`{"k":1,"a":"x","h":1,"i":4}`, `{"_kind":"-D","k":1,"a":"y","h":1,"i":3,"s":1}`},
			`{"_kind":"+I","k":1,"a":null,"g":null,"s":-1,"h":1,"i":4,"o":null} #2`, ""},
		"nothing but retracts": {grouped, columns,
			[]string{`{"_kind":"-D","k":1,"a":"x","g":1,"s":5,"h":1,"o":"o"}`, `{"_kind":"-D","k":1,"g":1}`},
			`{"_kind":"-D","k":1,"a":null,"g":1,"s":0,"h":1,"i":null,"o":"o"} #2`, ""},
		"aggregation": {summed, []string{"a INT", "b STRING"},
			[]string{`{"k":1,"a":1,"b":"x"}`, `{"k":1,"a":2}`, `{"_kind":"-U","k":1,"a":1}`}, `{"_kind":"+I","k":1,"a":2,"b":"x"} #3`, ""},
		"aggregation removes the row": {summed.With(table.Options{"aggregation.remove-record-on-delete": "true"}), []string{"a INT", "b STRING"},
			[]string{`{"k":1,"a":1,"b":"x"}`, `{"_kind":"-D","k":1,"a":7}`}, `{"_kind":"-D","k":1,"a":7,"b":null} #2`, ""},
		"aggregation goes on after that": {summed.With(table.Options{"aggregation.remove-record-on-delete": "true"}), []string{"a INT", "b STRING"},
			[]string{`{"k":1,"a":1,"b":"x"}`, `{"_kind":"-D","k":1,"a":7}`, `{"k":1,"a":2}`}, `{"_kind":"+I","k":1,"a":9,"b":null} #3`, ""},
		"aggregation of the sequence column": {summed.With(table.Options{"sequence.field": "q", "fields.default-aggregate-function": "max"}), []string{"a INT", "q INT"},
			[]string{`{"k":1,"a":1,"q":5}`, `{"k":1,"a":2,"q":null}`}, `{"_kind":"+I","k":1,"a":3,"q":5} #1`, ""},
		"aggregation takes no retract for max": {summed.With(table.Options{"fields.default-aggregate-function": "max"}), []string{"b INT"},
			[]string{`{"k":1,"b":1}`, `{"_kind":"-D","k":1,"b":1}`}, "", "column b: function max"},
	} {
		s := keyed(t, c.options, c.columns...)
		got, err := mergedLines(s, records(t, s, c.records...))
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, []string{c.want}, got, name)
	}
}

func TestMergeOptionsThatAreNotValid(t *testing.T) {
	partial := table.Options{"merge-engine": "partial-update"}
	for want, o := range map[string]table.Options{
		"merge-engine=last":                 {"merge-engine": "last"},
		"fields.a.aggregate-function":       {"merge-engine": "aggregation", "fields.a.aggregate-function": "avg"},
		"fields.default-aggregate-function": {"merge-engine": "aggregation", "fields.default-aggregate-function": "avg"},
		"function hll_sketch needs":         {"merge-engine": "aggregation", "fields.a.aggregate-function": "hll_sketch"},
		"column b: function sum":            {"merge-engine": "aggregation", "fields.b.aggregate-function": "sum"},
		"exclude each other":                {"merge-engine": "aggregation", "fields.a.ignore-retract": "true", "aggregation.remove-record-on-delete": "true"},
		`no column "x"`:                     partial.With(table.Options{"fields.g.sequence-group": "a,x"}),
		`no column "y"`:                     partial.With(table.Options{"fields.y.sequence-group": "a"}),
		"column a is in two":                partial.With(table.Options{"fields.g.sequence-group": "a", "fields.h.sequence-group": "a"}),
		"column g is in two":                partial.With(table.Options{"fields.g.sequence-group": "a", "fields.h.sequence-group": "g"}),
		"column a twice":                    partial.With(table.Options{"fields.g.sequence-group": "a,a"}),
		"column a is in no sequence group":  partial.With(table.Options{"fields.a.aggregate-function": "sum"}),
		"column b is in no sequence group":  partial.With(table.Options{"fields.default-aggregate-function": "max", "fields.g.sequence-group": "a"}),
		"ignore-delete and partial-update.remove-record-on-delete":         partial.With(table.Options{"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}),
		"ignore-delete and partial-update.remove-record-on-sequence-group": partial.With(table.Options{"ignore-delete": "true", "partial-update.remove-record-on-sequence-group": "g", "fields.g.sequence-group": "a"}),
		"partial-update.remove-record-on-delete and fields.g":              partial.With(table.Options{"fields.g.sequence-group": "a", "partial-update.remove-record-on-delete": "true"}),
		`"h" is no sequence column`:                                        partial.With(table.Options{"fields.g.sequence-group": "a", "partial-update.remove-record-on-sequence-group": "h"}),
	} {
		s := keyed(t, o, "a INT", "b STRING", "g INT", "h INT")
		_, err := NewMergeFunc(s, o)
		require.ErrorIs(t, err, table.ErrOption, want)
		require.ErrorContains(t, err, want)
	}
}

// TestSequenceGroupsMakeTheOrderIrrelevant: what partial updates amount to doesn't depend on the order in which they come,
// as long as no two have the same sequence.
func TestSequenceGroupsMakeTheOrderIrrelevant(t *testing.T) {
	s := keyed(t, table.Options{
		"merge-engine": "partial-update", "fields.g.sequence-group": "a,s,m", "fields.h,i.sequence-group": "b",
		"fields.s.aggregate-function": "sum", "fields.m.aggregate-function": "max",
	}, "a INT", "g INT", "s BIGINT", "m INT", "b STRING", "h INT", "i INT")
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(rt, "records")
		first := rapid.Permutation(seqTo(n)).Draw(rt, "sequences")
		var lines []string
		type version struct{ g, a int }
		var newest *version
		sum, largest := 0, 0
		for i := range n {
			h, b := i/2, rapid.IntRange(0, 9).Draw(rt, "b")
			v := version{g: first[i], a: rapid.IntRange(0, 9).Draw(rt, "a")}
			g := "null"
			if rapid.IntRange(0, 3).Draw(rt, "has") > 0 {
				g = fmt.Sprint(v.g)
				if newest == nil || v.g > newest.g {
					newest = &v
				}
				sum += v.a
				largest = max(largest, v.a)
			}
			lines = append(lines, fmt.Sprintf(`{"k":1,"a":%d,"g":%s,"s":%d,"m":%d,"b":"%d","h":%d,"i":%d}`, v.a, g, v.a, v.a, b, h, i))
		}
		kv := records(rt, s, lines...)
		last := lines[n-1]
		kv.Seq = kv.Seq[:0]
		for _, q := range rapid.Permutation(seqTo(n)).Draw(rt, "arrival") {
			kv.Seq = append(kv.Seq, int64(q))
		}
		got, err := mergedLines(s, kv)
		require.NoError(rt, err)
		group := `"a":null,"g":null,"s":null,"m":null,`
		if newest != nil {
			group = fmt.Sprintf(`"a":%d,"g":%d,"s":%d,"m":%d,`, newest.a, newest.g, sum, largest)
		}
		want := `{"_kind":"+I","k":1,` + group + last[strings.Index(last, `"b"`):]
		require.Equal(rt, []string{fmt.Sprintf("%s #%d", want, n-1)}, got)
	})
}

func seqTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestMergingAllocatesNothing(t *testing.T) {
	s := keyed(t, table.Options{
		"merge-engine": "partial-update", "fields.g.sequence-group": "a,s", "fields.s.aggregate-function": "sum",
	}, "a STRING", "g INT", "s BIGINT", "o DOUBLE")
	kv := records(t, s, `{"k":1,"a":"x","g":1,"s":1,"o":1}`, `{"k":1,"a":"yy","g":3,"s":1}`, `{"k":1,"a":"zzz","g":2,"s":1}`)
	for _, o := range []table.Options{
		s.Options, {"merge-engine": "partial-update"}, {"merge-engine": "aggregation", "fields.s.aggregate-function": "sum"},
		{"merge-engine": "first-row"}, {},
	} {
		merge, err := NewMergeFunc(s, o)
		require.NoError(t, err)
		out := NewKeyValues(s.RowType())
		n := testing.AllocsPerRun(20, func() {
			out.Reset()
			for range 10 {
				merge.Reset()
				for i := range kv.Len() {
					if err := merge.Add(kv, i); err != nil {
						panic(err)
					}
				}
				if err := merge.Result(out); err != nil {
					panic(err)
				}
			}
		})
		require.Zero(t, n, o)
		require.Equal(t, 10, out.Len())
	}
}
