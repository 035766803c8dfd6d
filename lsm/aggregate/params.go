package aggregate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// params are the options of one column.
type params struct {
	column string
	o      table.Options
}

func (p params) key(name string) string { return "fields." + p.column + "." + name }

func (p params) get(name string) (string, bool) {
	v, ok := p.o[p.key(name)]
	return v, ok
}

func (p params) bool(name string) (bool, error) {
	v, ok := p.get(name)
	switch {
	case !ok || strings.EqualFold(v, "false"):
		return false, nil
	case strings.EqualFold(v, "true"):
		return true, nil
	}
	return false, fmt.Errorf("%w: %s: %q is neither true nor false", table.ErrOption, p.key(name), v)
}

func (p params) countLimit() (int, error) {
	v, ok := p.get("count-limit")
	if !ok {
		return math.MaxInt32, nil
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("needs a 32-bit number as %s, not %q", p.key("count-limit"), v)
	}
	return int(n), nil
}

// nestedKey returns the positions of the fields of t that nested-key names.
func (p params) nestedKey(t *row.Type) ([]int, error) {
	v, ok := p.get("nested-key")
	if !ok {
		return nil, nil
	}
	var key []int
	for name := range strings.SplitSeq(v, ",") {
		i := fieldIndex(t, strings.TrimSpace(name))
		if i < 0 {
			return nil, fmt.Errorf("has no field %q of %s", strings.TrimSpace(name), p.key("nested-key"))
		}
		key = append(key, i)
	}
	return key, nil
}

func fieldIndex(t *row.Type, name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// needs says which types a function takes.
func needs(what string, t *row.Type) error { return fmt.Errorf("needs %s, not %s", what, t.String()) }

var errNeedsKey = errors.New("needs the fields that tell rows apart: set nested-key")
