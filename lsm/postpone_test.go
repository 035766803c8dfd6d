package lsm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// orderSink notes the rows of each file, of which a thousand fill one.
type orderSink struct {
	files [][]string
	seqs  map[int64]bool
}

func (s *orderSink) Write(kv *KeyValues) error {
	if n := len(s.files); n == 0 || len(s.files[n-1]) >= 1000 {
		s.files = append(s.files, nil)
	}
	last := &s.files[len(s.files)-1]
	for i := range kv.Len() {
		*last = append(*last, fmt.Sprintf("%s%d=%s", kv.Rows.Kinds[i], kv.Rows.Cols[0].I64[i], kv.Rows.Cols[1].Value(i)))
		s.seqs[kv.Seq[i]] = true
	}
	return nil
}

func (s *orderSink) Close() ([]table.DataFile, error) {
	out := make([]table.DataFile, len(s.files))
	for i := range s.files {
		out[i] = table.DataFile{Name: strings.Join(s.files[i], ",")}
	}
	return out, nil
}

func (s *orderSink) Abort() {}

func TestRowsStayInTheOrderOfArrival(t *testing.T) {
	text := row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}
	typ := row.NewRow(row.Field{Name: "id", Type: row.Type{Root: row.BigInt}}, row.Field{ID: 1, Name: "v", Type: text})
	rapid.Check(t, func(t *rapid.T) {
		dir, err := NewSpillStore(nil, "none", 1, rapid.SampledFrom([]int64{0, 1, 3000, 100_000}).Draw(t, "disk"))
		require.NoError(t, err)
		defer dir.Close()
		store := dir
		if rapid.IntRange(0, 4).Draw(t, "spill") == 0 {
			store = nil
		}
		seqs := map[int64]bool{}
		out := Output{Spill: store, FanIn: 2, Data: func(*format.TwinSide) FileSink { return &orderSink{seqs: seqs} }}
		bufs := NewBuffers(NewRecords(BufferSpec{Type: &typ, Keys: []int{0}, Sequence: []int{1}, PageSize: 1 << 10, Arrival: true}), NewBudget(1<<30))
		tree := bufs.NewMergeTree()
		var f Flusher
		var want []string
		var later []*Part
		n := int64(0)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			b := row.NewBatch(&typ)
			var idx []int32
			for i := range rapid.SampledFrom([]int{1, 5, 300, 2500}).Draw(t, "rows") {
				kind := row.Kind(i % 4)
				b.Cols[0].AppendI64(int64(i*7919) % 50)
				b.Cols[1].AppendString(fmt.Sprint("v", n))
				b.EndRow(kind)
				idx = append(idx, int32(i))
				want = append(want, fmt.Sprintf("%s%d=v%d", kind, int64(i*7919)%50, n))
				n++
			}
			took, err := tree.Append(b, idx, n-int64(len(idx)))
			require.NoError(t, err)
			require.Equal(t, len(idx), took)
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				p := tree.SealPart()
				p.Queue()
				_, err := p.Spill(t.Context(), &f, out)
				require.NoError(t, err)
			case 1: // the flush will be first, or a worker that comes late
				p := tree.SealPart()
				p.Queue()
				later = append(later, p)
			}
		}
		if len(later) > 1 && rapid.Bool().Draw(t, "late") {
			_, err := later[1].Spill(t.Context(), &f, out)
			require.NoError(t, err)
		}
		inc, err := tree.Seal().Flush(t.Context(), &f, out)
		require.NoError(t, err)
		var got []string
		for i := range inc.New {
			got = append(got, strings.Split(inc.New[i].Name, ",")...)
		}
		require.Equal(t, want, got)
		require.Equal(t, map[int64]bool{-1: true}, seqs)
		require.Zero(t, bufs.budget.Used())
		require.Zero(t, dir.Used())
	})
}

func TestRowsInTheOrderOfArrivalAllocateNothingEach(t *testing.T) {
	const rows = 40_960
	typ, batches := benchBatches("random", rows, 4096)
	idx := make([]int32, 4096)
	for i := range idx {
		idx[i] = int32(i)
	}
	bufs := NewBuffers(NewRecords(BufferSpec{Type: typ, Keys: []int{2, 0}, PageSize: 64 << 10, Arrival: true}), NewBudget(1<<30))
	store, err := NewSpillStore([]string{t.TempDir()}, "", 1, 0)
	require.NoError(t, err)
	defer store.Close()
	var f Flusher
	sink := &nullSink{}
	out := Output{Data: func(*format.TwinSide) FileSink { return sink }, FanIn: 128, Spill: store}
	n := testing.AllocsPerRun(5, func() {
		tree := bufs.NewMergeTree()
		for i, b := range batches {
			took, err := tree.Append(b, idx, int64(i*4096))
			require.NoError(t, err)
			require.Equal(t, 4096, took)
			if i == 4 {
				p := tree.SealPart()
				p.Queue()
				_, err = p.Spill(t.Context(), &f, out)
				require.NoError(t, err)
			}
		}
		_, err := tree.Seal().Flush(t.Context(), &f, out)
		require.NoError(t, err)
	})
	require.Less(t, n, 500.)
	require.Zero(t, sink.rows%rows)
}
