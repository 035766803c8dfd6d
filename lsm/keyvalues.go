package lsm

import "github.com/paimon-go/paimon-go/format/row"

// KeyValues is a run of records of one bucket: the table's columns with the kind of each row, and its sequence number.
// The key is not stored again: it is the trimmed primary key's columns of the row. Rows.Type is the table's ROW type, or a
// projection of it where the user says so. Not safe for concurrent use.
type KeyValues struct {
	Rows *row.Batch
	Seq  []int64
}

// NewKeyValues returns an empty run of rows of type t, which it keeps.
func NewKeyValues(t *row.Type) *KeyValues { return &KeyValues{Rows: row.NewBatch(t)} }

// Len returns the number of records.
func (kv *KeyValues) Len() int { return kv.Rows.N }

// Reset empties the run and keeps its memory.
func (kv *KeyValues) Reset() {
	kv.Rows.Reset()
	kv.Seq = kv.Seq[:0]
}

// AppendRange copies records from to to of src, which has the same row type.
func (kv *KeyValues) AppendRange(src *KeyValues, from, to int) {
	for c := range kv.Rows.Cols {
		kv.Rows.Cols[c].AppendRange(&src.Rows.Cols[c], from, to)
	}
	kv.Rows.Kinds = append(kv.Rows.Kinds, src.Rows.Kinds[from:to]...)
	kv.Rows.N += to - from
	kv.Seq = append(kv.Seq, src.Seq[from:to]...)
}

// gather makes kv the rows idx of src, which has the same row type.
func (kv *KeyValues) gather(src *KeyValues, idx []int32) {
	kv.Reset()
	kv.appendGather(src, idx)
}

// appendGather appends the rows idx of src, which has the same row type.
func (kv *KeyValues) appendGather(src *KeyValues, idx []int32) {
	kv.Rows.AppendGather(src.Rows, idx)
	for _, i := range idx {
		kv.Seq = append(kv.Seq, src.Seq[i])
	}
}

// truncate drops the records from n on.
func (kv *KeyValues) truncate(n int) {
	kv.Rows.Truncate(n)
	kv.Seq = kv.Seq[:n]
}
