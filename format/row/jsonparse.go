package row

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// ParseJSONRow appends a row in the form of AppendJSONRow to dst. It is as lenient as is safe: members in any order, one
// that is missing is null, a missing _kind is +I, numbers and booleans may be strings, a MAP with string keys may be an
// object. Other members beginning with _ are ignored, any other unknown one is an error. On an error dst is as it was.
func ParseJSONRow(line []byte, dst *Batch) error {
	r := jsonReader{b: line}
	kind := Insert
	err := r.object(func(key []byte) error {
		f := dst.Type.FieldIndex(string(key))
		switch {
		case f >= 0:
			if dst.Cols[f].N > dst.N {
				return fmt.Errorf("column %s is there twice", key)
			}
			if err := r.value(&dst.Cols[f]); err != nil {
				return fmt.Errorf("column %s (%s): %w", key, dst.Cols[f].Type, err)
			}
			return nil
		case string(key) == "_kind":
			s, err := r.text()
			if err != nil {
				return err
			}
			kind, err = ParseKind(string(s))
			return err
		case len(key) > 0 && key[0] == '_':
			return r.skip()
		}
		return fmt.Errorf("there is no column %s", key)
	})
	if r.ws(); err == nil && r.pos < len(r.b) {
		err = errors.New("more after the object")
	}
	if err != nil {
		dst.Truncate(dst.N)
		return fmt.Errorf("at byte %d: %w", r.pos, err)
	}
	for f := range dst.Cols {
		if dst.Cols[f].N == dst.N {
			dst.Cols[f].AppendNull()
		}
	}
	dst.EndRow(kind)
	return nil
}

// ParseJSONValue appends one value in the form of AppendJSONValue to c.
func ParseJSONValue(text []byte, c *Column) error {
	r, n := jsonReader{b: text}, c.N
	err := r.value(c)
	if r.ws(); err == nil && r.pos < len(r.b) {
		err = errors.New("more after the value")
	}
	if err != nil {
		c.Truncate(n)
		return fmt.Errorf("at byte %d: %w", r.pos, err)
	}
	return nil
}

// ParseKind is the inverse of Kind.String.
func ParseKind(s string) (Kind, error) {
	for k := Insert; k <= Delete; k++ {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("row kind %q is none of +I, -U, +U, -D", s)
}

// value parses a value of the column's type and appends it.
func (r *jsonReader) value(c *Column) error {
	if r.ws(); r.literal("null") {
		c.AppendNull()
		return nil
	}
	switch c.Type.Root {
	case Array:
		if err := r.list(func() error { return r.value(&c.Kids[0]) }); err != nil {
			return err
		}
		c.EndList()
		return nil
	case Map, Multiset:
		return r.mapValue(c)
	case Row:
		return r.rowValue(c)
	case Char, VarChar:
		s, err := r.text()
		if err == nil {
			c.AppendBytes(s)
		}
		return err
	}
	s, err := r.text()
	if err != nil {
		return err
	}
	return c.appendText(s)
}

// appendText appends the value of an atomic type that isn't a character string.
func (c *Column) appendText(b []byte) error {
	s := unsafe.String(unsafe.SliceData(b), len(b)) // only parsed, nothing keeps it
	bad := func() error { return fmt.Errorf("%q is not a value", strings.Clone(s)) }
	switch c.Type.Root {
	case Boolean:
		switch s {
		case "true":
			c.AppendI32(1)
		case "false":
			c.AppendI32(0)
		default:
			return bad()
		}
	case TinyInt, SmallInt, Int:
		v, err := strconv.ParseInt(s, 10, 8*elementWidth(c.Type))
		if err != nil {
			return bad()
		}
		c.AppendI32(int32(v))
	case BigInt:
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return bad()
		}
		c.AppendI64(v)
	case Float:
		v, err := strconv.ParseFloat(s, 32)
		if err != nil && !math.IsInf(v, 0) {
			return bad()
		}
		c.AppendF32(float32(v))
	case Double:
		v, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(v, 0) {
			return bad()
		}
		c.AppendF64(v)
	case Decimal:
		v, err := ParseDecimal(s, c.Type.Scale)
		if err != nil {
			return fmt.Errorf("%q: %w", strings.Clone(s), err)
		}
		if !c.AppendDecimal(v) {
			return fmt.Errorf("%q: %w", strings.Clone(s), ErrDecimalRange)
		}
	case Binary, VarBinary:
		raw, err := base64.StdEncoding.AppendDecode(c.Bytes, b)
		if err != nil {
			return bad()
		}
		c.Bytes = raw
		c.Off = append(c.Off, uint32(len(raw)))
		c.N++
	case Date:
		days, rest, ok := parseDate(b)
		if !ok || len(rest) > 0 || days != int64(int32(days)) {
			return bad()
		}
		c.AppendI32(int32(days))
	case Time:
		sec, nanos, rest, ok := parseTime(b)
		if !ok || len(rest) > 0 {
			return bad()
		}
		c.AppendI32(int32(sec*1000 + nanos/1_000_000))
	case Timestamp, TimestampLTZ:
		millis, nanos, zoned, ok := parseTimestamp(b)
		if !ok || zoned && c.Type.Root == Timestamp || !c.AppendMillis(millis, nanos) {
			return bad()
		}
	default:
		return bad()
	}
	return nil
}

// mapValue parses [[key,value],...] or {"key":value,...}.
func (r *jsonReader) mapValue(c *Column) (err error) {
	if r.peek() == '{' {
		err = r.object(func(key []byte) error {
			k := &c.Kids[0]
			if k.Type.Root == Char || k.Type.Root == VarChar {
				k.AppendBytes(key)
			} else if err := k.appendText(key); err != nil {
				return err
			}
			return r.value(&c.Kids[1])
		})
	} else {
		err = r.list(func() error {
			n := 0
			err := r.list(func() error {
				if n++; n > 2 {
					return errors.New("map entry has more than a key and a value")
				}
				return r.value(&c.Kids[n-1])
			})
			if err == nil && n < 2 {
				err = errors.New("map entry has no key and value")
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	c.EndList()
	return nil
}

// rowValue parses an object into the kids.
func (r *jsonReader) rowValue(c *Column) error {
	err := r.object(func(key []byte) error {
		f := c.Type.FieldIndex(string(key))
		if f < 0 || c.Kids[f].N > c.N {
			return fmt.Errorf("field %s is unknown or there twice", key)
		}
		return r.value(&c.Kids[f])
	})
	if err != nil {
		return err
	}
	for f := range c.Kids {
		if c.Kids[f].N == c.N {
			c.Kids[f].AppendNull()
		}
	}
	c.EndNested()
	return nil
}
