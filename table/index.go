package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/format/avro"
	"github.com/paimon-go/paimon-go/fs"
)

// Types of index files.
const (
	IndexHash            = "HASH"             // the hashes of the keys of a bucket
	IndexDeletionVectors = "DELETION_VECTORS" // rows of its files that are no longer there
)

// IndexFile is one index file of a bucket.
type IndexFile struct {
	Type    string
	Name    string
	Size    int64
	Rows    int64         // hashes, or vectors
	Vectors []VectorRange // of DELETION_VECTORS, in the order of the file
	// ExternalPath is where the file lies when not in the table's directory.
	ExternalPath *string
}

// VectorRange tells where the deletion vector of a data file lies in an index file.
type VectorRange struct {
	File           string
	Offset, Length int32
	Cardinality    *int64 // deleted rows, nil: not recorded
}

// IndexEntry is an entry of an index manifest.
type IndexEntry struct {
	Kind      EntryKind
	Partition []byte
	Bucket    int32
	File      IndexFile
}

// indexManifestSchema is that of Java 1.4.
const indexManifestSchema = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[` +
	`{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},` +
	`{"name":"_BUCKET","type":"int"},{"name":"_INDEX_TYPE","type":"string"},{"name":"_FILE_NAME","type":"string"},` +
	`{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},` +
	`{"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",` +
	`{"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":[{"name":"f0","type":"string"},{"name":"f1","type":"int"},` +
	`{"name":"f2","type":"int"},{"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},` +
	`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},` +
	`{"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"record__GLOBAL_INDEX","fields":[` +
	`{"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},{"name":"_INDEX_FIELD_ID","type":"int"},` +
	`{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},` +
	`{"name":"_INDEX_META","type":["null","bytes"],"default":null}]}],"default":null}]}`

// rawIndexEntry is an entry with its datum in indexManifestSchema, which has more than an IndexEntry.
type rawIndexEntry struct {
	IndexEntry
	datum []byte
}

// readIndexManifest reads an index manifest.
func (t *Table) readIndexManifest(ctx context.Context, name string) ([]rawIndexEntry, error) {
	path := t.manifestPath(name)
	raw, err := t.readExact(ctx, path, -1)
	if err != nil {
		return nil, err
	}
	return decodeIndexManifest(path, raw)
}

func decodeIndexManifest(path string, raw []byte) (out []rawIndexEntry, err error) {
	err = eachBlock(path, raw, indexManifestSchema, func(b plainBlock) error {
		d := avro.NewDecoder(b.data)
		for range b.count {
			start := d.Pos()
			e, ok := decodeIndexEntry(d)
			if d.Err() != nil || !ok {
				return corruptBlock(path, b.offset, d, "not an index entry of version 1")
			}
			out = append(out, rawIndexEntry{e, b.data[start:d.Pos()]})
		}
		return nil
	})
	return out, err
}

func decodeIndexEntry(d *avro.Decoder) (IndexEntry, bool) {
	version, kind := d.Int(), d.Int()
	e := IndexEntry{Kind: Add, Partition: d.Bytes(), Bucket: d.Int()}
	e.File = IndexFile{Type: d.String(), Name: d.String(), Size: d.Long(), Rows: d.Long()}
	if d.Union() {
		for n := d.Items(); n > 0; n = d.Items() {
			for range n {
				if !d.Union() {
					continue
				}
				v := VectorRange{File: d.String(), Offset: d.Int(), Length: d.Int()}
				if d.Union() {
					c := d.Long()
					v.Cardinality = &c
				}
				e.File.Vectors = append(e.File.Vectors, v)
			}
			if d.Err() != nil {
				return e, false
			}
		}
	}
	if d.Union() {
		s := d.String()
		e.File.ExternalPath = &s
	}
	if d.Union() { // what global indexes have
		d.Long()
		d.Long()
		d.Int()
		if d.Union() {
			for n := d.Items(); n > 0 && d.Err() == nil; n = d.Items() {
				for range n {
					d.Int()
				}
			}
		}
		if d.Union() {
			d.Bytes()
		}
	}
	return e, version == 1 && kind == 0 && e.File.Name != ""
}

func appendIndexEntry(dst []byte, e *IndexEntry) []byte {
	f := &e.File
	dst = avro.AppendInt(dst, 1)
	dst = avro.AppendInt(dst, int32(Add))
	dst = avro.AppendBytes(dst, e.Partition)
	dst = avro.AppendInt(dst, e.Bucket)
	dst = avro.AppendString(dst, f.Type)
	dst = avro.AppendString(dst, f.Name)
	dst = avro.AppendLong(dst, f.Size)
	dst = avro.AppendLong(dst, f.Rows)
	if dst = avro.AppendUnion(dst, f.Type == IndexDeletionVectors); f.Type == IndexDeletionVectors {
		if len(f.Vectors) > 0 {
			dst = avro.AppendCount(dst, len(f.Vectors))
			for i := range f.Vectors {
				v := &f.Vectors[i]
				dst = avro.AppendUnion(dst, true)
				dst = avro.AppendString(dst, v.File)
				dst = avro.AppendInt(dst, v.Offset)
				dst = avro.AppendInt(dst, v.Length)
				if dst = avro.AppendUnion(dst, v.Cardinality != nil); v.Cardinality != nil {
					dst = avro.AppendLong(dst, *v.Cardinality)
				}
			}
		}
		dst = avro.AppendEnd(dst)
	}
	if dst = avro.AppendUnion(dst, f.ExternalPath != nil); f.ExternalPath != nil {
		dst = avro.AppendString(dst, *f.ExternalPath)
	}
	return avro.AppendUnion(dst, false)
}

// IndexEntries gives the index files that a snapshot has in the buckets that pass the filter. Levels don't matter.
func (t *Table) IndexEntries(ctx context.Context, s *Snapshot, f Filter) iter.Seq2[IndexEntry, error] {
	return func(yield func(IndexEntry, error) bool) {
		if s == nil || s.IndexManifest == "" {
			return
		}
		entries, err := t.readIndexManifest(ctx, s.IndexManifest)
		if err != nil {
			yield(IndexEntry{}, err)
			return
		}
		for i := range entries {
			e := &entries[i].IndexEntry
			if f.wants(&entryHead{e.Kind, e.Partition, e.Bucket, 0}) && !yield(*e, nil) {
				return
			}
		}
	}
}

// IndexFiles returns the entries of an index manifest.
func (t *Table) IndexFiles(ctx context.Context, name string) ([]IndexEntry, error) {
	entries, err := t.readIndexManifest(ctx, name)
	files := make([]IndexEntry, len(entries))
	for i := range entries {
		files[i] = entries[i].IndexEntry
	}
	return files, err
}

// IndexFilePaths returns where an index file may lie: in the directory index or, with index-file-in-data-file-dir, in that of
// its bucket.
func (t *Table) IndexFilePaths(e *IndexEntry) []string {
	paths := []string{fs.Join(t.path, "index", e.File.Name)}
	if path, err := t.IndexFilePath(e.Partition, e.Bucket, &e.File); err == nil && path != paths[0] {
		paths = append(paths, path)
	}
	return paths
}

// IndexFilePath returns where an index file of a bucket lies: in the directory index or, with index-file-in-data-file-dir, in
// that of its bucket.
func (t *Table) IndexFilePath(partition []byte, bucket int32, f *IndexFile) (string, error) {
	if f.ExternalPath != nil {
		return *f.ExternalPath, nil
	}
	if !strings.EqualFold(t.Options()["index-file-in-data-file-dir"], "true") {
		return fs.Join(t.path, "index", f.Name), nil
	}
	dir, err := t.BucketPath(partition, bucket)
	return fs.Join(dir, f.Name), err
}

// indexChanges are what a commit does to the index manifest.
type indexChanges struct {
	entries []IndexEntry // Add replaces the entry of the same bucket and type; Delete takes one out
	drop    map[string]bool
}

func (x *indexChanges) empty() bool { return len(x.entries) == 0 && len(x.drop) == 0 }

func (x *indexChanges) have(kind string) bool {
	return slices.ContainsFunc(x.entries, func(e IndexEntry) bool { return e.File.Type == kind })
}

// checkSelf refuses what readers could not use.
func (x *indexChanges) checkSelf() error {
	seen := map[string]bool{}
	for i := range x.entries {
		e := &x.entries[i]
		switch {
		case e.File.Name == "" || len(e.Partition) == 0:
			return fmt.Errorf("an index file of bucket %d has no name or partition", e.Bucket)
		case e.Kind == Delete:
		case e.File.Type != IndexHash && e.File.Type != IndexDeletionVectors:
			return fmt.Errorf("%s of bucket %d is an index of type %q, which is not written here", e.File.Name, e.Bucket, e.File.Type)
		case seen[e.slot()]:
			return fmt.Errorf("%w: bucket %d gets two %s index files", ErrConflict, e.Bucket, e.File.Type)
		default:
			seen[e.slot()] = true
		}
	}
	return nil
}

// slot is what has one index file at a time.
func (e *IndexEntry) slot() string {
	return fmt.Sprintf("%s/%d/%s", e.Partition, e.Bucket, e.File.Type)
}

// changeIndexes writes the index manifest that follows on the one with a name, "" for none, and returns its name: the old one
// when nothing changes.
func (w *metaWriter) changeIndexes(ctx context.Context, name string, x *indexChanges) (string, error) {
	var raw []byte
	var old []rawIndexEntry
	path := w.t.manifestPath(name)
	if name != "" {
		var err error
		if raw, err = w.t.readExact(ctx, path, -1); err != nil {
			return "", err
		}
		if old, err = decodeIndexManifest(path, raw); err != nil {
			return "", err
		}
	}
	gone, replaced := map[string]bool{}, map[string]bool{}
	for i := range x.entries {
		if e := &x.entries[i]; e.Kind == Delete {
			gone[e.slot()+"/"+e.File.Name] = true
		} else {
			replaced[e.slot()] = true
		}
	}
	before := len(old)
	old = slices.DeleteFunc(old, func(e rawIndexEntry) bool {
		return x.drop[string(e.Partition)] || replaced[e.slot()] || gone[e.slot()+"/"+e.File.Name]
	})
	if len(old) == before && len(replaced) == 0 {
		return name, nil
	}
	if name != "" {
		if err := checkIndexFields(path, raw); err != nil {
			return "", err
		}
	}
	var file bytes.Buffer
	out, err := avro.NewBlockWriter(&file, indexManifestSchema, w.codec, w.level)
	if err != nil {
		return "", err
	}
	for i := range old {
		if err := out.Append(old[i].datum); err != nil {
			return "", err
		}
	}
	for i := range x.entries {
		if x.entries[i].Kind == Add {
			if err := out.Append(appendIndexEntry(nil, &x.entries[i])); err != nil {
				return "", err
			}
		}
	}
	if err := out.Close(); err != nil {
		return "", err
	}
	name = w.names.nextIndex()
	return name, w.write(ctx, name, file.Bytes())
}

// checkIndexFields refuses to write an index manifest anew that has fields of which this program knows nothing: they would be lost.
func checkIndexFields(path string, raw []byte) error {
	in, err := avro.NewBlockReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return fmt.Errorf("reading %s: %w: %w", path, ErrCorrupt, err)
	}
	var theirs, ours struct {
		Fields []struct {
			Name string `json:"name"`
		} `json:"fields"`
	}
	if err := errors.Join(json.Unmarshal([]byte(in.Schema()), &theirs), json.Unmarshal([]byte(indexManifestSchema), &ours)); err != nil {
		return fmt.Errorf("reading %s: %w: %w", path, ErrCorrupt, err)
	}
	for _, f := range theirs.Fields {
		if !slices.Contains(ours.Fields, f) {
			return fmt.Errorf("%s: %w: field %s of index entries", path, ErrNewerFormat, f.Name)
		}
	}
	return nil
}

// readIndexFile reads an index file whole.
func (t *Table) readIndexFile(ctx context.Context, partition []byte, bucket int32, f *IndexFile) ([]byte, string, error) {
	path, err := t.IndexFilePath(partition, bucket, f)
	if err != nil {
		return nil, "", err
	}
	raw, err := t.readExact(ctx, path, f.Size)
	return raw, path, err
}

// createIndexFile makes an index file. On an error it is gone.
func (t *Table) createIndexFile(ctx context.Context, partition []byte, bucket int32, f *IndexFile, data io.WriterTo) error {
	path, err := t.IndexFilePath(partition, bucket, f)
	if err != nil {
		return err
	}
	w, err := t.fs.Create(ctx, path)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	n, err := data.WriteTo(w)
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), w.Abort())
	}
	if err := w.Close(); err != nil {
		ctx, cancel := fs.CleanUp(ctx)
		defer cancel()
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), t.fs.Remove(ctx, path))
	}
	f.Size = n
	return nil
}
