package main

import (
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// arrowRows is how many rows paimon-rust gets at once: what Arrow's readers commonly give.
const arrowRows = 8192

// writeArrow writes the rows of a workload as an Arrow stream, whose batches end where commits do.
func writeArrow(w workload, path string) error {
	s, err := table.NewSchema(w.spec())
	if err != nil {
		return err
	}
	fields := make([]arrow.Field, len(s.Fields))
	for i, f := range s.Fields {
		t, err := arrowType(f.Type)
		if err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
		fields[i] = arrow.Field{Name: f.Name, Type: t, Nullable: f.Type.Nullable}
	}
	schema := arrow.NewSchema(fields, nil)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := ipc.NewWriter(f, ipc.WithSchema(schema))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	rows := 0
	flush := func() error {
		if rows == 0 {
			return nil
		}
		rows = 0
		rec := b.NewRecordBatch()
		defer rec.Release()
		return out.Write(rec)
	}
	err = w.generate(s, 0, w.Rows, func(batch *row.Batch) error {
		for i := range batch.Cols {
			appendArrow(b.Field(i), s.Fields[i].Type, &batch.Cols[i], batch.N)
		}
		if rows += batch.N; rows >= arrowRows {
			return flush()
		}
		return nil
	}, flush)
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return f.Close()
}

func arrowType(t row.Type) (arrow.DataType, error) {
	switch t.Root {
	case row.BigInt:
		return arrow.PrimitiveTypes.Int64, nil
	case row.Int:
		return arrow.PrimitiveTypes.Int32, nil
	case row.SmallInt:
		return arrow.PrimitiveTypes.Int16, nil
	case row.TinyInt:
		return arrow.PrimitiveTypes.Int8, nil
	case row.Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case row.Double:
		return arrow.PrimitiveTypes.Float64, nil
	case row.Float:
		return arrow.PrimitiveTypes.Float32, nil
	case row.Date:
		return arrow.FixedWidthTypes.Date32, nil
	case row.VarChar:
		return arrow.BinaryTypes.String, nil
	case row.VarBinary:
		return arrow.BinaryTypes.Binary, nil
	case row.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case row.Timestamp:
		if t.Precision <= 3 {
			return &arrow.TimestampType{Unit: arrow.Millisecond}, nil
		}
		return &arrow.TimestampType{Unit: arrow.Microsecond}, nil
	}
	return nil, fmt.Errorf("no Arrow type for %v", t.Root)
}

// appendArrow appends the cells of a column.
func appendArrow(to array.Builder, t row.Type, c *row.Column, n int) {
	for i := range n {
		if c.IsNull(i) {
			to.AppendNull()
			continue
		}
		switch b := to.(type) {
		case *array.Int64Builder:
			b.Append(c.I64[i])
		case *array.Int32Builder:
			b.Append(c.I32[i])
		case *array.Int16Builder:
			b.Append(int16(c.I32[i]))
		case *array.Int8Builder:
			b.Append(int8(c.I32[i]))
		case *array.BooleanBuilder:
			b.Append(c.I32[i] != 0)
		case *array.Float64Builder:
			b.Append(c.F64[i])
		case *array.Float32Builder:
			b.Append(c.F32[i])
		case *array.Date32Builder:
			b.Append(arrow.Date32(c.I32[i]))
		case *array.StringBuilder:
			b.BinaryBuilder.Append(c.Value(i))
		case *array.BinaryBuilder:
			b.Append(c.Value(i))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(c.I64[i]))
		case *array.Decimal128Builder:
			if t.Precision <= 18 {
				b.Append(decimal128.FromI64(c.I64[i]))
			} else {
				b.Append(decimal128.New(c.I128[i].Hi, c.I128[i].Lo))
			}
		}
	}
}
