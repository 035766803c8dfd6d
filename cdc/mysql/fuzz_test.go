package mysql

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

// capturedBytes are real events and packets to start from.
func capturedBytes(t testing.TB) (list []*capture) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, p := range paths {
		list = append(list, readCapture(t, p))
	}
	return list
}

func FuzzTableMap(f *testing.F) {
	for _, c := range capturedBytes(f) {
		for _, e := range c.events {
			if e.kind == tableMapEvent {
				f.Add(e.body, c.mariaDB)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, mariaDB bool) {
		tm, err := ParseTableMap(body, mariaDB)
		if err == nil {
			require.True(t, tm.Same(body))
		} else {
			require.ErrorIs(t, err, ErrMalformed)
		}
		_, _, _ = TableMapName(body)
		_, _ = TableMapID(body)
	})
}

// FuzzRows feeds a whole map and rows event to a decoder of all types: errors are fine, panics are not, and what was
// taken must be rows in every column.
func FuzzRows(f *testing.F) {
	captures := capturedBytes(f)
	for i, c := range captures {
		var m []byte
		for _, e := range c.events {
			if e.kind == tableMapEvent {
				m = e.body
			} else if len(e.body) < 4000 {
				f.Add(byte(i), e.kind, m, e.body)
			}
		}
	}
	var ds []*Decoder
	for _, c := range captures {
		d, err := NewDecoder(c.cols, targetType(f, c.cols, TypeOptions{}), ValueOptions{})
		require.NoError(f, err)
		ds = append(ds, d)
	}
	f.Fuzz(func(t *testing.T, which, kind byte, tableMap, body []byte) {
		i := int(which) % len(ds)
		tm, err := ParseTableMap(tableMap, captures[i].mariaDB)
		if err != nil {
			return
		}
		e, err := ParseRows(kind, body)
		if err != nil {
			return
		}
		b := row.NewBatch(ds[i].target)
		if _, err = ds[i].AppendRows(b, tm, &e); err != nil {
			return
		}
		for k := range b.Cols {
			require.Equal(t, b.N, b.Cols[k].N)
		}
	})
}

func FuzzBinaryRow(f *testing.F) {
	captures := capturedBytes(f)
	var ds []*Decoder
	for i, c := range captures {
		d, err := NewDecoder(c.cols, targetType(f, c.cols, TypeOptions{}), ValueOptions{})
		require.NoError(f, err)
		ds = append(ds, d)
		for _, p := range c.packets {
			if len(p) < 4000 {
				f.Add(byte(i), p)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, packet []byte) {
		d := ds[int(which)%len(ds)]
		b := row.NewBatch(d.target)
		if d.AppendBinaryRow(b.Cols, packet) == nil {
			for k := range b.Cols {
				require.Equal(t, 1, b.Cols[k].N)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte{0x00, 1, 0, 12, 0, 11, 0, 1, 0, 5, 7, 0, 'a'})
	f.Add([]byte{0x02, 2, 0, 10, 0, 2, 0, 0, 2, 0, 0}) // an array that holds itself
	for _, name := range []string{"json", "alltypes"} {
		c := readCapture(f, "testdata/"+name+".txt")
		for _, e := range c.events {
			if e.kind != tableMapEvent && len(e.body) > 20 && len(e.body) < 3000 {
				f.Add(e.body[19:]) // the document follows the key and the length
			}
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) == 0 {
			return
		}
		w := jsonWriter{left: len(doc)}
		w.value(doc[0], doc[1:], 0)
		require.LessOrEqual(t, len(w.out), 400+60*len(doc))
	})
}

func FuzzGeometry(f *testing.F) {
	c := readCapture(f, "testdata/geometry.txt")
	target := targetType(f, c.cols, TypeOptions{})
	d, err := NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(f, err)
	for _, p := range c.packets {
		f.Add(p[6:])
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		b := row.NewBatch(target)
		_ = d.geometry(&b.Cols[1], &d.fields[1], v)
	})
}

func FuzzParseColumn(f *testing.F) {
	for _, s := range []string{"enum('a','b''c','\\\\')", "decimal(10,2) unsigned", "double precision", "set(", "bit(65)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseColumn("c", s)
		if err == nil {
			_, _ = PaimonType(c, TypeOptions{})
		}
	})
}
