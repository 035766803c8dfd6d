package table

// Packed copies a file's description out of the memory of its manifest, which it would keep alive, into two pieces.
func (f *DataFile) Packed() DataFile {
	c := *f
	parts := []*[]byte{&c.MinKey, &c.MaxKey, &c.KeyStats.Min, &c.KeyStats.Max, &c.ValueStats.Min, &c.ValueStats.Max, &c.EmbeddedIndex}
	n := 0
	for _, p := range parts {
		n += len(*p)
	}
	all := make([]byte, 0, n)
	for _, p := range parts {
		if *p == nil {
			continue
		}
		from := len(all)
		all = append(all, *p...)
		*p = all[from:len(all):len(all)]
	}
	nulls := make([]int64, 0, len(c.KeyStats.NullCounts)+len(c.ValueStats.NullCounts))
	for _, p := range []*[]int64{&c.KeyStats.NullCounts, &c.ValueStats.NullCounts} {
		if *p == nil {
			continue
		}
		from := len(nulls)
		nulls = append(nulls, *p...)
		*p = nulls[from:len(nulls):len(nulls)]
	}
	return c
}
