package mysql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
)

// TestViewAndLogMakeOneState opens views at random moments of a history, reads each row in one of them, and has the log of a part
// of the history that holds all these moments: the rows must be those of the end of that part.
func TestViewAndLogMakeOneState(t *testing.T) {
	typ := row.NewRow(row.Field{Name: "v", Type: row.Type{Root: row.Int, Nullable: true}}, row.Field{Name: "ID", Type: row.Type{Root: row.VarChar, Length: 10}})
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.IntRange(1, 8).Draw(t, "keys")
		now := map[string]int32{}
		states := []map[string]int32{{}}
		log := row.NewBatch(&typ)
		ends := []int{0} // rows of log after each change
		add := func(kind row.Kind, k string) {
			log.Cols[0].AppendI32(now[k])
			log.Cols[1].AppendBytes([]byte(k))
			log.EndRow(kind)
		}
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			// The case of a key is not told apart by the server, but by us.
			name := func() string {
				k := fmt.Sprintf("k%d", rapid.IntRange(0, keys-1).Draw(t, "key"))
				if rapid.Bool().Draw(t, "upper") {
					k = "K" + k[1:]
				}
				return k
			}
			k := name()
			_, ok := now[k]
			switch {
			case !ok:
				now[k] = rapid.Int32Range(0, 3).Draw(t, "value")
				add(row.Insert, k)
			case rapid.Bool().Draw(t, "delete"):
				add(row.Delete, k)
				delete(now, k)
			default:
				to := name()
				if _, taken := now[to]; taken && to != k {
					to = k
				}
				add(row.UpdateBefore, k)
				delete(now, k)
				now[to] = rapid.Int32Range(0, 3).Draw(t, "value")
				add(row.UpdateAfter, to)
			}
			s := map[string]int32{}
			for k, v := range now {
				s[k] = v
			}
			states, ends = append(states, s), append(ends, log.N)
		}
		low := rapid.IntRange(0, len(states)-1).Draw(t, "low")
		high := rapid.IntRange(low, len(states)-1).Draw(t, "high")
		// A view need not have the log's order: it has of each key what some moment has, but for moves all of it.
		touched := newTouched(&typ, []string{"id"}, true)
		for from := ends[low]; from < ends[high]; {
			to := rapid.IntRange(from+1, ends[high]).Draw(t, "chunk")
			part := row.NewBatch(&typ)
			part.AppendRange(log, from, to)
			require.NoError(t, touched.take(part))
			from = to
			if rapid.Bool().Draw(t, "shrink") {
				touched.shrink()
			}
		}
		view := states[rapid.IntRange(low, high).Draw(t, "view")]
		other := states[rapid.IntRange(low, high).Draw(t, "other view")]
		got := map[string]int32{}
		page := row.NewBatch(&typ)
		read := func(s map[string]int32, half int) {
			for k, v := range s {
				if int(k[1])%2 != half {
					continue
				}
				page.Cols[0].AppendI32(v)
				page.Cols[1].AppendBytes([]byte(k))
				page.EndRow(row.Insert)
				if touched.has(page, page.N-1) {
					page.Truncate(page.N - 1)
				}
			}
		}
		read(view, 0)
		read(other, 1)
		rest := touched.state()
		page.AppendRange(rest, 0, rest.N)
		for i := range page.N {
			k := string(page.Cols[1].Value(i))
			require.NotContains(t, got, k)
			require.Equal(t, row.Insert, page.Kinds[i])
			got[k] = page.Cols[0].I32[i]
		}
		require.Equal(t, states[high], got)
	})
}

func TestTouchedIsBounded(t *testing.T) {
	typ := row.NewRow(row.Field{Name: "id", Type: row.Type{Root: row.Int}}, row.Field{Name: "s", Type: row.Type{Root: row.VarChar, Length: 1 << 30, Nullable: true}})
	touched := newTouched(&typ, []string{"id"}, true)
	b := row.NewBatch(&typ)
	put := func(id int32) error {
		b.Reset()
		b.Cols[0].AppendI32(id)
		b.Cols[1].AppendBytes(make([]byte, 1<<20))
		b.EndRow(row.UpdateAfter)
		return touched.take(b)
	}
	for range 3 * touchedBytes >> 20 {
		require.NoError(t, put(1))
		require.LessOrEqual(t, touched.rows.Bytes(), touchedBytes+8<<20)
	}
	fill := func() (err error) {
		for id := int32(0); err == nil && id < 100; id++ {
			err = put(id)
		}
		return err
	}
	require.ErrorContains(t, fill(), "gtid_mode=ON")
	touched.moment = true
	require.ErrorIs(t, fill(), errUnsettled, "the next moment may have less")
	keyless := newTouched(&typ, nil, false)
	require.NoError(t, keyless.take(row.NewBatch(&typ)))
	require.ErrorIs(t, keyless.take(b), errUnsettled)
}
