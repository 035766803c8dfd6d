package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// memSink keeps what is written to it.
type memSink struct {
	kv     *KeyValues
	failAt int // the Write that fails, from 1; 0: none
	writes int
	ended  bool
}

func (s *memSink) Write(kv *KeyValues) error {
	if s.writes++; s.writes == s.failAt {
		return fmt.Errorf("write %d fails", s.writes)
	}
	s.kv.AppendRange(kv, 0, kv.Len())
	return nil
}

func (s *memSink) Close() ([]table.DataFile, error) {
	s.ended = true
	return []table.DataFile{{Name: "f", RowCount: int64(s.kv.Len())}}, nil
}

func (s *memSink) Abort() { s.ended = true }

func manyTypes() row.Type {
	f := func(i int, t row.Type) row.Field { return row.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: t} }
	bigint, str := row.Type{Root: row.BigInt, Nullable: true}, row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}
	nested := row.NewRow(f(20, bigint), f(21, str), f(22, row.Type{Root: row.Array, Nullable: true, Elem: &str}))
	nested.Nullable = true
	return row.NewRow(
		f(0, row.Type{Root: row.BigInt}),
		f(1, row.Type{Root: row.VarChar, Length: row.MaxLength}),
		f(2, row.Type{Root: row.Int}),
		f(3, row.Type{Root: row.TinyInt, Nullable: true}),
		f(4, row.Type{Root: row.SmallInt, Nullable: true}),
		f(5, row.Type{Root: row.Float, Nullable: true}),
		f(6, row.Type{Root: row.Double, Nullable: true}),
		f(7, row.Type{Root: row.Decimal, Precision: 30, Scale: 2, Nullable: true}),
		f(8, row.Type{Root: row.Timestamp, Precision: 9, Nullable: true}),
		f(9, str),
		f(10, row.Type{Root: row.Map, Key: &str, Elem: &bigint, Nullable: true}),
		f(11, nested),
		f(12, row.Type{Root: row.Boolean, Nullable: true}),
		f(13, row.Type{Root: row.Multiset, Elem: &str, Nullable: true}),
	)
}

// appendDrawn appends a value of the column's type made of v; some values of v are null.
func appendDrawn(c *row.Column, v int) {
	if c.Type.Nullable && v%5 == 0 {
		c.AppendNull()
		return
	}
	switch c.Type.Store() {
	case row.StoreI32:
		if c.Type.Root == row.Boolean {
			v &= 1
		}
		c.AppendI32(int32(v%100 - 50))
	case row.StoreI64:
		c.AppendI64(int64(v-500) * 1000003)
	case row.StoreF32:
		c.AppendF32(float32(v) / 3)
	case row.StoreF64:
		c.AppendF64(float64(v) / 3)
	case row.StoreI128:
		c.AppendI128(row.Int128{Hi: int64(v - 500), Lo: uint64(v)})
	case row.StoreNanos:
		c.AppendNanos(int64(v), int32(v*37%1000000))
	case row.StoreBytes:
		c.AppendString(strings.Repeat(fmt.Sprintf("common-prefix-%d", v), v%7))
	case row.StoreList:
		for i := range v % 4 {
			for k := range c.Kids {
				appendDrawn(&c.Kids[k], v+i+1)
			}
		}
		c.EndList()
	case row.StoreRow:
		for k := range c.Kids {
			appendDrawn(&c.Kids[k], v+k)
		}
		c.EndNested()
	}
}

type modelRow struct {
	key, text string
	uds       []byte
	seq       int64
}

// rows gives the model's form of a batch.
func modelOf(b *row.Batch, seqs []int64, keys, uds []int, desc bool) []modelRow {
	out := make([]modelRow, b.N)
	var cols []*row.Column
	for _, k := range keys {
		cols = append(cols, &b.Cols[k])
	}
	for i := range out {
		out[i] = modelRow{key: string(row.AppendKey(nil, cols, i)), text: string(row.AppendJSONRow(nil, b, i, true)), seq: seqs[i]}
		for _, u := range uds {
			out[i].uds = row.AppendSortField(out[i].uds, &b.Cols[u], i, desc)
		}
	}
	return out
}

func TestFlushGivesTheLastOfEachKeyInOrder(t *testing.T) {
	typ := manyTypes()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([][]int{{0}, {1}, {2}, {1, 0}, {0, 1}, {2, 4}, {12}}).Draw(t, "keys")
		for _, k := range keys {
			if typ.Fields[k].Type.Nullable {
				keys = []int{2, 1}
			}
		}
		uds := rapid.SampledFrom([][]int{nil, nil, {9}, {8, 7}}).Draw(t, "uds")
		desc := rapid.Bool().Draw(t, "desc")
		all := rapid.Bool().Draw(t, "all")
		compression := rapid.SampledFrom([]string{"", "zstd", "lz4", "none"}).Draw(t, "compression")
		limit := rapid.SampledFrom([]int64{0, 0, 20000, 1}).Draw(t, "disk")
		distinct := rapid.SampledFrom([]int{3, 50, 1000}).Draw(t, "distinct")
		store, err := NewSpillStore(nil, compression, 1, limit)
		require.NoError(t, err)
		budget := NewBudget(1 << 30).Child(1 << 20)
		bufs := NewBuffers(NewRecords(BufferSpec{Type: &typ, Keys: keys, Sequence: uds, Descending: desc, PageSize: 4 << 10, KeepAll: all}), budget)
		tree := bufs.NewMergeTree()
		var (
			f, g  Flusher
			sinks []*memSink
			log   []*memSink
			seq   int64 = 100
			model []modelRow
		)
		out := Output{FanIn: rapid.IntRange(2, 4).Draw(t, "fan"), Spill: store, Data: func(*format.TwinSide) FileSink {
			s := &memSink{kv: NewKeyValues(&typ)}
			sinks = append(sinks, s)
			return s
		}}
		if all {
			out.Changelog = func(*format.TwinSide) FileSink {
				s := &memSink{kv: NewKeyValues(&typ)}
				log = append(log, s)
				return s
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			b := row.NewBatch(&typ)
			n := rapid.SampledFrom([]int{1, 5, 300, 1500}).Draw(t, "n")
			step := rapid.IntRange(0, 40).Draw(t, "step")
			at := rapid.IntRange(0, distinct).Draw(t, "at")
			for i := range n {
				v := (at + i*step) % distinct
				for c := range b.Cols {
					if slices.Contains(keys, c) {
						appendDrawn(&b.Cols[c], v)
					} else {
						appendDrawn(&b.Cols[c], (v+i*7+int(seq))%1000)
					}
				}
				b.EndRow(row.Kind(i % 4))
			}
			rows := make([]int32, b.N)
			seqs := make([]int64, b.N)
			for i := range rows {
				rows[i], seqs[i] = int32(i), seq+int64(i)
			}
			model = append(model, modelOf(b, seqs, keys, uds, desc)...)
			for len(rows) > 0 {
				took, err := tree.Append(b, rows, seq)
				require.NoError(t, err)
				rows, seq = rows[took:], seq+int64(took)
				if len(rows) > 0 || rapid.IntRange(0, 3).Draw(t, "spill") == 0 {
					if p := tree.SealPart(); p != nil {
						p.Queue()
						_, err := p.Spill(context.Background(), &g, out)
						require.NoError(t, err)
					}
				}
			}
		}
		sealed := tree.Seal()
		require.NotNil(t, sealed)
		require.True(t, tree.Empty())
		_, err = sealed.Flush(context.Background(), &f, out)
		require.NoError(t, err)
		require.Zero(t, budget.Used())
		require.Zero(t, store.Used())
		require.Zero(t, budget.Sealed())
		require.Zero(t, bufs.ActiveBytes())
		require.NoError(t, store.Close())

		byKey := func(a, b modelRow) int {
			return cmp.Or(cmp.Compare(a.key, b.key), slices.Compare(a.uds, b.uds), cmp.Compare(a.seq, b.seq))
		}
		slices.SortFunc(model, byKey)
		if limit == 0 {
			require.Len(t, sinks, 1) // spilled runs are merged: one run of files a Seal
		}
		var got, changes []modelRow
		for _, s := range sinks {
			m := modelOf(s.kv.Rows, s.kv.Seq, keys, uds, desc)
			require.True(t, slices.IsSortedFunc(m, func(a, b modelRow) int { return cmp.Compare(a.key, b.key) }))
			got = append(got, m...)
		}
		for _, s := range log {
			changes = append(changes, modelOf(s.kv.Rows, s.kv.Seq, keys, uds, desc)...)
		}
		slices.SortFunc(got, byKey)
		require.Equal(t, lastOf(model), lastOf(got))
		if len(sinks) == 1 {
			require.Equal(t, len(lastOf(model)), len(got))
		}
		if all {
			slices.SortFunc(changes, byKey)
			require.Equal(t, model, changes)
		}
	})
}

// lastOf keeps the last of each key of sorted rows.
func lastOf(rows []modelRow) []modelRow {
	var out []modelRow
	for i, r := range rows {
		if i+1 == len(rows) || rows[i+1].key != r.key {
			out = append(out, r)
		}
	}
	return out
}

func TestFailedFlushFreesEverything(t *testing.T) {
	typ := manyTypes()
	budget := NewBudget(1 << 20)
	store, err := NewSpillStore([]string{t.TempDir()}, "none", 1, 0)
	require.NoError(t, err)
	defer store.Close()
	bufs := NewBuffers(NewRecords(BufferSpec{Type: &typ, Keys: []int{0}, PageSize: 64 << 10}), budget)
	tree := bufs.NewMergeTree()
	b := row.NewBatch(&typ)
	var rows []int32
	for i := range 3000 {
		for c := range b.Cols {
			appendDrawn(&b.Cols[c], i)
		}
		b.EndRow(row.Insert)
		rows = append(rows, int32(i))
	}
	var f Flusher
	sink := &memSink{kv: NewKeyValues(&typ), failAt: 2}
	out := Output{Data: func(*format.TwinSide) FileSink { return sink }, Spill: store, FanIn: 2}
	n, err := tree.Append(b, rows[:1000], 0)
	require.NoError(t, err)
	require.Equal(t, 1000, n)
	p := tree.SealPart()
	p.Queue()
	_, err = p.Spill(t.Context(), &f, out)
	require.NoError(t, err)
	_, err = tree.Append(b, rows[1000:2000], 1000)
	require.NoError(t, err)
	_, err = tree.Seal().Flush(t.Context(), &f, out)
	require.ErrorContains(t, err, "write 2 fails")
	require.True(t, sink.ended)
	require.Zero(t, budget.Used())
	require.Zero(t, store.Used())

	_, err = tree.Append(b, rows[2000:], 2000)
	require.NoError(t, err)
	require.NotZero(t, budget.Used())
	tree.Seal().Discard()
	require.Zero(t, budget.Used())
}

// A disk that is full makes rows go to level 0, and the next ones to another directory.
func TestSpillingToAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return // no such device here
	}
	require.NoError(t, err)
	typ := manyTypes()
	budget := NewBudget(1 << 20)
	store, err := NewSpillStore([]string{t.TempDir()}, "none", 1, 0)
	require.NoError(t, err)
	defer store.Close()
	store.cur = &segment{f: full}
	bufs := NewBuffers(NewRecords(BufferSpec{Type: &typ, Keys: []int{0}, PageSize: 64 << 10}), budget)
	tree := bufs.NewMergeTree()
	b := row.NewBatch(&typ)
	for i := range 1000 {
		for c := range b.Cols {
			appendDrawn(&b.Cols[c], i)
		}
		b.EndRow(row.Insert)
	}
	var f Flusher
	var sinks []*memSink
	out := Output{Spill: store, FanIn: 2, Data: func(*format.TwinSide) FileSink {
		sinks = append(sinks, &memSink{kv: NewKeyValues(&typ)})
		return sinks[len(sinks)-1]
	}}
	for i, want := range []Spilled{{Rows: 500, Files: 1}, {Rows: 500, Disk: 1}} {
		var rows []int32
		for r := range 500 {
			rows = append(rows, int32(500*i+r))
		}
		_, err := tree.Append(b, rows, int64(500*i))
		require.NoError(t, err)
		p := tree.SealPart()
		p.Queue()
		got, err := p.Spill(t.Context(), &f, out)
		require.NoError(t, err)
		require.Equal(t, want, Spilled{Rows: got.Rows, Files: got.Files, Disk: min(got.Disk, 1)})
	}
	inc, err := tree.Seal().Flush(t.Context(), &f, out)
	require.NoError(t, err)
	require.Len(t, inc.New, 2)
	n := 0
	for _, s := range sinks {
		n += s.kv.Len()
	}
	require.Equal(t, 1000, n)
	require.Zero(t, budget.Used())
	require.Zero(t, store.Used())
}

func TestBudgetCountsAtEveryLevelAndPressesTheLargestOwner(t *testing.T) {
	root := NewBudget(100)
	a, b := root.Child(80), root.Child(80)
	require.True(t, a.TryTake(60))
	require.False(t, a.TryTake(30))
	require.False(t, b.TryTake(50))
	require.EqualValues(t, 60, root.Used())
	require.True(t, b.TryTake(40))

	pressed := ""
	defer a.Attach(func() int64 { return 60 }, func() { pressed = "a" })()
	defer b.Attach(func() int64 { return 40 }, func() { pressed = "b" })()
	b.Press(1) // b has room of its own, the process has not: a holds the most
	require.Equal(t, "a", pressed)
	b.Press(41)
	require.Equal(t, "b", pressed)
	pressed = ""
	b.Relieve() // the process is short, b isn't
	require.Equal(t, "a", pressed)
	pressed = ""
	a.Seal(30)
	b.Relieve() // enough is on its way out
	require.Empty(t, pressed)
	b.Press(1)
	require.Equal(t, "a", pressed)
	pressed = ""
	a.Seal(20)
	b.Press(1)
	require.Empty(t, pressed)
	a.Seal(-50)
	require.Zero(t, root.Sealed())

	freed := b.Freed()
	a.Free(60)
	<-freed
	b.Free(40)
	require.Zero(t, root.Used())
}
