package writer

import (
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// bucketKey is a bucket of a partition, given by the bytes of its BinaryRow.
type bucketKey struct {
	partition string
	bucket    int32
}

// compacted is a bucket as its compactions see it: what it had in a snapshot, and what has been done to it since. All of it is
// guarded by compactions.mu.
//
//	snapshot ──▶ files that flushes brought ──▶ compactions of the commit under way ──▶ compactions for the next one
//	             flushed                        outcomes, with that commit              the last outcome, without one
//
// What a commit that the snapshot includes has brought is forgotten here, so that the bucket can be read anew at any time, when
// somebody else has changed it: the rest is done again to what is found.
type compacted struct {
	key   bucketKey
	total int32 // of its messages

	known    bool // files is right; else it is to be read
	files    []table.DataFile
	vectors  table.IndexFile // with the deletion vectors of the files, nameless for none
	flushed  []flushedFiles
	outcomes []*outcome

	queued  bool // the keeper is to look at it
	running bool
	broken  bool      // its files can't be compacted as they are
	failed  int       // jobs that failed in a row
	retryAt time.Time // before which no job starts
	gentle  int       // looks in a row that found nothing to do

	seq   int64 // commit of the last flush
	done  int64 // commit of the last flush that compaction has dealt with, well or not
	fresh bool  // files came since the last full compaction (full-compaction.delta-commits)
	full  bool  // it is to be compacted in full now
}

// flushedFiles are new files of level 0. Commits are counted from 1.
type flushedFiles struct {
	commit int64
	files  []table.DataFile
}

// outcome is what one or several compactions have done.
type outcome struct {
	inc    table.CompactIncrement
	base   string // name of the file of deletion vectors that they went on from
	commit int64  // that it goes with; 0: the next
	losses int    // commits that it was not made part of because of a conflict
	full   bool
}

// fileKey identifies a file of a bucket: an upgrade repeats the name at another level.
type fileKey struct {
	name  string
	level int
}

func keyOf(f *table.DataFile) fileKey { return fileKey{f.Name, f.Level} }

func indexOf(files []table.DataFile, k fileKey) int {
	return slices.IndexFunc(files, func(f table.DataFile) bool { return keyOf(&f) == k })
}

func hasName(files []table.DataFile, name string) bool {
	return slices.ContainsFunc(files, func(f table.DataFile) bool { return f.Name == name })
}

// fold adds to a compaction what a later one did, before a commit has either (Java's MergeTreeWriter.updateCompactResult). It
// returns the files that only the first has made and nobody needs any more.
func fold(into *table.CompactIncrement, next *table.CompactIncrement) (obsolete table.CompactIncrement) {
	was := into.Before
	for i := range next.Before {
		f := &next.Before[i]
		at := indexOf(into.After, keyOf(f))
		if at < 0 {
			into.Before = append(into.Before, *f)
			continue
		}
		into.After = slices.Delete(into.After, at, at+1)
		if !hasName(was, f.Name) && !hasName(next.After, f.Name) {
			obsolete.After = append(obsolete.After, *f)
		}
	}
	if len(next.NewIndex) > 0 {
		obsolete.NewIndex, into.NewIndex = into.NewIndex, next.NewIndex
	}
	into.After = append(into.After, next.After...)
	into.Changelog = append(into.Changelog, next.Changelog...)
	return obsolete
}

// applied returns files with an increment's changes, false if it replaces files that are not there.
func applied(files []table.DataFile, inc *table.CompactIncrement) ([]table.DataFile, bool) {
	gone := make(map[fileKey]bool, len(inc.Before))
	for i := range inc.Before {
		gone[keyOf(&inc.Before[i])] = true
	}
	out := make([]table.DataFile, 0, len(files)+len(inc.After))
	for i := range files {
		if k := keyOf(&files[i]); gone[k] {
			delete(gone, k)
		} else {
			out = append(out, files[i])
		}
	}
	return append(out, inc.After...), len(gone) == 0
}

// bucketFiles is what a snapshot has of a bucket.
type bucketFiles struct {
	data    []table.DataFile
	vectors table.IndexFile // nameless for none
}

// goesOn tells whether a compaction went on from these deletion vectors, and the files are there that its own are of.
func (o *outcome) goesOn(from *table.IndexFile, files []table.DataFile) bool {
	for i := range o.inc.NewIndex {
		for j := range o.inc.NewIndex[i].Vectors {
			if !hasName(files, o.inc.NewIndex[i].Vectors[j].File) {
				return false
			}
		}
	}
	return o.base == from.Name
}

// newest returns the deletion vectors after an increment.
func newest(was table.IndexFile, inc *table.CompactIncrement) table.IndexFile {
	if n := len(inc.NewIndex); n > 0 {
		return inc.NewIndex[n-1]
	}
	return was
}

// rebuild finds the files again from those of a snapshot. It returns the compaction that is void, as somebody else has replaced
// the files that it did, or the deletion vectors, nil when there is none. fits tells whether files can be those of one bucket.
func (b *compacted) rebuild(base bucketFiles, fits func([]table.DataFile) bool) (void *outcome) {
	files, vectors := slices.Clone(base.data), base.vectors
	for i := range b.flushed {
		files = append(files, b.flushed[i].files...)
	}
	b.known = false
	for i, o := range b.outcomes {
		next, ok := applied(files, &o.inc)
		switch ok = ok && o.goesOn(&vectors, next); {
		case ok && (o.commit != 0 || fits(next) && o.losses < mostLosses):
			files, vectors = next, newest(vectors, &o.inc)
		case o.commit != 0:
			return nil // its commit will fail, and then there is another snapshot to begin with
		default:
			b.outcomes = slices.Delete(b.outcomes, i, i+1)
			void = o
		}
	}
	b.files, b.vectors, b.known, b.broken = files, vectors, true, false
	return void
}

// mostLosses is how many conflicts a compaction may meet that nothing explains.
const mostLosses = 3

// forget drops what the snapshot after a commit includes.
func (b *compacted) forget(commit int64) {
	b.flushed = slices.DeleteFunc(b.flushed, func(f flushedFiles) bool { return f.commit <= commit })
	b.outcomes = slices.DeleteFunc(b.outcomes, func(o *outcome) bool { return o.commit != 0 && o.commit <= commit })
}

// next returns the compactions that wait for the next commit, nil when there are none.
func (b *compacted) next() *outcome {
	if n := len(b.outcomes); n > 0 && b.outcomes[n-1].commit == 0 {
		return b.outcomes[n-1]
	}
	return nil
}

// took notes what a compaction did, whose inputs are there, and returns the files that nobody needs.
func (b *compacted) took(inc *table.CompactIncrement, full bool) (obsolete table.CompactIncrement) {
	o := b.next()
	if o == nil {
		o = &outcome{base: b.vectors.Name}
		b.outcomes = append(b.outcomes, o)
	}
	o.full = o.full || full
	b.vectors = newest(b.vectors, inc)
	return fold(&o.inc, inc)
}

// lost takes the compactions of a commit back that was not made. They go with the next one, unless somebody else's work is found
// to make them void.
func (b *compacted) lost(commit int64) (obsolete table.CompactIncrement) {
	for i, o := range b.outcomes {
		if o.commit != commit {
			continue
		}
		o.commit = 0
		o.losses++
		if i+1 < len(b.outcomes) {
			later := b.outcomes[i+1]
			obsolete = fold(&o.inc, &later.inc)
			o.full = o.full || later.full
			b.outcomes = b.outcomes[:i+1]
		}
		b.known = false
		break
	}
	return obsolete
}

// idle tells that nothing is left to be done with the bucket, and for a while nobody wrote to it.
func (b *compacted) idle(commit int64) bool {
	return b.known && !b.running && !b.queued && !b.fresh && len(b.flushed)+len(b.outcomes) == 0 && b.failed == 0 && commit-b.seq > idleCommits
}

// idleCommits is how many commits a bucket stays known without rows.
const idleCommits = 16

// settled tells whether compaction has dealt with the flush of a commit, well or not.
func (b *compacted) settled(commit int64) bool { return b.done >= commit && !b.full }

// tools are what compacts files up to a schema version.
type tools struct {
	schema   *table.Schema
	strategy *lsm.Strategy
	rewriter bucketRewriter
}
