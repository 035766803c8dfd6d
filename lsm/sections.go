package lsm

import (
	"bytes"
	"container/heap"
	"fmt"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// A bucket's files are cut along the key axis into sections that don't overlap, and each section into as few sorted runs
// as it takes, so that only files that may share keys are merged (Java's IntervalPartition):
//
//	keys      0....5....10...15...20
//	          [-a--]               |      section 1: run {a}
//	               |[--b--] [-c-]  |      section 2: run {b, c}
//	               |   [--d--]     |                 run {d}

// span is a file with its key range in the order-preserving form.
type span struct {
	file     *table.DataFile
	min, max []byte
}

// spans finds the key ranges of files. keys are the types of the trimmed primary key.
func spans(files []table.DataFile, keys []*row.Type) ([]span, error) {
	fields := make([]row.Field, len(keys))
	for i, k := range keys {
		fields[i].Type = *k
	}
	t := row.NewRow(fields...)
	one := row.NewBatch(&t)
	cols := columnsOf(one)
	decode := func(f *table.DataFile, b []byte) ([]byte, error) {
		one.Reset()
		if err := row.DecodeSerializedRow(b, keys, one); err != nil {
			return nil, fmt.Errorf("%w: key range of %s: %w", table.ErrCorrupt, f.Name, err)
		}
		return row.AppendKey(nil, cols, 0), nil
	}
	out := make([]span, len(files))
	for i := range files {
		f := &files[i]
		lo, err := decode(f, f.MinKey)
		if err != nil {
			return nil, err
		}
		hi, err := decode(f, f.MaxKey)
		if err != nil {
			return nil, err
		}
		if bytes.Compare(lo, hi) > 0 {
			return nil, fmt.Errorf("%w: the key range of %s is upside down", table.ErrCorrupt, f.Name)
		}
		out[i] = span{f, lo, hi}
	}
	return out, nil
}

func columnsOf(b *row.Batch) []*row.Column {
	cols := make([]*row.Column, len(b.Cols))
	for i := range cols {
		cols[i] = &b.Cols[i]
	}
	return cols
}

// run is a list of files whose ranges ascend without touching.
type run []span

// section is a set of runs that share a piece of the key axis with no other section.
type section []run

// sections cuts spans, which it sorts, into sections in ascending order.
func sections(files []span) []section {
	slices.SortFunc(files, func(a, b span) int {
		if c := bytes.Compare(a.min, b.min); c != 0 {
			return c
		}
		return bytes.Compare(a.max, b.max)
	})
	var out []section
	var end []byte
	from := 0
	for i := range files {
		if i > from && bytes.Compare(files[i].min, end) > 0 {
			out = append(out, runsOf(files[from:i]))
			from = i
		}
		if i == from || bytes.Compare(files[i].max, end) > 0 {
			end = files[i].max
		}
	}
	if from < len(files) {
		out = append(out, runsOf(files[from:]))
	}
	return out
}

// runsOf gives each file, in order, to the run that ends first, if the file begins after that end.
func runsOf(files []span) section {
	var h runHeap
	for _, f := range files {
		if len(h) > 0 && bytes.Compare(f.min, h[0].end()) > 0 {
			h[0] = append(h[0], f)
			heap.Fix(&h, 0)
		} else {
			heap.Push(&h, run{f})
		}
	}
	return section(h)
}

func (r run) end() []byte { return r[len(r)-1].max }

// runHeap has the run that ends first on top.
type runHeap []run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].end(), h[j].end()) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(r any)        { *h = append(*h, r.(run)) }
func (h *runHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	*h = old[:len(old)-1]
	return r
}
