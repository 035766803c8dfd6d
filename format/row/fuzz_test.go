package row

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// fuzzRow has a field of every type, nested ones too.
func fuzzRow(t testing.TB) *Type {
	typ, err := ParseType(`ROW<a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(10, 2),
		i DECIMAL(38, 10), j STRING, k BYTES, l DATE, m TIME(3), n TIMESTAMP(3), o TIMESTAMP(6), p TIMESTAMP_LTZ(9),
		q ARRAY<ARRAY<STRING>>, r MAP<STRING, ROW<x INT, y DECIMAL(20, 0)>>, s MULTISET<TIMESTAMP(6)>, u ROW<z ARRAY<TINYINT>>>`)
	if err != nil {
		t.Fatal(err)
	}
	return &typ
}

const fuzzJSON = `{"a":true,"b":-1,"c":300,"d":-70000,"e":9007199254740993,"f":1.5,"g":-0,"h":"-12.30","i":"1.0000000001",
	"j":"longer than seven","k":"AQID","l":"2024-02-29","m":"01:02:03.004","n":"1969-12-31T23:59:59.999",
	"o":"2024-01-01T00:00:00.123456","p":"2024-01-01T00:00:00.123456789Z","q":[["a",null],[],["bbbbbbbbbb"]],
	"r":[["k",{"x":1,"y":"-5"}]],"s":[["2024-01-01T00:00:00",2]],"u":{"z":[1,2,3,4,5,6,7,8,9]}}`

// FuzzDecodeBinaryRow feeds bytes to the decoder: no panic, an error or a row, and what was read can be written again.
func FuzzDecodeBinaryRow(f *testing.F) {
	typ := fuzzRow(f)
	types := typ.FieldTypes()
	seed := NewBatch(typ)
	if err := ParseJSONRow([]byte(fuzzJSON), seed); err != nil {
		f.Fatal(err)
	}
	if err := ParseJSONRow([]byte("{}"), seed); err != nil {
		f.Fatal(err)
	}
	for i := range seed.N {
		f.Add(AppendSerializedRow(nil, columns(seed), i))
	}
	f.Add([]byte{})
	dst, again := NewBatch(typ), NewBatch(typ)
	f.Fuzz(func(t *testing.T, b []byte) {
		dst.Reset()
		again.Reset()
		if err := DecodeSerializedRow(b, types, dst); err != nil {
			if !errors.Is(err, ErrCorruptRow) {
				t.Fatal(err)
			}
			if dst.N != 0 || dst.Cols[16].Kids[0].N != 0 {
				t.Fatal("rows left behind")
			}
			return
		}
		if err := DecodeSerializedRow(AppendSerializedRow(nil, columns(dst), 0), types, again); err != nil {
			t.Fatal(err)
		}
		if a, b := jsonRows(dst), jsonRows(again); a != b {
			t.Fatalf("read again:\n%s\n%s", a, b)
		}
	})
}

// FuzzParseType checks that what parses prints as something that parses to the same.
func FuzzParseType(f *testing.F) {
	for _, s := range []string{"INT", "decimal(10,2) not null", "MAP<STRING NOT NULL, ARRAY<INT>>", "ROW<`a``b` INT COMMENT 'it''s'>", "INT ARRAY",
		`{"type":"ROW NOT NULL","fields":[{"id":1,"name":"a","type":"INT"}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ, err := ParseType(s)
		if err != nil {
			if json.Unmarshal([]byte(s), &typ) != nil {
				return
			}
		}
		if typ.Validate() != nil || strings.Contains(typ.String(), " DEFAULT ") {
			return // JSON is checked by who reads the schema; the text of a default has no end that ParseType could see
		}
		back, err := ParseType(typ.String())
		if err != nil || !back.EqualIgnoringIDs(&typ, false) {
			t.Fatalf("%s: %v, %s", &typ, err, &back)
		}
	})
}

// FuzzParseJSONRow checks that what parses renders as something that parses to the same.
func FuzzParseJSONRow(f *testing.F) {
	typ := fuzzRow(f)
	f.Add([]byte(fuzzJSON))
	f.Add([]byte(`{"_kind":"-D","_snapshot":7,"d":"5","r":{"a":null}}`))
	dst, again := NewBatch(typ), NewBatch(typ)
	f.Fuzz(func(t *testing.T, b []byte) {
		dst.Reset()
		again.Reset()
		if ParseJSONRow(b, dst) != nil {
			if dst.N != 0 || len(dst.Kinds) != 0 {
				t.Fatal("rows left behind")
			}
			return
		}
		if err := ParseJSONRow(AppendJSONRow(nil, dst, 0, true), again); err != nil {
			t.Fatal(err)
		}
		if a, b := jsonRows(dst), jsonRows(again); a != b {
			t.Fatalf("read again:\n%s\n%s", a, b)
		}
	})
}
