package row

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vector is a line of testdata/*.jsonl, made by Java Paimon 1.4.2.
type vector struct {
	Types         []Type
	Values        []json.RawMessage
	Row           string
	Serialized    string
	Hash          int32
	Buckets, Mod  map[string]int32
	Path          string
	PathNotLegacy string
}

func readVectors(t *testing.T, name string) (vs []vector) {
	f, err := os.Open("testdata/" + name)
	require.NoError(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var v vector
		require.NoError(t, json.Unmarshal(s.Bytes(), &v), s.Text())
		vs = append(vs, v)
	}
	require.NotEmpty(t, vs)
	return vs
}

// batch returns the values as a batch of one row with fields f0, f1...
func (v *vector) batch(t *testing.T) *Batch {
	typ := Type{Root: Row}
	for i := range v.Types {
		typ.Fields = append(typ.Fields, Field{ID: i, Name: fmt.Sprint("f", i), Type: v.Types[i]})
	}
	b := NewBatch(&typ)
	for i := range v.Values {
		require.NoError(t, ParseJSONValue(v.Values[i], &b.Cols[i]), "%s", v.Values[i])
	}
	b.EndRow(Insert)
	return b
}

// columns returns pointers to the columns of a batch.
func columns(b *Batch) []*Column {
	cs := make([]*Column, len(b.Cols))
	for i := range cs {
		cs[i] = &b.Cols[i]
	}
	return cs
}

func TestBucketVectorsOfJava(t *testing.T) {
	for _, v := range readVectors(t, "bucket.jsonl") {
		b := v.batch(t)
		cols, types := columns(b), b.Type.FieldTypes()
		what := fmt.Sprintf("%v %s", types, v.Values)
		require.Equal(t, v.Row, hex.EncodeToString(AppendBinaryRow(nil, cols, 0)), what)
		require.Equal(t, v.Serialized, hex.EncodeToString(AppendSerializedRow(nil, cols, 0)), what)
		require.Equal(t, v.Hash, Hash(AppendBinaryRow(nil, cols, 0)), what)
		require.Equal(t, []int32{v.Hash}, AppendHashes(nil, cols, 0, 1), what)
		for n, want := range v.Buckets {
			n, _ := strconv.Atoi(n)
			f, err := NewBucketFunc("default", types, n)
			require.NoError(t, err)
			require.Equal(t, []int32{want}, f.Buckets(nil, cols, 0, 1), what)
			require.Equal(t, want, Bucket(v.Hash, n))
		}
		for n, want := range v.Mod {
			n, _ := strconv.Atoi(n)
			f, err := NewBucketFunc("mod", types, n)
			require.NoError(t, err)
			require.Equal(t, []int32{want}, f.Buckets(nil, cols, 0, 1), what)
		}

		serialized, err := hex.DecodeString(v.Serialized)
		require.NoError(t, err)
		back := NewBatch(b.Type)
		require.NoError(t, DecodeSerializedRow(serialized, types, back), what)
		require.Equal(t, string(AppendJSONRow(nil, b, 0, false)), string(AppendJSONRow(nil, back, 0, false)))
		for i := range v.Values {
			require.Equal(t, string(v.Values[i]), string(AppendJSONValue(nil, &back.Cols[i], 0)), what)
		}
	}
}

func TestPartitionVectorsOfJava(t *testing.T) {
	for _, v := range append(readVectors(t, "partition.jsonl"), readVectors(t, "partition_text.jsonl")...) {
		b := v.batch(t)
		if v.Serialized != "" {
			require.Equal(t, v.Serialized, hex.EncodeToString(AppendSerializedRow(nil, columns(b), 0)))
		}
		for _, legacy := range []bool{true, false} {
			var got strings.Builder
			for i := range b.Cols {
				text := AppendPartitionText(nil, &b.Cols[i], 0, legacy)
				if len(bytes.TrimSpace(text)) == 0 {
					text = []byte("__DEFAULT_PARTITION__")
				}
				fmt.Fprintf(&got, "p%d=", i)
				for _, c := range text {
					if c < 0x20 || strings.IndexByte("\"#%'*/:=?\\\x7f{}[]^", c) >= 0 {
						fmt.Fprintf(&got, "%%%02X", c)
					} else {
						got.WriteByte(c)
					}
				}
				got.WriteByte('/')
			}
			want := v.Path
			if !legacy {
				want = v.PathNotLegacy
			}
			require.Equal(t, want, got.String())
		}
	}
}

// TestBucketsOfDocumentedRows has the rows of the format reference whose hash and hive buckets were made by Java.
func TestBucketsOfDocumentedRows(t *testing.T) {
	for _, c := range []struct {
		types, values string // values as a JSON list
		row           string // without blanks
		hash          int32
		b5, b16, hive int32 // hive -1: refused
	}{
		{"INT", `[0]`, "00000000000000000000000000000000", -300363099, 4, 11, 0},
		{"INT", `[1]`, "00000000000000000100000000000000", 1465514398, 3, 14, 1},
		{"BIGINT", `[1]`, "00000000000000000100000000000000", 1465514398, 3, 14, 1},
		{"BOOLEAN", `[true]`, "00000000000000000100000000000000", 1465514398, 3, 14, 1},
		{"INT", `[-1]`, "0000000000000000ffffffff00000000", 1133687267, 2, 3, 15},
		{"INT", `[2147483647]`, "0000000000000000ffffff7f00000000", -1125657321, 1, 9, 15},
		{"INT", `[null]`, "00010000000000000000000000000000", -1748325344, 4, 0, 0},
		{"BIGINT", `[-1]`, "0000000000000000ffffffffffffffff", -821098432, 2, 0, 0},
		{"BIGINT", `[1234567890123456789]`, "00000000000000001581e97df4102211", -849297337, 2, 9, 1},
		{"TINYINT", `[-7]`, "0000000000000000f900000000000000", 14401151, 1, 15, 9},
		{"SMALLINT", `[-300]`, "0000000000000000d4fe000000000000", -887757019, 4, 11, 4},
		{"FLOAT", `[1.5]`, "00000000000000000000c03f00000000", -173842779, 4, 11, 0},
		{"DOUBLE", `[-2.25]`, "000000000000000000000000000002c0", -413435051, 1, 11, 0},
		{"STRING", `[""]`, "00000000000000000000000000000080", 302122119, 4, 7, 0},
		{"STRING", `["paimon!"]`, "00000000000000007061696d6f6e2187", 1379221098, 3, 10, 13},
		{"STRING", `["paimon-8"]`, "000000000000000008000000100000007061696d6f6e2d38", -1996360394, 4, 10, 15},
		{"STRING", `["paimon-table"]`, "00000000000000000c000000100000007061696d6f6e2d7461626c6500000000", 2107241029, 4, 5, 5},
		{"STRING", `["你好"]`, "0000000000000000e4bda0e5a5bd0086", 1309276358, 3, 6, 6},
		{"STRING", `["你好,世界"]`, "00000000000000000d00000010000000e4bda0e5a5bd2ce4b896e7958c000000", 2085613344, 4, 0, 2},
		{"BYTES", `["AQID"]`, "00000000000000000102030000000083", 1066645297, 2, 1, 2},
		{"BYTES", `["AQIDBAUGBwgJ"]`, "0000000000000000090000001000000001020304050607080900000000000000", -171399545, 0, 9, 5},
		{"DECIMAL(10,2)", `["123.45"]`, "00000000000000003930000000000000", 767607022, 2, 14, 9},
		{"DECIMAL(18,4)", `["-1.5"]`, "000000000000000068c5ffffffffffff", -987272570, 0, 10, 0},
		{"DECIMAL(20,0)", `["12345678901234567890"]`, "0000000000000000090000001000000000ab54a98ceb1f0ad200000000000000", 1279091141, 1, 5, 10},
		{"DECIMAL(20,2)", `["-1.23"]`, "0000000000000000010000001000000085000000000000000000000000000000", -1806475919, 4, 15, 13},
		{"DECIMAL(38,10)", `["12345678901234567890.0123456789"]`, "00000000000000000d00000010000000018ee90ff6c373e0ee0c04d515000000", 404190324, 4, 4, 14},
		{"DECIMAL(20,0)", `[null]`, "0001000000000000000000001000000000000000000000000000000000000000", -1380280760, 0, 8, 0},
		{"TIMESTAMP(0)", `["2024-01-02T03:04:05"]`, "000000000000000088d820c88c010000", -985008620, 0, 12, -1},
		{"TIMESTAMP(3)", `["2024-01-02T03:04:05.123"]`, "000000000000000003d920c88c010000", 1903343740, 0, 12, -1},
		{"TIMESTAMP(6)", `["2024-01-02T03:04:05.123456"]`, "000000000000000040f506001000000003d920c88c010000", -1539318453, 3, 5, -1},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", `["2024-01-02T03:04:05.123456Z"]`, "000000000000000040f506001000000003d920c88c010000", -1539318453, 3, 5, -1},
		{"TIMESTAMP(9)", `["2024-01-02T03:04:05.123456789"]`, "000000000000000055f806001000000003d920c88c010000", -534033953, 3, 1, -1},
		{"TIMESTAMP(6)", `["1969-12-31T23:59:59.999999"]`, "0000000000000000583e0f0010000000ffffffffffffffff", 1236894319, 4, 15, -1},
		{"TIMESTAMP(6)", `[null]`, "000100000000000000000000100000000000000000000000", -340882661, 1, 5, -1},
		{"DATE", `["2024-01-02"]`, "00000000000000000c4d000000000000", 1827046836, 1, 4, 12},
		{"TIME(3)", `["03:04:05.123"]`, "00000000000000000389a80000000000", -1326771158, 3, 6, 3},
		{"INT;STRING", `[7,"abc"]`, "000000000000000007000000000000006162630000000083", 1593333451, 1, 11, 11},
		{"STRING;BIGINT", `["tenant-0001",99]`, "00000000000000000b00000018000000630000000000000074656e616e742d303030310000000000", 848280313, 3, 9, 15},
		{"INT;STRING", `[null,"abc"]`, "000100000000000000000000000000006162630000000083", 1743395493, 3, 5, 2},
		{"", `[]`, "0000000000000000", -1670924195, 0, 3, 0},
		{"ARRAY<INT>", `[[1,null,3]]`, "0000000000000000180000001000000003000000020000000100000000000000" + "0300000000000000", 0, -1, -1, -1},
		{"MAP<STRING,BIGINT>", `[[["k",5]]]`, "00000000000000002400000010000000" + "10000000" + "01000000000000006b00000000000081" + "01000000000000000500000000000000" + "00000000", 0, -1, -1, -1},
		{"DECIMAL(20,2);TIMESTAMP(6);STRING", `["1.00",null,"long-long-string"]`, "0002000000000000010000002000000000000000300000001000000038000000" +
			"64000000000000000000000000000000" + "0000000000000000" + "6c6f6e672d6c6f6e672d737472696e67", 0, -1, -1, -1},
	} {
		var v vector
		require.NoError(t, json.Unmarshal([]byte(c.values), &v.Values))
		for s := range strings.SplitSeq(c.types, ";") {
			if s != "" {
				typ, err := ParseType(s)
				require.NoError(t, err)
				v.Types = append(v.Types, typ)
			}
		}
		b := v.batch(t)
		cols, types := columns(b), b.Type.FieldTypes()
		what := c.types + " " + c.values
		row := AppendBinaryRow(nil, cols, 0)
		require.Equal(t, c.row, hex.EncodeToString(row), what)
		back := NewBatch(b.Type)
		require.NoError(t, DecodeBinaryRow(row, types, back), what)
		require.Equal(t, string(AppendJSONRow(nil, b, 0, false)), string(AppendJSONRow(nil, back, 0, false)))
		if c.b5 < 0 {
			continue
		}
		require.Equal(t, c.hash, Hash(row), what)
		for _, want := range []struct {
			kind string
			n    int
			b    int32
		}{{"default", 5, c.b5}, {"default", 16, c.b16}, {"hive", 16, c.hive}} {
			f, err := NewBucketFunc(want.kind, types, want.n)
			if want.b < 0 {
				require.Error(t, err, what)
				continue
			}
			require.NoError(t, err, what)
			require.Equal(t, []int32{want.b}, f.Buckets(nil, cols, 0, 1), "%s of %s", want.kind, what)
		}
	}
}

func TestEmptySerializedRow(t *testing.T) {
	require.Equal(t, EmptySerializedRow(), AppendSerializedRow(nil, nil, 0))
}
