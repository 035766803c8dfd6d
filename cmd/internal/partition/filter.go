// Package partition chooses partitions of a table by what a user writes: by specs such as dt=2024-01-01,hour=8, or by a condition
// on partition columns.
//
//	condition  = and { OR and }
//	and        = not { AND not }
//	not        = NOT not | "(" condition ")" | predicate
//	predicate  = operand ( = | != | <> | < | <= | > | >= ) operand        one of them is a column
//	           | column [NOT] IN "(" literal { "," literal } ")"
//	           | column [NOT] BETWEEN literal AND literal
//	           | column IS [NOT] NULL
//	literal    = 'text' | "text" | number | TRUE | FALSE | DATE 'text' | TIMESTAMP 'text'
//
// Words may be in any case; a quote inside a text is doubled; a column may stand in back quotes. As in SQL, a comparison with
// NULL is neither true nor false, and only what is true is chosen.
package partition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// Filter chooses partitions of one table. A nil one chooses all. Safe for concurrent use.
type Filter struct {
	table *table.Table
	cond  node

	mu   sync.Mutex // guards last and yes: scans ask for one partition many times in a row
	last []byte
	yes  bool
}

// New makes the filter of --partition and --where, which exclude each other; nil when neither is given.
func New(t *table.Table, specs []string, where string) (*Filter, error) {
	keys := t.Schema().PartitionKeys
	switch {
	case len(specs) == 0 && where == "":
		return nil, nil
	case len(specs) > 0 && where != "":
		return nil, fmt.Errorf("--partition and --where exclude each other: %w", cli.ErrUsage)
	case len(keys) == 0:
		return nil, fmt.Errorf("the table %s has no partitions, so that there are none to choose: %w", t.Path(), cli.ErrUsage)
	}
	f := &Filter{table: t}
	var err error
	if where != "" {
		if f.cond, err = parse(t.Schema(), where); err != nil {
			return nil, fmt.Errorf("--where: %w: %w", err, cli.ErrUsage)
		}
		return f, nil
	}
	var any anyOf
	for _, s := range specs {
		n, err := specNode(t, s)
		if err != nil {
			return nil, err
		}
		any = append(any, n)
	}
	f.cond = any
	return f, nil
}

// specNode is the condition of k=v,k2=v2: values are written as in directory names or, which differs for dates, as in SQL.
func specNode(t *table.Table, spec string) (node, error) {
	pairs, err := cli.Pairs("partition", strings.Split(spec, ","))
	if err != nil {
		return nil, err
	}
	s := t.Schema()
	var all allOf
	for k, v := range pairs {
		i := slices.Index(s.PartitionKeys, k)
		if i < 0 {
			return nil, fmt.Errorf("--partition: %q is not a partition key, those are %v: %w", k, s.PartitionKeys, cli.ErrUsage)
		}
		v = strings.TrimSpace(v)
		n := directory{column: i, text: v}
		if c, err := literal(&s.Fields[s.PartitionIndexes()[i]].Type, v); err == nil {
			n.value = c
		}
		all = append(all, n)
	}
	return all, nil
}

// Match tells whether a serialized partition is chosen.
func (f *Filter) Match(partition []byte) (bool, error) {
	if f == nil {
		return true, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil && bytes.Equal(f.last, partition) {
		return f.yes, nil
	}
	b, err := f.table.Schema().DecodePartition(partition)
	if err != nil {
		return false, err
	}
	texts, err := f.table.PartitionValues(partition)
	if err != nil {
		return false, err
	}
	f.last, f.yes = append(f.last[:0], partition...), f.cond.eval(cells{b, texts}) == yes
	return f.yes, nil
}

// cells are the values of one partition, and as they are in its directory's name.
type cells struct {
	values *row.Batch
	texts  []string
}

// truth is SQL's: what is compared with NULL is unknown.
type truth int8

const (
	no truth = iota - 1
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// node is a condition.
type node interface{ eval(c cells) truth }

type (
	anyOf []node
	allOf []node
	not   struct{ of node }
	// compare holds for the signs of the comparison that are set.
	compare struct {
		column        int
		value         *row.Column
		less, eq, gtr bool
	}
	isNull    struct{ column int }
	directory struct {
		column int
		text   string
		value  *row.Column // nil: the text is no value of the type
	}
)

func (n anyOf) eval(c cells) truth {
	best := no
	for _, x := range n {
		best = max(best, x.eval(c))
	}
	return best
}

func (n allOf) eval(c cells) truth {
	worst := yes
	for _, x := range n {
		worst = min(worst, x.eval(c))
	}
	return worst
}

func (n not) eval(c cells) truth { return -n.of.eval(c) }

func (n compare) eval(c cells) truth {
	col := &c.values.Cols[n.column]
	if col.IsNull(0) {
		return unknown
	}
	switch s := row.CompareValues(col, 0, n.value, 0); {
	case s < 0:
		return truthOf(n.less)
	case s > 0:
		return truthOf(n.gtr)
	}
	return truthOf(n.eq)
}

func (n isNull) eval(c cells) truth { return truthOf(c.values.Cols[n.column].IsNull(0)) }

func (n directory) eval(c cells) truth {
	if c.texts[n.column] == n.text {
		return yes
	}
	return truthOf(n.value != nil && compare{column: n.column, value: n.value, eq: true}.eval(c) == yes)
}

// literal makes a column of one cell from a text.
func literal(t *row.Type, text string) (*row.Column, error) {
	c := &row.Column{}
	c.Init(t)
	switch t.Root {
	case row.Char, row.VarChar:
		c.AppendString(text)
		return c, nil
	case row.Boolean:
		text = strings.ToLower(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	if err := row.ParseJSONValue(quoted, c); err != nil {
		return nil, fmt.Errorf("%q is no value of type %s", text, t)
	}
	return c, nil
}

// MatchTexts is Match for the values as they are in the directory's name, by partition key. A value that is none of its column's
// type counts as NULL.
func (f *Filter) MatchTexts(values map[string]string) bool {
	if f == nil {
		return true
	}
	s := f.table.Schema()
	fields := make([]row.Field, len(s.PartitionKeys))
	for i, k := range s.PartitionIndexes() {
		fields[i] = s.Fields[k]
		fields[i].Type.Nullable = true
	}
	typ := row.NewRow(fields...)
	c := cells{row.NewBatch(&typ), make([]string, len(fields))}
	for i := range fields {
		col := &c.values.Cols[i]
		c.texts[i] = values[fields[i].Name]
		switch v, err := fromText(&fields[i].Type, c.texts[i]); {
		case c.texts[i] == f.table.Options().Get(table.KeyPartitionDefaultName), err != nil:
			col.AppendNull()
		default:
			col.AppendFrom(v, 0)
		}
	}
	return f.cond.eval(c) == yes
}

// fromText is literal for the text of a directory's name, where dates and times are numbers by partition.legacy-name.
func fromText(t *row.Type, text string) (*row.Column, error) {
	if t.Root == row.Date || t.Root == row.Time {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			c := &row.Column{}
			c.Init(t)
			c.AppendI32(int32(n))
			return c, nil
		}
	}
	return literal(t, text)
}
