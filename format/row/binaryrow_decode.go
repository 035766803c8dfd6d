package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrCorruptRow is wrapped by errors about bytes that are no BinaryRow of the wanted types.
var ErrCorruptRow = errors.New("row bytes are corrupt")

// DecodeSerializedRow reads a row with its arity, as manifests have it, and appends it to dst, whose columns have these
// types. It leaves the kinds alone: rows in manifests have none. On an error dst is as it was.
func DecodeSerializedRow(b []byte, types []*Type, dst *Batch) error {
	if len(b) < 4 {
		return fmt.Errorf("%w: %d bytes, no arity", ErrCorruptRow, len(b))
	}
	if n := int32(binary.BigEndian.Uint32(b)); int(n) != len(types) {
		return fmt.Errorf("%w: arity %d instead of %d", ErrCorruptRow, n, len(types))
	}
	return DecodeBinaryRow(b[4:], types, dst)
}

// DecodeBinaryRow is DecodeSerializedRow of the row bytes alone.
func DecodeBinaryRow(b []byte, types []*Type, dst *Batch) error {
	if len(types) != len(dst.Cols) {
		return fmt.Errorf("decoding a row of %d fields into %d columns", len(types), len(dst.Cols))
	}
	for i, t := range types {
		if t.Root != dst.Cols[i].Type.Root || t.Store() != dst.Cols[i].Type.Store() {
			return fmt.Errorf("decoding field %d of type %s into a column of type %s", i, t, dst.Cols[i].Type)
		}
	}
	if err := decodeRow(b, dst.Cols); err != nil {
		dst.Truncate(dst.N)
		return err
	}
	dst.N++
	return nil
}

// decodeRow appends one value to each column.
func decodeRow(b []byte, cols []Column) error {
	nb := nullBytes(len(cols))
	if len(b) < nb+8*len(cols) {
		return fmt.Errorf("%w: %d bytes for %d fields", ErrCorruptRow, len(b), len(cols))
	}
	// What the variable parts may take in all. Java never lets two values share bytes; without this bound a few bytes
	// could stand for lists of lists of any size.
	left := len(b) - nb - 8*len(cols)
	for f := range cols {
		c := &cols[f]
		if b[(f+8)>>3]>>(uint(f)&7)&1 == 1 {
			c.AppendNull()
			continue
		}
		if err := decodeSlot(b, nb+8*f, c, &left); err != nil {
			return fmt.Errorf("field %d: %w", f, err)
		}
	}
	return nil
}

// variable returns size bytes at offset of b and takes them from left.
func variable(b []byte, size, offset uint32, left *int) ([]byte, error) {
	if int64(size) > int64(*left) || int64(offset)+int64(size) > int64(len(b)) {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", ErrCorruptRow, size, offset, len(b))
	}
	*left -= int(size)
	return b[offset : offset+size], nil
}

// decodeSlot appends the value of the slot at position at of b, which holds the whole slot.
func decodeSlot(b []byte, at int, c *Column, left *int) error {
	switch c.Type.Root {
	case Boolean:
		v := int32(0)
		if b[at] != 0 {
			v = 1
		}
		c.AppendI32(v)
		return nil
	case TinyInt:
		c.AppendI32(int32(int8(b[at])))
		return nil
	case SmallInt:
		c.AppendI32(int32(int16(binary.LittleEndian.Uint16(b[at:]))))
		return nil
	case Int, Date, Time:
		c.AppendI32(int32(binary.LittleEndian.Uint32(b[at:])))
		return nil
	case Float:
		c.AppendF32(math.Float32frombits(binary.LittleEndian.Uint32(b[at:])))
		return nil
	}
	w := binary.LittleEndian.Uint64(b[at:])
	size, offset := uint32(w), uint32(w>>32)
	switch c.Type.Root {
	case BigInt:
		c.AppendI64(int64(w))
	case Double:
		c.AppendF64(math.Float64frombits(w))
	case Decimal:
		if c.Type.Precision <= 18 {
			c.AppendI64(int64(w))
			return nil
		}
		if size > 16 {
			return fmt.Errorf("%w: decimal of %d bytes", ErrCorruptRow, size)
		}
		v, err := variable(b, size, offset, left)
		if err != nil {
			return err
		}
		d, ok := Int128FromBytes(v)
		if !ok {
			return fmt.Errorf("%w: decimal of %d bytes", ErrCorruptRow, size)
		}
		c.AppendI128(d)
	case Timestamp, TimestampLTZ:
		if c.Type.Precision <= 3 {
			c.AppendI64(int64(w))
			return nil
		}
		v, err := variable(b, 8, offset, left)
		if err != nil {
			return err
		}
		if !c.AppendMillis(int64(binary.LittleEndian.Uint64(v)), int32(size)) {
			return fmt.Errorf("%w: timestamp out of range", ErrCorruptRow)
		}
	case Char, VarChar, Binary, VarBinary:
		if w>>63 == 1 {
			n := int(b[at+7] & 0x7f)
			if n > 7 {
				return fmt.Errorf("%w: inline value of %d bytes", ErrCorruptRow, n)
			}
			c.AppendBytes(b[at : at+n])
			return nil
		}
		v, err := variable(b, size, offset, left)
		if err != nil {
			return err
		}
		c.AppendBytes(v)
	case Row:
		v, err := variable(b, size, offset, left)
		if err != nil {
			return err
		}
		if err := decodeRow(v, c.Kids); err != nil {
			return err
		}
		c.EndNested()
	case Array, Map, Multiset:
		v, err := variable(b, size, offset, left)
		if err != nil {
			return err
		}
		if err := decodeList(v, c); err != nil {
			return err
		}
		c.EndList()
	}
	return nil
}

// decodeList appends the elements of an ARRAY, MAP or MULTISET to the kids of c.
func decodeList(b []byte, c *Column) error {
	if c.Type.Root == Array {
		return decodeArray(b, &c.Kids[0])
	}
	if len(b) < 4 {
		return fmt.Errorf("%w: map of %d bytes", ErrCorruptRow, len(b))
	}
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; int64(n) > int64(len(b)) {
		return fmt.Errorf("%w: map keys of %d bytes in %d", ErrCorruptRow, n, len(b))
	}
	if err := decodeArray(b[:n], &c.Kids[0]); err != nil {
		return err
	}
	if err := decodeArray(b[n:], &c.Kids[1]); err != nil {
		return err
	}
	if c.Kids[0].N != c.Kids[1].N {
		return fmt.Errorf("%w: map of %d keys and %d values", ErrCorruptRow, c.Kids[0].N, c.Kids[1].N)
	}
	return nil
}

// decodeArray appends the elements of a BinaryArray to c.
func decodeArray(b []byte, c *Column) error {
	if len(b) < 4 {
		return fmt.Errorf("%w: array of %d bytes", ErrCorruptRow, len(b))
	}
	n, width := int64(binary.LittleEndian.Uint32(b)), elementWidth(c.Type)
	head := 4 + (n+31)/32*4
	size := head + n*int64(width)
	if size > int64(len(b)) {
		return fmt.Errorf("%w: %d elements in %d bytes", ErrCorruptRow, n, len(b))
	}
	left := len(b) - int(size)
	for k := range int(n) {
		if b[4+k>>3]>>(uint(k)&7)&1 == 1 {
			c.AppendNull()
			continue
		}
		if err := decodeSlot(b, int(head)+k*width, c, &left); err != nil {
			return fmt.Errorf("element %d: %w", k, err)
		}
	}
	return nil
}
