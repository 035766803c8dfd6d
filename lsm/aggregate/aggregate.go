package aggregate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// Func is what a function does to the cell of a column: row 0 of acc, which has one row. Not safe for concurrent use.
type Func interface {
	// Reset begins a key.
	Reset()
	// Add merges row i of in into acc.
	Add(acc, in *row.Column, i int) error
	// Retract takes row i of in back from acc.
	Retract(acc, in *row.Column, i int) error
}

// reverser is a Func that takes an older value otherwise than by exchanging the two.
type reverser interface {
	addReversed(acc, in *row.Column, i int) error
}

// errNoRetract: the function can't take values back.
var errNoRetract = errors.New("it can't take values back")

// noState is embedded by functions that keep nothing but the cell.
type noState struct{}

func (noState) Reset() {}

// noRetract is embedded by functions that can't take values back.
type noRetract struct{}

func (noRetract) Retract(_, _ *row.Column, _ int) error { return errNoRetract }

func (noRetract) takesNoRetract() {}

// Column is a function bound to a column of a table. Not safe for concurrent use.
type Column struct {
	column, name  string
	fn            Func
	reversed      reverser // nil: by exchange
	ignoreRetract bool
	adds          bool       // a value that is merged twice counts twice
	swap          row.Column // scratch of AddReversed
}

// PrimaryKey is the name of the function of key columns; no option names it.
const PrimaryKey = "primary-key"

// LastNonNull is the function of columns for which no option names one.
const LastNonNull = "last_non_null_value"

// LastValue is the function of the columns of sequence.field.
const LastValue = "last_value"

// Name returns the function that options name for a column and the option's key; both are empty when there is none.
func Name(column string, o table.Options) (name, key string) {
	for _, key := range []string{"fields." + column + ".aggregate-function", table.KeyFieldsDefaultAggregateFunction.Name} {
		if name, ok := o[key]; ok {
			return name, key
		}
	}
	return "", ""
}

// makers are the functions by name.
var makers = map[string]func(t *row.Type, p params) (Func, error){
	"sum":                    newSum,
	"product":                newProduct,
	"max":                    newMax,
	"min":                    newMin,
	LastValue:                func(*row.Type, params) (Func, error) { return lastValue{}, nil },
	LastNonNull:              func(*row.Type, params) (Func, error) { return lastNonNull{}, nil },
	"first_value":            func(*row.Type, params) (Func, error) { return new(firstValue), nil },
	"first_non_null_value":   func(*row.Type, params) (Func, error) { return new(firstNonNull), nil },
	"first_not_null_value":   func(*row.Type, params) (Func, error) { return new(firstNonNull), nil },
	"bool_and":               newBoolAnd,
	"bool_or":                newBoolOr,
	"listagg":                newListAgg,
	"collect":                newCollect,
	"merge_map":              newMergeMap,
	"merge_map_with_keytime": newMergeMapWithKeyTime,
	"nested_update":          newNestedUpdate,
	"nested_partial_update":  newNestedPartialUpdate,
	"rbm32":                  newBitmap32,
	"rbm64":                  newBitmap64,
	"theta_sketch":           newTheta,
	"hll_sketch":             newHll,
	PrimaryKey:               func(*row.Type, params) (Func, error) { return primaryKey{}, nil },
}

// CheckName tells whether there is a function of a name; key is the option that names it.
func CheckName(name, key string) error {
	if _, ok := makers[name]; ok {
		return nil
	}
	var names []string
	for n := range makers {
		if n != PrimaryKey {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return fmt.Errorf("%w: %s is %q, which is no function; there are %s", table.ErrOption, key, name, strings.Join(names, ", "))
}

// New binds the function of this name to a column, with the parameters that options have for the column. Errors wrap
// table.ErrOption.
func New(f *row.Field, name string, o table.Options) (*Column, error) {
	maker, ok := makers[name]
	if !ok {
		return nil, CheckName(name, "the function of column "+f.Name)
	}
	p := params{column: f.Name, o: o}
	fn, err := maker(&f.Type, p)
	if err != nil {
		return nil, fmt.Errorf("%w: column %s: function %s %w", table.ErrOption, f.Name, name, err)
	}
	c := &Column{column: f.Name, name: name, fn: fn}
	if c.ignoreRetract, err = p.bool("ignore-retract"); err != nil {
		return nil, err
	}
	if c.ignoreRetract && o.Bool(table.KeyAggregationRemoveRecordOnDelete) {
		return nil, fmt.Errorf("%w: %s and %s exclude each other: the first removes the row, the second keeps the value", table.ErrOption,
			table.KeyAggregationRemoveRecordOnDelete.Name, p.key("ignore-retract"))
	}
	if r, ok := fn.(reverser); ok && !c.ignoreRetract { // Java's wrapper of ignore-retract exchanges whatever it wraps
		c.reversed = r
	}
	switch name {
	case "sum", "product":
		c.adds = true
	case "listagg", "collect":
		distinct, err := p.bool("distinct")
		if err != nil {
			return nil, err
		}
		c.adds = !distinct
	case "nested_update":
		c.adds = o["fields."+f.Name+".nested-key"] == ""
	}
	c.swap.Init(&f.Type)
	return c, nil
}

// String names the function and its column.
func (c *Column) String() string { return fmt.Sprintf("function %s of column %s", c.name, c.column) }

// Repeatable tells whether it makes no difference when values are merged again.
func (c *Column) Repeatable() bool { return !c.adds }

// Retractable returns the error that Retract gives for every value, nil if it doesn't.
func (c *Column) Retractable() error {
	if _, ok := c.fn.(interface{ takesNoRetract() }); ok && !c.ignoreRetract {
		return c.noRetract()
	}
	return nil
}

func (c *Column) noRetract() error {
	return fmt.Errorf("column %s: function %s can't take back the value of a -U or -D; set fields.%s.ignore-retract=true to keep it",
		c.column, c.name, c.column)
}

// Reset begins a key.
func (c *Column) Reset() { c.fn.Reset() }

// Add merges row i of in, a record newer than those before, into the cell acc.
func (c *Column) Add(acc, in *row.Column, i int) error {
	if err := c.fn.Add(acc, in, i); err != nil {
		return c.failed(err)
	}
	return nil
}

// AddReversed merges row i of in, a record older than the cell acc, into it.
func (c *Column) AddReversed(acc, in *row.Column, i int) error {
	if c.reversed != nil {
		if err := c.reversed.addReversed(acc, in, i); err != nil {
			return c.failed(err)
		}
		return nil
	}
	Set(&c.swap, in, i)
	if err := c.fn.Add(&c.swap, acc, 0); err != nil {
		return c.failed(err)
	}
	exchange(acc, &c.swap)
	return nil
}

// Retract takes row i of in back from the cell acc.
func (c *Column) Retract(acc, in *row.Column, i int) error {
	if c.ignoreRetract {
		return nil
	}
	switch err := c.fn.Retract(acc, in, i); {
	case errors.Is(err, errNoRetract):
		return c.noRetract()
	case err != nil:
		return c.failed(err)
	}
	return nil
}

func (c *Column) failed(err error) error {
	return fmt.Errorf("column %s: function %s: %w", c.column, c.name, err)
}

// exchange gives each of two columns of one type the other's values.
func exchange(a, b *row.Column) {
	ta, tb := a.Type, b.Type
	*a, *b = *b, *a
	a.Type, b.Type = ta, tb
}

// skipNull does what most functions do when one of the two is NULL: the other one stays. It reports whether that was so.
func skipNull(acc, in *row.Column, i int) bool {
	if in.Nulls.Get(i) {
		return true
	}
	if acc.Nulls.Get(0) {
		Set(acc, in, i)
		return true
	}
	return false
}
