package writer

import (
	"fmt"
	"strconv"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// columnDefault is the default value of a column, which replaces nulls as they are written (Java's DefaultValueRow).
type columnDefault struct {
	column int
	value  row.Column // one row
}

// defaultsOf parses the default values of a ROW's fields.
func defaultsOf(t *row.Type) ([]columnDefault, error) {
	var out []columnDefault
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Default == nil {
			continue
		}
		d := columnDefault{column: i}
		d.value.Init(&f.Type)
		text := *f.Default
		if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
			text = text[1 : n-1]
		}
		var err error
		if f.Type.Store() == row.StoreBytes {
			d.value.AppendString(text)
		} else {
			err = row.ParseJSONValue(strconv.AppendQuote(nil, text), &d.value)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: default value %s of column %s: %w", table.ErrSchema, *f.Default, f.Name, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// appendColumn appends src to dst with nulls replaced.
func (d *columnDefault) appendColumn(dst, src *row.Column) {
	for i := range src.N {
		if src.IsNull(i) {
			dst.AppendFrom(&d.value, 0)
		} else {
			dst.AppendFrom(src, i)
		}
	}
}
