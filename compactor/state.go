package compactor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// bucketKey names a bucket of a table.
type bucketKey struct {
	partition string // serialized BinaryRow
	bucket    int32
}

// tableState is what is known of a table's live files at a snapshot. It grows with deltas:
//
//	snapshot 7   list everything             p=1/bucket-0: a@0 b@0 c@5
//	snapshot 8   + d@0                       p=1/bucket-0: a@0 b@0 d@0 c@5
//	snapshot 9   - a@0 - b@0 - c@5 + e@5     p=1/bucket-0: d@0 e@5
//
// It belongs to one goroutine.
type tableState struct {
	snapshot *table.Snapshot // nil: the table has none, and no files
	parts    map[string]*partition
	buckets  map[bucketKey]*bucket
	waiting  map[bucketKey]*bucket                     // files of table.PostponeBucket, by partition; no candidates
	keep     func(partition []byte, bucket int32) bool // buckets of this process; nil: all
	newPart  func(bytes []byte) (*partition, error)

	// vectors are the index files with deletion vectors that the snapshot has, as its index manifest lists them.
	vectors       map[bucketKey]table.IndexFile
	indexManifest string
}

// partition is what the buckets of a partition share.
type partition struct {
	bytes    []byte
	path     string // "dt=2024-01-01", "" for a table without partitions
	excluded bool   // the filter of partitions says no
	// newest is the greatest creation time of the files there ever were, a wall clock read as UTC.
	newest int64
}

// bucket is a bucket with files.
type bucket struct {
	part  *partition
	id    int32
	total int32 // buckets that its files say the partition has
	files []table.DataFile

	changed  bool  // since the strategy was asked
	appended int   // level-0 files that came since the last full compaction was planned
	gentle   int   // level-0 files that came since the last compaction: for a writer that compacts each is a pick
	written  int64 // Unix milliseconds of the snapshot that brought the last level-0 file

	picked  *candidate // what the strategy wants
	failed  int        // jobs that failed in a row
	retryAt time.Time  // before which no job starts after a failure
	full    bool       // Once has compacted it in full
	givenUp bool       // by Once, after trouble
	broken  string     // the last error, if trying again is in vain
}

func newTableState() *tableState {
	return &tableState{parts: map[string]*partition{}, buckets: map[bucketKey]*bucket{}, waiting: map[bucketKey]*bucket{}, vectors: map[bucketKey]table.IndexFile{}}
}

// followIndex reads the index manifest of a snapshot if it is another than before.
func (st *tableState) followIndex(ctx context.Context, t *table.Table, s *table.Snapshot) error {
	if s.IndexManifest == st.indexManifest || !t.Options().Bool(table.KeyDeletionVectorsEnabled) {
		return nil
	}
	vectors := map[bucketKey]table.IndexFile{}
	for e, err := range t.IndexEntries(ctx, s, table.Filter{}) {
		if err != nil {
			return err
		}
		if e.File.Type != table.IndexDeletionVectors || st.keep != nil && !st.keep(e.Partition, e.Bucket) {
			continue
		}
		vectors[bucketKey{string(e.Partition), e.Bucket}] = e.File
	}
	st.vectors, st.indexManifest = vectors, s.IndexManifest
	return nil
}

// fileKey identifies a file of a bucket: an upgrade repeats the name at another level.
type fileKey struct {
	name  string
	level int
}

func keyOf(f *table.DataFile) fileKey { return fileKey{f.Name, f.Level} }

// delta is what a commit changes in one bucket.
type delta struct {
	total   int32
	added   []table.DataFile
	removed map[fileKey]bool
}

// deltas are the changes of a commit by bucket.
type deltas map[bucketKey]*delta

// add takes the next entry of the commit, in order.
func (d deltas) add(e *table.Entry) {
	k := bucketKey{string(e.Partition), e.Bucket}
	b := d[k]
	if b == nil {
		b = &delta{removed: map[fileKey]bool{}}
		d[k] = b
	}
	if e.Kind == table.Add {
		b.total = e.TotalBuckets
		b.added = append(b.added, e.File.Packed())
		return
	}
	key := keyOf(&e.File)
	if i := slices.IndexFunc(b.added, func(f table.DataFile) bool { return keyOf(&f) == key }); i >= 0 {
		b.added = slices.Delete(b.added, i, i+1)
		return
	}
	b.removed[key] = true
}

// errDiverged is what apply says when a delta isn't one of the known state.
var errDiverged = fmt.Errorf("%w: what is known of the files is not what the snapshot goes on from", table.ErrConflict)

// apply makes the changes of the snapshot s. After an error the next look lists everything.
func (st *tableState) apply(s *table.Snapshot, changes deltas) (appended int64, err error) {
	for k, d := range changes {
		n, err := st.change(s, k, d)
		if err != nil {
			st.distrust() // some of the changes have been made
			return 0, err
		}
		appended += n
	}
	if s != nil {
		st.snapshot = s
	}
	return appended, nil
}

// change makes the changes of one bucket and returns the bytes that came at level 0.
func (st *tableState) change(s *table.Snapshot, k bucketKey, d *delta) (appended int64, err error) {
	if !st.keeps([]byte(k.partition), k.bucket) {
		return 0, nil
	}
	b, err := st.bucket(k)
	if err != nil {
		return 0, err
	}
	before := len(b.files)
	b.files = slices.DeleteFunc(b.files, func(f table.DataFile) bool { return d.removed[keyOf(&f)] })
	if before-len(b.files) != len(d.removed) {
		return 0, errDiverged
	}
	b.files = append(b.files, d.added...)
	if d.total > 0 {
		b.total = d.total
	}
	for i := range d.added {
		f := &d.added[i]
		b.part.newest = max(b.part.newest, f.CreationMillis)
		if f.Level == 0 {
			b.appended++
			b.gentle++
			if s == nil || s.CommitKind != table.CommitCompact { // a compaction that gives rows their buckets has level 0 too
				appended += f.Size
			}
			if s != nil {
				b.written = max(b.written, s.TimeMillis)
			}
		}
	}
	b.changed = true
	return appended, nil
}

// keeps tells whether a bucket is to be known of. Files without a bucket are in any case.
func (st *tableState) keeps(partition []byte, bucket int32) bool {
	return bucket == table.PostponeBucket || bucket >= 0 && (st.keep == nil || st.keep(partition, bucket))
}

// bucket returns a bucket, new if need be.
func (st *tableState) bucket(k bucketKey) (*bucket, error) {
	all := st.buckets
	if k.bucket == table.PostponeBucket {
		all = st.waiting
	}
	if b := all[k]; b != nil {
		return b, nil
	}
	p := st.parts[k.partition]
	if p == nil {
		var err error
		if p, err = st.newPart([]byte(k.partition)); err != nil {
			return nil, err
		}
		st.parts[k.partition] = p
	}
	b := &bucket{part: p, id: k.bucket}
	all[k] = b
	return b, nil
}

func (b *bucket) key() bucketKey { return bucketKey{string(b.part.bytes), b.id} }

// prune forgets buckets without files and partitions without buckets.
func (st *tableState) prune() {
	used := make(map[string]bool, len(st.parts))
	for _, all := range []map[bucketKey]*bucket{st.buckets, st.waiting} {
		for k, b := range all {
			if len(b.files) == 0 {
				delete(all, k)
			} else {
				used[k.partition] = true
			}
		}
	}
	for p := range st.parts {
		if !used[p] {
			delete(st.parts, p)
		}
	}
}

func (b *bucket) size() (n int64) {
	for i := range b.files {
		n += b.files[i].Size
	}
	return n
}
