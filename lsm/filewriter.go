package lsm

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// fileWriter writes one key-value file and finds out what its manifest entry says.
type fileWriter struct {
	files *Files
	store FileStore
	set   *fileSettings
	name  string
	path  string
	ctx   context.Context // of the one operation that the writer lives in
	out   fs.Writer
	enc   format.Writer
	stats *format.StatsCollector
	open  bool // out is neither closed nor aborted

	physical *row.Batch // a view of what is being written
	kinds    []int32
	keys     []*row.Column

	rows, deletes  int64
	minSeq, maxSeq int64
	keptSeq        int64 // the greatest of rows that are no deletes
	minKey, maxKey []byte
	least, most    *row.Batch // rows with these keys, of files that are not sorted
}

func (f *Files) newFile(ctx context.Context, store FileStore, set *fileSettings, dir, name string, m *meter, twin *format.TwinSide) (*fileWriter, error) {
	w := &fileWriter{
		files: f, store: store, set: set, ctx: ctx, name: name, path: fs.Join(dir, name),
		physical: row.NewBatch(f.layout.physical), keys: make([]*row.Column, len(f.layout.keys)),
		stats: set.stats.collector(), minSeq: math.MaxInt64, maxSeq: math.MinInt64,
	}
	out, err := store.Create(ctx, w.path)
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", w.path, err)
	}
	w.out, w.open = newAsyncWriter(m.writer(ctx, out)), true
	spec := set.spec
	spec.Twin = twin
	enc, err := set.format.NewWriter(w.out, spec)
	if err != nil {
		w.abort()
		return nil, fmt.Errorf("writing %s: %w", w.path, err)
	}
	w.enc = enc
	return w, nil
}

// write appends records; there is at least one.
func (w *fileWriter) write(kv *KeyValues) error {
	w.kinds = w.files.layout.assemble(w.physical, kv, w.kinds)
	if err := w.enc.Write(w.physical); err != nil {
		return err
	}
	w.stats.Collect(kv.Rows)
	for _, s := range kv.Seq {
		w.minSeq, w.maxSeq = min(w.minSeq, s), max(w.maxSeq, s)
	}
	for i, k := range kv.Rows.Kinds {
		if k.IsRetract() {
			w.deletes++
		} else {
			w.keptSeq = max(w.keptSeq, kv.Seq[i])
		}
	}
	for i, k := range w.files.layout.keys {
		w.keys[i] = &kv.Rows.Cols[k]
	}
	n := kv.Len()
	if w.files.unsorted {
		w.widen(kv.Rows)
	} else {
		if w.rows == 0 {
			w.minKey = row.AppendSerializedRow(nil, w.keys, 0)
		}
		w.maxKey = row.AppendSerializedRow(w.maxKey[:0], w.keys, n-1)
	}
	w.rows += int64(n)
	return nil
}

// widen makes the range of keys contain those of b, which are in any order.
func (w *fileWriter) widen(b *row.Batch) {
	least, most := 0, 0
	for i := 1; i < b.N; i++ {
		if w.compareKeys(b, i, b, least) < 0 {
			least = i
		} else if w.compareKeys(b, i, b, most) > 0 {
			most = i
		}
	}
	if w.least == nil {
		w.least, w.most = row.NewBatch(b.Type), row.NewBatch(b.Type)
	}
	if w.rows == 0 || w.compareKeys(b, least, w.least, 0) < 0 {
		w.least.Reset()
		w.least.AppendRange(b, least, least+1)
		w.minKey = row.AppendSerializedRow(w.minKey[:0], w.keys, least)
	}
	if w.rows == 0 || w.compareKeys(b, most, w.most, 0) > 0 {
		w.most.Reset()
		w.most.AppendRange(b, most, most+1)
		w.maxKey = row.AppendSerializedRow(w.maxKey[:0], w.keys, most)
	}
}

func (w *fileWriter) compareKeys(a *row.Batch, i int, b *row.Batch, j int) int {
	for _, k := range w.files.layout.keys {
		if c := row.CompareValues(&a.Cols[k], i, &b.Cols[k], j); c != 0 {
			return c
		}
	}
	return 0
}

// full reports whether the file has reached its size or number of rows.
func (w *fileWriter) full() bool { return w.enc.Size() >= w.files.target || w.rows >= w.set.maxRows }

// close completes the file. Level, source and schema are the caller's to fill in.
func (w *fileWriter) close() (table.DataFile, error) {
	sum, err := w.enc.Close()
	if err != nil {
		return table.DataFile{}, err
	}
	if sum.Rows != w.rows {
		return table.DataFile{}, fmt.Errorf("the format wrote %d rows of %d", sum.Rows, w.rows)
	}
	w.enc = nil
	if err := w.out.Close(); err != nil {
		return table.DataFile{}, err
	}
	w.open = false
	f := table.DataFile{
		Name: w.name, Size: sum.Bytes, RowCount: w.rows, DeleteRows: w.deletes,
		MinKey: w.minKey, MaxKey: w.maxKey, MinSeq: w.minSeq, MaxSeq: w.maxSeq, KeptSeq: w.keptSeq,
		CreationMillis: localMillis(time.Now()), ExtraFiles: []string{}, FirstRowID: -1,
	}
	f.KeyStats, f.ValueStats, f.ValueStatsCols = w.set.stats.results(w.stats)
	return f, nil
}

// abort ends the writing and removes what has come to be.
func (w *fileWriter) abort() {
	if w.enc != nil {
		w.enc.Abort()
	}
	if w.open {
		_ = w.out.Abort() // what stays behind is removed below, or an orphan
	}
	ctx, cancel := fs.CleanUp(w.ctx)
	defer cancel()
	_ = w.store.Remove(ctx, w.path) // after a failed Close the file may be there
}

// localMillis returns the wall clock of this machine read as if it were UTC: the form of _CREATION_TIME.
func localMillis(t time.Time) int64 {
	_, offset := t.Zone()
	return t.UnixMilli() + int64(offset)*1000
}
