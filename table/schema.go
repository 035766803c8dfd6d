package table

import (
	"slices"
	"sync"

	"github.com/paimon-go/paimon-go/format/row"
)

// SchemaVersion is the version of the schema files that we write, and the newest that we read (Java's
// TableSchema.CURRENT_VERSION).
const SchemaVersion = 3

// Schema is one version of a table's schema: the content of schema/schema-<ID>. It is immutable once made; every data file
// names the version that it was written with.
type Schema struct {
	Version        int
	ID             int64
	Fields         []row.Field
	HighestFieldID int // ever used, those of nested fields included
	PartitionKeys  []string
	PrimaryKeys    []string
	Options        Options
	Comment        string
	TimeMillis     int64

	// optionOrder is that of the file that the schema was read from; Java's is that of a hash map.
	optionOrder []string
	// emptyComment: the comment is there and empty, which Java tells from none.
	emptyComment bool

	once    sync.Once
	rowType row.Type
	trimmed []string
}

// RowType returns the table's columns as a NOT NULL ROW. It is always the same value; don't change it.
func (s *Schema) RowType() *row.Type {
	s.derive()
	return &s.rowType
}

// TrimmedPrimaryKeys returns the primary key without the partition keys: the key within a bucket.
func (s *Schema) TrimmedPrimaryKeys() []string {
	s.derive()
	return s.trimmed
}

func (s *Schema) derive() {
	s.once.Do(func() {
		s.rowType = row.NewRow(s.Fields...)
		for _, k := range s.PrimaryKeys {
			if !slices.Contains(s.PartitionKeys, k) {
				s.trimmed = append(s.trimmed, k)
			}
		}
	})
}

// FieldIndex returns the position of a column, -1 when there is none of that name.
func (s *Schema) FieldIndex(name string) int {
	return slices.IndexFunc(s.Fields, func(f row.Field) bool { return f.Name == name })
}

// PartitionIndexes returns the positions of the partition keys.
func (s *Schema) PartitionIndexes() []int { return s.indexes(s.PartitionKeys) }

// KeyIndexes returns the positions of the trimmed primary key.
func (s *Schema) KeyIndexes() []int { return s.indexes(s.TrimmedPrimaryKeys()) }

// BucketKeyIndexes returns the positions of the columns that are hashed to a bucket: bucket-key, else the trimmed primary
// key.
func (s *Schema) BucketKeyIndexes() []int { return s.indexes(s.BucketKeys()) }

// BucketKeys returns the columns that are hashed to a bucket.
func (s *Schema) BucketKeys() []string {
	if keys := s.Options.List(KeyBucketKey); len(keys) > 0 {
		return keys
	}
	return s.TrimmedPrimaryKeys()
}

// SequenceIndexes returns the positions of the columns of sequence.field, in the order in which they are compared.
func (s *Schema) SequenceIndexes() []int { return s.indexes(s.Options.List(KeySequenceField)) }

// CrossPartition tells whether a key may move between partitions: the primary key lacks a partition key.
func (s *Schema) CrossPartition() bool {
	if len(s.PrimaryKeys) == 0 {
		return false
	}
	return slices.ContainsFunc(s.PartitionKeys, func(p string) bool { return !slices.Contains(s.PrimaryKeys, p) })
}

func (s *Schema) indexes(names []string) []int {
	idx := make([]int, len(names))
	for i, n := range names {
		idx[i] = s.FieldIndex(n)
	}
	return idx
}
