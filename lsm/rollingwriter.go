package lsm

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// checkRows is how many rows are written at most between two looks at the size of a file, as in Java.
const checkRows = 1000

// RollingWriter writes the sorted records of one bucket into as many files as they need: a file is closed once it has
// reached target-file-size, which is looked at every 1000 rows at most. Batches up to that size are written without a
// copy. Not safe for concurrent use; many writers of one Files may work at once.
//
// Close or Abort ends it. Abort may follow Close too, when the files will not be committed after all.
type RollingWriter struct {
	files    *Files
	ctx      context.Context // of the one operation that the writer lives in
	settings *fileSettings
	store    FileStore
	whole    bool // files are never full
	twin     *format.TwinSide
	bucket   int32
	level    int
	source   table.FileSource
	meter    *meter // may be nil
	dir      string
	base     string // name up to the counter; one random id a writer
	started  int    // files begun; the counter in the names

	file  *fileWriter // being written, or nil
	part  *KeyValues  // a piece of a batch that is too large
	done  []table.DataFile
	err   error // the first one; nothing is written after it
	ended bool
}

// FileStore makes files and removes them; a fs.FileSystem is one.
type FileStore interface {
	Create(ctx context.Context, path string) (fs.Writer, error)
	Remove(ctx context.Context, path string) error
}

// In makes the writer put its files into a store in place of the table's file system. Called before the first Write.
func (w *RollingWriter) In(s FileStore) { w.store = s }

// Whole makes the writer write one file, whatever its size. Called before the first Write.
func (w *RollingWriter) Whole() { w.whole = true }

// Beside says that the writer's files, of level 0, and those of another RollingWriter, which has the other side, are likely to have
// the same rows: what is compressed the same way is compressed once. One goroutine writes both. Called before the first Write.
func (w *RollingWriter) Beside(side *format.TwinSide) {
	if side != nil && w.files.alike() {
		w.twin = side
	}
}

// Write appends records. Data files want them in ascending order of unique keys, over all calls; changelog files in
// ascending order of keys. kv may be reused afterwards. After an error only Abort makes sense.
func (w *RollingWriter) Write(kv *KeyValues) error {
	if w.err != nil {
		return w.err
	}
	n := kv.Len()
	if n != len(kv.Seq) || n != len(kv.Rows.Kinds) || len(kv.Rows.Cols) != len(w.files.layout.value.Fields) {
		w.err = fmt.Errorf("a batch of %d rows has %d sequence numbers, %d kinds and %d columns of %d",
			n, len(kv.Seq), len(kv.Rows.Kinds), len(kv.Rows.Cols), len(w.files.layout.value.Fields))
		return w.err
	}
	if n <= checkRows {
		w.err = w.write(kv)
		return w.err
	}
	if w.part == nil {
		w.part = NewKeyValues(w.files.layout.value)
	}
	for at := 0; at < n && w.err == nil; at += checkRows {
		w.part.Reset()
		w.part.AppendRange(kv, at, min(at+checkRows, n))
		w.err = w.write(w.part)
	}
	return w.err
}

func (w *RollingWriter) write(kv *KeyValues) error {
	if kv.Len() == 0 {
		return nil
	}
	if w.file == nil {
		f, err := w.newFile()
		if err != nil {
			return err
		}
		w.file = f
	}
	if err := w.file.write(kv); err != nil {
		return fmt.Errorf("writing %s: %w", w.file.path, err)
	}
	if !w.whole && w.file.full() {
		return w.endFile()
	}
	return nil
}

func (w *RollingWriter) newFile() (*fileWriter, error) {
	name := w.base + strconv.Itoa(w.started) + w.settings.suffix
	w.started++
	return w.files.newFile(w.ctx, w.store, w.settings, w.dir, name, w.meter, w.twin)
}

// endFile completes the file under way.
func (w *RollingWriter) endFile() error {
	meta, err := w.file.close()
	if err != nil {
		return fmt.Errorf("writing %s: %w", w.file.path, err)
	}
	meta.Level, meta.Source, meta.SchemaID = w.level, w.source, w.files.schema.ID
	w.file = nil
	w.done = append(w.done, meta)
	return nil
}

// Bytes returns about how much has been written so far.
func (w *RollingWriter) Bytes() int64 {
	var n int64
	for i := range w.done {
		n += w.done[i].Size
	}
	if w.file != nil {
		n += w.file.enc.Size()
	}
	return n
}

// Close completes the last file and describes all of them in the order of their keys. When it fails it has removed them.
func (w *RollingWriter) Close() ([]table.DataFile, error) {
	if w.ended {
		return nil, errors.New("the writer has been closed before")
	}
	if w.err == nil && w.file != nil {
		w.err = w.endFile()
	}
	w.ended = true
	if w.err != nil {
		w.Abort()
		return nil, w.err
	}
	return w.done, nil
}

// Abort removes every file that this writer has made. Files that storage doesn't let go are orphans, which a cleaner finds.
func (w *RollingWriter) Abort() {
	w.ended = true
	if w.err == nil {
		w.err = errors.New("the writer has been aborted")
	}
	if w.file != nil {
		w.file.abort()
		w.file = nil
	}
	ctx, cancel := fs.CleanUp(w.ctx)
	defer cancel()
	for i := range w.done {
		_ = w.store.Remove(ctx, fs.Join(w.dir, w.done[i].Name)) // an orphan at worst
	}
	w.done = nil
}
