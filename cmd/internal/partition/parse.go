package partition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// token is a piece of a condition.
type token struct {
	kind byte // 'w' word, 'q' quoted name, 's' text, 'n' number, 'o' operator or bracket, 0 the end
	text string
	at   int
}

func (t token) String() string {
	if t.kind == 0 {
		return "the end"
	}
	return fmt.Sprintf("%q at character %d", t.text, t.at+1)
}

// is tells whether the token is the operator or, in any case, the word.
func (t token) is(text string) bool {
	return t.kind == 'o' && t.text == text || t.kind == 'w' && strings.EqualFold(t.text, text)
}

// maxDepth bounds the nesting of a condition.
const maxDepth = 200

type parser struct {
	schema *table.Schema
	tokens []token
	depth  int
}

func parse(s *table.Schema, text string) (node, error) {
	tokens, err := split(text)
	if err != nil {
		return nil, err
	}
	p := &parser{schema: s, tokens: tokens}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.peek().kind != 0 {
		return nil, fmt.Errorf("%s: expected AND, OR or the end", p.peek())
	}
	return n, nil
}

// split takes a text apart. The last token is the end.
func split(s string) ([]token, error) {
	var out []token
	letter := func(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for i := 0; i < len(s); {
		from, c := i, s[i]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
			continue
		case c == '\'' || c == '"' || c == '`':
			text, n := quoted(s[i:])
			if n == 0 {
				return nil, fmt.Errorf("the quote at character %d has no end", i+1)
			}
			kind := byte('s')
			if c == '`' {
				kind = 'q'
			}
			out = append(out, token{kind, text, from})
			i += n
			continue
		case letter(c):
			for i < len(s) && (letter(s[i]) || digit(s[i])) {
				i++
			}
			out = append(out, token{'w', s[from:i], from})
			continue
		case digit(c), c == '-' && i+1 < len(s) && digit(s[i+1]):
			for i++; i < len(s) && (digit(s[i]) || s[i] == '.'); i++ {
			}
			out = append(out, token{'n', s[from:i], from})
			continue
		}
		op := s[i : i+1]
		if i+1 < len(s) && slices.Contains([]string{"!=", "<>", "<=", ">=", "=="}, s[i:i+2]) {
			op = s[i : i+2]
		} else if !strings.Contains("=<>(),", op) {
			return nil, fmt.Errorf("%q at character %d is not understood", op, i+1)
		}
		out = append(out, token{'o', op, from})
		i += len(op)
	}
	return append(out, token{at: len(s)}), nil
}

// quoted reads a text in quotes at the start of s, and its length there; 0 when the end is missing.
func quoted(s string) (string, int) {
	q := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != q:
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == q:
			b.WriteByte(q)
			i++
		default:
			return b.String(), i + 1
		}
	}
	return "", 0
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) accept(text string) bool {
	if !p.peek().is(text) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return fmt.Errorf("%s: expected %s", p.peek(), text)
	}
	return nil
}

func (p *parser) or() (node, error) {
	n, err := p.and()
	any := anyOf{n}
	for err == nil && p.accept("or") {
		n, err = p.and()
		any = append(any, n)
	}
	return any, err
}

func (p *parser) and() (node, error) {
	n, err := p.not()
	all := allOf{n}
	for err == nil && p.accept("and") {
		n, err = p.not()
		all = append(all, n)
	}
	return all, err
}

func (p *parser) not() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels of brackets and NOT", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.accept("not"):
		n, err := p.not()
		return not{n}, err
	case p.accept("("):
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	}
	return p.predicate()
}

// comparisons are the operators with the signs for which they hold; mirrored is what stands for them when the sides change.
var comparisons = map[string]struct {
	less, eq, gtr bool
	mirrored      string
}{
	"=": {eq: true, mirrored: "="}, "==": {eq: true, mirrored: "="}, "!=": {less: true, gtr: true, mirrored: "!="}, "<>": {less: true, gtr: true, mirrored: "!="},
	"<": {less: true, mirrored: ">"}, "<=": {less: true, eq: true, mirrored: ">="}, ">": {gtr: true, mirrored: "<"}, ">=": {eq: true, gtr: true, mirrored: "<="},
}

func (p *parser) predicate() (node, error) {
	first := p.peek()
	if first.kind == 's' || first.kind == 'n' || p.typed() {
		lit, err := p.literalToken()
		if err != nil {
			return nil, err
		}
		op := p.next()
		mirrored, ok := comparisons[op.text]
		if !ok || op.kind != 'o' {
			return nil, fmt.Errorf("%s: expected a comparison", op)
		}
		i, t, err := p.column()
		if err != nil {
			return nil, err
		}
		return comparison(i, t, mirrored.mirrored, lit)
	}
	i, t, err := p.column()
	if err != nil {
		return nil, err
	}
	return p.rest(i, t)
}

// rest reads what is said of column i of type t.
func (p *parser) rest(i int, t *row.Type) (node, error) {
	op := p.next()
	if _, ok := comparisons[op.text]; ok && op.kind == 'o' {
		lit, err := p.literalToken()
		if err != nil {
			return nil, err
		}
		return comparison(i, t, op.text, lit)
	}
	if op.is("is") {
		negated := p.accept("not")
		if err := p.expect("null"); err != nil {
			return nil, err
		}
		return negate(isNull{i}, negated), nil
	}
	negated := op.is("not")
	if negated {
		op = p.next()
	}
	switch {
	case op.is("in"):
		n, err := p.list(i, t)
		return negate(n, negated), err
	case op.is("between"):
		n, err := p.between(i, t)
		return negate(n, negated), err
	}
	return nil, fmt.Errorf("%s: expected a comparison, IN, BETWEEN or IS NULL", op)
}

func negate(n node, negated bool) node {
	if negated {
		return not{n}
	}
	return n
}

func (p *parser) list(i int, t *row.Type) (node, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var any anyOf
	for {
		lit, err := p.literalToken()
		if err != nil {
			return nil, err
		}
		n, err := comparison(i, t, "=", lit)
		if err != nil {
			return nil, err
		}
		if any = append(any, n); !p.accept(",") {
			return any, p.expect(")")
		}
	}
}

func (p *parser) between(i int, t *row.Type) (node, error) {
	var all allOf
	for _, op := range []string{">=", "<="} {
		lit, err := p.literalToken()
		if err != nil {
			return nil, err
		}
		n, err := comparison(i, t, op, lit)
		if err != nil {
			return nil, err
		}
		if all = append(all, n); op == ">=" {
			if err := p.expect("and"); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func comparison(i int, t *row.Type, op string, lit token) (node, error) {
	if lit.kind == 'n' && (t.Root == row.Char || t.Root == row.VarChar) {
		return nil, fmt.Errorf("%s is compared with a column of text: put it in quotes", lit)
	}
	v, err := literal(t, lit.text)
	if err != nil {
		return nil, fmt.Errorf("at character %d: %w", lit.at+1, err)
	}
	c := comparisons[op]
	return compare{column: i, value: v, less: c.less, eq: c.eq, gtr: c.gtr}, nil
}

// typed tells whether a literal such as DATE '2024-01-01' or TRUE comes, rather than a column of that name.
func (p *parser) typed() bool {
	t := p.peek()
	if t.is("true") || t.is("false") {
		return true
	}
	return (t.is("date") || t.is("timestamp")) && p.tokens[1].kind == 's'
}

func (p *parser) literalToken() (token, error) {
	if p.typed() {
		if t := p.next(); t.is("true") || t.is("false") {
			return t, nil
		}
	}
	t := p.next()
	if t.kind != 's' && t.kind != 'n' {
		return t, fmt.Errorf("%s: expected a text in quotes or a number", t)
	}
	return t, nil
}

// column reads the name of a partition column, and gives its place among the partition keys and its type.
func (p *parser) column() (int, *row.Type, error) {
	t := p.next()
	if t.kind != 'w' && t.kind != 'q' {
		return 0, nil, fmt.Errorf("%s: expected a column", t)
	}
	keys := p.schema.PartitionKeys
	i := slices.Index(keys, t.text)
	if i < 0 && t.kind == 'w' {
		i = slices.IndexFunc(keys, func(k string) bool { return strings.EqualFold(k, t.text) })
	}
	if i < 0 {
		return 0, nil, fmt.Errorf("%s is not a partition column, those are %v", t, keys)
	}
	return i, &p.schema.Fields[p.schema.PartitionIndexes()[i]].Type, nil
}
