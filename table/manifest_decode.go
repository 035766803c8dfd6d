package table

import (
	"bytes"
	"slices"

	"github.com/paimon-go/paimon-go/format/avro"
)

// entryHead is what decides whether an entry is wanted at all.
type entryHead struct {
	kind                 EntryKind
	partition            []byte
	bucket, totalBuckets int32
}

// decodeHead reads a datum of manifestSchema up to its file. A version or kind that this program does not know is
// reported by ok=false.
func decodeHead(d *avro.Decoder) (h entryHead, ok bool) {
	version := d.Int()
	kind := d.Int()
	h.partition = d.Bytes()
	h.bucket = d.Int()
	h.totalBuckets = d.Int()
	h.kind = EntryKind(kind)
	return h, d.Err() == nil && version == manifestVersion && (kind == 0 || kind == 1)
}

// fileDecoder decodes files and saves memory where neighbours are alike. The zero value is ready.
type fileDecoder struct {
	counts []int64 // room for null counts
	cols   sameStrings
	write  sameStrings
}

// sameStrings is the list of strings that was read last.
type sameStrings struct {
	raw  []byte
	list []string
}

// read reads a nullable array of strings; an equal one is shared.
func (s *sameStrings) read(d *avro.Decoder) []string {
	if !d.Union() {
		return nil
	}
	ahead := *d
	skipStrings(&ahead)
	if ahead.Err() != nil {
		*d = ahead
		return nil
	}
	raw := d.Fixed(ahead.Pos() - d.Pos())
	if s.list != nil && bytes.Equal(raw, s.raw) {
		return s.list
	}
	var items avro.Decoder
	items.Reset(raw)
	if s.list = decodeStrings(&items); s.list == nil {
		s.list = []string{} // an empty list is not the same as none
	}
	s.raw = raw
	return s.list
}

// file reads the file of an entry. All but strings and null counts refer to the decoder's bytes; lists of strings may be
// shared with other files.
func (x *fileDecoder) file(d *avro.Decoder, f *DataFile) {
	f.Name = d.String()
	f.Size = d.Long()
	f.RowCount = d.Long()
	f.MinKey = d.Bytes()
	f.MaxKey = d.Bytes()
	x.stats(d, &f.KeyStats)
	x.stats(d, &f.ValueStats)
	f.MinSeq = d.Long()
	f.MaxSeq = d.Long()
	f.SchemaID = d.Long()
	f.Level = int(d.Int())
	f.ExtraFiles = decodeStrings(d)
	f.CreationMillis = decodeOptionalLong(d)
	f.DeleteRows = decodeOptionalLong(d)
	f.EmbeddedIndex = nil
	if d.Union() {
		f.EmbeddedIndex = d.Bytes()
	}
	f.Source = SourceUnknown
	if d.Union() {
		f.Source = FileSource(d.Int())
	}
	f.ValueStatsCols = x.cols.read(d)
	f.ExternalPath = ""
	if d.Union() {
		f.ExternalPath = d.String()
	}
	f.FirstRowID = decodeOptionalLong(d)
	f.WriteCols = x.write.read(d)
}

// skipFile moves past the file of an entry.
func skipFile(d *avro.Decoder) {
	d.Bytes() // name
	d.Long()  // size
	d.Long()  // rows
	d.Bytes() // min key
	d.Bytes() // max key
	skipStats(d)
	skipStats(d)
	d.Long() // min sequence
	d.Long() // max sequence
	d.Long() // schema
	d.Long() // level
	skipStrings(d)
	skipOptionalLong(d) // creation time
	skipOptionalLong(d) // deleted rows
	if d.Union() {
		d.Bytes() // embedded index
	}
	skipOptionalLong(d) // source
	if d.Union() {
		skipStrings(d) // statistics columns
	}
	if d.Union() {
		d.Bytes() // external path
	}
	skipOptionalLong(d) // first row id
	if d.Union() {
		skipStrings(d) // written columns
	}
}

// decodeManifest reads a datum of manifestListSchema; ok as decodeHead.
func decodeManifest(d *avro.Decoder, m *Manifest) (ok bool) {
	version := d.Int()
	m.Name = d.String()
	m.Size = d.Long()
	m.Added = d.Long()
	m.Deleted = d.Long()
	decodeStats(d, &m.PartitionStats)
	m.SchemaID = d.Long()
	for _, r := range [...]*Range{&m.Buckets, &m.Levels, &m.RowIDs} {
		*r = decodeRange(d)
	}
	return d.Err() == nil && version == manifestVersion
}

func decodeRange(d *avro.Decoder) (r Range) {
	low := d.Union()
	if low {
		r.Min = d.Long()
	}
	high := d.Union()
	if high {
		r.Max = d.Long()
	}
	if low && high {
		r.Known = true
		return r
	}
	return Range{}
}

func decodeStats(d *avro.Decoder, s *Stats) { new(fileDecoder).stats(d, s) }

// countsRoom is how many null counts are allocated at once.
const countsRoom = 512

func (x *fileDecoder) stats(d *avro.Decoder, s *Stats) {
	s.Min = d.Bytes()
	s.Max = d.Bytes()
	s.NullCounts = nil
	if !d.Union() {
		return
	}
	s.NullCounts = []int64{}
	for n := d.Items(); n > 0; n = d.Items() {
		if len(s.NullCounts) > 0 {
			s.NullCounts = slices.Grow(s.NullCounts, n) // a second run of items, which nobody writes
		} else {
			s.NullCounts = x.room(n)
		}
		for ; n > 0; n-- {
			s.NullCounts = append(s.NullCounts, decodeOptionalLong(d))
		}
	}
}

// room returns an empty slice that n counts can be appended to.
func (x *fileDecoder) room(n int) []int64 {
	if n > len(x.counts) {
		if n > countsRoom/8 {
			return make([]int64, 0, n)
		}
		x.counts = make([]int64, countsRoom)
	}
	r := x.counts[:0:n]
	x.counts = x.counts[n:]
	return r
}

func skipStats(d *avro.Decoder) {
	d.Bytes()
	d.Bytes()
	if !d.Union() {
		return
	}
	for n := d.Items(); n > 0; n = d.Items() {
		for ; n > 0; n-- {
			skipOptionalLong(d)
		}
	}
}

func decodeOptionalLong(d *avro.Decoder) int64 {
	if d.Union() {
		return d.Long()
	}
	return -1
}

func skipOptionalLong(d *avro.Decoder) {
	if d.Union() {
		d.Long()
	}
}

// decodeStrings returns nil for no strings, as most files have no extra files.
func decodeStrings(d *avro.Decoder) []string {
	var list []string
	for n := d.Items(); n > 0; n = d.Items() {
		if list == nil {
			list = make([]string, 0, n)
		}
		for ; n > 0; n-- {
			list = append(list, d.String())
		}
	}
	return list
}

func skipStrings(d *avro.Decoder) {
	for n := d.Items(); n > 0; n = d.Items() {
		for ; n > 0; n-- {
			d.Bytes()
		}
	}
}
