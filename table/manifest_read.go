package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/paimon-go/paimon-go/format/avro"
)

func (t *Table) manifestPath(name string) string { return t.path + "/manifest/" + name }

// manifestData is the content of a manifest in memory: plain datums of manifestSchema, whatever version wrote the file.
// Kept in this form it takes a fraction of what entries would, and those that a scan doesn't want are never built.
type manifestData struct {
	path   string
	blocks []plainBlock
}

type plainBlock struct {
	offset int64 // in the file, for messages
	count  int64
	data   []byte
}

func (m *manifestData) bytes() int64 {
	n := int64(len(m.path)) + 64
	for _, b := range m.blocks {
		n += int64(cap(b.data)) + 48
	}
	return n
}

// entries gives the entries of a manifest in order. With keep, those whose head it refuses are skipped. The entry is valid
// until the next one; what its slices refer to is valid for ever.
func (m *manifestData) entries(keep func(*entryHead) bool) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		err := m.records(keep, func(e *Entry, _ []byte) error {
			if !yield(e, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// errStop ends records early.
var errStop = errors.New("no more is wanted")

// records is entries with the datum of each, for copying.
func (m *manifestData) records(keep func(*entryHead) bool, f func(e *Entry, datum []byte) error) error {
	var e Entry
	var d avro.Decoder
	var x fileDecoder
	for _, b := range m.blocks {
		d.Reset(b.data)
		for range b.count {
			start := d.Pos()
			wanted, err := m.next(&d, &x, b, keep, &e)
			if err != nil {
				return err
			}
			if wanted {
				if err := f(&e, b.data[start:d.Pos()]); err != nil {
					return err
				}
			}
		}
		if d.Len() > 0 {
			return m.corrupt(b, &d, "bytes after the last entry")
		}
	}
	return nil
}

// next reads the next entry and reports whether keep wants it; e is complete only then.
func (m *manifestData) next(d *avro.Decoder, x *fileDecoder, b plainBlock, keep func(*entryHead) bool, e *Entry) (bool, error) {
	h, ok := decodeHead(d)
	if !ok {
		return false, m.corrupt(b, d, "not an entry of version 2")
	}
	wanted := keep == nil || keep(&h)
	if wanted {
		e.Kind, e.Partition, e.Bucket, e.TotalBuckets = h.kind, h.partition, h.bucket, h.totalBuckets
		x.file(d, &e.File)
	} else {
		skipFile(d)
	}
	if d.Err() != nil {
		return false, m.corrupt(b, d, "damaged entry")
	}
	return wanted, nil
}

func (m *manifestData) corrupt(b plainBlock, d *avro.Decoder, what string) error {
	return corruptBlock(m.path, b.offset, d, what)
}

// corruptBlock makes the error about a datum in the block at this offset of a file.
func corruptBlock(path string, offset int64, d *avro.Decoder, what string) error {
	err := fmt.Errorf("reading %s: %w: %s in the block at offset %d, near byte %d of its data", path, ErrCorrupt, what, offset, d.Pos())
	if d.Err() != nil {
		err = fmt.Errorf("%w: %w", err, d.Err())
	}
	return err
}

// readManifest returns the content of a manifest file.
func (t *Table) readManifest(ctx context.Context, m *Manifest) (*manifestData, error) {
	if v, ok := t.meta.get(m.Name); ok {
		if data, ok := v.(*manifestData); ok {
			return data, nil
		}
	}
	path := t.manifestPath(m.Name)
	raw, err := t.readExact(ctx, path, m.Size)
	if err != nil {
		return nil, err
	}
	data, err := parseManifest(path, raw)
	if err != nil {
		return nil, err
	}
	if n := data.count(); n != m.Added+m.Deleted {
		return nil, fmt.Errorf("reading %s: %w: it has %d entries, its list says %d", path, ErrCorrupt, n, m.Added+m.Deleted)
	}
	t.meta.put(m.Name, data, data.bytes())
	return data, nil
}

func (m *manifestData) count() (n int64) {
	for _, b := range m.blocks {
		n += b.count
	}
	return n
}

// readExact returns the content of a metadata file whose size is recorded (size < 0: it isn't). Java stops reading at the
// recorded size, and silently sees a shorter table when that is wrong, so we insist.
func (t *Table) readExact(ctx context.Context, path string, size int64) ([]byte, error) {
	raw, err := readWhole(ctx, t.fs, path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if size >= 0 && int64(len(raw)) != size {
		return nil, fmt.Errorf("reading %s: %w: it has %d bytes, its reference says %d", path, ErrCorrupt, len(raw), size)
	}
	return raw, nil
}

// parseManifest splits a manifest file into plain blocks of manifestSchema.
func parseManifest(path string, raw []byte) (*manifestData, error) {
	data := &manifestData{path: path}
	err := eachBlock(path, raw, manifestSchema, func(b plainBlock) error {
		data.blocks = append(data.blocks, b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// parseManifestList reads the bytes of a manifest list.
func parseManifestList(path string, raw []byte) ([]Manifest, error) {
	list := []Manifest{}
	err := eachBlock(path, raw, manifestListSchema, func(b plainBlock) error {
		var d avro.Decoder
		d.Reset(b.data)
		for range b.count {
			var m Manifest
			if !decodeManifest(&d, &m) {
				return corruptBlock(path, b.offset, &d, "not a manifest of version 2")
			}
			if m.Name == "" || m.Size < 0 || m.Added < 0 || m.Deleted < 0 {
				return corruptBlock(path, b.offset, &d, "impossible manifest")
			}
			list = append(list, m)
		}
		if d.Len() > 0 {
			return corruptBlock(path, b.offset, &d, "bytes after the last manifest")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// eachBlock gives the blocks of a container file as blocks of the schema want: those of files that another version wrote are
// rewritten, so that all other code knows one form only. The data belongs to the callee.
func eachBlock(path string, raw []byte, want string, f func(plainBlock) error) error {
	corrupt := func(err error) error { return fmt.Errorf("reading %s: %w: %w", path, ErrCorrupt, err) }
	r, err := avro.NewBlockReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return corrupt(err)
	}
	var convert *avro.Resolver
	if r.Schema() != want {
		if convert, err = newResolver(r.Schema(), want); err != nil {
			return corrupt(err)
		}
	}
	for {
		count, data, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return corrupt(err)
		}
		b := plainBlock{offset: r.BlockOffset(), count: count}
		if convert == nil {
			b.data = slices.Clone(data)
		} else {
			d := avro.NewDecoder(data)
			for range count {
				b.data = convert.Append(b.data, d)
			}
			if d.Err() != nil || d.Len() > 0 {
				return corruptBlock(path, b.offset, d, "damaged record")
			}
		}
		if err := f(b); err != nil {
			return err
		}
	}
}

func newResolver(writer, reader string) (*avro.Resolver, error) {
	w, err := avro.ParseSchema(writer)
	if err != nil {
		return nil, err
	}
	r, err := avro.ParseSchema(reader)
	if err != nil {
		return nil, err
	}
	return avro.NewResolver(w, r)
}

// readList returns the manifests of a manifest list; size nil: not recorded (Paimon before 1.1).
func (t *Table) readList(ctx context.Context, name string, size *int64) ([]Manifest, error) {
	if v, ok := t.meta.get(name); ok {
		if list, ok := v.([]Manifest); ok {
			return list, nil
		}
	}
	want := int64(-1)
	if size != nil {
		want = *size
	}
	path := t.manifestPath(name)
	raw, err := t.readExact(ctx, path, want)
	if err != nil {
		return nil, err
	}
	list, err := parseManifestList(path, raw)
	if err != nil {
		return nil, err
	}
	t.meta.put(name, list, listBytes(list))
	return list, nil
}

func listBytes(list []Manifest) int64 {
	n := int64(64)
	for i := range list {
		n += 256 + int64(len(list[i].Name)+len(list[i].PartitionStats.Min)+len(list[i].PartitionStats.Max))
	}
	return n
}

// manifests returns the manifests that make up the table at a snapshot, oldest first.
func (t *Table) manifests(ctx context.Context, s *Snapshot) ([]Manifest, error) {
	base, err := t.readList(ctx, s.BaseManifestList, s.BaseManifestListSize)
	if err != nil {
		return nil, err
	}
	delta, err := t.readList(ctx, s.DeltaManifestList, s.DeltaManifestListSize)
	if err != nil {
		return nil, err
	}
	return slices.Concat(base, delta), nil
}

// prefetch is how many manifests are read ahead of the one in use.
const prefetch = 4

// eachManifest gives the contents of manifests in order, reading some ahead.
func (t *Table) eachManifest(ctx context.Context, list []Manifest) iter.Seq2[*manifestData, error] {
	type result struct {
		data *manifestData
		err  error
	}
	return func(yield func(*manifestData, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		pending := make([]chan result, 0, prefetch)
		defer func() {
			cancel()
			for _, c := range pending {
				<-c // no goroutine outlives the iteration
			}
		}()
		next := 0
		for range list {
			for ; next < len(list) && len(pending) < prefetch; next++ {
				c := make(chan result, 1)
				pending = append(pending, c)
				m := &list[next]
				if _, ok := t.meta.get(m.Name); ok {
					data, err := t.readManifest(ctx, m)
					c <- result{data, err}
					continue
				}
				go func() {
					data, err := t.readManifest(ctx, m)
					c <- result{data, err}
				}()
			}
			r := <-pending[0]
			pending = pending[1:]
			if !yield(r.data, r.err) || r.err != nil {
				return
			}
		}
	}
}
