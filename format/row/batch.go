package row

// Kind is the kind of a change; the values are those stored on disk in _VALUE_KIND (Java's RowKind).
type Kind byte

// The row kinds, in Java's order.
const (
	Insert       Kind = 0 // +I
	UpdateBefore Kind = 1 // -U
	UpdateAfter  Kind = 2 // +U
	Delete       Kind = 3 // -D
)

// String returns Paimon's short form, such as "+I".
func (k Kind) String() string {
	switch k {
	case Insert:
		return "+I"
	case UpdateBefore:
		return "-U"
	case UpdateAfter:
		return "+U"
	case Delete:
		return "-D"
	}
	return "?"
}

// IsRetract reports whether the kind takes a row away (-U or -D).
func (k Kind) IsRetract() bool { return k == UpdateBefore || k == Delete }

// Batch is a column-major run of rows. Every column has N rows. Kinds has N entries, or none where kinds have no meaning
// (a physical file batch carries them as a column of its own). Reset keeps the memory. A batch is not safe for concurrent
// use; who hands it over says until when it may be read.
type Batch struct {
	Type  *Type // a ROW
	N     int
	Kinds []Kind
	Cols  []Column
}

// NewBatch returns an empty batch of the ROW type t, which it keeps.
func NewBatch(t *Type) *Batch {
	b := &Batch{Type: t, Cols: make([]Column, len(t.Fields))}
	for i := range b.Cols {
		b.Cols[i].Init(&t.Fields[i].Type)
	}
	return b
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.N = 0
	b.Kinds = b.Kinds[:0]
	for i := range b.Cols {
		b.Cols[i].Reset()
	}
}

// EndRow completes a row whose value was appended to each column.
func (b *Batch) EndRow(k Kind) {
	b.Kinds = append(b.Kinds, k)
	b.N++
}

// AppendRow copies row i of src, which has the same type, with its kind.
func (b *Batch) AppendRow(src *Batch, i int) {
	for c := range b.Cols {
		b.Cols[c].AppendFrom(&src.Cols[c], i)
	}
	b.Kinds = append(b.Kinds, src.Kinds[i])
	b.N++
}

// Bytes returns about how much memory the values take.
func (b *Batch) Bytes() int {
	n := len(b.Kinds)
	for i := range b.Cols {
		n += b.Cols[i].MemBytes()
	}
	return n
}
