package table

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format/avro"
)

// EntryKind tells whether a manifest entry adds a file to the table or takes it away.
type EntryKind int8

// The entry kinds, as stored in _KIND.
const (
	Add    EntryKind = 0
	Delete EntryKind = 1
)

// String returns Java's name of the kind.
func (k EntryKind) String() string {
	if k == Add {
		return "ADD"
	}
	return "DELETE"
}

// Entry is one record of a manifest: a file that a commit added or deleted.
//
// A table is the sum of its entries in order. An ADD puts a file in; a DELETE takes out the file with the same identity:
// partition, bucket, level, name, extra files, embedded index and external path. So a file that a compaction lifts to another
// level without rewriting it is DELETE at the old level and ADD at the new one:
//
//	ADD    p=1 bucket 0 level 0 data-a       live: a@0
//	ADD    p=1 bucket 0 level 0 data-b       live: a@0 b@0
//	DELETE p=1 bucket 0 level 0 data-a       live: b@0
//	ADD    p=1 bucket 0 level 5 data-a       live: b@0 a@5
//
// What an Entry holds in slices belongs to the memory of its manifest: read only, valid as long as one likes.
type Entry struct {
	Kind         EntryKind
	Partition    []byte // serialized BinaryRow of the partition keys
	Bucket       int32
	TotalBuckets int32
	File         DataFile
}

// appendIdentity appends bytes that are equal for two entries exactly when they speak of the same file (Java's
// FileEntry.Identifier).
func (e *Entry) appendIdentity(dst []byte) []byte {
	f := &e.File
	dst = avro.AppendString(dst, f.Name)
	dst = avro.AppendInt(dst, e.Bucket)
	dst = avro.AppendLong(dst, int64(f.Level))
	dst = avro.AppendBytes(dst, e.Partition)
	for _, x := range f.ExtraFiles {
		dst = avro.AppendString(append(dst, 1), x)
	}
	if f.EmbeddedIndex != nil {
		dst = avro.AppendBytes(append(dst, 2), f.EmbeddedIndex)
	}
	if f.ExternalPath != "" {
		dst = avro.AppendString(append(dst, 3), f.ExternalPath)
	}
	return dst
}

// describe names the entry in messages.
func (e *Entry) describe() string {
	return fmt.Sprintf("%s %s of bucket %d level %d", e.Kind, e.File.Name, e.Bucket, e.File.Level)
}

// Range is an inclusive range of numbers; the zero value is unknown, which nothing may be concluded from.
type Range struct {
	Min, Max int64
	Known    bool
}

func (r *Range) include(v int64) {
	if !r.Known {
		*r = Range{v, v, true}
		return
	}
	r.Min, r.Max = min(r.Min, v), max(r.Max, v)
}

// excludes reports whether v certainly is not in the range.
func (r Range) excludes(v int64) bool { return r.Known && (v < r.Min || v > r.Max) }

// Manifest describes a manifest file, as a manifest list does (Java's ManifestFileMeta).
type Manifest struct {
	Name           string
	Size           int64
	Added, Deleted int64 // entries by kind
	PartitionStats Stats // over the entries, one column a partition key, not truncated
	SchemaID       int64 // the largest of the entries
	Buckets        Range
	Levels         Range
	RowIDs         Range
}

// manifestVersion is _VERSION of entries and of lists; Java reads no other.
const manifestVersion = 2

// The schema texts of Paimon 1.4, byte for byte as Java writes them. Readers find fields by name, but decode a value by the
// primitive type and a union by its branch number, so types and the order of unions are part of the format.
const (
	statsFields = `"fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},` +
		`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}`

	manifestListSchema = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[` +
		`{"name":"_VERSION","type":"int"},` +
		`{"name":"_FILE_NAME","type":"string"},` +
		`{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_NUM_ADDED_FILES","type":"long"},` +
		`{"name":"_NUM_DELETED_FILES","type":"long"},` +
		`{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS",` + statsFields + `},` +
		`{"name":"_SCHEMA_ID","type":"long"},` +
		`{"name":"_MIN_BUCKET","type":["null","int"],"default":null},` +
		`{"name":"_MAX_BUCKET","type":["null","int"],"default":null},` +
		`{"name":"_MIN_LEVEL","type":["null","int"],"default":null},` +
		`{"name":"_MAX_LEVEL","type":["null","int"],"default":null},` +
		`{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},` +
		`{"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]}`

	manifestSchema = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[` +
		`{"name":"_VERSION","type":"int"},` +
		`{"name":"_KIND","type":"int"},` +
		`{"name":"_PARTITION","type":"bytes"},` +
		`{"name":"_BUCKET","type":"int"},` +
		`{"name":"_TOTAL_BUCKETS","type":"int"},` +
		`{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[` +
		`{"name":"_FILE_NAME","type":"string"},` +
		`{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_ROW_COUNT","type":"long"},` +
		`{"name":"_MIN_KEY","type":"bytes"},` +
		`{"name":"_MAX_KEY","type":"bytes"},` +
		`{"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS",` + statsFields + `},` +
		`{"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS",` + statsFields + `},` +
		`{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},` +
		`{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},` +
		`{"name":"_SCHEMA_ID","type":"long"},` +
		`{"name":"_LEVEL","type":"int"},` +
		`{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},` +
		`{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},` +
		`{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},` +
		`{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},` +
		`{"name":"_FILE_SOURCE","type":["null","int"],"default":null},` +
		`{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},` +
		`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},` +
		`{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},` +
		`{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]}`
)
