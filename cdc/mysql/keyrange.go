package mysql

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// KeyValue is a value of a key column as an SQL literal that the server compares in the column's own order: a number, a
// quoted date, or a hex string with its character set. Strings are never compared on our side.
type KeyValue string

// literalText is all that a KeyValue may be; what is read back from a saved position is held against it.
var literalText = regexp.MustCompile(`^(-?[0-9]+(\.[0-9]+)?|(_[a-z0-9]+ )?0x[0-9A-F]+|'[-0-9:. ]*'|_[a-z0-9]+ '')$`)

func (v KeyValue) check() error {
	if !literalText.MatchString(string(v)) {
		return fmt.Errorf("the saved position has %q, which is no key value", string(v))
	}
	return nil
}

// walkable reports whether rows can be read in the order of this key column page by page. Columns whose literals compare
// otherwise than they sort (ENUM, SET, BIT) or not exactly (FLOAT, DOUBLE) can't.
func walkable(c *Column) bool {
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year", "decimal", "date", "datetime", "timestamp", "time",
		"char", "varchar", "binary", "varbinary":
		return true
	}
	return c.isCharacter()
}

// literal makes a KeyValue of a cell.
func literal(c *Column, v cell) (KeyValue, error) {
	if v.null {
		return "", fmt.Errorf("key column %s is NULL in a row", c.Name)
	}
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		var b [8]byte
		copy(b[:], v.data)
		n := binary.LittleEndian.Uint64(b[:])
		if c.Unsigned || c.DataType == "year" {
			return KeyValue(fmt.Sprint(n)), nil
		}
		shift := 64 - 8*len(v.data)
		return KeyValue(fmt.Sprint(int64(n<<shift) >> shift)), nil
	case "decimal":
		return KeyValue(v.data), nil
	case "date", "datetime", "timestamp":
		return dateLiteral(c, v.data)
	case "time":
		return timeLiteral(v.data)
	}
	cs := c.Charset
	switch {
	case c.DataType == "binary", c.DataType == "varbinary":
		cs = "binary"
	case cs == "":
		cs = "utf8mb4"
	}
	if len(v.data) == 0 { // 0x alone is a name
		return KeyValue("_" + cs + " ''"), nil
	}
	return KeyValue("_" + cs + " 0x" + strings.ToUpper(hex.EncodeToString(v.data))), nil
}

func dateLiteral(c *Column, b []byte) (KeyValue, error) {
	var year, month, day, h, m, s, us uint32
	if len(b) >= 4 {
		year, month, day = uint32(binary.LittleEndian.Uint16(b)), uint32(b[2]), uint32(b[3])
	}
	if len(b) >= 7 {
		h, m, s = uint32(b[4]), uint32(b[5]), uint32(b[6])
	}
	if len(b) >= 11 {
		us = binary.LittleEndian.Uint32(b[7:])
	}
	if c.DataType == "date" {
		return KeyValue(fmt.Sprintf("'%04d-%02d-%02d'", year, month, day)), nil
	}
	return KeyValue(fmt.Sprintf("'%04d-%02d-%02d %02d:%02d:%02d.%06d'", year, month, day, h, m, s, us)), nil
}

func timeLiteral(b []byte) (KeyValue, error) {
	sign, hours, m, s, us := "", uint32(0), uint32(0), uint32(0), uint32(0)
	if len(b) >= 8 {
		if b[0] == 1 {
			sign = "-"
		}
		hours, m, s = binary.LittleEndian.Uint32(b[1:])*24+uint32(b[5]), uint32(b[6]), uint32(b[7])
	}
	if len(b) >= 12 {
		us = binary.LittleEndian.Uint32(b[8:])
	}
	return KeyValue(fmt.Sprintf("'%s%02d:%02d:%02d.%06d'", sign, hours, m, s, us)), nil
}

// where is the condition for the rows of the range, "" for all. A bound may have fewer values than the key has columns.
// The form (a > x OR (a = x AND b > y)), with a plain bound on a in front, is what every optimizer turns into a range scan.
func (r Range) where(key []string) string {
	var conds []string
	if len(r.After) > 0 {
		conds = append(conds, tupleCompare(key, r.After, ">", ">"))
	}
	if len(r.To) > 0 {
		conds = append(conds, tupleCompare(key, r.To, "<", "<="))
	}
	return strings.Join(conds, " AND ")
}

// tupleCompare compares the first len(v) key columns with v: strict on all but the last, last on that.
func tupleCompare(key []string, v []KeyValue, strict, last string) string {
	n := len(v)
	if n == 1 {
		return fmt.Sprintf("%s %s %s", quoteName(key[0]), last, v[0])
	}
	var alts []string
	for i := range n {
		var and []string
		for k := range i {
			and = append(and, fmt.Sprintf("%s = %s", quoteName(key[k]), v[k]))
		}
		op := strict
		if i == n-1 {
			op = last
		}
		and = append(and, fmt.Sprintf("%s %s %s", quoteName(key[i]), op, v[i]))
		alts = append(alts, "("+strings.Join(and, " AND ")+")")
	}
	return fmt.Sprintf("%s %s= %s AND (%s)", quoteName(key[0]), strict, v[0], strings.Join(alts, " OR "))
}

// midpoint guesses a literal between two of the same column; false when there is no sensible guess. A poor guess costs
// time, never a row: the server turns it into a real key.
func midpoint(c *Column, lo, hi KeyValue) (KeyValue, bool) {
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		a, ok1 := new(big.Int).SetString(string(lo), 10)
		b, ok2 := new(big.Int).SetString(string(hi), 10)
		if !ok1 || !ok2 {
			return "", false
		}
		m := a.Add(a, b)
		m.Rsh(m, 1)
		return KeyValue(m.String()), m.Cmp(b) < 0
	case "char", "varchar", "binary", "varbinary":
		switch c.Charset {
		case "", "binary", "utf8mb4", "utf8mb3", "utf8", "latin1", "ascii":
			return bytesMidpoint(lo, hi)
		}
	}
	return "", false
}

// bytesMidpoint takes the common prefix of two hex literals and the mean of the bytes after it, kept to ASCII letters,
// digits and signs where both are, so that it is text in every character set.
func bytesMidpoint(lo, hi KeyValue) (KeyValue, bool) {
	head, a, ok := cutHex(lo)
	_, b, ok2 := cutHex(hi)
	if !ok || !ok2 {
		return "", false
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && a[n]&0xC0 == 0x80 { // no part of a character, which the server refuses
		n--
	}
	at := func(s []byte, i int) int {
		if i < len(s) {
			return int(s[i])
		}
		return 0x20
	}
	mid := append([]byte(nil), a[:n]...)
	mean := (at(a, n)*256 + at(a, n+1) + at(b, n)*256 + at(b, n+1)) / 2
	ascii := !strings.HasPrefix(head, "_binary")
	for _, v := range []int{mean >> 8, mean & 255} {
		if ascii {
			v = min(max(v, 0x20), 0x7E)
		}
		mid = append(mid, byte(v))
	}
	return KeyValue(head + "0x" + strings.ToUpper(hex.EncodeToString(mid))), true
}

func cutHex(v KeyValue) (head string, b []byte, ok bool) {
	head, digits, ok := strings.Cut(string(v), "0x")
	if !ok {
		return "", nil, false
	}
	b, err := hex.DecodeString(digits)
	return head, b, err == nil
}
