package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
)

// systemFields are names that a column can't have (Java's SpecialFields).
var systemFields = []string{"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"}

// keyFieldPrefix starts the names of the key columns within data files.
const keyFieldPrefix = "_KEY_"

// Validate checks a schema before it is published, as Java's SchemaValidation does for what this program knows. Errors wrap
// ErrSchema or ErrOption.
func (s *Schema) Validate() error {
	if err := s.checkFields(); err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	if err := s.checkKeys(); err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	for _, check := range []func(*Schema) error{checkBucket, checkColumnOptions, checkSequence, checkRetention, checkEngine} {
		if err := check(s); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	return nil
}

func (s *Schema) checkFields() error {
	if err := s.checkShape(); err != nil {
		return err
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		switch {
		case f.Name == "":
			return fmt.Errorf("column %d has no name", i)
		case slices.Contains(systemFields, f.Name) || strings.HasPrefix(f.Name, keyFieldPrefix):
			return fmt.Errorf("column name %s is taken by the table format", f.Name)
		}
		if err := f.Type.Validate(); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return nil
}

func (s *Schema) checkKeys() error {
	for what, keys := range map[string][]string{"primary key": s.PrimaryKeys, "partition key": s.PartitionKeys} {
		for i, k := range keys {
			if slices.Contains(keys[:i], k) {
				return fmt.Errorf("%s has column %s twice", what, k)
			}
			switch f := &s.Fields[s.FieldIndex(k)]; f.Type.Root {
			case row.Array, row.Map, row.Multiset, row.Row:
				return fmt.Errorf("%s column %s can't be %s", what, k, f.Type.Root)
			}
		}
	}
	if len(s.PrimaryKeys) > 0 && len(s.TrimmedPrimaryKeys()) == 0 {
		return fmt.Errorf("the primary key %q has only partition keys %q, a partition would hold one row", s.PrimaryKeys, s.PartitionKeys)
	}
	return nil
}

func checkBucket(s *Schema) error {
	n := s.Options.Int(KeyBucket)
	keys := s.Options.List(KeyBucketKey)
	switch {
	case n == -1 && len(keys) > 0:
		return fmt.Errorf("bucket-key needs a number of buckets")
	case n == -2 && len(s.PrimaryKeys) == 0, n == 0, n < -2:
		return fmt.Errorf("bucket is %d, not above 0, -1 or, in tables with a primary key, -2", n)
	case n > 0 && len(s.BucketKeys()) == 0:
		return fmt.Errorf("a table without a primary key needs bucket-key, or bucket=-1")
	}
	for _, k := range keys {
		i := s.FieldIndex(k)
		switch {
		case i < 0:
			return fmt.Errorf("bucket-key: there is no column %s", k)
		case slices.Contains(s.PartitionKeys, k):
			return fmt.Errorf("bucket-key: column %s is a partition key", k)
		case len(s.PrimaryKeys) > 0 && !slices.Contains(s.PrimaryKeys, k):
			return fmt.Errorf("bucket-key: column %s is not in the primary key", k)
		}
		switch s.Fields[i].Type.Root {
		case row.Array, row.Map, row.Multiset, row.Row:
			return fmt.Errorf("bucket-key: column %s can't be %s", k, s.Fields[i].Type.Root)
		}
	}
	if s.Options.Enum(KeyBucketFunctionType) == "mod" && n > 0 {
		idx := s.BucketKeyIndexes()
		if len(idx) != 1 || (s.Fields[idx[0]].Type.Root != row.Int && s.Fields[idx[0]].Type.Root != row.BigInt) {
			return fmt.Errorf("bucket-function.type mod needs one INT or BIGINT column as bucket key, not %q", s.BucketKeys())
		}
	}
	return nil
}

// checkColumnOptions checks that options that name columns name some.
func checkColumnOptions(s *Schema) error {
	if f := s.Options.Get(KeyRowkindField); f != "" && s.FieldIndex(f) < 0 {
		return fmt.Errorf("rowkind.field: there is no column %s", f)
	}
	for _, name := range s.Options.names() {
		rest, ok := strings.CutPrefix(name, "fields.")
		if !ok || strings.HasPrefix(rest, "default-aggregate-function") {
			continue
		}
		p := lookupPattern(name)
		if p == nil || p.Suffix == "" {
			continue
		}
		for col := range strings.SplitSeq(strings.TrimSuffix(rest, p.Suffix), ",") {
			if s.FieldIndex(col) < 0 {
				return fmt.Errorf("%s: there is no column %s", name, col)
			}
		}
	}
	return nil
}

func checkSequence(s *Schema) error {
	fields := s.Options.List(KeySequenceField)
	for i, f := range fields {
		switch {
		case s.FieldIndex(f) < 0:
			return fmt.Errorf("sequence.field: there is no column %s", f)
		case slices.Contains(fields[:i], f):
			return fmt.Errorf("sequence.field: column %s is there twice", f)
		case s.Options["fields."+f+".aggregate-function"] != "":
			return fmt.Errorf("sequence.field: column %s has an aggregate function", f)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	if s.Options.Enum(KeyMergeEngine) == "first-row" {
		return fmt.Errorf("sequence.field can't go with merge-engine first-row")
	}
	if s.CrossPartition() {
		return fmt.Errorf("sequence.field needs all partition keys %q in the primary key %q", s.PartitionKeys, s.PrimaryKeys)
	}
	return nil
}

func checkRetention(s *Schema) error {
	o := s.Options
	least, most := o.Int(KeySnapshotNumRetainedMin), o.Int(KeySnapshotNumRetainedMax)
	if least < 1 || least > most {
		return fmt.Errorf("snapshot.num-retained.min is %d, not between 1 and snapshot.num-retained.max, %d", least, most)
	}
	if o.Has(KeyChangelogNumRetainedMin) {
		least = o.Int(KeyChangelogNumRetainedMin)
	}
	if o.Has(KeyChangelogNumRetainedMax) {
		most = o.Int(KeyChangelogNumRetainedMax)
	}
	if least < 1 || least > most {
		return fmt.Errorf("changelog.num-retained.min is %d, not between 1 and changelog.num-retained.max, %d", least, most)
	}
	if o.Has(KeyPartitionExpirationTime) && len(s.PartitionKeys) == 0 {
		return fmt.Errorf("partition.expiration-time needs a partitioned table")
	}
	return nil
}

// checkEngine checks what merge engine, changelog producer and deletion vectors demand of each other.
func checkEngine(s *Schema) error {
	o := s.Options
	producer, engine := o.Enum(KeyChangelogProducer), o.Enum(KeyMergeEngine)
	if len(s.PrimaryKeys) == 0 && producer != "none" {
		return fmt.Errorf("changelog-producer needs a primary key")
	}
	if engine == "first-row" && producer != "none" && producer != "lookup" {
		return fmt.Errorf("merge-engine first-row goes with changelog-producer none and lookup only, not %s", producer)
	}
	if o.Bool(KeyStreamingReadOverwrite) && (producer == "full-compaction" || producer == "lookup" || len(s.PrimaryKeys) == 0) {
		return fmt.Errorf("streaming-read-overwrite needs a primary key and changelog-producer none or input")
	}
	if o.Bool(KeyDeletionVectorsEnabled) && (producer == "full-compaction" || engine == "first-row") {
		return fmt.Errorf("deletion-vectors.enabled goes neither with changelog-producer full-compaction nor with merge-engine first-row")
	}
	name := o.Get(KeyRecordLevelTimeField)
	if name == "" {
		return nil
	}
	i := s.FieldIndex(name)
	if i < 0 {
		return fmt.Errorf("record-level.time-field: there is no column %s", name)
	}
	switch s.Fields[i].Type.Root {
	case row.Int, row.BigInt, row.Timestamp, row.TimestampLTZ:
		return nil
	}
	return fmt.Errorf("record-level.time-field: column %s is %s, not INT, BIGINT or a timestamp", name, s.Fields[i].Type.String())
}

// CheckWritable refuses tables that this program's writers can't write without changing data or misleading readers. o are
// the effective options.
func (s *Schema) CheckWritable(o Options) error {
	if len(s.PrimaryKeys) == 0 {
		return fmt.Errorf("%w: the table has no primary key, and only tables with one are written", ErrOption)
	}
	for _, i := range s.PartitionIndexes() {
		if r := s.Fields[i].Type.Root; r == row.Binary || r == row.VarBinary {
			return fmt.Errorf("%w: partition column %s is %s, and Java does not find the files of bytes that are no text; partition by another column",
				ErrOption, s.Fields[i].Name, s.Fields[i].Type.String())
		}
	}
	return o.CheckWritable()
}

// CheckCompactable refuses, as ErrOption, tables whose buckets can't be compacted as Java would. o are the effective options.
func (s *Schema) CheckCompactable(o Options) error {
	if len(s.PrimaryKeys) == 0 {
		return fmt.Errorf("%w: the table has no primary key, and only tables with one are compacted", ErrOption)
	}
	return o.CheckCompactable()
}

// CheckDedicated is CheckCompactable for compaction beside the writer, which Java's job (CompactorSinkBuilder) doesn't do for keys
// that move between partitions.
func (s *Schema) CheckDedicated(o Options) error {
	if o.Int(KeyBucket) == -1 {
		for _, p := range s.PartitionKeys {
			if !slices.Contains(s.PrimaryKeys, p) {
				return fmt.Errorf("%w: bucket is -1 and partition column %s is not part of the primary key; such tables can't be compacted beside their writer, "+
					"which compacts with write-only=false", ErrOption, p)
			}
		}
	}
	return s.CheckCompactable(o)
}
