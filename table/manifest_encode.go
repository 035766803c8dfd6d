package table

import "github.com/paimon-go/paimon-go/format/avro"

// appendEntry appends the datum of an entry in manifestSchema.
func appendEntry(dst []byte, e *Entry) []byte {
	f := &e.File
	dst = avro.AppendInt(dst, manifestVersion)
	dst = avro.AppendInt(dst, int32(e.Kind))
	dst = avro.AppendBytes(dst, e.Partition)
	dst = avro.AppendInt(dst, e.Bucket)
	dst = avro.AppendInt(dst, e.TotalBuckets)
	dst = avro.AppendString(dst, f.Name)
	dst = avro.AppendLong(dst, f.Size)
	dst = avro.AppendLong(dst, f.RowCount)
	dst = avro.AppendBytes(dst, f.MinKey)
	dst = avro.AppendBytes(dst, f.MaxKey)
	dst = appendStats(dst, &f.KeyStats)
	dst = appendStats(dst, &f.ValueStats)
	dst = avro.AppendLong(dst, f.MinSeq)
	dst = avro.AppendLong(dst, f.MaxSeq)
	dst = avro.AppendLong(dst, f.SchemaID)
	dst = avro.AppendLong(dst, int64(f.Level))
	dst = appendStrings(dst, f.ExtraFiles)
	dst = appendOptionalLong(dst, f.CreationMillis, f.CreationMillis != -1)
	dst = appendOptionalLong(dst, f.DeleteRows, f.DeleteRows != -1)
	if dst = avro.AppendUnion(dst, f.EmbeddedIndex != nil); f.EmbeddedIndex != nil {
		dst = avro.AppendBytes(dst, f.EmbeddedIndex)
	}
	dst = appendOptionalLong(dst, int64(f.Source), f.Source != SourceUnknown)
	dst = appendOptionalStrings(dst, f.ValueStatsCols)
	if dst = avro.AppendUnion(dst, f.ExternalPath != ""); f.ExternalPath != "" {
		dst = avro.AppendString(dst, f.ExternalPath)
	}
	dst = appendOptionalLong(dst, f.FirstRowID, f.FirstRowID != -1)
	return appendOptionalStrings(dst, f.WriteCols)
}

// appendManifest appends the datum of a manifest in manifestListSchema.
func appendManifest(dst []byte, m *Manifest) []byte {
	dst = avro.AppendInt(dst, manifestVersion)
	dst = avro.AppendString(dst, m.Name)
	dst = avro.AppendLong(dst, m.Size)
	dst = avro.AppendLong(dst, m.Added)
	dst = avro.AppendLong(dst, m.Deleted)
	dst = appendStats(dst, &m.PartitionStats)
	dst = avro.AppendLong(dst, m.SchemaID)
	for _, r := range [...]*Range{&m.Buckets, &m.Levels, &m.RowIDs} {
		dst = appendOptionalLong(dst, r.Min, r.Known)
		dst = appendOptionalLong(dst, r.Max, r.Known)
	}
	return dst
}

func appendStats(dst []byte, s *Stats) []byte {
	dst = avro.AppendBytes(dst, s.Min)
	dst = avro.AppendBytes(dst, s.Max)
	if dst = avro.AppendUnion(dst, s.NullCounts != nil); s.NullCounts == nil {
		return dst
	}
	dst = avro.AppendCount(dst, len(s.NullCounts))
	for _, n := range s.NullCounts {
		dst = appendOptionalLong(dst, n, n != -1)
	}
	return avro.AppendEnd(dst)
}

func appendOptionalLong(dst []byte, v int64, present bool) []byte {
	if dst = avro.AppendUnion(dst, present); present {
		dst = avro.AppendLong(dst, v)
	}
	return dst
}

func appendStrings(dst []byte, list []string) []byte {
	dst = avro.AppendCount(dst, len(list))
	for _, s := range list {
		dst = avro.AppendString(dst, s)
	}
	return avro.AppendEnd(dst)
}

func appendOptionalStrings(dst []byte, list []string) []byte {
	if dst = avro.AppendUnion(dst, list != nil); list != nil {
		dst = appendStrings(dst, list)
	}
	return dst
}
