package lsm

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
)

// record is a record of the model: key, user-defined sequence (-1 for null), value.
type record struct {
	key, uds int
	seq      int64
	kind     row.Kind
	text     string
}

func mergeType() *row.Type {
	t := row.NewRow(
		row.Field{ID: 0, Name: "text", Type: row.Type{Root: row.VarChar, Nullable: true, Length: row.MaxLength}},
		row.Field{ID: 1, Name: "key", Type: row.Type{Root: row.Int}},
		row.Field{ID: 2, Name: "uds", Type: row.Type{Root: row.Int, Nullable: true}})
	return &t
}

func appendRecord(kv *KeyValues, r record) {
	kv.Rows.Cols[0].AppendString(r.text)
	kv.Rows.Cols[1].AppendI32(int32(r.key))
	if r.uds < 0 {
		kv.Rows.Cols[2].AppendNull()
	} else {
		kv.Rows.Cols[2].AppendI32(int32(r.uds))
	}
	kv.Rows.EndRow(r.kind)
	kv.Seq = append(kv.Seq, r.seq)
}

func recordAt(kv *KeyValues, i int) record {
	r := record{
		key: int(kv.Rows.Cols[1].I32[i]), uds: int(kv.Rows.Cols[2].I32[i]), seq: kv.Seq[i],
		kind: kv.Rows.Kinds[i], text: string(kv.Rows.Cols[0].Value(i)),
	}
	if kv.Rows.Cols[2].IsNull(i) {
		r.uds = -1
	}
	return r
}

// slicesSource gives records in blocks.
func slicesSource(rs []record, block int) func(*KeyValues) error {
	return func(kv *KeyValues) error {
		kv.Reset()
		if len(rs) == 0 {
			return io.EOF
		}
		n := min(block, len(rs))
		for _, r := range rs[:n] {
			appendRecord(kv, r)
		}
		rs = rs[n:]
		return nil
	}
}

// drawRuns makes sorted runs of unique keys; sequence numbers are unique over all.
func drawRuns(t *rapid.T) [][]record {
	keys := rapid.IntRange(1, 60).Draw(t, "keys")
	var seq int64
	runs := make([][]record, rapid.IntRange(0, 6).Draw(t, "runs"))
	for i := range runs {
		lo := rapid.IntRange(0, keys).Draw(t, "lo")
		for k := lo; k < keys; k++ {
			if !rapid.Bool().Draw(t, "has") {
				continue
			}
			seq++
			runs[i] = append(runs[i], record{
				key: k, uds: rapid.IntRange(-1, 2).Draw(t, "uds"), seq: seq,
				kind: row.Kind(rapid.IntRange(0, 3).Draw(t, "kind")), text: rapid.StringN(0, 3, -1).Draw(t, "text"),
			})
		}
	}
	for i := range runs { // newer runs are not always later
		j := rapid.IntRange(0, i).Draw(t, "swap")
		runs[i], runs[j] = runs[j], runs[i]
	}
	return runs
}

func compareRecords(a, b record, desc bool) int {
	uds := cmp.Compare(a.uds, b.uds)
	if desc && a.uds >= 0 && b.uds >= 0 {
		uds = -uds
	}
	return cmp.Or(cmp.Compare(a.key, b.key), uds, cmp.Compare(a.seq, b.seq))
}

func TestMergeKeepsOneRecordOfEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		k := rapid.SampledFrom([]keep{keepNewest, keepOldest, keepFolded, keepAll}).Draw(t, "keep")
		ignore := rapid.Bool().Draw(t, "ignore-delete")
		o := &order{keys: []int{1}, desc: rapid.Bool().Draw(t, "desc")}
		if rapid.Bool().Draw(t, "with sequence field") {
			o.seqs = []int{2}
		}
		var all []record
		for _, r := range runs {
			all = append(all, r...)
		}
		slices.SortFunc(all, func(a, b record) int {
			if o.seqs == nil {
				a.uds, b.uds = 0, 0
			}
			return compareRecords(a, b, o.desc)
		})
		want, ok := modelMerge(all, k, ignore)

		sources := make([]*source, len(runs))
		for i, r := range runs {
			sources[i] = &source{next: slicesSource(r, rapid.IntRange(1, 20).Draw(t, "block")), kv: NewKeyValues(mergeType())}
		}
		m := &merger{order: o, sources: sources, keep: k, ignore: ignore, merge: NewDeduplicate(mergeType(), ignore)}
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		dst := NewKeyValues(mergeType())
		var got []record
		for {
			err := m.next(dst, limit)
			if errors.Is(err, io.EOF) {
				break
			}
			if !ok && err != nil {
				return
			}
			require.NoError(t, err)
			if k != keepAll {
				require.LessOrEqual(t, dst.Len(), limit)
			}
			for i := range dst.Len() {
				got = append(got, recordAt(dst, i))
			}
		}
		require.True(t, ok, "first-row doesn't take retracts")
		require.Equal(t, want, got)
	})
}

// TestMergeOfFirstRowLooksIntoShadows: a key that a shadow has is left out, unless a record of it lies above level 0.
func TestMergeOfFirstRowLooksIntoShadows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		var sources []*source
		records, high, deep := map[int][]record{}, map[int]bool{}, map[int]bool{}
		for i, r := range runs {
			for k := range r {
				r[k].kind = row.Insert
			}
			s := &source{
				next: slicesSource(r, rapid.IntRange(1, 20).Draw(t, "block")), kv: NewKeyValues(mergeType()),
				shadow: i%3 == 2, level: rapid.IntRange(0, 1).Draw(t, "level"),
			}
			for _, x := range r {
				if s.shadow {
					deep[x.key] = true
					continue
				}
				records[x.key] = append(records[x.key], x)
				high[x.key] = high[x.key] || s.level > 0
			}
			sources = append(sources, s)
		}
		m := &merger{order: &order{keys: []int{1}}, sources: sources, keep: keepOldest}
		dst := NewKeyValues(mergeType())
		got := map[int]record{}
		for {
			err := m.next(dst, rapid.IntRange(1, 9).Draw(t, "limit"))
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			for i := range dst.Len() {
				r := recordAt(dst, i)
				_, twice := got[r.key]
				require.False(t, twice)
				got[r.key] = r
			}
		}
		for k, rs := range records {
			r, ok := got[k]
			require.Equal(t, high[k] || !deep[k], ok, "key %d", k)
			if ok && !deep[k] {
				require.Equal(t, slices.MinFunc(rs, func(a, b record) int { return cmp.Compare(a.seq, b.seq) }), r)
			}
			delete(got, k)
		}
		require.Empty(t, got)
	})
}

// modelMerge folds ordered records key by key; false when first-row meets a retract that it doesn't ignore.
func modelMerge(all []record, k keep, ignore bool) (want []record, ok bool) {
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].key == all[i].key {
			j++
		}
		key := all[i:j]
		i = j
		if len(key) == 1 || k == keepAll {
			want = append(want, key...)
			continue
		}
		if retracts := slices.ContainsFunc(key, func(r record) bool { return r.kind.IsRetract() }); retracts && k == keepOldest && !ignore {
			return nil, false
		}
		if ignore {
			key = slices.DeleteFunc(slices.Clone(key), func(r record) bool { return r.kind.IsRetract() })
		}
		switch {
		case len(key) == 0:
		case k == keepOldest:
			want = append(want, key[0])
		default:
			want = append(want, key[len(key)-1])
		}
	}
	return want, true
}

func TestMergeReportsAReaderThatFails(t *testing.T) {
	boom := errors.New("boom")
	good := slicesSource([]record{{key: 1}, {key: 2}, {key: 3}}, 1)
	n := 0
	bad := func(kv *KeyValues) error {
		if n++; n > 2 {
			return boom
		}
		return slicesSource([]record{{key: 2 * n, seq: 9}}, 1)(kv)
	}
	m := &merger{order: &order{keys: []int{1}}, sources: []*source{
		{next: good, kv: NewKeyValues(mergeType())}, {next: bad, kv: NewKeyValues(mergeType())},
	}}
	dst := NewKeyValues(mergeType())
	var err error
	for range 10 {
		if err = m.next(dst, 2); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, boom)
}
