package aggregate

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/table"
)

func TestIntegersWrapAsTheirBitsDo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ := rapid.SampledFrom([]string{"TINYINT", "SMALLINT", "INT", "BIGINT"}).Draw(rt, "type")
		bits := map[string]uint{"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[typ]
		function := rapid.SampledFrom([]string{"sum", "product"}).Draw(rt, "function")
		b := newBench(t, function, typ, nil)
		var want *big.Int
		for _, v := range rapid.SliceOfN(rapid.Int64Range(-1<<(bits-1), 1<<(bits-1)-1), 0, 8).Draw(rt, "values") {
			sign := "+"
			if function == "sum" && rapid.Bool().Draw(rt, "retract") {
				sign = "-"
			}
			require.NoError(rt, b.do(rt, fmt.Sprint(sign, " ", v)))
			x := big.NewInt(v)
			switch {
			case want == nil && sign == "-":
				want = x.Neg(x)
			case want == nil:
				want = x
			case sign == "-":
				want.Sub(want, x)
			case function == "sum":
				want.Add(want, x)
			default:
				want.Mul(want, x)
			}
		}
		if want == nil {
			require.Equal(rt, "null", b.value())
			return
		}
		one := big.NewInt(1)
		want.And(want, new(big.Int).Sub(new(big.Int).Lsh(one, bits), one))
		if want.Bit(int(bits-1)) == 1 {
			want.Sub(want, new(big.Int).Lsh(one, bits))
		}
		require.Equal(rt, want.String(), b.value())
	})
}

// decimalText is an unscaled value as JSON.
func decimalText(v *big.Int, scale int) string {
	s := new(big.Int).Abs(v).String()
	if len(s) <= scale {
		s = strings.Repeat("0", scale-len(s)+1) + s
	}
	if scale > 0 {
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if v.Sign() < 0 {
		s = "-" + s
	}
	return `"` + s + `"`
}

func TestDecimalProductsAreRoundedHalfUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		precision := rapid.IntRange(1, 38).Draw(rt, "precision")
		scale := rapid.IntRange(0, precision).Draw(rt, "scale")
		b := newBench(t, "product", fmt.Sprintf("DECIMAL(%d, %d)", precision, scale), nil)
		unscaled := rapid.Custom(func(rt *rapid.T) *big.Int {
			digits := rapid.StringMatching(fmt.Sprintf("-?[0-9]{1,%d}", precision)).Draw(rt, "digits")
			v, _ := new(big.Int).SetString(digits, 10)
			return v
		})
		x, y := unscaled.Draw(rt, "x"), unscaled.Draw(rt, "y")
		require.NoError(rt, b.do(rt, "+ "+decimalText(x, scale)))
		divide := y.Sign() != 0 && rapid.Bool().Draw(rt, "divide")
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		num, den := new(big.Int).Mul(x, y), unit
		step := "+ "
		if divide {
			num, den = new(big.Int).Mul(x, unit), y
			step = "- "
		}
		exact := new(big.Rat).SetFrac(num, den)
		err := b.do(rt, step+decimalText(y, scale))
		if divide {
			rest := new(big.Int).Set(new(big.Rat).SetFrac(x, y).Denom())
			for _, p := range []int64{2, 5} {
				for new(big.Int).Mod(rest, big.NewInt(p)).Sign() == 0 {
					rest.Div(rest, big.NewInt(p))
				}
			}
			if rest.Cmp(big.NewInt(1)) != 0 {
				require.ErrorContains(rt, err, "without end")
				return
			}
		}
		require.NoError(rt, err)
		want, _ := new(big.Int).SetString(exact.FloatString(0), 10) // rounds half away from zero
		if len(new(big.Int).Abs(want).String()) > precision {
			require.Equal(rt, "null", b.value())
			return
		}
		require.Equal(rt, decimalText(want, scale), b.value())
	})
}

// word is text of few different ones.
var word = rapid.SampledFrom([]string{"a", "b", "ab", "c", "é"})

func TestCollectIsAListOrASet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		distinct := rapid.Bool().Draw(rt, "distinct")
		b := newBench(t, "collect", "ARRAY<STRING>", table.Options{"fields.c.distinct": fmt.Sprint(distinct)})
		var want []string
		begun := false
		for range rapid.IntRange(0, 8).Draw(rt, "steps") {
			values := rapid.SliceOfN(word, 0, 4).Draw(rt, "values")
			text, _ := json.Marshal(values)
			sign := rapid.SampledFrom([]string{"+", "<", "-"}).Draw(rt, "kind")
			require.NoError(rt, b.do(rt, sign+" "+string(text)))
			if sign == "-" {
				for _, v := range values {
					if at := slices.Index(want, v); at >= 0 {
						want = slices.Delete(want, at, at+1)
					}
				}
				continue
			}
			begun = true
			for _, v := range values {
				if !distinct || !slices.Contains(want, v) {
					want = append(want, v)
				}
			}
		}
		if !begun {
			require.Equal(rt, "null", b.value())
			return
		}
		var got []string
		require.NoError(rt, json.Unmarshal([]byte(b.value()), &got))
		require.Equal(rt, slices.Clip(append([]string{}, want...)), got)
	})
}

func TestMapsAndKeyedRowsAreMaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nested := rapid.Bool().Draw(rt, "nested")
		function, typ := "merge_map", "MAP<STRING, INT>"
		if nested {
			function, typ = "nested_update", "ARRAY<ROW<k STRING, v INT>>"
		}
		b := newBench(t, function, typ, table.Options{"fields.c.nested-key": "k"})
		want := map[string]int{}
		begun := false
		for range rapid.IntRange(0, 8).Draw(rt, "steps") {
			values := rapid.MapOfN(word, rapid.IntRange(0, 99), 0, 4).Draw(rt, "values")
			var pairs []string
			for k, v := range values {
				if nested {
					pairs = append(pairs, fmt.Sprintf(`{"k":%q,"v":%d}`, k, v))
				} else {
					pairs = append(pairs, fmt.Sprintf(`[%q,%d]`, k, v))
				}
			}
			sign := rapid.SampledFrom([]string{"+", "<", "-"}).Draw(rt, "kind")
			require.NoError(rt, b.do(rt, sign+" ["+strings.Join(pairs, ",")+"]"))
			begun = begun || sign != "-"
			for k, v := range values {
				_, there := want[k]
				switch {
				case sign == "-":
					delete(want, k)
				case sign == "+" || !there:
					want[k] = v
				}
			}
		}
		if !begun {
			require.Equal(rt, "null", b.value())
			return
		}
		got := map[string]int{}
		if nested {
			var rows []struct {
				K string
				V int
			}
			require.NoError(rt, json.Unmarshal([]byte(b.value()), &rows))
			for _, r := range rows {
				got[r.K] = r.V
			}
			require.Len(rt, rows, len(got))
		} else {
			var pairs [][2]any
			require.NoError(rt, json.Unmarshal([]byte(b.value()), &pairs))
			for _, p := range pairs {
				got[p[0].(string)] = int(p[1].(float64))
			}
			require.Len(rt, pairs, len(got))
		}
		require.Equal(rt, want, got)
	})
}

func TestListAggIsJoin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delimiter := rapid.SampledFrom([]string{",", "--", ""}).Draw(rt, "delimiter")
		distinct := delimiter != "" && rapid.Bool().Draw(rt, "distinct")
		b := newBench(t, "listagg", "STRING", table.Options{"fields.c.list-agg-delimiter": delimiter, "fields.c.distinct": fmt.Sprint(distinct)})
		var want []string
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			words := rapid.SliceOfNDistinct(word, 1, 3, rapid.ID[string]).Draw(rt, "words")
			text, _ := json.Marshal(strings.Join(words, delimiter))
			require.NoError(rt, b.do(rt, "+ "+string(text)))
			for _, w := range words {
				if !distinct || !slices.Contains(want, w) {
					want = append(want, w)
				}
			}
		}
		text, _ := json.Marshal(strings.Join(want, delimiter))
		require.Equal(rt, string(text), b.value())
	})
}
