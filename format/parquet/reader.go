package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

const (
	defaultBatchRows = 4096
	// batchBytes and batchEntries end a batch early when ReadSpec.BatchBytes doesn't: bytes of one column's values, and
	// entries of a column with lists.
	batchBytes   = 16 << 20
	batchEntries = 1 << 20
	// maxColumnBytes is the most bytes of one column in a batch, whose offsets are 32 bits wide.
	maxColumnBytes = math.MaxUint32
	// wholeFile is the most bytes of a file that is read at once when it is opened.
	wholeFile = 256 << 10
	tailBytes = 8
)

// reader reads one file.
type reader struct {
	src    io.ReaderAt
	size   int64
	meta   fileMeta
	leaves []*leafReader // by the file's leaves; nil for those not read
	cols   []column
	group  int
	left   int64 // rows of the group not yet read
	pace   format.Pace
	err    error
	done   bool
}

// column is a column of the top level to read.
type column struct {
	*bound
	leaves []*leafReader // of this column
	all    []*leafReader // by the file's leaves
	// carry has rows that were read but didn't fit the last batch, from row at on.
	carry *row.Column
	at    int
}

func newReader(src io.ReaderAt, size int64, spec *format.ReadSpec) (_ *reader, err error) {
	defer catch(&err)
	if spec.Type == nil || spec.Type.Root != row.Row {
		return nil, fmt.Errorf("parquet: a reader needs a ROW type")
	}
	r := &reader{src: src, size: size, group: -1, pace: format.Pace{Rows: spec.BatchRows, Bytes: max(spec.BatchBytes, 0)}}
	if r.pace.Rows <= 0 {
		r.pace.Rows = defaultBatchRows
	}
	if err := r.readFooter(); err != nil {
		return nil, err
	}
	root, leaves, err := readSchema(r.meta.schema)
	if err != nil {
		return nil, err
	}
	var total int64
	for i := range r.meta.groups {
		g := &r.meta.groups[i]
		if len(g.chunks) != len(leaves) || g.rows < 0 || g.rows > math.MaxInt64-total {
			return nil, corrupt("row group %d has %d columns of %d and %d rows", i, len(g.chunks), len(leaves), g.rows)
		}
		total += g.rows
	}
	if total != r.meta.rows {
		return nil, corrupt("the row groups have %d rows, the file %d", total, r.meta.rows)
	}
	r.leaves = make([]*leafReader, len(leaves))
	for i := range spec.Type.Fields {
		f := &spec.Type.Fields[i]
		b, err := bind(f.Name, &f.Type, root.kid(f.Name))
		if err != nil {
			return nil, err
		}
		c := column{bound: b, all: r.leaves}
		r.addLeaves(&c, b, leaves)
		r.cols = append(r.cols, c)
	}
	return r, nil
}

// addLeaves makes readers of the leaves of b. A ROW of which the file has no field that is asked for is read through
// another of its leaves, of which only the levels are used.
func (r *reader) addLeaves(c *column, b *bound, leaves []*fileNode) {
	if b.missing {
		return
	}
	add := func(leaf int, b *bound) {
		if r.leaves[leaf] == nil {
			l := newLeafReader(b, r.src)
			if n := r.pace.Bytes; n > 0 {
				l.maxBytes, l.maxEntries = min(n, batchBytes), min(max(n/4, 1), batchEntries)
			}
			r.leaves[leaf] = l
			c.leaves = append(c.leaves, r.leaves[leaf])
		}
	}
	if b.leaf >= 0 {
		add(b.leaf, b)
		return
	}
	for _, k := range b.kids {
		r.addLeaves(c, k, leaves)
	}
	if r.leaves[b.shape] == nil {
		f := leaves[b.shape]
		add(b.shape, &bound{node: node{name: f.name, typ: anyType(f), phys: f.typ, width: int(f.typeLength), def: f.def, rep: f.rep}})
	}
}

// anyType is a type that values of the leaf can be read as.
func anyType(f *fileNode) *row.Type {
	switch f.typ {
	case pBoolean:
		return &row.Type{Root: row.Boolean}
	case pInt32:
		return &row.Type{Root: row.Int}
	case pInt64:
		return &row.Type{Root: row.BigInt}
	case pInt96:
		f.typeLength = int96Width
		return &row.Type{Root: row.Timestamp, Precision: 9}
	case pFloat:
		return &row.Type{Root: row.Float}
	case pDouble:
		return &row.Type{Root: row.Double}
	}
	return &row.Type{Root: row.VarBinary, Length: row.MaxLength}
}

// catch turns a panic into an error: whatever a damaged file makes the decoders or a codec do, it is the file's fault.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = corrupt("panic: %v", p)
	}
}

func (r *reader) readFooter() error {
	if r.size < int64(len(magic))+tailBytes {
		return corrupt("a file of %d bytes", r.size)
	}
	tail := make([]byte, min(r.size, wholeFile))
	if err := readAt(r.src, tail, r.size-int64(len(tail))); err != nil {
		return err
	}
	if int64(len(tail)) == r.size {
		r.src = bytes.NewReader(tail)
		if string(tail[:4]) != magic {
			return corrupt("the file doesn't begin with %s", magic)
		}
	}
	end := tail[len(tail)-tailBytes:]
	if string(end[4:]) != magic {
		return corrupt("the file doesn't end with %s", magic)
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if n > r.size-int64(len(magic))-tailBytes {
		return corrupt("a footer of %d bytes in a file of %d", n, r.size)
	}
	footer := tail[:len(tail)-tailBytes]
	if n > int64(len(footer)) {
		footer = make([]byte, n)
		if err := readAt(r.src, footer, r.size-tailBytes-n); err != nil {
			return err
		}
	}
	if err := r.meta.read(footer[int64(len(footer))-n:]); err != nil {
		return corrupt("footer: %w", err)
	}
	return nil
}

// Next fills dst with the next rows.
func (r *reader) Next(dst *row.Batch) (err error) {
	if r.done {
		return fmt.Errorf("parquet: read after Close")
	}
	if r.err != nil {
		return r.err
	}
	defer func() { r.err = err }()
	defer catch(&err)
	dst.Reset()
	if len(dst.Cols) != len(r.cols) {
		return fmt.Errorf("parquet: a batch of %d columns for %d to read", len(dst.Cols), len(r.cols))
	}
	for r.left == 0 {
		if r.group+1 >= len(r.meta.groups) {
			return io.EOF
		}
		r.group++
		if err := r.openGroup(); err != nil {
			return err
		}
	}
	want := int(min(int64(r.pace.Next()), r.left))
	n := want
	for i := range r.cols {
		k, err := r.cols[i].read(&dst.Cols[i], n)
		if err != nil {
			return err
		}
		if k == 0 {
			return corrupt("column %q ends with %d rows of its row group missing", r.cols[i].name, r.left)
		}
		n = min(n, k)
	}
	for i := range r.cols {
		r.cols[i].giveBack(&dst.Cols[i], n)
	}
	dst.N = n
	r.left -= int64(n)
	if n < want || r.left > 0 {
		size := 0
		if r.pace.Bytes > 0 {
			size = dst.Bytes()
		}
		r.pace.Saw(n, size)
	}
	return nil
}

func (r *reader) openGroup() error {
	g := &r.meta.groups[r.group]
	r.left = g.rows
	for i, l := range r.leaves {
		if l == nil {
			continue
		}
		m := &g.chunks[i]
		if l.maxRep == 0 && m.values != g.rows || m.values < g.rows {
			return corrupt("column %q has %d values for %d rows", l.name, m.values, g.rows)
		}
		if err := l.open(m, r.size); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the reader's buffers.
func (r *reader) Close() error {
	if r.done {
		return nil
	}
	r.done = true
	for _, l := range r.leaves {
		if l != nil {
			l.release()
		}
	}
	return nil
}

// read appends up to n rows to dst and returns how many; 0 only at the end of the chunk.
func (c *column) read(dst *row.Column, n int) (int, error) {
	if c.carry != nil {
		k := min(n, c.carry.N-c.at)
		dst.AppendRange(c.carry, c.at, c.at+k)
		c.at += k
		return k, nil
	}
	switch {
	case c.missing:
		for range n {
			dst.AppendNull()
		}
		return n, nil
	case !c.lists:
		return c.leaves[0].flat(dst, n)
	}
	for i, l := range c.leaves {
		k, err := l.rows(n, i == 0)
		if err != nil {
			return 0, err
		}
		if i > 0 && k != n {
			return 0, corrupt("column %q: a part has %d rows of %d", c.name, k, n)
		}
		n = k
	}
	if err := assemble(c.bound, dst, c.all); err != nil {
		return 0, err
	}
	if dst.N != n {
		return 0, corrupt("column %q has %d rows of %d", c.name, dst.N, n)
	}
	return n, nil
}

// giveBack keeps the rows of dst from n on for the next batch.
func (c *column) giveBack(dst *row.Column, n int) {
	if surplus := dst.N - n; surplus > 0 {
		if c.carry != nil {
			c.at -= surplus
		} else if !c.missing {
			c.carry, c.at = new(row.Column), 0
			c.carry.Init(dst.Type)
			c.carry.AppendRange(dst, n, dst.N)
		}
		truncate(dst, n)
	}
	if c.carry != nil && c.at == c.carry.N {
		c.carry = nil
	}
}
