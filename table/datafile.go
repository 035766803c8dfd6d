package table

// FileSource tells what made a data file (Java's FileSource).
type FileSource int8

// The file sources; SourceUnknown is a file whose manifest doesn't say.
const (
	SourceUnknown FileSource = -1
	SourceAppend  FileSource = 0
	SourceCompact FileSource = 1
)

// Stats are column bounds and null counts as a manifest stores them: serialized BinaryRows and one count a column, -1 where
// it is unknown. The zero value isn't valid on disk; use EmptyStats.
type Stats struct {
	Min, Max   []byte
	NullCounts []int64
}

// DataFile describes one data or changelog file (Java's DataFileMeta; paimon-format, section 5). It is immutable once made: a
// compaction must repeat the exact values that it read when it deletes the file.
type DataFile struct {
	Name           string
	Size           int64
	RowCount       int64
	MinKey, MaxKey []byte // serialized BinaryRow of the trimmed primary key
	KeyStats       Stats
	ValueStats     Stats
	ValueStatsCols []string // nil: all columns of the schema; empty: none
	MinSeq, MaxSeq int64
	SchemaID       int64
	Level          int
	ExtraFiles     []string
	CreationMillis int64 // local wall clock of the writer's host, read as if it were UTC; -1 when unknown
	DeleteRows     int64 // -1 when unknown
	EmbeddedIndex  []byte
	Source         FileSource
	ExternalPath   string // empty: in the bucket's directory
	FirstRowID     int64  // -1 when there is none (always so in primary-key tables)
	WriteCols      []string

	// KeptSeq is the greatest sequence number of a row that is not a delete. It is not stored: 0 for files that were not written
	// by this process.
	KeptSeq int64
}

// DataIncrement is what a flush adds: level-0 files and their changelog.
type DataIncrement struct {
	New       []DataFile
	Deleted   []DataFile
	Changelog []DataFile

	NewIndex, DeletedIndex []IndexFile // a new one replaces that of the same type
}

// CompactIncrement is what a compaction replaces.
type CompactIncrement struct {
	Before    []DataFile
	After     []DataFile
	Changelog []DataFile

	NewIndex, DeletedIndex []IndexFile // a new one replaces that of the same type
}

// CommitMessage is what one bucket contributes to a commit (Java's CommitMessageImpl).
type CommitMessage struct {
	Partition    []byte // serialized BinaryRow of the partition keys; that of the empty row when unpartitioned
	Bucket       int32
	TotalBuckets int32
	Data         DataIncrement
	Compact      CompactIncrement
	// Vectors, of a table with deletion vectors, names the index file of the bucket that a compaction went on from, "" for none.
	// When the bucket has another one by now, or a file with deleted rows in Compact.NewIndex is no more, the commit is a conflict.
	Vectors *string
}

// Committable is what one checkpoint commits. ID is the commit identifier: larger is later for one commit user.
type Committable struct {
	ID         int64
	Watermark  *int64
	Properties map[string]string
	Messages   []CommitMessage
	// DropIndexes are partitions, serialized BinaryRows, that the commit empties: their index files go too.
	DropIndexes map[string]bool
	// Hashes says, for each partition (a serialized BinaryRow) whose keys the writer has assigned to buckets, by bucket the name of
	// the HASH file that it goes on from; "", or no name, stands for none. When the table has others, the commit fails with
	// ErrForeignWriter, or ErrPartitionGone, and nothing of the APPEND snapshot becomes visible.
	Hashes map[string]map[int32]string
	// Indexed says the same of the buckets that get rows in other partitions: their keys are known, so that it is enough that the
	// files are still those. When a partition was dropped meanwhile, rows of it would be in no index.
	Indexed map[string]map[int32]string
	// AloneSince, of a writer that knows where each key of the table is, is the snapshot that it knows, 0 for none. When others
	// have added rows since, the commit fails with ErrForeignWriter and nothing of the APPEND snapshot becomes visible.
	AloneSince *int64
}
