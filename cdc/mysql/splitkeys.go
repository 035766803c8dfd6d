package mysql

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/paimon-go/paimon-go/cdc"
)

// span is a run of the key space between two real keys: the rows that have prefix in the key's first columns, and in the
// next one a value above lo (or lo itself) up to hi. Spans lie in the order of the key.
type span struct {
	prefix []KeyValue
	lo, hi KeyValue
	withLo bool
	to     []KeyValue // where the span ends, inclusive; nil: with the table
	rows   int64      // the server's guess
	whole  bool       // can't be split
}

// splitter splits the key space of a table for parallel reading. The server chooses the points and compares them, so that
// strings are compared as it does. A point that is chosen badly costs time, never a row: whatever the points are, each key is
// above all before some point and not above it.
type splitter struct {
	c    *client.Conn
	t    *TableInfo
	key  []string
	from string // FROM clause
}

// planRanges returns ranges of the key that can be read side by side.
func planRanges(c *client.Conn, cfg *Config, t *TableInfo, key []string) ([]Range, error) {
	if cfg.Readers < 2 || t.RowsEstimate < 4*int64(cfg.ChunkRows) {
		return []Range{{}}, nil
	}
	p := &splitter{c: c, t: t, key: key, from: fmt.Sprintf("FROM %s.%s", quoteName(t.Database), quoteName(t.Name))}
	if slices.Equal(key, t.PrimaryKey) {
		p.from += " FORCE INDEX (PRIMARY)"
	}
	all, err := p.bounds(nil)
	if err != nil || all == nil {
		return []Range{{}}, err
	}
	all.rows = t.RowsEstimate
	spans := []span{*all}
	for want := 8 * cfg.Readers; len(spans) < want; {
		big := -1
		for i := range spans {
			if s := &spans[i]; !s.whole && s.rows >= 2*int64(cfg.ChunkRows) && (big < 0 || s.rows > spans[big].rows) {
				big = i
			}
		}
		if big < 0 {
			break
		}
		parts, err := p.split(spans[big])
		if err != nil {
			return nil, err
		}
		spans = slices.Replace(spans, big, big+1, parts...)
	}
	ranges := make([]Range, len(spans))
	for i := range spans {
		if i > 0 {
			ranges[i].After = spans[i-1].to
		}
		ranges[i].To = spans[i].to
	}
	return ranges, nil
}

// column returns the column that a span's lo and hi are of.
func (p *splitter) column(depth int) (*Column, string) {
	return p.t.column(p.key[depth]), quoteName(p.key[depth])
}

// where joins conditions behind those for a prefix.
func (p *splitter) where(prefix []KeyValue, conds ...string) string {
	var and []string
	for i, v := range prefix {
		and = append(and, fmt.Sprintf("%s = %s", quoteName(p.key[i]), v))
	}
	if and = append(and, conds...); len(and) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(and, " AND ")
}

// bounds finds the least and the greatest value of the column behind a prefix; nil when there is no row.
func (p *splitter) bounds(prefix []KeyValue) (*span, error) {
	col, k := p.column(len(prefix))
	s := &span{prefix: prefix, withLo: true}
	var err error
	if s.lo, err = oneKey(p.c, col, fmt.Sprintf("SELECT %s %s%s ORDER BY %s LIMIT 1", k, p.from, p.where(prefix), k)); err != nil || s.lo == "" {
		return nil, err
	}
	if s.hi, err = oneKey(p.c, col, fmt.Sprintf("SELECT %s %s%s ORDER BY %s DESC LIMIT 1", k, p.from, p.where(prefix), k)); err != nil || s.hi == "" {
		return nil, err
	}
	return s, nil
}

// split cuts a span in two at a real key between its ends. When there is none it goes on with the next column of the key, and
// when there is no such column it gives the span back as whole.
func (p *splitter) split(s span) ([]span, error) {
	col, _ := p.column(len(s.prefix))
	guess, ok := midpoint(col, s.lo, s.hi)
	if !ok && s.lo != s.hi {
		s.whole = true // of a type that no value between two can be guessed of
		return []span{s}, nil
	}
	at, err := KeyValue(""), error(nil)
	if ok {
		if at, err = p.between(&s, guess); err != nil {
			return nil, err
		}
	}
	if at == "" && s.withLo && s.lo != s.hi {
		at = s.lo
	}
	if at != "" {
		left, right := s, s
		left.hi, left.to = at, append(slices.Clone(s.prefix), at)
		right.lo, right.withLo = at, false
		for _, h := range []*span{&left, &right} {
			if h.rows, err = p.estimate(h); err != nil {
				return nil, err
			}
		}
		if left.rows+right.rows < s.rows/4 { // guesses that can't be: newly loaded tables give such
			left.rows, right.rows = s.rows/2, s.rows/2
		}
		return []span{left, right}, nil
	}
	// All rows have hi in this column.
	if len(s.prefix)+1 < len(p.key) {
		next, err := p.bounds(append(slices.Clone(s.prefix), s.hi))
		if err != nil {
			return nil, err
		}
		if next != nil {
			next.to, next.rows = s.to, s.rows
			return []span{*next}, nil
		}
	}
	s.whole = true
	return []span{s}, nil
}

// between finds a real key strictly between lo and hi: the least at or above the guess, else the greatest; "" when there is none.
func (p *splitter) between(s *span, guess KeyValue) (KeyValue, error) {
	col, k := p.column(len(s.prefix))
	above, below := fmt.Sprintf("%s > %s", k, s.lo), fmt.Sprintf("%s < %s", k, s.hi)
	at, err := oneKey(p.c, col, fmt.Sprintf("SELECT %s %s%s ORDER BY %s LIMIT 1", k, p.from, p.where(s.prefix, fmt.Sprintf("%s >= %s", k, guess), above, below), k))
	if err != nil || at != "" {
		return at, err
	}
	return oneKey(p.c, col, fmt.Sprintf("SELECT %s %s%s ORDER BY %s DESC LIMIT 1", k, p.from, p.where(s.prefix, above, below), k))
}

func (p *splitter) estimate(s *span) (int64, error) {
	_, k := p.column(len(s.prefix))
	low := ">"
	if s.withLo {
		low = ">="
	}
	return estimate(p.c, fmt.Sprintf("SELECT %s %s%s", k, p.from, p.where(s.prefix, fmt.Sprintf("%s %s %s", k, low, s.lo), fmt.Sprintf("%s <= %s", k, s.hi))))
}

// oneKey runs a query for one value; "" when there is no row.
func oneKey(c *client.Conn, col *Column, query string) (KeyValue, error) {
	q, err := startQuery(c, query)
	if err != nil {
		return "", err
	}
	b, err := q.next()
	if err == io.EOF {
		return "", q.close()
	}
	if err != nil {
		return "", err
	}
	v, err := cells(b, q.types)
	if err != nil {
		return "", err
	}
	k, err := literal(col, v[0])
	if err != nil {
		return "", err
	}
	return k, q.close()
}

// estimate is the optimizer's guess of a query's rows.
func estimate(c *client.Conn, query string) (int64, error) {
	explain := "EXPLAIN FORMAT=TRADITIONAL " // MySQL 9 explains as a tree otherwise
	if strings.Contains(strings.ToLower(c.GetServerVersion()), "mariadb") {
		explain = "EXPLAIN "
	}
	r, err := c.Execute(explain + query)
	if err != nil {
		return 0, fmt.Errorf("%s%s: %w: %w", explain, query, err, cdc.ErrSource)
	}
	n, err := r.GetIntByName(0, "rows")
	if err != nil {
		return 0, nil // a query that the optimizer answers without reading
	}
	return n, nil
}
