package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// mergedFiles makes the small changelog files of a partition and commit one file (precommit-compact). Java writes many files
// and copies them; here they wait in memory until the buckets are flushed, and one file is written. It is what Java's is: whole
// files one after the other, found by the names of their entries in the manifest:
//
//	bucket-<b>/compacted-changelog-<uuid>$<b>-<length>.cc-<format>           the first one, and the file that exists
//	compacted-changelog-<uuid>$<b>-<length>-<offset>-<length>.cc-<format>    the others, in the buckets of their rows
//
// It is an lsm.FileStore. A file that is large, or for which memory is short, goes to storage under its own name, as it would
// without merging.
type mergedFiles struct {
	table   *table.Table
	budget  *lsm.Budget
	small   int64 // size from which on a file is not merged
	most    int64 // bytes of files that wait
	target  int64 // size of a merged file from which on it takes no more
	threads int

	mu    sync.Mutex
	bytes int64               // guarded by mu; in memory, of files under way too
	held  map[string]*segment // guarded by mu; files by their paths
}

func newMergedFiles(t *table.Table, b *lsm.Budget) *mergedFiles {
	o := t.Options()
	m := &mergedFiles{table: t, budget: b, most: o.Size(table.KeyPrecommitCompactBufferSize), target: 256 << 20,
		threads: runtime.GOMAXPROCS(0), held: map[string]*segment{}}
	if o.Has(table.KeyTargetFileSize) {
		m.target = o.Size(table.KeyTargetFileSize)
	}
	m.small = min(m.target/10*7, m.most)
	if o.Has(table.KeyPrecommitCompactThreadNum) {
		m.threads = o.Int(table.KeyPrecommitCompactThreadNum)
	}
	return m
}

// segmentChunk bounds the copying while a segment grows.
const segmentChunk = 256 << 10

// segment is a file that is being written, in memory as long as it is small.
type segment struct {
	m      *mergedFiles
	ctx    context.Context // of the one flush that writes it
	path   string
	chunks [][]byte
	size   int64
	file   fs.Writer // once it is not in memory
}

// Create begins a file.
func (m *mergedFiles) Create(ctx context.Context, path string) (fs.Writer, error) {
	return &segment{m: m, ctx: ctx, path: path}, nil
}

// Remove drops a file that waits, or removes it from storage.
func (m *mergedFiles) Remove(ctx context.Context, path string) error {
	if s := m.take(path); s != nil {
		s.free()
		return nil
	}
	return m.table.FS().Remove(ctx, path)
}

// take takes a file that waits out; nil when there is none.
func (m *mergedFiles) take(path string) *segment {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.held[path]
	delete(m.held, path)
	return s
}

// reserve takes memory for n more bytes of a file of size bytes; false when it is to go to storage.
func (m *mergedFiles) reserve(size, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if size+n >= m.small || m.bytes+n > m.most {
		return false
	}
	m.bytes += n
	m.budget.Take(n)
	return true
}

func (s *segment) Write(p []byte) (int, error) {
	if s.file == nil && !s.m.reserve(s.size, int64(len(p))) {
		if err := s.store(); err != nil {
			return 0, err
		}
	}
	if s.file != nil {
		return s.file.Write(p)
	}
	n := len(p)
	s.size += int64(n)
	for len(p) > 0 {
		last := len(s.chunks) - 1
		if last < 0 || len(s.chunks[last]) >= segmentChunk {
			s.chunks = append(s.chunks, nil)
			last++
		}
		k := min(len(p), segmentChunk-len(s.chunks[last]))
		s.chunks[last] = append(s.chunks[last], p[:k]...)
		p = p[k:]
	}
	return n, nil
}

// store makes it a file in storage.
func (s *segment) store() error {
	w, err := s.m.table.FS().Create(s.ctx, s.path)
	if err != nil {
		return fmt.Errorf("creating %s: %w", s.path, err)
	}
	if err := s.writeTo(w); err != nil {
		return errors.Join(err, w.Abort())
	}
	s.file = w
	s.free()
	return nil
}

func (s *segment) writeTo(w fs.Writer) error {
	for _, c := range s.chunks {
		if _, err := w.Write(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *segment) free() {
	s.m.mu.Lock()
	s.m.bytes -= s.size
	s.m.mu.Unlock()
	s.m.budget.Free(s.size)
	s.chunks, s.size = nil, 0
}

func (s *segment) Close() error {
	if s.file != nil {
		return s.file.Close()
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.held[s.path] = s
	return nil
}

func (s *segment) Abort() error {
	if s.file != nil {
		return s.file.Abort()
	}
	s.free()
	return nil
}

// part is a file that waits, and its entry.
type part struct {
	seg    *segment
	bucket int32
	entry  *table.DataFile
}

// write puts the changelog files of messages that wait into storage: those of a partition in one file, in the order of the
// messages. Entries get the names under which they are found. On an error the messages name what there is.
func (m *mergedFiles) write(ctx context.Context, messages []table.CommitMessage) error {
	var jobs []func() error
	for from := 0; from < len(messages); {
		partition := messages[from].Partition
		var parts []part
		size := int64(0)
		emit := func() {
			if len(parts) > 0 {
				group := parts
				jobs = append(jobs, func() error { return m.writeOne(ctx, partition, group) })
			}
			parts, size = nil, 0
		}
		to := from
		for ; to < len(messages) && string(messages[to].Partition) == string(partition); to++ {
			c := &messages[to]
			for i := range c.Data.Changelog {
				f := &c.Data.Changelog[i]
				path, err := m.table.DataFilePath(partition, c.Bucket, f)
				if err != nil {
					return err
				}
				seg := m.take(path)
				if seg == nil {
					continue
				}
				parts = append(parts, part{seg, c.Bucket, f})
				if size += f.Size; size >= m.target {
					emit()
				}
			}
		}
		emit()
		from = to
	}
	return inParallel(jobs, m.threads)
}

// inParallel runs jobs and returns the errors of those that fail.
func inParallel(jobs []func() error, workers int) error {
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, workers)
	for i, j := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = j()
			<-slots
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// writeOne writes parts as one file; a single one keeps its name.
func (m *mergedFiles) writeOne(ctx context.Context, partition []byte, parts []part) error {
	base := parts[0].entry
	if len(parts) > 1 {
		rename(parts)
	}
	path, err := m.table.DataFilePath(partition, parts[0].bucket, base)
	if err != nil {
		return err
	}
	w, err := m.table.FS().Create(ctx, path)
	for i := range parts {
		if err == nil {
			err = parts[i].seg.writeTo(w)
		}
		parts[i].seg.free()
	}
	if err == nil {
		err = w.Close()
	} else if w != nil {
		_ = w.Abort() // the caller removes it by its name
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// rename gives the entries of a merged file their names.
func rename(parts []part) {
	base := parts[0]
	name := fmt.Sprintf("compacted-changelog-%s$%d-%d", uuid.NewString(), base.bucket, base.entry.Size)
	offset := int64(0)
	for i := range parts {
		f := parts[i].entry
		format := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
		if f.Name = name + ".cc-" + format; i > 0 {
			f.Name = fmt.Sprintf("%s-%d-%d.cc-%s", name, offset, f.Size, format)
		}
		offset += f.Size
	}
}

// compareMessages orders messages as they are committed: by partition and bucket, those of a bucket in the order of their
// epochs.
func compareMessages(a, b table.CommitMessage) int {
	return cmp.Or(cmp.Compare(string(a.Partition), string(b.Partition)), cmp.Compare(a.Bucket, b.Bucket))
}
