package parquet

import "github.com/paimon-go/paimon-go/format"

var _ format.Footprinter = (*reader)(nil)

// Footprint counts, for each column to read, the bytes read ahead, a page packed and unpacked, and the dictionary. The footer
// doesn't tell the size of pages: they are taken for as large as writers make them by default.
func (r *reader) Footprint() int64 {
	var n int64
	if r.size <= wholeFile {
		n = r.size
	}
	for i, l := range r.leaves {
		if l == nil {
			continue
		}
		var most int64
		for k := range r.meta.groups {
			most = max(most, r.meta.groups[k].chunks[i].footprint())
		}
		n += most
	}
	return n
}

func (m *chunkMeta) footprint() int64 {
	page := min(m.uncompressed, defaultPageSize+defaultPageSize/8)
	if m.values > 0 { // a page ends after so many rows too
		page = min(page, (m.uncompressed/m.values+1)*defaultPageRows*2)
	}
	n := page + min(m.size, page) + min(m.size, window)
	if m.hasDict {
		n += 2 * min(m.uncompressed, defaultDictSize)
	}
	return n + 4<<10 // levels, and what lies around
}
