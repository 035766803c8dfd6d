package row

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// ParseType parses a type as Java's DataTypeJsonParser does: keywords in any case, free spacing, synonyms such as INTEGER,
// NUMERIC, DOUBLE PRECISION and TIMESTAMP_LTZ(3), an optional NULL or NOT NULL. Beyond Java it takes the SQL form of
// nested types that String writes, "MAP<STRING, ARRAY<INT>>"; fields of such a ROW have the id -1.
func ParseType(s string) (Type, error) {
	p := typeParser{s: s}
	t, err := p.parse()
	if err == nil && p.next() != "" {
		err = fmt.Errorf("unexpected %q", p.tok)
	}
	if err == nil {
		err = t.Validate()
	}
	if err != nil {
		return Type{}, fmt.Errorf("parsing type %q: %w", s, err)
	}
	return t, nil
}

// maxTypeDepth bounds the nesting of a parsed type, so that no text makes the parser overflow the stack.
const maxTypeDepth = 100

var errTypeDepth = errors.New("type is nested too deep")

type typeParser struct {
	s     string
	pos   int
	tok   string // the last token: upper-case word, number, or one of "<>(),"; "`x" and "'x" are quoted ones
	depth int
}

// next reads a token; "" at the end.
func (p *typeParser) next() string {
	for p.pos < len(p.s) && unicode.IsSpace(rune(p.s[p.pos])) {
		p.pos++
	}
	if p.pos == len(p.s) {
		p.tok = ""
		return ""
	}
	start := p.pos
	switch c := p.s[start]; c {
	case '<', '>', '(', ')', ',':
		p.pos++
		p.tok = p.s[start:p.pos]
	case '`', '\'':
		var b strings.Builder
		b.WriteByte(c)
		for p.pos++; p.pos < len(p.s); p.pos++ {
			if p.s[p.pos] == c {
				if p.pos+1 == len(p.s) || p.s[p.pos+1] != c {
					p.pos++
					break
				}
				p.pos++
			}
			b.WriteByte(p.s[p.pos])
		}
		p.tok = b.String()
	default:
		for p.pos < len(p.s) && !strings.ContainsRune("<>(),", rune(p.s[p.pos])) && !unicode.IsSpace(rune(p.s[p.pos])) {
			p.pos++
		}
		p.tok = strings.ToUpper(p.s[start:p.pos])
	}
	return p.tok
}

// accept consumes these tokens when all of them follow.
func (p *typeParser) accept(toks ...string) bool {
	pos := p.pos
	for _, t := range toks {
		if p.next() != t {
			p.pos = pos
			return false
		}
	}
	return true
}

func (p *typeParser) expect(toks ...string) error {
	for _, t := range toks {
		if p.next() != t {
			return fmt.Errorf("expected %q, got %q", t, p.tok)
		}
	}
	return nil
}

func (p *typeParser) nullable() bool {
	if p.accept("NOT", "NULL") {
		return false
	}
	p.accept("NULL")
	return true
}

func (p *typeParser) parse() (Type, error) {
	if p.depth++; p.depth > maxTypeDepth {
		return Type{}, errTypeDepth
	}
	defer func() { p.depth-- }()
	t, err := p.base()
	if err != nil {
		return t, err
	}
	t.Nullable = p.nullable()
	elem := t
	switch {
	case p.accept("ARRAY"):
		t = Type{Root: Array, Elem: &elem, Nullable: p.nullable()}
	case p.accept("MULTISET"):
		t = Type{Root: Multiset, Elem: &elem, Nullable: p.nullable()}
	}
	return t, nil
}

// params parses an optional "(n)" or "(n, m)" into dst, which holds the defaults.
func (p *typeParser) params(dst ...*int) error {
	if !p.accept("(") {
		return nil
	}
	for i, d := range dst {
		if i > 0 && !p.accept(",") {
			break
		}
		n, err := strconv.ParseInt(p.next(), 10, 32)
		if err != nil {
			return fmt.Errorf("expected a number, got %q", p.tok)
		}
		*d = int(n)
	}
	return p.expect(")")
}

// base parses a type without its nullability.
func (p *typeParser) base() (t Type, err error) {
	word := p.next()
	switch word {
	case "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DATE":
		for r, name := range rootNames {
			if name == word {
				t.Root = Root(r)
			}
		}
	case "INTEGER":
		t.Root = Int
	case "DOUBLE":
		t.Root = Double
		p.accept("PRECISION")
	case "STRING":
		t.Root, t.Length = VarChar, MaxLength
	case "BYTES":
		t.Root, t.Length = VarBinary, MaxLength
	case "CHAR", "VARCHAR", "BINARY", "VARBINARY":
		t.Root = map[string]Root{"CHAR": Char, "VARCHAR": VarChar, "BINARY": Binary, "VARBINARY": VarBinary}[word]
		t.Length = 1
		err = p.params(&t.Length)
	case "DECIMAL", "NUMERIC", "DEC":
		t.Root, t.Precision = Decimal, 10
		err = p.params(&t.Precision, &t.Scale)
	case "TIME":
		t.Root = Time
		if err = p.params(&t.Precision); err == nil && p.accept("WITHOUT") {
			err = p.expect("TIME", "ZONE")
		}
	case "TIMESTAMP":
		t.Root, t.Precision = Timestamp, 6
		if err = p.params(&t.Precision); err != nil {
			return t, err
		}
		if p.accept("WITHOUT") {
			err = p.expect("TIME", "ZONE")
		} else if p.accept("WITH") {
			t.Root = TimestampLTZ
			err = p.expect("LOCAL", "TIME", "ZONE")
		}
	case "TIMESTAMP_LTZ":
		t.Root, t.Precision = TimestampLTZ, 6
		err = p.params(&t.Precision)
	case "ARRAY", "MULTISET", "MAP":
		t.Root = map[string]Root{"ARRAY": Array, "MULTISET": Multiset, "MAP": Map}[word]
		if err = p.expect("<"); err != nil {
			return t, err
		}
		var elem Type
		if elem, err = p.parse(); err != nil {
			return t, err
		}
		t.Elem = &elem
		if t.Root == Map {
			if err = p.expect(","); err != nil {
				return t, err
			}
			var value Type
			if value, err = p.parse(); err != nil {
				return t, err
			}
			t.Key, t.Elem = &elem, &value
		}
		err = p.expect(">")
	case "ROW":
		t.Root = Row
		t.Fields, err = p.fields()
	case "":
		err = errors.New("unexpected end")
	default:
		err = fmt.Errorf("type %s is not supported", word)
	}
	return t, err
}

// fields parses "<`name` TYPE COMMENT 'text', ...>".
func (p *typeParser) fields() ([]Field, error) {
	if err := p.expect("<"); err != nil {
		return nil, err
	}
	var fs []Field
	if p.accept(">") {
		return fs, nil
	}
	for {
		f := Field{ID: -1}
		start := p.pos
		if name := p.next(); strings.HasPrefix(name, "`") {
			f.Name = name[1:]
		} else {
			f.Name = strings.TrimSpace(p.s[start:p.pos]) // as it is written, not in upper case
		}
		var err error
		if f.Type, err = p.parse(); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if p.accept("COMMENT") {
			f.Comment = strings.TrimPrefix(p.next(), "'")
		}
		fs = append(fs, f)
		if p.accept(">") {
			return fs, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}
