package mysql

import (
	"fmt"
	"strings"

	"github.com/paimon-go/paimon-go/cdc"
)

// columnsFor returns the columns of a row image that a table map with names describes: those of known with the same name,
// and others as the map tells them. What the map knows better (lengths, signs, lists), the Decoder takes from it anyway.
func columnsFor(tm *TableMap, known []Column) ([]Column, error) {
	cols := make([]Column, len(tm.Columns))
	for i := range tm.Columns {
		m := &tm.Columns[i]
		found := false
		for k := range known {
			if strings.EqualFold(known[k].Name, m.Name) {
				cols[i], found = known[k], true
				cols[i].Nullable = m.Nullable
				break
			}
		}
		if found && m.fits(&cols[i]) {
			continue
		}
		var err error
		if cols[i], err = m.column(); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", tm.Schema, tm.Table, err)
		}
	}
	return cols, nil
}

// dataType names the type of a column as information_schema would.
func (m *MapColumn) dataType() string {
	binary := m.Collation == 63
	pick := func(text, bytes string) string {
		if binary {
			return bytes
		}
		return text
	}
	switch m.Type {
	case typeTiny:
		return "tinyint"
	case typeShort:
		return "smallint"
	case typeInt24:
		return "mediumint"
	case typeLong:
		return "int"
	case typeLongLong:
		return "bigint"
	case typeFloat:
		return "float"
	case typeDouble:
		return "double"
	case typeNewDecimal:
		return "decimal"
	case typeDate, typeNewDate:
		return "date"
	case typeTime, typeTime2:
		return "time"
	case typeDatetime, typeDatetime2:
		return "datetime"
	case typeTimestamp, typeTimestamp2:
		return "timestamp"
	case typeYear:
		return "year"
	case typeBit:
		return "bit"
	case typeEnum:
		return "enum"
	case typeSet:
		return "set"
	case typeJSON:
		return "json"
	case typeGeometry:
		return "geometry"
	case typeVector:
		return "vector"
	case typeVarchar, typeVarString:
		return pick("varchar", "varbinary")
	case typeString:
		return pick("char", "binary")
	case typeBlob, typeTinyBlob, typeMediumBlob, typeLongBlob:
		sizes := [...]string{"", "tiny", "", "medium", "long"}
		if int(m.Meta) < len(sizes) {
			return sizes[m.Meta] + pick("text", "blob")
		}
	}
	return ""
}

// fits reports whether a column of information_schema is of the kind that the map says: only then is it the one that the
// rows were written with.
func (m *MapColumn) fits(c *Column) bool {
	a, b := m.dataType(), c.DataType
	if a == b {
		return true
	}
	text := func(s string) bool {
		return strings.HasSuffix(s, "text") || strings.HasSuffix(s, "blob") || s == "json"
	}
	geo := func(s string) bool {
		return strings.HasPrefix(s, "geom") || strings.HasPrefix(s, "multi") || s == "point" || s == "linestring" || s == "polygon"
	}
	str := func(s string) bool { return strings.HasSuffix(s, "char") || strings.HasSuffix(s, "binary") }
	net := b == "uuid" || b == "inet6" || b == "inet4"
	return text(a) && text(b) && m.Type != typeJSON && (b != "json" || m.Type == typeLongBlob || m.Type == typeBlob) || geo(a) && geo(b) || str(a) && (str(b) || net)
}

// column makes a Column of what the map says.
func (m *MapColumn) column() (Column, error) {
	c := Column{Name: m.Name, DataType: m.dataType(), Nullable: m.Nullable, Unsigned: m.Unsigned, Elements: m.Elements, Invisible: m.Invisible}
	if c.DataType == "" {
		return c, fmt.Errorf("column %s has type code %d in the log, which is not known: %w", m.Name, m.Type, cdc.ErrRefused)
	}
	c.ColumnType = c.DataType
	if m.Collation != 0 && m.Collation != 63 {
		c.Charset = CollationCharset(m.Collation)
	}
	switch m.Type {
	case typeNewDecimal:
		c.Precision, c.Scale = int(m.Meta>>8), int(m.Meta&0xff)
		c.ColumnType = fmt.Sprintf("decimal(%d,%d)", c.Precision, c.Scale)
	case typeDatetime2, typeTimestamp2, typeTime2:
		c.Fsp = int(m.Meta)
	case typeBit:
		c.Length = int(m.Meta)
	case typeVarchar, typeVarString, typeString:
		// The map counts bytes; a character takes at most four of them.
		c.Length = int(m.Meta)
		if c.DataType == "char" || c.DataType == "varchar" {
			c.Length = max(1, c.Length/bytesPerChar(c.Charset))
		}
	case typeVector:
		c.Length = m.Dimensions
	}
	switch {
	case m.isList():
		c.Elements = decodeElements(m.Elements, c.Charset)
		c.ColumnType = c.DataType + "(" + quoteElements(c.Elements) + ")"
	case c.Length > 0:
		c.ColumnType = fmt.Sprintf("%s(%d)", c.DataType, c.Length)
	case c.Fsp > 0:
		c.ColumnType = fmt.Sprintf("%s(%d)", c.DataType, c.Fsp)
	}
	if c.Unsigned {
		c.ColumnType += " unsigned"
	}
	return c, nil
}

// decodeElements turns the members of a list, as the log has them, into UTF-8.
func decodeElements(raw []string, charset string) []string {
	cs := charsetByName(charset)
	if cs == nil {
		cs = charsetUTF8
	}
	out := make([]string, len(raw))
	for i, e := range raw {
		b, _ := cs.decode(nil, []byte(e))
		out[i] = string(b)
	}
	return out
}

// quoteElements writes members as column_type does; splitElements reads them.
func quoteElements(list []string) string {
	quoted := make([]string, len(list))
	for i, e := range list {
		quoted[i] = "'" + strings.NewReplacer("'", "''", "\\", "\\\\", "\x00", "\\0", "\n", "\\n", "\r", "\\r").Replace(e) + "'"
	}
	return strings.Join(quoted, ",")
}

// bytesPerChar is the server's mbmaxlen.
func bytesPerChar(charset string) int {
	switch charset {
	case "utf8mb4", "utf16", "utf16le", "utf32", "gb18030":
		return 4
	case "utf8", "utf8mb3", "ujis", "eucjpms":
		return 3
	case "ucs2", "gbk", "gb2312", "big5", "sjis", "cp932", "euckr":
		return 2
	}
	return 1
}
