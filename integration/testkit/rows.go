//go:build integration

package testkit

import (
	"encoding/base64"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// Rows returns a table's rows in the oracle's form, without "_kind", sorted: what Paimon must give. It knows nothing of the
// sink's own code: it is a plain SELECT by the binary protocol. TIME values must lie within a day; zero dates come as null.
func (d *DB) Rows(table string) []string {
	d.t.Helper()
	return d.Session().rows(d.Name, table)
}

type column struct {
	name, kind, full string
	unsigned         bool
}

func (c *Conn) rows(db, table string) []string {
	r := c.Exec("SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='" + db +
		"' AND TABLE_NAME='" + table + "' AND EXTRA NOT LIKE '%INVISIBLE%' ORDER BY ORDINAL_POSITION")
	var cols []column
	var list []string
	for i := range r.Values {
		var k column
		k.name, _ = r.GetString(i, 0)
		k.kind, _ = r.GetString(i, 1)
		k.full, _ = r.GetString(i, 2)
		k.unsigned = strings.Contains(k.full, "unsigned")
		cols = append(cols, k)
		list = append(list, "`"+k.name+"`")
	}
	require.NotEmpty(c.t, cols, "no table %s.%s", db, table)
	r = c.Exec("SELECT "+strings.Join(list, ",")+" FROM `"+db+"`.`"+table+"` WHERE 1=?", 1)
	out := make([]string, len(r.Values))
	var b []byte
	for i := range r.Values {
		b = append(b[:0], '{')
		for j := range cols {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendText(b, cols[j].name)
			b = append(b, ':')
			b = appendCell(b, &cols[j], r.Values[i][j].Value())
		}
		out[i] = string(append(b, '}'))
	}
	sort.Strings(out)
	return out
}

func appendCell(b []byte, c *column, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		if c.full == "tinyint(1)" {
			return strconv.AppendBool(b, x != 0)
		}
		return strconv.AppendInt(b, x, 10)
	case uint64:
		if c.kind == "bigint" {
			return fmt.Appendf(b, `"%d"`, x)
		}
		return strconv.AppendUint(b, x, 10)
	case float64:
		if c.kind == "float" {
			return appendFloat(b, x, 32)
		}
		return appendFloat(b, x, 64)
	case []byte:
		return appendBytes(b, c, x)
	}
	panic(fmt.Sprintf("column %s: a %T", c.name, v))
}

func appendBytes(b []byte, c *column, v []byte) []byte {
	switch c.kind {
	case "date", "datetime", "timestamp":
		s := string(v)
		if strings.Contains(s[:10], "-00") || strings.HasPrefix(s, "0000-00") {
			return append(b, "null"...)
		}
		if c.kind == "date" {
			return appendText(b, s)
		}
		date, clock, _ := strings.Cut(s, " ")
		if clock == "" {
			clock = "00:00:00"
		}
		whole, frac, _ := strings.Cut(clock, ".")
		return fmt.Appendf(b, `"%sT%s.%s"`, date, whole, (frac + "000000000")[:9])
	case "time":
		whole, frac, _ := strings.Cut(string(v), ".")
		return fmt.Appendf(b, `"%s.%s"`, whole, (frac + "000")[:3])
	case "set":
		b = append(b, '[')
		if len(v) > 0 {
			for i, m := range strings.Split(string(v), ",") {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendText(b, m)
			}
		}
		return append(b, ']')
	case "bit":
		if c.full == "bit(1)" {
			return strconv.AppendBool(b, v[0] != 0)
		}
		return appendBase64(b, v)
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return appendBase64(b, v)
	}
	return appendText(b, string(v))
}

func appendBase64(b, v []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), v), '"')
}

// appendFloat writes what encoding/json does.
func appendFloat(b []byte, f float64, bits int) []byte {
	format, abs := byte('f'), math.Abs(f)
	if abs != 0 && (bits == 64 && (abs < 1e-6 || abs >= 1e21) || bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, bits)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// appendText writes a string as the oracle does: only quotes, backslashes and control characters are escaped.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
