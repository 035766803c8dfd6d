//go:build integration

package lsm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// mergeCase is a table whose records of one key meet in a merge function, in Java and here.
type mergeCase struct {
	name    string
	fields  [][2]string // name, type; k INT NOT NULL is put before them and is the key
	options table.Options
	kinds   []row.Kind // that records have
	// sets are columns with arrays whose order has no meaning.
	sets []string
	// values makes the values of a column that not every value is good for.
	values map[string]func(r *rand.Rand, c *row.Column)
}

var (
	adds     = []row.Kind{row.Insert, row.UpdateAfter}
	changes  = []row.Kind{row.Insert, row.UpdateAfter, row.UpdateBefore, row.Delete}
	deletes  = []row.Kind{row.Insert, row.UpdateAfter, row.Insert, row.Delete}
	numbers  = [][2]string{{"i8", "TINYINT"}, {"i16", "SMALLINT"}, {"i32", "INT"}, {"i64", "BIGINT"}, {"f32", "FLOAT"}, {"f64", "DOUBLE"}}
	decimals = [][2]string{{"d4", "DECIMAL(4, 2)"}, {"d9", "DECIMAL(9, 0)"}, {"d18", "DECIMAL(18, 6)"}, {"d19", "DECIMAL(19, 1)"}, {"d38", "DECIMAL(38, 10)"}}
	scalars  = [][2]string{{"b", "BOOLEAN"}, {"s", "STRING"}, {"c", "CHAR(3)"}, {"x", "BYTES"}, {"d", "DATE"}, {"t", "TIME(3)"},
		{"ts", "TIMESTAMP(6)"}, {"tz", "TIMESTAMP(3) WITH LOCAL TIME ZONE"}, {"ns", "TIMESTAMP(9)"}}
	composites = [][2]string{{"a", "ARRAY<INT>"}, {"m", "MAP<STRING, BIGINT>"}, {"r", "ROW<x INT, y STRING>"}}
)

// smallDecimals and the like have few digits, so that what is computed from them is exact.
func smallDecimals(r *rand.Rand, c *row.Column) {
	c.AppendDecimal(row.Int128FromInt64(int64(r.IntN(100)) - 50))
}

// hllSketch appends an HLL sketch with a list of a few values; with more of them it is soon another form.
func hllSketch(r *rand.Rand, c *row.Column, lgK byte) {
	n := 1 + r.IntN(7)
	text := []byte{2, 1, 7, lgK, 3, 8, byte(n), 0}
	for range n {
		text = binary.LittleEndian.AppendUint32(text, r.Uint32()|1<<26)
	}
	c.AppendBytes(text)
}

func all(lists ...[][2]string) (out [][2]string) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// functions sets the function of each column, and whether it ignores retracts.
func functions(fields [][2]string, name string, ignoreRetract bool) table.Options {
	o := table.Options{}
	for _, f := range fields {
		o["fields."+f[0]+".aggregate-function"] = name
		if ignoreRetract {
			o["fields."+f[0]+".ignore-retract"] = "true"
		}
	}
	return o
}

func aggregationCase(name, function string, kinds []row.Kind, fields [][2]string, more table.Options) mergeCase {
	o := table.Options{"merge-engine": "aggregation"}
	if function != "" {
		o = o.With(functions(fields, function, false))
	}
	o = o.With(more)
	for name := range strings.SplitSeq(o["sequence.field"], ",") {
		delete(o, "fields."+name+".aggregate-function")
	}
	return mergeCase{name: name, fields: fields, options: o, kinds: kinds}
}

func mergeCases() []mergeCase {
	nested := [][2]string{{"n", "ARRAY<ROW<a INT, b STRING, c BIGINT>>"}}
	groups := table.Options{
		"merge-engine": "partial-update", "fields.g1.sequence-group": "a,s1", "fields.g2,g3.sequence-group": "b,mx,fv,fnn,lst,col",
		"fields.s1.aggregate-function": "sum", "fields.mx.aggregate-function": "max", "fields.mx.ignore-retract": "true",
		"fields.fv.aggregate-function": "first_value", "fields.fv.ignore-retract": "true", "fields.lst.aggregate-function": "listagg",
		"fields.fnn.aggregate-function": "first_non_null_value", "fields.fnn.ignore-retract": "true",
		"fields.lst.ignore-retract": "true", "fields.col.aggregate-function": "collect", "fields.free.aggregate-function": "last_non_null_value",
	}
	grouped := [][2]string{{"a", "INT"}, {"g1", "INT"}, {"s1", "BIGINT"}, {"b", "STRING"}, {"g2", "INT"}, {"mx", "INT"}, {"fv", "INT"},
		{"g3", "INT"}, {"fnn", "INT"}, {"lst", "STRING"}, {"col", "ARRAY<INT>"}, {"free", "STRING"}, {"other", "DOUBLE"}}
	cases := []mergeCase{
		aggregationCase("sum", "sum", changes, all(numbers, decimals), nil),
		aggregationCase("product", "product", adds, all(numbers, decimals), nil),
		aggregationCase("max", "max", adds, all(numbers, decimals, scalars[1:]), nil),
		aggregationCase("min", "min", adds, all(numbers, decimals, scalars[1:]), nil),
		aggregationCase("last value", "last_value", changes, all(numbers, scalars, composites), nil),
		aggregationCase("last non null value", "", changes, all(numbers, scalars, composites), nil),
		aggregationCase("default function", "", adds, all(numbers), table.Options{"fields.default-aggregate-function": "sum", "fields.i8.aggregate-function": "max"}),
		aggregationCase("first value", "first_value", adds, all(numbers, scalars, composites), nil),
		aggregationCase("first non null value", "first_non_null_value", adds, all(scalars, composites), nil),
		aggregationCase("first not null value", "first_not_null_value", adds, all(decimals), nil),
		aggregationCase("bool and", "bool_and", adds, [][2]string{{"b", "BOOLEAN"}}, nil),
		aggregationCase("bool or", "bool_or", adds, [][2]string{{"b", "BOOLEAN"}}, nil),
		aggregationCase("listagg", "listagg", adds, [][2]string{{"s", "STRING"}, {"w", "STRING"}, {"e", "STRING"}, {"es", "STRING"}},
			table.Options{"fields.w.list-agg-delimiter": "--", "fields.e.list-agg-delimiter": "", "fields.es.list-agg-delimiter": ";"}),
		aggregationCase("listagg distinct", "listagg", adds, [][2]string{{"s", "STRING"}, {"w", "STRING"}, {"e", "STRING"}},
			table.Options{"fields.w.list-agg-delimiter": "--", "fields.e.list-agg-delimiter": "", "fields.s.distinct": "true",
				"fields.w.distinct": "true", "fields.e.distinct": "true"}),
		aggregationCase("collect", "collect", changes, [][2]string{{"a", "ARRAY<INT>"}, {"s", "ARRAY<STRING>"}, {"x", "ARRAY<BYTES>"}}, nil),
		aggregationCase("merge map", "merge_map", changes, [][2]string{{"m", "MAP<STRING, BIGINT>"}, {"i", "MAP<INT, STRING>"}}, nil),
		aggregationCase("merge map with keytime", "merge_map_with_keytime", adds, [][2]string{{"m", "MAP<STRING, ROW<v INT, t STRING>>"}, {"o", "MAP<INT, ROW<t STRING, v INT>>"}},
			table.Options{"fields.o.ts-field": "t"}),
		aggregationCase("nested update", "nested_update", changes, nested, nil),
		aggregationCase("sequence field", "sum", changes, [][2]string{{"s", "INT"}, {"v", "INT"}, {"l", "STRING"}, {"lv", "STRING"}},
			table.Options{"sequence.field": "s", "fields.l.aggregate-function": "listagg", "fields.l.ignore-retract": "true", "fields.lv.aggregate-function": "last_value"}),
		aggregationCase("sequence field descending", "last_value", changes, [][2]string{{"s", "INT"}, {"q", "STRING"}, {"v", "INT"}, {"lv", "STRING"}},
			table.Options{"sequence.field": "s,q", "sequence.field.sort-order": "descending"}),
		aggregationCase("remove record on delete", "sum", deletes, [][2]string{{"v", "INT"}, {"l", "STRING"}, {"f", "INT"}},
			table.Options{"aggregation.remove-record-on-delete": "true", "fields.l.aggregate-function": "listagg", "fields.f.aggregate-function": "first_value"}),
		{name: "partial update", fields: all(numbers, scalars, composites), options: table.Options{"merge-engine": "partial-update"}, kinds: adds},
		{name: "partial update, not null", fields: [][2]string{{"a", "INT"}, {"b", "STRING NOT NULL"}, {"c", "INT"}},
			options: table.Options{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, kinds: deletes},
		{name: "partial update, remove on delete", fields: all(numbers, composites), kinds: changes,
			options: table.Options{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}},
		{name: "partial update, groups", fields: grouped, options: groups, kinds: changes},
		{name: "partial update, group removes", fields: grouped, kinds: changes,
			options: groups.With(table.Options{"partial-update.remove-record-on-sequence-group": "g3"})},
		{name: "first row", fields: all(numbers, scalars), options: table.Options{"merge-engine": "first-row"}, kinds: adds},
		{name: "deduplicate", fields: all(numbers, composites), options: table.Options{}, kinds: changes},
	}
	ignored := aggregationCase("ignore retract", "max", changes, [][2]string{{"a", "INT"}, {"b", "DECIMAL(9, 2)"}, {"c", "STRING"}},
		functions([][2]string{{"a", ""}, {"b", ""}, {"c", ""}}, "max", true))
	distinct := aggregationCase("collect distinct", "collect", changes, [][2]string{{"a", "ARRAY<INT>"}, {"s", "ARRAY<STRING>"}, {"f", "ARRAY<DOUBLE>"},
		{"r", "ARRAY<ROW<x INT, y STRING> NOT NULL>"}, {"aa", "ARRAY<ARRAY<INT NOT NULL>>"}}, nil)
	for _, f := range distinct.fields {
		distinct.sets = append(distinct.sets, f[0])
		distinct.options["fields."+f[0]+".distinct"] = "true"
	}
	keyed := aggregationCase("nested update with key", "nested_update", changes, nested, table.Options{"fields.n.nested-key": "a, b"})
	keyed.sets = []string{"n"}
	limited := aggregationCase("nested update with limit", "nested_update", adds, nested, table.Options{"fields.n.count-limit": "4"})
	partial := aggregationCase("nested partial update", "nested_partial_update", adds, nested, table.Options{"fields.n.nested-key": "a"})
	partial.sets = []string{"n"}
	divided := aggregationCase("product retract", "product", changes, all(numbers), nil)
	divided.values = map[string]func(*rand.Rand, *row.Column){}
	for _, f := range numbers[:4] {
		divided.values[f[0]] = func(r *rand.Rand, c *row.Column) {
			if c.Type.Store() == row.StoreI64 {
				c.AppendI64(1 + r.Int64N(9))
			} else {
				c.AppendI32(1 + r.Int32N(9))
			}
		}
	}
	bitmaps := aggregationCase("bitmaps", "rbm32", adds, [][2]string{{"x", "BYTES"}}, nil)
	bitmaps.values = map[string]func(*rand.Rand, *row.Column){"x": func(r *rand.Rand, c *row.Column) {
		b := roaring.New()
		for range r.IntN(5) {
			from := uint64(r.IntN(1 << 18))
			b.AddRange(from, from+uint64(r.IntN(5000)))
		}
		text, _ := b.ToBytes()
		c.AppendBytes(text)
	}}
	sketches := aggregationCase("hll sketches", "hll_sketch", adds, [][2]string{{"x", "BYTES"}, {"y", "BYTES"}}, nil)
	sketches.values = map[string]func(*rand.Rand, *row.Column){
		"x": func(r *rand.Rand, c *row.Column) { hllSketch(r, c, 6) },
		"y": func(r *rand.Rand, c *row.Column) { hllSketch(r, c, 12) },
	}
	small := aggregationCase("decimals", "sum", changes, decimals, nil)
	small.values = map[string]func(*rand.Rand, *row.Column){}
	for _, f := range decimals {
		small.values[f[0]] = smallDecimals
	}
	return append(cases, ignored, distinct, keyed, limited, partial, divided, bitmaps, sketches, small)
}

func (c *mergeCase) rowFields(types func(string) row.Type) []row.Field {
	fields := []row.Field{{Name: "k", Type: types("INT NOT NULL")}}
	for _, f := range c.fields {
		fields = append(fields, row.Field{Name: f[0], Type: types(f[1])})
	}
	return fields
}

// appendRow appends a random record of one of a few keys.
func (c *mergeCase) appendRow(r *rand.Rand, b *row.Batch, keys int) {
	b.Cols[0].AppendI32(r.Int32N(int32(keys)))
	for i, f := range c.fields {
		if v := c.values[f[0]]; v != nil {
			v(r, &b.Cols[i+1])
		} else {
			fewValue(r, &b.Cols[i+1])
		}
	}
	b.EndRow(c.kinds[r.IntN(len(c.kinds))])
}

// fewValue appends one of few values of a type, so that equal ones meet; now and then one of any.
func fewValue(r *rand.Rand, c *row.Column) {
	if c.Type.Nullable && r.IntN(4) == 0 {
		c.AppendNull()
		return
	}
	switch c.Type.Root {
	case row.TinyInt, row.SmallInt, row.Int:
		if r.IntN(8) == 0 {
			randomNotNull(r, c)
		} else {
			c.AppendI32(r.Int32N(7))
		}
	case row.BigInt:
		if r.IntN(8) == 0 {
			randomNotNull(r, c)
		} else {
			c.AppendI64(r.Int64N(7))
		}
	case row.Decimal:
		fewDecimal(r, c)
	case row.Float:
		c.AppendF32(float32(r.IntN(9)-4) / 4)
	case row.Double:
		c.AppendF64(float64(r.IntN(9)-4) / 4)
	case row.VarChar:
		c.AppendString([]string{"", "a", "b", "a,b", "b--a", "c d", "é", "😀", "\uff5e", ",", "a;b"}[r.IntN(11)])
	case row.Char:
		c.AppendString([]string{"abc", "abd", "é 😀"}[r.IntN(3)])
	case row.VarBinary:
		c.AppendString(fmt.Sprint(r.IntN(3)))
	case row.Array, row.Map, row.Multiset:
		n := r.IntN(4)
		if c.Type.Root == row.Map {
			n = min(n, 1) // keys may not be there twice
		}
		for range n {
			for k := range c.Kids {
				fewValue(r, &c.Kids[k])
			}
		}
		if c.Type.Root == row.Map && n > 0 && c.Kids[0].IsNull(c.Kids[0].N-1) {
			c.Truncate(c.N) // no NULL as a key
		}
		c.EndList()
	case row.Row:
		for k := range c.Kids {
			fewValue(r, &c.Kids[k])
		}
		c.EndNested()
	default:
		randomNotNull(r, c)
	}
}

// fewDecimal appends a decimal of any number of digits.
func fewDecimal(r *rand.Rand, c *row.Column) {
	var v row.Int128
	for range r.IntN(c.Type.Precision + 1) {
		v, _ = v.MulAddUint64(10, r.Uint64N(10))
	}
	if r.IntN(2) == 0 {
		v = v.Neg()
	}
	c.AppendDecimal(v)
}

func randomNotNull(r *rand.Rand, c *row.Column) {
	for n := c.N; ; c.Truncate(n) {
		if randomValue(r, c); !c.IsNull(n) {
			return
		}
	}
}
