package partition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// shop is a table partitioned by a text, a number and a date.
func shop(t *testing.T) *table.Table {
	fields, err := row.ParseType("ROW<id INT NOT NULL, dt STRING NOT NULL, hour INT NOT NULL, day DATE NOT NULL, ok BOOLEAN>")
	require.NoError(t, err)
	tab, err := table.Create(t.Context(), mem.New(), "/w/d.db/t", table.Spec{Fields: fields.Fields, PartitionKeys: []string{"dt", "hour", "day", "ok"},
		PrimaryKeys: []string{"dt", "hour", "day", "id"}, Options: table.Options{"bucket": "1"}})
	require.NoError(t, err)
	return tab
}

// serialized is the partition of the values, of which nil is NULL.
func serialized(t require.TestingT, tab *table.Table, json string) []byte {
	s := tab.Schema()
	fields := make([]row.Field, len(s.PartitionKeys))
	for i, k := range s.PartitionIndexes() {
		fields[i] = s.Fields[k]
	}
	typ := row.NewRow(fields...)
	b := row.NewBatch(&typ)
	require.NoError(t, row.ParseJSONRow([]byte(json), b))
	cols := make([]*row.Column, len(b.Cols))
	for i := range cols {
		cols[i] = &b.Cols[i]
	}
	return row.AppendSerializedRow(nil, cols, 0)
}

func TestWhere(t *testing.T) {
	tab := shop(t)
	p := serialized(t, tab, `{"dt":"it's 5","hour":8,"day":"2024-02-29","ok":null}`)
	for text, want := range map[string]bool{
		"dt = 'it''s 5'": true, "DT=\"it's 5\"": true, "`dt` <> 'x'": true, "dt != 'it''s 5'": false,
		"hour = 8": true, "hour = '08'": true, "hour > 8": false, "hour >= 8 AND hour <= 8": true, "hour between 1 and 8": true,
		"8 = hour": true, "9 > hour": true, "8 > hour": false, "7 < hour": true, "hour = -8": false,
		"hour in (1, 8)": true, "hour not in (1,8)": false, "not hour in (1, 2)": true,
		"day = '2024-02-29'": true, "day < date '2024-03-01'": true, "day not between '2024-01-01' and '2024-12-31'": false,
		"dt = 'x' or hour = 8": true, "dt = 'x' or hour = 8 and day = '2020-01-01'": false, "(dt = 'x' or hour = 8) and not (hour = 9)": true,
		"ok is null": true, "ok is not null": false, "ok = true": false, "ok != true": false, "not ok = true": false, "ok = true or hour = 8": true,
	} {
		f, err := New(tab, nil, text)
		require.NoError(t, err, text)
		got, err := f.Match(p)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
		require.Equal(t, want, f.MatchTexts(texts(t, tab, p)), text)
	}
}

// texts are the values of a partition as they are in its directory's name.
func texts(t require.TestingT, tab *table.Table, partition []byte) map[string]string {
	values, err := tab.PartitionValues(partition)
	require.NoError(t, err)
	m := map[string]string{}
	for i, k := range tab.Schema().PartitionKeys {
		m[k] = values[i]
	}
	return m
}

func TestWhereRefuses(t *testing.T) {
	tab := shop(t)
	for text, says := range map[string]string{
		"id = 1": "not a partition column", "dt = 5": "quotes", "hour = 'x'": "no value of type INT", "hour = 1.5": "no value", "day = '2024-02-30'": "no value",
		"hour": "expected a comparison", "hour = ": "expected a text", "(hour = 1": "expected )", "hour = 1)": "expected AND, OR",
		"hour = 1 hour": "expected AND", "dt = 'x": "no end", "hour ~ 1": "not understood", "hour in 1": "expected (", "hour in ()": "expected a text",
		"1 = 1": "expected a column", "hour like 1": "expected a comparison", "and": "not a partition column", "hour is 5": "expected null",
		strings.Repeat("not ", 100_000) + "hour = 1": "levels",
	} {
		_, err := New(tab, nil, text)
		require.ErrorIs(t, err, cli.ErrUsage, text)
		require.ErrorContains(t, err, says, text)
	}
	_, err := New(tab, []string{"dt=a"}, "hour=1")
	require.ErrorContains(t, err, "exclude")
}

func TestSpecs(t *testing.T) {
	tab := shop(t)
	p := serialized(t, tab, `{"dt":"a","hour":8,"day":"2024-02-29","ok":null}`)
	for _, c := range []struct {
		specs string
		want  bool
	}{
		{"dt=a", true}, {"dt=a,hour=08", true}, {"dt=a, hour=8", true}, {"dt=a,hour=9", false}, {"dt=b dt=a", true}, {"day=2024-02-29", true}, {"day=19782", true},
		{"ok=__DEFAULT_PARTITION__", true}, {"ok=true", false}, {"hour=x", false},
	} {
		f, err := New(tab, strings.Fields(strings.ReplaceAll(c.specs, ", ", ",")), "")
		require.NoError(t, err, c.specs)
		got, err := f.Match(p)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.specs)
		require.Equal(t, c.want, f.MatchTexts(texts(t, tab, p)), c.specs)
	}
	for _, wrong := range []string{"id=1", "dt", "=a"} {
		_, err := New(tab, []string{wrong}, "")
		require.ErrorIs(t, err, cli.ErrUsage, wrong)
	}
	f, err := New(tab, nil, "")
	require.NoError(t, err)
	all, err := f.Match(p)
	require.NoError(t, err)
	require.True(t, all)
}

// A condition means what a simple evaluation of the same tree in Go means.
func TestWhereAgreesWithModel(t *testing.T) {
	tab := shop(t)
	rapid.Check(t, func(r *rapid.T) {
		hour, ok := int32(rapid.IntRange(0, 3).Draw(r, "hour")), rapid.SampledFrom([]string{"true", "false", "null"}).Draw(r, "ok")
		p := serialized(r, tab, fmt.Sprintf(`{"dt":"a","hour":%d,"day":"2024-01-01","ok":%s}`, hour, ok))
		var draw func(depth int) (string, int) // the text, and -1 no, 0 unknown, 1 yes
		draw = func(depth int) (string, int) {
			sign := func(b bool) int {
				if b {
					return 1
				}
				return -1
			}
			kinds := 2
			if depth > 0 {
				kinds = 5
			}
			switch rapid.IntRange(0, kinds-1).Draw(r, "kind") {
			case 0:
				v := int32(rapid.IntRange(0, 3).Draw(r, "v"))
				op := rapid.SampledFrom([]string{"=", "<", ">=", "<>"}).Draw(r, "op")
				return fmt.Sprintf("hour %s %d", op, v), sign(map[string]bool{"=": hour == v, "<": hour < v, ">=": hour >= v, "<>": hour != v}[op])
			case 1:
				if ok == "null" {
					return "ok = true", 0
				}
				return "ok = true", sign(ok == "true")
			case 2:
				s, v := draw(depth - 1)
				return "not (" + s + ")", -v
			case 3:
				s, v := draw(depth - 1)
				s2, v2 := draw(depth - 1)
				return "(" + s + ") and (" + s2 + ")", min(v, v2)
			}
			s, v := draw(depth - 1)
			s2, v2 := draw(depth - 1)
			return "(" + s + ") or (" + s2 + ")", max(v, v2)
		}
		text, want := draw(4)
		f, err := New(tab, nil, text)
		require.NoError(r, err, text)
		got, err := f.Match(p)
		require.NoError(r, err)
		require.Equal(r, want == 1, got, text)
	})
}
