package avro

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// FuzzReader: any bytes give rows or an error.
func FuzzReader(f *testing.F) {
	table := tableType(f, "java-1.4.2/alltypes.type.json")
	typ := keyValueType(table)
	for _, name := range []string{"alltypes", "null", "deflate", "snappy", "bzip2"} {
		f.Add(golden(f, "java-1.4.2/"+name+".avro"))
	}
	f.Add(golden(f, "pypaimon/types.avro"))
	plain, err := readFile(f, golden(f, "java-1.4.2/alltypes.avro"), &typ, 10)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(writeFile(f, plain, format.WriteSpec{Compression: "null"}, 10))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), format.ReadSpec{Type: &typ, BatchRows: 100})
		if err != nil {
			return
		}
		b := row.NewBatch(&typ)
		for err == nil {
			err = r.Next(b)
			for c := range b.Cols {
				if b.Cols[c].N != b.N {
					t.Fatalf("column %d has %d rows of %d", c, b.Cols[c].N, b.N)
				}
			}
		}
		if err != io.EOF && !errors.Is(err, format.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

// FuzzDatum: any schema and bytes are skipped, resolved and read, or give an error.
func FuzzDatum(f *testing.F) {
	table := tableType(f, "java-1.4.2/alltypes.type.json")
	typ := keyValueType(table)
	reader, err := SchemaOf(&typ)
	if err != nil {
		f.Fatal(err)
	}
	readerSchema, err := ParseSchema(reader)
	if err != nil {
		f.Fatal(err)
	}
	schema, _, blocks := blocksOf(f, golden(f, "java-1.4.2/alltypes.avro"))
	f.Add(schema, blocks[0])
	schema, _, blocks = blocksOf(f, golden(f, "pypaimon/types.avro"))
	f.Add(schema, blocks[0])
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		s, err := ParseSchema(text)
		if err != nil {
			return
		}
		d := NewDecoder(data)
		for d.Len() > 0 && d.Err() == nil {
			s.Skip(d)
			if s.Kind == KindNull {
				break
			}
		}
		if res, err := NewResolver(s, readerSchema); err == nil {
			d.Reset(data)
			out := res.Append(nil, d)
			if d.Err() == nil {
				again := NewDecoder(out)
				readerSchema.Skip(again)
				if again.Err() != nil || again.Len() > 0 {
					t.Fatalf("resolved to %x: %v", out, again.Err())
				}
			}
		}
		var c columnDecoder
		if s.Kind == KindRecord && c.initRecord(s, typ.Fields, "") == nil {
			b := row.NewBatch(&typ)
			c.bindKids(b.Cols)
			d.Reset(data)
			c.readFields(d, b.Cols)
		}
	})
}
