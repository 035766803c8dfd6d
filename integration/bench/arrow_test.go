package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// arrowTexts are the rows of a stream, the cells as text.
func arrowTexts(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ipc.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	var out []string
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			var text string
			for _, c := range rec.Columns() {
				text += arrowText(c, i) + "|"
			}
			out = append(out, text)
		}
	}
	return out, r.Err()
}

func arrowText(c arrow.Array, i int) string {
	if c.IsNull(i) {
		return "null"
	}
	switch c := c.(type) {
	case *array.Decimal128:
		v := c.Value(i)
		return fmt.Sprint(v.HighBits(), " ", v.LowBits())
	case *array.Boolean:
		return map[bool]string{false: "0", true: "1"}[c.Value(i)]
	case *array.Timestamp:
		return fmt.Sprint(int64(c.Value(i)))
	case *array.Date32:
		return fmt.Sprint(int32(c.Value(i)))
	case *array.Binary:
		return string(c.Value(i))
	}
	return c.ValueStr(i)
}

func generatorTexts(t *testing.T, w workload, s *table.Schema) (out []string) {
	require.NoError(t, w.generate(s, 0, w.Rows, func(b *row.Batch) error {
		for i := range b.N {
			var text string
			for c := range b.Cols {
				text += cellText(s.Fields[c].Type, &b.Cols[c], i) + "|"
			}
			out = append(out, text)
		}
		return nil
	}, func() error { return nil }))
	return out
}

func cellText(t row.Type, c *row.Column, i int) string {
	if c.IsNull(i) {
		return "null"
	}
	switch t.Root {
	case row.BigInt, row.Timestamp:
		return fmt.Sprint(c.I64[i])
	case row.Double:
		return fmt.Sprint(c.F64[i])
	case row.Float:
		return fmt.Sprint(c.F32[i])
	case row.Decimal:
		if t.Precision <= 18 {
			return fmt.Sprint(c.I64[i]>>63, " ", uint64(c.I64[i]))
		}
		return fmt.Sprint(c.I128[i].Hi, " ", c.I128[i].Lo)
	case row.VarChar, row.VarBinary:
		return string(c.Value(i))
	}
	return fmt.Sprint(c.I32[i])
}
