package avro

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

type decodeOp uint8

const (
	decSkip decodeOp = iota + 1
	decBoolean
	decTiny
	decSmall
	decInt
	decLong
	decMillisToMicros
	decMicrosToMillis
	decFloat
	decDouble
	decBytes
	decFixed
	decDecimal
	decArray
	decMap
	decArrayMap
	decRow
)

// columnDecoder reads the values of one field of the file's schema into a column, or past them.
type columnDecoder struct {
	op     decodeOp
	null   int     // index of null in the file's union; -1 when there is no union
	schema *Schema // without null; with it for decSkip
	t      *row.Type
	col    *row.Column
	kids   []columnDecoder
	// For decRow and decArrayMap: the column's kid of each kid decoder (-1: skipped), and the kids that the file lacks.
	target  []int
	missing []int
}

// init compiles the way from s to a column of type t.
func (c *columnDecoder) init(s *Schema, t *row.Type, path string) error {
	*c = columnDecoder{t: t}
	c.schema, c.null = s.NonNull()
	s = c.schema
	is := func(op decodeOp, kinds ...Kind) error {
		for _, k := range kinds {
			if s.Kind == k {
				c.op = op
				return nil
			}
		}
		return mismatch(path, s, t.String())
	}
	switch t.Root {
	case row.Boolean:
		return is(decBoolean, KindBoolean)
	case row.TinyInt:
		return is(decTiny, KindInt)
	case row.SmallInt:
		return is(decSmall, KindInt)
	case row.Int, row.Date, row.Time:
		return is(decInt, KindInt)
	case row.BigInt:
		return is(decLong, KindLong, KindInt)
	case row.Float:
		return is(decFloat, KindFloat)
	case row.Double:
		return is(decDouble, KindDouble)
	case row.Timestamp, row.TimestampLTZ:
		return c.initTimestamp(path)
	case row.Char, row.VarChar, row.Binary, row.VarBinary:
		if s.Kind == KindFixed {
			return is(decFixed, KindFixed)
		}
		return is(decBytes, KindString, KindBytes)
	case row.Decimal:
		if s.Logical == "decimal" && s.Scale != t.Scale {
			return mismatch(path, s, t.String())
		}
		return is(decDecimal, KindBytes, KindFixed)
	case row.Array:
		if err := is(decArray, KindArray); err != nil {
			return err
		}
		c.kids = make([]columnDecoder, 1)
		return c.kids[0].init(s.Items, t.Elem, path+"[]")
	case row.Map, row.Multiset:
		return c.initMap(path)
	case row.Row:
		if err := is(decRow, KindRecord); err != nil {
			return err
		}
		return c.initRecord(s, t.Fields, path+".")
	}
	return mismatch(path, s, t.String())
}

// initTimestamp: the unit is the file's, and other writers may have another one than the precision tells.
func (c *columnDecoder) initTimestamp(path string) error {
	if c.schema.Kind != KindLong || c.t.Precision > 6 {
		return mismatch(path, c.schema, c.t.String())
	}
	micros := c.t.Precision > 3
	switch c.schema.Logical {
	case "timestamp-millis", "local-timestamp-millis":
		c.op = decLong
		if micros {
			c.op = decMillisToMicros
		}
	case "timestamp-micros", "local-timestamp-micros":
		c.op = decLong
		if !micros {
			c.op = decMicrosToMillis
		}
	default:
		return mismatch(path, c.schema, c.t.String())
	}
	return nil
}

func (c *columnDecoder) initMap(path string) error {
	key, value := mapParts(c.t)
	switch {
	case c.schema.Kind == KindMap && isStringMap(c.t):
		c.op = decMap
		c.kids = make([]columnDecoder, 1)
		return c.kids[0].init(c.schema.Items, value, path+".value")
	case c.schema.Kind == KindArray && c.schema.Items.Kind == KindRecord:
		c.op = decArrayMap
		return c.initRecord(c.schema.Items, []row.Field{{Name: "key", Type: *key}, {Name: "value", Type: *value}}, path+".")
	}
	return mismatch(path, c.schema, c.t.String())
}

// initRecord makes a decoder for each field of the file's record, by name.
func (c *columnDecoder) initRecord(s *Schema, fields []row.Field, prefix string) error {
	c.kids = make([]columnDecoder, len(s.Fields))
	c.target = make([]int, len(s.Fields))
	have := make([]bool, len(fields))
	index := make(map[string]int, len(fields))
	for i := range fields {
		index[fields[i].Name] = i
	}
	for i, f := range s.Fields {
		t, ok := index[f.Name]
		if !ok {
			c.kids[i] = columnDecoder{op: decSkip, null: -1, schema: f.Schema}
			c.target[i] = -1
			continue
		}
		if err := c.kids[i].init(f.Schema, &fields[t].Type, prefix+f.Name); err != nil {
			return err
		}
		c.target[i] = t
		have[t] = true
	}
	for i, ok := range have {
		if !ok {
			c.missing = append(c.missing, i)
		}
	}
	return nil
}

// bind directs the decoder to a column.
func (c *columnDecoder) bind(col *row.Column) {
	c.col = col
	switch c.op {
	case decArray:
		c.kids[0].bind(&col.Kids[0])
	case decMap:
		c.kids[0].bind(&col.Kids[1])
	case decRow, decArrayMap:
		c.bindKids(col.Kids)
	}
}

func (c *columnDecoder) bindKids(cols []row.Column) {
	for i, t := range c.target {
		if t >= 0 {
			c.kids[i].bind(&cols[t])
		}
	}
}

// read reads one value. After damage, which is kept in d, it may have appended anything.
func (c *columnDecoder) read(d *Decoder) {
	if c.null >= 0 && c.isNull(d) {
		c.col.AppendNull()
		return
	}
	col := c.col
	switch c.op {
	case decLong:
		col.AppendI64(d.Long())
	case decBytes:
		col.AppendBytes(d.Bytes())
	case decInt:
		col.AppendI32(d.Int())
	case decTiny, decSmall:
		c.readSmall(d)
	case decBoolean:
		v := int32(0)
		if d.Boolean() {
			v = 1
		}
		col.AppendI32(v)
	case decFloat:
		col.AppendF32(d.Float())
	case decDouble:
		col.AppendF64(d.Double())
	case decDecimal:
		c.readDecimal(d)
	case decMillisToMicros:
		v := d.Long()
		if v*1000/1000 != v {
			d.fail("timestamp out of range")
		}
		col.AppendI64(v * 1000)
	case decMicrosToMillis:
		v := d.Long()
		millis := v / 1000
		if v%1000 < 0 {
			millis-- // floor
		}
		col.AppendI64(millis)
	case decFixed:
		col.AppendBytes(d.Fixed(c.schema.Size))
	case decSkip:
		c.schema.Skip(d)
	default:
		c.readNested(d)
	}
}

// isNull reads the branch of a union.
func (c *columnDecoder) isNull(d *Decoder) bool {
	if c.null == 0 {
		return !d.Union()
	}
	i := d.Long()
	if i != 0 && i != 1 {
		d.fail("bad union branch")
	}
	return i != 0
}

func (c *columnDecoder) readSmall(d *Decoder) {
	v := d.Int()
	if c.op == decTiny && v != int32(int8(v)) || v != int32(int16(v)) {
		d.fail(fmt.Sprintf("%d out of range of %s", v, c.t))
	}
	c.col.AppendI32(v)
}

func (c *columnDecoder) readNested(d *Decoder) {
	switch c.op {
	case decRow:
		c.readFields(d, c.col.Kids)
		c.col.EndNested()
		return
	case decArrayMap:
		for n := d.Items(); n > 0 && d.err == nil; n = d.Items() {
			for ; n > 0 && d.err == nil; n-- {
				c.readFields(d, c.col.Kids)
			}
		}
	default:
		for n := d.Items(); n > 0 && d.err == nil; n = d.Items() {
			for ; n > 0 && d.err == nil; n-- {
				if c.op == decMap {
					c.col.Kids[0].AppendBytes(d.Bytes())
				}
				c.kids[0].read(d)
			}
		}
	}
	c.col.EndList()
}

// readFields reads a record whose fields are these columns.
func (c *columnDecoder) readFields(d *Decoder, cols []row.Column) {
	for i := range c.kids {
		c.kids[i].read(d)
	}
	for _, m := range c.missing {
		cols[m].AppendNull()
	}
}

func (c *columnDecoder) readDecimal(d *Decoder) {
	var b []byte
	if c.schema.Kind == KindFixed {
		b = d.Fixed(c.schema.Size)
	} else {
		b = d.Bytes()
	}
	v, ok := decimalOf(b)
	if ok && !fits(v, c.t.Precision) && c.t.Nullable {
		c.col.AppendNull() // as for Java's reader: its sum of a column may have too many digits
		return
	}
	if !ok || !fits(v, c.t.Precision) {
		d.fail("value out of range of " + c.t.String())
	}
	if c.t.Precision <= 18 {
		c.col.AppendI64(int64(v.Lo))
	} else {
		c.col.AppendI128(v)
	}
}

// decimalOf reads big-endian two's complement; false when it takes more than 128 bits or none.
func decimalOf(b []byte) (row.Int128, bool) {
	if len(b) == 0 {
		return row.Int128{}, false
	}
	sign := int64(int8(b[0])) >> 7
	for ; len(b) > 16; b = b[1:] {
		if b[0] != byte(sign) || int8(b[1])>>7 != int8(sign) {
			return row.Int128{}, false
		}
	}
	v := row.Int128{Hi: sign, Lo: uint64(sign)}
	for _, x := range b {
		v.Hi = v.Hi<<8 | int64(v.Lo>>56)
		v.Lo = v.Lo<<8 | uint64(x)
	}
	return v, true
}

// powers has 10^p; a DECIMAL(p) is below it.
var powers = func() (p [39]row.Int128) {
	p[0] = row.Int128{Lo: 1}
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].MulAddUint64(10, 0)
	}
	return p
}()

func fits(v row.Int128, precision int) bool {
	if precision < 0 || precision >= len(powers) {
		return false
	}
	return v.Cmp(powers[precision]) < 0 && v.Cmp(powers[precision].Neg()) > 0
}

// mismatch is the error of a file whose schema cannot give what is asked for.
func mismatch(column string, s *Schema, want string) error {
	return fmt.Errorf("column %s: is %s in the Avro file, which is no %s: %w", column, describe(s), want, format.ErrCorrupt)
}

func describe(s *Schema) string {
	if s.Logical != "" {
		return fmt.Sprintf("%s (%s)", s.Kind, s.Logical)
	}
	return s.Kind.String()
}
