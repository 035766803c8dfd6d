package mysql

import (
	"bytes"
	"math"
)

// The type codes of table maps (enum_field_types of the server).
const (
	typeDecimalOld    = 0
	typeTiny          = 1
	typeShort         = 2
	typeLong          = 3
	typeFloat         = 4
	typeDouble        = 5
	typeNull          = 6
	typeTimestamp     = 7
	typeLongLong      = 8
	typeInt24         = 9
	typeDate          = 10
	typeTime          = 11
	typeDatetime      = 12
	typeYear          = 13
	typeNewDate       = 14
	typeVarchar       = 15
	typeBit           = 16
	typeTimestamp2    = 17
	typeDatetime2     = 18
	typeTime2         = 19
	typeTypedArray    = 20
	typeMariaBlobComp = 140
	typeMariaCharComp = 141
	typeVector        = 242
	typeJSON          = 245
	typeNewDecimal    = 246
	typeEnum          = 247
	typeSet           = 248
	typeTinyBlob      = 249
	typeMediumBlob    = 250
	typeLongBlob      = 251
	typeBlob          = 252
	typeVarString     = 253
	typeString        = 254
	typeGeometry      = 255
)

// TableMap is a TABLE_MAP event: how the columns of the row images that follow lie in memory, and, as far as the server
// was told to log it (binlog_row_metadata), what they mean.
type TableMap struct {
	ID            uint64
	Schema, Table string
	Columns       []MapColumn
	// PrimaryKey has the positions of the primary key columns, in key order; nil when not logged.
	PrimaryKey []int
	// HasNames: names, element lists and the key were logged (FULL). HasSigns, HasCharsets: as with MINIMAL.
	HasNames, HasSigns, HasCharsets, HasElements bool

	body    []byte
	mariaDB bool
}

// MapColumn is a column of a table map.
type MapColumn struct {
	// Type is the real type: ENUM and SET instead of the STRING that they hide in.
	Type byte
	// Meta is the type's metadata: the most bytes of a string, the pack length of ENUM, SET and BLOB, fraction digits of
	// temporal types, precision<<8|scale of DECIMAL, bits of BIT.
	Meta     uint16
	Nullable bool
	// The rest is from the optional metadata, zero when not logged.
	Name       string
	Unsigned   bool
	Collation  uint16 // also of ENUM and SET
	Elements   []string
	Geometry   byte
	Invisible  bool
	Dimensions int
}

// Same reports whether body, a raw event body, is the one that tm was parsed from, so that a cached map can be reused.
func (tm *TableMap) Same(body []byte) bool { return bytes.Equal(tm.body, body) }

// TableMapID returns the table id at the front of a table map or rows event body.
func TableMapID(body []byte) (uint64, error) {
	r := reader{b: body}
	id := r.u48()
	if r.bad {
		return 0, malformed("event of %d bytes has no table id", len(body))
	}
	return id, nil
}

// TableMapName returns the names in a table map event without parsing the rest, for filters. They alias body.
func TableMapName(body []byte) (schema, table []byte, err error) {
	r := reader{b: body}
	r.take(8)
	schema = r.take(int(r.u8()))
	r.take(1)
	table = r.take(int(r.u8()))
	if r.bad {
		return nil, nil, malformed("table map of %d bytes has no names", len(body))
	}
	return schema, table, nil
}

// ParseTableMap parses the body of a TABLE_MAP event (without event header and checksum). It keeps a copy of body.
// MariaDB must be known because it counts GEOMETRY among the columns that have a character set.
func ParseTableMap(body []byte, mariaDB bool) (*TableMap, error) {
	tm := &TableMap{body: bytes.Clone(body), mariaDB: mariaDB}
	r := reader{b: tm.body}
	tm.ID = r.u48()
	r.take(2) // flags
	tm.Schema = string(r.take(int(r.u8())))
	r.take(1)
	tm.Table = string(r.take(int(r.u8())))
	r.take(1)
	n := r.lenenc()
	if r.bad || n > uint64(len(r.b)) || n > math.MaxUint16 {
		return nil, malformed("table map: the header of %d bytes is cut", len(body))
	}
	types := r.take(int(n))
	meta := reader{b: r.lenencBytes()}
	nulls := r.take((int(n) + 7) / 8)
	if r.bad {
		return nil, malformed("table map of %s.%s: metadata is cut", tm.Schema, tm.Table)
	}
	tm.Columns = make([]MapColumn, n)
	for i := range tm.Columns {
		c := &tm.Columns[i]
		c.Type = types[i]
		c.Nullable = nulls[i>>3]>>(i&7)&1 == 1
		readTypeMeta(c, &meta)
		if meta.bad {
			return nil, malformed("table map of %s.%s: metadata of column %d is cut", tm.Schema, tm.Table, i+1)
		}
	}
	if len(meta.b) > 0 {
		return nil, malformed("table map of %s.%s: %d metadata bytes are left over", tm.Schema, tm.Table, len(meta.b))
	}
	if err := tm.readOptional(&r); err != nil {
		return nil, err
	}
	return tm, nil
}

func readTypeMeta(c *MapColumn, r *reader) {
	switch c.Type {
	case typeFloat, typeDouble, typeTinyBlob, typeMediumBlob, typeLongBlob, typeBlob, typeGeometry, typeJSON, typeVector,
		typeTimestamp2, typeDatetime2, typeTime2, typeMariaBlobComp:
		c.Meta = uint16(r.u8())
	case typeVarchar, typeVarString, typeMariaCharComp:
		c.Meta = r.u16()
	case typeBit:
		m := r.u16() // low byte: bits past the whole bytes; high byte: whole bytes
		c.Meta = m>>8*8 + m&0xff
	case typeNewDecimal:
		p := r.u8()
		c.Meta = uint16(p)<<8 | uint16(r.u8())
	case typeString, typeEnum, typeSet:
		b0, b1 := r.u8(), r.u8()
		if b0&0x30 != 0x30 { // lengths above 255 use two bits of the type, inverted
			c.Type = b0 | 0x30
			c.Meta = uint16(b1) | (uint16(b0&0x30)^0x30)<<4
		} else {
			c.Type = b0
			c.Meta = uint16(b1)
		}
	case typeTypedArray: // the element type and its own metadata; such columns are never in row images
		e := MapColumn{Type: r.u8()}
		readTypeMeta(&e, r)
	}
}

func (tm *TableMap) readOptional(r *reader) error {
	for len(r.b) > 0 {
		kind := r.u8()
		v := reader{b: r.lenencBytes()}
		if r.bad {
			return malformed("table map of %s.%s: optional metadata is cut", tm.Schema, tm.Table)
		}
		switch kind {
		case 1:
			tm.HasSigns = true
			tm.readSigns(v.b)
		case 2, 10:
			tm.HasCharsets = tm.HasCharsets || kind == 2
			tm.readDefaultCharset(&v, kind == 10)
		case 3, 11:
			tm.HasCharsets = tm.HasCharsets || kind == 3
			tm.readCharsets(&v, kind == 11)
		case 4:
			tm.HasNames = true
			for i := range tm.Columns {
				tm.Columns[i].Name = string(v.lenencBytes())
			}
		case 5:
			tm.readElements(&v, typeSet)
		case 6:
			tm.readElements(&v, typeEnum)
		case 7:
			tm.each(func(c *MapColumn) bool { return c.Type == typeGeometry && len(v.b) > 0 },
				func(c *MapColumn) { c.Geometry = byte(v.lenenc()) })
		case 8, 9:
			tm.PrimaryKey = []int{}
			for len(v.b) > 0 {
				i := v.lenenc()
				if kind == 9 {
					v.lenenc() // prefix length, 0 for the whole column
				}
				if v.bad || i >= uint64(len(tm.Columns)) {
					return malformed("table map of %s.%s: primary key has no such column", tm.Schema, tm.Table)
				}
				tm.PrimaryKey = append(tm.PrimaryKey, int(i))
			}
		case 12:
			for i := range tm.Columns {
				if i>>3 < len(v.b) { // a set bit is a visible column, most significant first
					tm.Columns[i].Invisible = v.b[i>>3]>>(7-i&7)&1 == 0
				}
			}
		case 13:
			tm.each(func(c *MapColumn) bool { return c.Type == typeVector && len(v.b) > 0 },
				func(c *MapColumn) { c.Dimensions = int(v.lenenc() & math.MaxInt32) })
		}
		if v.bad {
			return malformed("table map of %s.%s: optional metadata %d is cut", tm.Schema, tm.Table, kind)
		}
	}
	return nil
}

func (tm *TableMap) each(is func(*MapColumn) bool, do func(*MapColumn)) {
	for i := range tm.Columns {
		if c := &tm.Columns[i]; is(c) {
			do(c)
		}
	}
}

func (c *MapColumn) isNumeric() bool {
	switch c.Type {
	case typeTiny, typeShort, typeInt24, typeLong, typeLongLong, typeNewDecimal, typeDecimalOld, typeFloat, typeDouble, typeYear:
		return true
	}
	return false
}

func (c *MapColumn) isCharacter() bool {
	switch c.Type {
	case typeString, typeVarString, typeVarchar, typeTinyBlob, typeMediumBlob, typeLongBlob, typeBlob, typeMariaBlobComp, typeMariaCharComp:
		return true
	}
	return false
}

func (c *MapColumn) isList() bool { return c.Type == typeEnum || c.Type == typeSet }

func (tm *TableMap) readSigns(bits []byte) {
	i := 0
	tm.each((*MapColumn).isNumeric, func(c *MapColumn) {
		if i>>3 < len(bits) {
			c.Unsigned = bits[i>>3]>>(7-i&7)&1 == 1
		}
		i++
	})
}

// hasCharset returns which columns the character set metadata counts: ENUM and SET, or the others.
func (tm *TableMap) hasCharset(lists bool) func(*MapColumn) bool {
	switch {
	case lists:
		return (*MapColumn).isList
	case tm.mariaDB:
		return func(c *MapColumn) bool { return c.isCharacter() || c.Type == typeGeometry }
	}
	return (*MapColumn).isCharacter
}

// readDefaultCharset reads one collation for all columns but those listed with theirs.
func (tm *TableMap) readDefaultCharset(v *reader, lists bool) {
	is := tm.hasCharset(lists)
	deflt := uint16(v.lenenc())
	var ids []*MapColumn
	tm.each(is, func(c *MapColumn) { c.Collation = deflt; ids = append(ids, c) })
	for len(v.b) > 0 {
		i, id := v.lenenc(), v.lenenc()
		if v.bad {
			return
		}
		if i < uint64(len(ids)) {
			ids[i].Collation = uint16(id)
		} else {
			v.bad = true
			return
		}
	}
}

func (tm *TableMap) readCharsets(v *reader, lists bool) {
	is := tm.hasCharset(lists)
	tm.each(is, func(c *MapColumn) {
		if len(v.b) > 0 {
			c.Collation = uint16(v.lenenc())
		}
	})
}

func (tm *TableMap) readElements(v *reader, kind byte) {
	tm.HasElements = true
	tm.each(func(c *MapColumn) bool { return c.Type == kind && len(v.b) > 0 }, func(c *MapColumn) {
		n := v.lenenc()
		for ; n > 0 && !v.bad; n-- {
			c.Elements = append(c.Elements, string(v.lenencBytes()))
		}
	})
}

// ColumnNames returns the names, nil when they were not logged.
func (tm *TableMap) ColumnNames() []string {
	if !tm.HasNames {
		return nil
	}
	names := make([]string, len(tm.Columns))
	for i := range names {
		names[i] = tm.Columns[i].Name
	}
	return names
}
