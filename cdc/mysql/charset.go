package mysql

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
	"unicode/utf8"
)

// charset turns text of one MySQL character set into UTF-8. MySQL's own tables count, which differ from others of the
// same name in places (its latin1 is cp1252 with the five holes filled); they were read from a server, see
// charset_tables_test.go.
type charset struct {
	name string
	// mbmax is the most bytes of a character.
	mbmax int
	kind  charsetKind
	once  *sync.Once
	t     *charsetTable
}

type charsetKind uint8

const (
	kindUTF8  charsetKind = iota
	kindUCS2              // big-endian units, no surrogates
	kindUTF16             // big-endian
	kindUTF16LE
	kindUTF32
	kindTable
)

var (
	charsetUTF8   = &charset{name: "utf8mb4", mbmax: 4}
	charsetBinary = &charset{name: "binary", mbmax: 1}
)

var charsets = func() map[string]*charset {
	m := map[string]*charset{
		"utf8mb4": charsetUTF8, "utf8mb3": charsetUTF8, "utf8": charsetUTF8, "binary": charsetBinary,
		"ucs2":    {name: "ucs2", mbmax: 2, kind: kindUCS2},
		"utf16":   {name: "utf16", mbmax: 4, kind: kindUTF16},
		"utf16le": {name: "utf16le", mbmax: 4, kind: kindUTF16LE},
		"utf32":   {name: "utf32", mbmax: 4, kind: kindUTF32},
	}
	for name, mbmax := range tableCharsets {
		m[name] = &charset{name: name, mbmax: mbmax, kind: kindTable, once: new(sync.Once)}
	}
	return m
}()

// tableCharsets are the character sets that charset_tables.gz has, with the most bytes of a character.
var tableCharsets = map[string]int{
	"armscii8": 1, "ascii": 1, "cp1250": 1, "cp1251": 1, "cp1256": 1, "cp1257": 1, "cp850": 1, "cp852": 1, "cp866": 1,
	"dec8": 1, "geostd8": 1, "greek": 1, "hebrew": 1, "hp8": 1, "keybcs2": 1, "koi8r": 1, "koi8u": 1, "latin1": 1,
	"latin2": 1, "latin5": 1, "latin7": 1, "macce": 1, "macroman": 1, "swe7": 1, "tis620": 1,
	"big5": 2, "cp932": 2, "euckr": 2, "gb2312": 2, "gbk": 2, "sjis": 2,
	"eucjpms": 3, "ujis": 3, "gb18030": 4,
}

// charsetByName returns nil when the character set is not known.
func charsetByName(name string) *charset { return charsets[name] }

// decode appends the text v in UTF-8 and returns how many invalid bytes or sequences became U+FFFD.
func (c *charset) decode(dst, v []byte) ([]byte, int) {
	switch c.kind {
	case kindUTF8:
		return decodeUTF8(dst, v)
	case kindTable:
		return c.table().decode(dst, v)
	}
	return c.decodeWide(dst, v)
}

func decodeUTF8(dst, v []byte) ([]byte, int) {
	if utf8.Valid(v) {
		return append(dst, v...), 0
	}
	bad := 0
	for len(v) > 0 {
		r, n := utf8.DecodeRune(v)
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		dst = utf8.AppendRune(dst, r)
		v = v[n:]
	}
	return dst, bad
}

// decodeWide reads the character sets made of 2 or 4 byte units.
func (c *charset) decodeWide(dst, v []byte) ([]byte, int) {
	bad := 0
	unit := func(i int) rune {
		if c.kind == kindUTF16LE {
			return rune(le.Uint16(v[i:]))
		}
		return rune(binary.BigEndian.Uint16(v[i:]))
	}
	for len(v) > 0 {
		r, n := rune(-1), 2
		switch {
		case c.kind == kindUTF32:
			if n = 4; len(v) >= 4 {
				r = rune(binary.BigEndian.Uint32(v))
			}
		case len(v) < 2:
		default:
			r = unit(0)
			if c.kind != kindUCS2 && r>>10 == 0xd800>>10 && len(v) >= 4 {
				if low := unit(2); low>>10 == 0xdc00>>10 {
					r, n = (r-0xd800)<<10+low-0xdc00+0x10000, 4
				}
			}
		}
		var b int
		dst, b = appendRune(dst, r)
		bad += b
		v = v[min(n, len(v)):]
	}
	return dst, bad
}

// charsetTable are the characters of 1, 2, 3 (those after 0x8F) and 4 bytes. 0 is no character, except for NUL itself.
type charsetTable struct {
	single [256]uint16
	double []uint16 // lead<<8 | trail
	triple []uint16 // of the second and third byte
	quad   []uint16 // linear index from 81308130
}

func (t *charsetTable) decode(dst, v []byte) ([]byte, int) {
	bad := 0
	for i := 0; i < len(v); {
		b := v[i]
		if b < 0x80 && t.single[b] == uint16(b) {
			dst = append(dst, b)
			i++
			continue
		}
		r, n := t.char(v[i:])
		if r == 0 {
			r = utf8.RuneError
			bad++
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst, bad
}

// char returns the character at the front of v, 0 when there is none, and how many bytes to pass over.
func (t *charsetTable) char(v []byte) (rune, int) {
	b := v[0]
	if r := t.single[b]; r != 0 || b == 0 {
		return rune(r), 1
	}
	if len(v) > 1 && t.double != nil {
		if r := t.double[int(b)<<8|int(v[1])]; r != 0 {
			return rune(r), 2
		}
	}
	if len(v) > 2 && t.triple != nil && b == 0x8f {
		if r := t.triple[int(v[1])<<8|int(v[2])]; r != 0 {
			return rune(r), 3
		}
	}
	if len(v) > 3 && t.quad != nil && b >= 0x81 && v[1] >= 0x30 && v[1] <= 0x39 && v[2] >= 0x81 && v[3] >= 0x30 && v[3] <= 0x39 {
		return t.quadChar(gb18030Index(v)), 4
	}
	// An unassigned pair is one invalid character when its second byte could not start another one.
	if len(v) > 1 && t.double != nil && v[1] >= 0x80 {
		return 0, 2
	}
	return 0, 1
}

func gb18030Index(v []byte) int {
	return ((int(v[0])-0x81)*10+int(v[1])-0x30)*1260 + (int(v[2])-0x81)*10 + int(v[3]) - 0x30
}

// gb18030Planes is the linear index of 90308130, the first character past the BMP.
const gb18030Planes = 189000

func (t *charsetTable) quadChar(i int) rune {
	switch {
	case i < len(t.quad):
		return rune(t.quad[i])
	case i >= gb18030Planes && i < gb18030Planes+0x100000:
		return rune(i - gb18030Planes + 0x10000)
	}
	return 0
}

//go:embed charset_tables.gz
var charsetTablesGz []byte

// charsetTables reads the embedded file once: for each character set its name and its tables, each a uvarint of the
// length, 0 when there is none, and the zigzag differences of each entry to the one before plus 1.
var charsetTables = sync.OnceValue(func() map[string]*charsetTable {
	z, err := gzip.NewReader(bytes.NewReader(charsetTablesGz))
	if err != nil {
		panic(err) // the file is part of the program
	}
	b, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	m := map[string]*charsetTable{}
	for len(b) > 0 {
		n := int(b[0])
		name := string(b[1 : 1+n])
		b = b[1+n:]
		t := &charsetTable{}
		var single []uint16
		single, b = readDeltas(b)
		copy(t.single[:], single)
		t.double, b = readDeltas(b)
		t.triple, b = readDeltas(b)
		t.quad, b = readDeltas(b)
		m[name] = t
	}
	return m
})

func readDeltas(b []byte) ([]uint16, []byte) {
	n, k := binary.Uvarint(b)
	b = b[k:]
	if n == 0 {
		return nil, b
	}
	list := make([]uint16, n)
	last := int64(-1)
	for i := range list {
		delta, k := binary.Varint(b)
		b = b[k:]
		last += 1 + delta
		list[i] = uint16(last)
	}
	return list, b
}

func (c *charset) table() *charsetTable {
	c.once.Do(func() { c.t = charsetTables()[c.name] })
	return c.t
}
