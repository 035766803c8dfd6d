package table

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// checkManifest compares a manifest file with what its list says of it, and its entries with what readers rely on. It
// reports whether it could be read.
func (c *checker) checkManifest(at string, m *Manifest) bool {
	path := c.t.manifestPath(m.Name)
	raw, err := c.t.readExact(c.ctx, path, m.Size)
	if err != nil {
		c.fail("manifest", at, err)
		return false
	}
	data, err := parseManifest(path, raw)
	if err != nil {
		c.fail("manifest", path, err)
		return false
	}
	var sum Manifest
	parts := newPartitionStats(c.schema.partitionTypes())
	for e, err := range data.entries(nil) {
		if err != nil {
			c.fail("manifest", path, err)
			return false
		}
		if e.Kind == Add {
			sum.Added++
		} else {
			sum.Deleted++
		}
		sum.SchemaID = max(sum.SchemaID, e.File.SchemaID)
		sum.Buckets.include(int64(e.Bucket))
		sum.Levels.include(int64(e.File.Level))
		parts.add(e.Partition)
		c.checkEntry(path, e)
	}
	if sum.Added != m.Added || sum.Deleted != m.Deleted {
		c.errorf("manifest-count", path, "%d ADD and %d DELETE entries, %s says %d and %d", sum.Added, sum.Deleted, at, m.Added, m.Deleted)
		return false
	}
	if sum.SchemaID != m.SchemaID {
		c.errorf("manifest-schema", path, "the newest schema is %d, %s says %d", sum.SchemaID, at, m.SchemaID)
	}
	for name, r := range map[string][2]Range{"buckets": {sum.Buckets, m.Buckets}, "levels": {sum.Levels, m.Levels}} {
		if r[1].Known && r[0] != r[1] {
			c.errorf("manifest-bounds", path, "%s %d to %d, %s says %d to %d", name, r[0].Min, r[0].Max, at, r[1].Min, r[1].Max)
		}
	}
	stats, err := parts.stats()
	if err != nil {
		c.fail("partition", path, err)
		return false
	}
	if !bytes.Equal(stats.Min, m.PartitionStats.Min) || !bytes.Equal(stats.Max, m.PartitionStats.Max) ||
		m.PartitionStats.NullCounts != nil && !slices.Equal(stats.NullCounts, m.PartitionStats.NullCounts) {
		c.errorf("partition-stats", path, "partition statistics differ from the entries: %+v, not %+v", m.PartitionStats, stats)
	}
	return true
}

// checkEntry tests what can be told from an entry alone.
func (c *checker) checkEntry(path string, e *Entry) {
	f := &e.File
	bad := func(check, format string, args ...any) {
		c.errorf(check, path, "%s: %s", e.describe(), fmt.Sprintf(format, args...))
	}
	if f.Name == "" || f.Size <= 0 || f.RowCount < 0 || f.Level < 0 {
		bad("entry", "%d bytes, %d rows", f.Size, f.RowCount)
	}
	if e.TotalBuckets > 0 && (e.Bucket < 0 || e.Bucket >= e.TotalBuckets) {
		bad("bucket", "bucket %d of %d", e.Bucket, e.TotalBuckets)
	}
	if f.MinSeq > f.MaxSeq {
		bad("sequence", "sequence numbers from %d to %d", f.MinSeq, f.MaxSeq)
	}
	if f.DeleteRows > f.RowCount || f.DeleteRows < -1 {
		bad("delete-count", "%d of %d rows are deletions", f.DeleteRows, f.RowCount)
	}
	schema, err := c.t.SchemaByID(c.ctx, f.SchemaID)
	if err != nil {
		bad("entry-schema", "%v", err)
		return
	}
	if len(schema.PrimaryKeys) == 0 {
		return
	}
	types := schema.keyTypes()
	keys := partitionBatch(types)
	for _, k := range [][]byte{f.MinKey, f.MaxKey} {
		if err := row.DecodeSerializedRow(k, types, keys); err != nil {
			bad("key-range", "%v", err)
			return
		}
	}
	if compareRows(keys, 0, 1) > 0 && e.Bucket != PostponeBucket { // whose rows lie as they came: the range is the first and the last
		bad("key-range", "the least key is above the greatest")
	}
	c.checkStats(bad, "key-stats", types, &f.KeyStats)
	if types, err := valueStatsTypes(schema, f); err != nil {
		bad("value-stats", "%v", err)
	} else {
		c.checkStats(bad, "value-stats", types, &f.ValueStats)
	}
}

// valueStatsTypes returns the types of the columns that a file has statistics of.
func valueStatsTypes(s *Schema, f *DataFile) ([]*row.Type, error) {
	names := f.ValueStatsCols
	if names == nil {
		for i := range s.Fields {
			names = append(names, s.Fields[i].Name)
		}
	}
	types := make([]*row.Type, len(names))
	for i, name := range names {
		idx := s.FieldIndex(name)
		if idx < 0 {
			return nil, fmt.Errorf("schema %d has no column %q", s.ID, name)
		}
		types[i] = &s.Fields[idx].Type
	}
	return types, nil
}

func (c *checker) checkStats(bad func(check, format string, args ...any), check string, types []*row.Type, s *Stats) {
	low, high := partitionBatch(types), partitionBatch(types)
	if err := row.DecodeSerializedRow(s.Min, types, low); err != nil {
		bad(check, "lower bounds: %v", err)
		return
	}
	if err := row.DecodeSerializedRow(s.Max, types, high); err != nil {
		bad(check, "upper bounds: %v", err)
		return
	}
	if s.NullCounts != nil && len(s.NullCounts) != len(types) {
		bad(check, "%d null counts of %d columns", len(s.NullCounts), len(types))
	}
	for i := range types {
		lo, hi := &low.Cols[i], &high.Cols[i]
		if !lo.IsNull(0) && !hi.IsNull(0) && row.CompareValues(lo, 0, hi, 0) > 0 {
			bad(check, "bounds of column %d are upside down", i)
		}
	}
}

// checkLive tests the live files of a snapshot together, and those with what is stored.
func (c *checker) checkLive(s *Snapshot, live liveSet) {
	at := c.t.snapshotPath(s.ID)
	type run struct {
		bucketKey
		level int
	}
	runs := map[run][]*Entry{}
	buckets := map[string]int32{}
	levels := NumLevels(c.t.Options())
	for _, e := range live {
		if e.TotalBuckets > 0 {
			if n, ok := buckets[string(e.Partition)]; ok && n != e.TotalBuckets {
				c.errorf("total-buckets", at, "partition %x has files for %d buckets and for %d", e.Partition, n, e.TotalBuckets)
			}
			buckets[string(e.Partition)] = e.TotalBuckets
		}
		if e.File.Level >= levels && len(c.schema.PrimaryKeys) > 0 {
			c.warnf("level", at, "%s: there are %d levels", e.describe(), levels)
		}
		if e.File.Level > 0 {
			k := run{bucketKey{string(e.Partition), e.Bucket}, e.File.Level}
			runs[k] = append(runs[k], e)
		}
		if c.files {
			c.checkFile(at, e, false)
		}
	}
	for _, files := range runs {
		a, b, err := overlap(c.schema, files)
		if err != nil {
			c.fail("key-range", at, err)
		} else if a != nil {
			c.errorf("overlap", at, "the key ranges of %s and %s overlap in level %d of bucket %d of partition %x", a.File.Name,
				b.File.Name, a.File.Level, a.Bucket, a.Partition)
		}
	}
	c.checkLiveVectors(at, s, live)
}
