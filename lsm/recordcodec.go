package lsm

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// recordCodec says how the rows of one schema version lie in the write buffer and in spill files. A record is one piece
// of memory, a multiple of 8 bytes, without pointers:
//
//	0   u32  size of the record
//	4   u32  ordinal: the sequence number less that of the buffer's first row
//	8   u64  prefix: the first 8 bytes of the normalized key as a big-endian number, padded with 00
//	16  u8   row kind
//	17  ...  null bits of the columns, least significant first
//	    ...  fixed slots by width: BOOLEAN and TINYINT 1, SMALLINT 2, INT... 4, BIGINT... 8, nanosecond timestamps 12,
//	         wide decimals 16; for bytes and nested values 4: where the value ends, from the start of the record
//	    ...  the values of varying width, each beginning where the one before ends
//
// The first varying value is the sort key, if there is one: the normalized key and then the user-defined sequence
// (sequence.field), both prefix free, behind a u32 slot with the length of the key alone. A table without a
// user-defined sequence whose keys are of at most 8 bytes has none: there the prefix is the key.
//
// Immutable after newRecordCodec and safe for concurrent use.
type recordCodec struct {
	typ      *row.Type
	keys     []int // columns of the trimmed primary key
	seqs     []int // columns of the user-defined sequence
	desc     bool  // sequence.field.sort-order=descending
	prefix   prefixKind
	hasSort  bool // records have a sort key
	onlyPref bool // equal prefixes are equal keys
	arrival  bool // records stay in the order of arrival, and have no keys

	nullBytes int
	keyLenOff uint32 // slot: length of the key within the sort key
	sortOff   uint32 // slot: end of the sort key
	cols      []recordColumn
	varStart  uint32 // where the first value of varying width begins
	nested    []int  // columns with nested values
}

type recordColumn struct {
	off      uint32 // of the slot
	prev     uint32 // varying: slot with the end of the value before, 0: it begins at varStart
	store    row.Store
	width    uint8 // of StoreI32: 1, 2 or 4
	nullable bool
	nullByte uint32
	nullBit  uint8
}

// prefixKind picks a fast way to make prefixes.
type prefixKind uint8

const (
	prefixAny  prefixKind = iota
	prefixI64             // the key is one BIGINT, or whatever else lies in a NOT NULL StoreI64
	prefixI32             // the key is one INT, DATE or TIME
	prefixNone            // there is no key
)

const (
	recordSize   = 0
	recordOrd    = 4
	recordPrefix = 8
	recordKind   = 16
	recordNulls  = 17
)

// newRecordCodec returns the codec of rows of type t with their trimmed primary key in the columns keys and the
// user-defined sequence in seqs.
func newRecordCodec(t *row.Type, keys, seqs []int, desc bool) *recordCodec {
	c := &recordCodec{typ: t, keys: keys, seqs: seqs, desc: desc, nullBytes: (len(t.Fields) + 7) / 8}
	types := make([]*row.Type, len(keys))
	for i, k := range keys {
		kt := t.Fields[k].Type
		kt.Nullable = false
		types[i] = &kt
	}
	width, fixed := row.KeyWidth(types)
	c.onlyPref = fixed && width <= 8
	c.hasSort = !c.onlyPref || len(seqs) > 0
	if len(keys) == 1 {
		switch kt := types[0]; {
		case kt.Store() == row.StoreI64:
			c.prefix = prefixI64
		case kt.Store() == row.StoreI32 && width == 4:
			c.prefix = prefixI32
		}
	}
	off := uint32(recordNulls + c.nullBytes)
	slot := func(width uint32) uint32 {
		off += width
		return off - width
	}
	var prev uint32
	if c.hasSort {
		c.keyLenOff = slot(4)
		c.sortOff = slot(4)
		prev = c.sortOff
	}
	c.cols = make([]recordColumn, len(t.Fields))
	for i := range t.Fields {
		ft := &t.Fields[i].Type
		rc := recordColumn{store: ft.Store(), nullable: ft.Nullable, nullByte: uint32(recordNulls + i/8), nullBit: 1 << (i % 8)}
		switch rc.store {
		case row.StoreI32:
			rc.width = 4
			switch ft.Root {
			case row.Boolean, row.TinyInt:
				rc.width = 1
			case row.SmallInt:
				rc.width = 2
			}
			rc.off = slot(uint32(rc.width))
		case row.StoreF32:
			rc.off = slot(4)
		case row.StoreI64, row.StoreF64:
			rc.off = slot(8)
		case row.StoreNanos:
			rc.off = slot(12)
		case row.StoreI128:
			rc.off = slot(16)
		default:
			rc.off, rc.prev = slot(4), prev
			prev = rc.off
			if rc.store != row.StoreBytes {
				c.nested = append(c.nested, i)
			}
		}
		c.cols[i] = rc
	}
	c.varStart = off
	return c
}

// sortKey returns the normalized key and user-defined sequence of a record, nil when the prefix is all there is.
func (c *recordCodec) sortKey(rec []byte) []byte {
	if !c.hasSort {
		return nil
	}
	return rec[c.varStart:le32(rec[c.sortOff:])]
}

// key returns the normalized key of a record that has a sort key.
func (c *recordCodec) key(rec []byte) []byte {
	return rec[c.varStart : c.varStart+le32(rec[c.keyLenOff:])]
}

// sameKey tells whether two records of equal prefixes have the same key.
func (c *recordCodec) sameKey(a, b []byte) bool {
	return c.onlyPref || string(c.key(a)) == string(c.key(b))
}

// encoder turns rows of batches into records. One a shard; it keeps scratch memory between calls.
type encoder struct {
	codec  *recordCodec
	n      int
	size   [tileRows]uint32
	end    [tileRows]uint32 // where the record's last value ends, from its start
	prefix [tileRows]uint64
	keyLen [tileRows]uint32
	offs   [tileRows]uint32
	keys   []*row.Column
	sort   varying
	nested []varying
}

// tileRows is how many rows are turned at a time: few enough for their records to stay in the first cache levels while
// each column goes over them.
const tileRows = 256

// varying is a run of values of varying width.
type varying struct {
	off   []uint32
	bytes []byte
}

func (v *varying) reset() {
	if cap(v.bytes) > 4<<20 { // a few huge rows should not hold memory for ever
		v.bytes = nil
	}
	v.off, v.bytes = append(v.off[:0], 0), v.bytes[:0]
}

func newEncoder(c *recordCodec) *encoder {
	return &encoder{codec: c, nested: make([]varying, len(c.nested))}
}

// prepare makes prefixes, sort keys and nested values of rows, at most tileRows, and finds their sizes. It reports false
// when a row is larger than any record can be.
func (e *encoder) prepare(b *row.Batch, rows []int32) bool {
	c := e.codec
	e.n = len(rows)
	switch c.prefix {
	case prefixI64:
		v := b.Cols[c.keys[0]].I64
		for k, r := range rows {
			e.prefix[k] = uint64(v[r]) ^ 1<<63
		}
	case prefixI32:
		v := b.Cols[c.keys[0]].I32
		for k, r := range rows {
			e.prefix[k] = uint64(uint32(v[r])^1<<31) << 32
		}
	}
	if c.hasSort || c.prefix == prefixAny {
		e.makeSortKeys(b, rows)
	}
	for k := range rows {
		e.end[k] = c.varStart
	}
	if c.hasSort {
		for k := range rows {
			e.end[k] += e.sort.off[k+1] - e.sort.off[k]
		}
	}
	fits := true
	for i, next := 0, 0; i < len(c.cols); i++ {
		switch c.cols[i].store {
		case row.StoreBytes:
			off := b.Cols[i].Off
			for k, r := range rows {
				e.end[k] += off[r+1] - off[r]
			}
		case row.StoreList, row.StoreRow:
			v := &e.nested[next]
			next++
			v.reset()
			for k, r := range rows {
				v.bytes = appendNestedValue(v.bytes, &b.Cols[i], int(r))
				v.off = append(v.off, uint32(len(v.bytes)))
				e.end[k] += v.off[k+1] - v.off[k]
			}
			fits = fits && len(v.bytes) <= maxRecord
		}
		for k := range rows {
			fits = fits && e.end[k] <= maxRecord
		}
		if !fits {
			return false
		}
	}
	for k := range rows {
		e.size[k] = (e.end[k] + 7) &^ 7
	}
	return true
}

// maxRecord bounds the bytes of a row.
const maxRecord = 1 << 30

func (e *encoder) makeSortKeys(b *row.Batch, rows []int32) {
	c := e.codec
	e.keys = e.keys[:0]
	for _, k := range c.keys {
		e.keys = append(e.keys, &b.Cols[k])
	}
	e.sort.reset()
	for k, r := range rows {
		from := len(e.sort.bytes)
		e.sort.bytes = row.AppendKey(e.sort.bytes, e.keys, int(r))
		key := e.sort.bytes[from:]
		e.keyLen[k] = uint32(len(key))
		if c.prefix == prefixAny {
			e.prefix[k] = prefixAt(key, 0)
		}
		for _, s := range c.seqs {
			e.sort.bytes = row.AppendSortField(e.sort.bytes, &b.Cols[s], int(r), c.desc)
		}
		e.sort.off = append(e.sort.off, uint32(len(e.sort.bytes)))
	}
}

// prefixAt returns 8 bytes of a key from position at as a number, padded with 00.
func prefixAt(key []byte, at int) uint64 {
	if len(key) >= at+8 {
		return binary.BigEndian.Uint64(key[at:])
	}
	var p uint64
	for i := at; i < at+8; i++ {
		p <<= 8
		if i < len(key) {
			p |= uint64(key[i])
		}
	}
	return p
}

// write encodes rows from to to of those prepared into page, at e.offs. ord is the ordinal of row from.
func (e *encoder) write(page []byte, b *row.Batch, rows []int32, from, to int, ord uint32) {
	c := e.codec
	offs := e.offs[from:to]
	rows = rows[from:to]
	for k, off := range offs {
		rec := page[off:]
		binary.LittleEndian.PutUint32(rec, e.size[from+k])
		binary.LittleEndian.PutUint32(rec[recordOrd:], ord+uint32(k))
		binary.LittleEndian.PutUint64(rec[recordPrefix:], e.prefix[from+k])
		rec[recordKind] = byte(b.Kinds[rows[k]])
		clear(rec[recordNulls : recordNulls+c.nullBytes])
	}
	end := e.end[from:to] // from here on: where the value written last ends
	for k := range end {
		end[k] = c.varStart
	}
	if c.hasSort {
		for k, off := range offs {
			rec := page[off:]
			binary.LittleEndian.PutUint32(rec[c.keyLenOff:], e.keyLen[from+k])
			end[k] += uint32(copy(rec[end[k]:], e.sort.bytes[e.sort.off[from+k]:e.sort.off[from+k+1]]))
			binary.LittleEndian.PutUint32(rec[c.sortOff:], end[k])
		}
	}
	nested := 0
	for i := range c.cols {
		rc, col := &c.cols[i], &b.Cols[i]
		if len(col.Nulls) > 0 {
			for k, off := range offs {
				if col.Nulls.Get(int(rows[k])) {
					page[off+rc.nullByte] |= rc.nullBit
				}
			}
		}
		switch rc.store {
		case row.StoreI32:
			writeI32(page, offs, rows, rc, col.I32)
		case row.StoreI64:
			for k, off := range offs {
				binary.LittleEndian.PutUint64(page[off+rc.off:], uint64(col.I64[rows[k]]))
			}
		case row.StoreF32:
			for k, off := range offs {
				binary.LittleEndian.PutUint32(page[off+rc.off:], math.Float32bits(col.F32[rows[k]]))
			}
		case row.StoreF64:
			for k, off := range offs {
				binary.LittleEndian.PutUint64(page[off+rc.off:], math.Float64bits(col.F64[rows[k]]))
			}
		case row.StoreI128:
			for k, off := range offs {
				v := col.I128[rows[k]]
				binary.LittleEndian.PutUint64(page[off+rc.off:], uint64(v.Hi))
				binary.LittleEndian.PutUint64(page[off+rc.off+8:], v.Lo)
			}
		case row.StoreNanos:
			for k, off := range offs {
				binary.LittleEndian.PutUint64(page[off+rc.off:], uint64(col.I64[rows[k]]))
				binary.LittleEndian.PutUint32(page[off+rc.off+8:], uint32(col.I32[rows[k]]))
			}
		case row.StoreBytes:
			for k, off := range offs {
				r := rows[k]
				end[k] += uint32(copy(page[off+end[k]:], col.Bytes[col.Off[r]:col.Off[r+1]]))
				binary.LittleEndian.PutUint32(page[off+rc.off:], end[k])
			}
		default:
			v := &e.nested[nested]
			nested++
			for k, off := range offs {
				end[k] += uint32(copy(page[off+end[k]:], v.bytes[v.off[from+k]:v.off[from+k+1]]))
				binary.LittleEndian.PutUint32(page[off+rc.off:], end[k])
			}
		}
	}
}

func writeI32(page []byte, offs []uint32, rows []int32, rc *recordColumn, v []int32) {
	switch rc.width {
	case 1:
		for k, off := range offs {
			page[off+rc.off] = byte(v[rows[k]])
		}
	case 2:
		for k, off := range offs {
			binary.LittleEndian.PutUint16(page[off+rc.off:], uint16(v[rows[k]]))
		}
	default:
		for k, off := range offs {
			binary.LittleEndian.PutUint32(page[off+rc.off:], uint32(v[rows[k]]))
		}
	}
}

// decode appends records to kv column by column; recs has the records and seqs their sequence numbers.
func (c *recordCodec) decode(kv *KeyValues, recs [][]byte, seqs []int64) {
	kv.Seq = append(kv.Seq, seqs...)
	b := kv.Rows
	for _, rec := range recs {
		b.Kinds = append(b.Kinds, row.Kind(rec[recordKind]))
	}
	b.N += len(recs)
	for i := range c.cols {
		rc, col := &c.cols[i], &b.Cols[i]
		if rc.nullable {
			for k, rec := range recs {
				if rec[rc.nullByte]&rc.nullBit != 0 {
					col.Nulls.Set(col.N + k)
				}
			}
		}
		so := rc.off
		switch rc.store {
		case row.StoreI32:
			col.I32 = readI32(col.I32, recs, rc)
		case row.StoreI64:
			n := len(col.I64)
			col.I64 = slices.Grow(col.I64, len(recs))[:n+len(recs)]
			for k, dst := 0, col.I64[n:]; k < len(dst); k++ {
				dst[k] = int64(le64(recs[k][so:]))
			}
		case row.StoreF32:
			for _, rec := range recs {
				col.F32 = append(col.F32, math.Float32frombits(le32(rec[so:])))
			}
		case row.StoreF64:
			for _, rec := range recs {
				col.F64 = append(col.F64, math.Float64frombits(le64(rec[so:])))
			}
		case row.StoreI128:
			for _, rec := range recs {
				hi, lo := le64(rec[so:]), le64(rec[so+8:])
				col.I128 = append(col.I128, row.Int128{Hi: int64(hi), Lo: lo})
			}
		case row.StoreNanos:
			for _, rec := range recs {
				col.I64 = append(col.I64, int64(le64(rec[so:])))
				col.I32 = append(col.I32, int32(le32(rec[so+8:])))
			}
		case row.StoreBytes:
			for _, rec := range recs {
				col.Bytes = append(col.Bytes, c.varValue(rec, rc)...)
				col.Off = append(col.Off, uint32(len(col.Bytes)))
			}
		default:
			for _, rec := range recs {
				readNestedValue(c.varValue(rec, rc), col) // counts the row itself
			}
			continue
		}
		col.N += len(recs)
	}
}

// varValue returns the bytes of a value of varying width.
func (c *recordCodec) varValue(rec []byte, rc *recordColumn) []byte {
	from := c.varStart
	if rc.prev != 0 {
		from = le32(rec[rc.prev:])
	}
	return rec[from:le32(rec[rc.off:])]
}

func readI32(dst []int32, recs [][]byte, rc *recordColumn) []int32 {
	so := rc.off
	switch rc.width {
	case 1:
		for _, rec := range recs {
			dst = append(dst, int32(int8(rec[so])))
		}
	case 2:
		for _, rec := range recs {
			dst = append(dst, int32(int16(binary.LittleEndian.Uint16(rec[so:]))))
		}
	default:
		n := len(dst)
		dst = slices.Grow(dst, len(recs))[:n+len(recs)]
		for k, d := 0, dst[n:]; k < len(d); k++ {
			d[k] = int32(le32(recs[k][so:]))
		}
	}
	return dst
}

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
