package aggregate

import "github.com/paimon-go/paimon-go/format/row"

// mergeMap joins maps; the newer value of a key stays.
type mergeMap struct {
	noState
	m mapMerger
}

func newMergeMap(t *row.Type, _ params) (Func, error) {
	if t.Root != row.Map {
		return nil, needs("MAP", t)
	}
	f := &mergeMap{}
	f.m.out.Init(t)
	return f, nil
}

func (f *mergeMap) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	f.m.begin(acc)
	for j := int(in.Off[i]); j < int(in.Off[i+1]); j++ {
		f.m.put(in, j, 1)
	}
	f.m.finish(acc, in)
	return nil
}

// Retract removes the keys of a map, whatever their values are.
func (f *mergeMap) Retract(acc, in *row.Column, i int) error {
	if either(acc, in, i) || in.Off[i] == in.Off[i+1] {
		return nil
	}
	f.m.begin(acc)
	for j := int(in.Off[i]); j < int(in.Off[i+1]); j++ {
		f.m.remove(in, j)
	}
	f.m.finish(acc, in)
	return nil
}

// mapMerger joins the entries of the cell's map with those of another one.
type mapMerger struct {
	keys    index
	entries []mapEntry // of each key
	out     row.Column
}

// mapEntry is where the entry of a key lies: at of the cell (side 0) or of the other map (side 1); side -1: it is removed.
type mapEntry struct {
	side int8
	at   int32
}

func (m *mapMerger) begin(acc *row.Column) {
	m.keys.reset()
	m.entries = m.entries[:0]
	for j := int(acc.Off[0]); j < int(acc.Off[1]); j++ {
		m.put(acc, j, 0)
	}
}

// put sets the value of a key to entry j of a side's map.
func (m *mapMerger) put(c *row.Column, j int, side int8) {
	e := mapEntry{side, int32(j)}
	m.keys.keys = appendValue(m.keys.keys, &c.Kids[0], j)
	n, found := m.keys.add()
	if !found {
		m.entries = append(m.entries, e)
		return
	}
	m.entries[n] = e
}

// remove drops the key of entry j of c.
func (m *mapMerger) remove(c *row.Column, j int) {
	if e := m.get(c, j); e != nil {
		e.side = -1
	}
}

// get returns the entry of the key of entry j of c, nil when the key was never there.
func (m *mapMerger) get(c *row.Column, j int) *mapEntry {
	m.keys.keys = appendValue(m.keys.keys, &c.Kids[0], j)
	if n := m.keys.find(); n >= 0 {
		return &m.entries[n]
	}
	return nil
}

// finish makes the joined map the cell's.
func (m *mapMerger) finish(acc, in *row.Column) {
	m.out.Reset()
	sides := [2]*row.Column{acc, in}
	for _, e := range m.entries {
		if e.side < 0 {
			continue
		}
		for k := range m.out.Kids {
			m.out.Kids[k].AppendFrom(&sides[e.side].Kids[k], int(e.at))
		}
	}
	m.out.EndList()
	exchange(acc, &m.out)
}

// mergeMapWithKeyTime joins maps of rows; the row with the later time, a string, stays. A NULL row removes its key.
type mergeMapWithKeyTime struct {
	noState
	noRetract
	m    mapMerger
	time int // the field
}

func newMergeMapWithKeyTime(t *row.Type, p params) (Func, error) {
	if t.Root != row.Map || t.Elem.Root != row.Row || len(t.Elem.Fields) < 2 {
		return nil, needs("MAP of rows with at least 2 fields", t)
	}
	f := &mergeMapWithKeyTime{time: len(t.Elem.Fields) - 1}
	if name, ok := p.get("ts-field"); ok {
		if f.time = fieldIndex(t.Elem, name); f.time < 0 {
			return nil, needs("a field "+name+", which ts-field names, in the rows", t)
		}
	}
	if r := t.Elem.Fields[f.time].Type.Root; r != row.VarChar && r != row.Char {
		return nil, needs("a string as field "+t.Elem.Fields[f.time].Name+", the time of the rows", &t.Elem.Fields[f.time].Type)
	}
	f.m.out.Init(t)
	return f, nil
}

func (f *mergeMapWithKeyTime) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	f.m.begin(acc)
	rows, times := &in.Kids[1], &in.Kids[1].Kids[f.time]
	sides := [2]*row.Column{acc, in}
	for j := int(in.Off[i]); j < int(in.Off[i+1]); j++ {
		switch {
		case rows.Nulls.Get(j):
			f.m.remove(in, j)
			continue
		case times.Nulls.Get(j):
			continue
		}
		if old := f.m.get(in, j); old != nil && old.side >= 0 {
			had := &sides[old.side].Kids[1]
			hadTimes := &had.Kids[f.time]
			if !had.Nulls.Get(int(old.at)) && !hadTimes.Nulls.Get(int(old.at)) &&
				compareUTF16(times.Value(j), hadTimes.Value(int(old.at))) <= 0 {
				continue
			}
		}
		f.m.put(in, j, 1)
	}
	f.m.finish(acc, in)
	return nil
}

// compareUTF16 compares UTF-8 texts as Java compares strings, by UTF-16 units: what takes two of them (4 bytes of UTF-8)
// comes before U+E000 and above (3 bytes that begin with EE or EF).
func compareUTF16(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
