package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/paimon-go/paimon-go/format/avro"
	"github.com/paimon-go/paimon-go/format/row"
)

// fileNames makes the names of the metadata files of one committer, as Java does: a random UUID and counters.
type fileNames struct {
	uuid            string
	manifest, lists atomic.Int64
}

func (n *fileNames) nextManifest() string {
	return "manifest-" + n.uuid + "-" + strconv.FormatInt(n.manifest.Add(1)-1, 10)
}

func (n *fileNames) nextList() string {
	return "manifest-list-" + n.uuid + "-" + strconv.FormatInt(n.lists.Add(1)-1, 10)
}

// metaWriter writes manifests and lists for one committer and remembers which, for their removal when it fails. Not safe for
// concurrent use.
type metaWriter struct {
	t          *Table
	names      *fileNames
	codec      string
	level      int
	targetSize int64
	partition  []*row.Type
	created    []string
}

func newMetaWriter(t *Table, names *fileNames) (*metaWriter, error) {
	o := t.Options()
	codec, err := manifestCodec(o.Get(KeyManifestCompression))
	if err != nil {
		return nil, err
	}
	return &metaWriter{
		t: t, names: names, codec: codec, level: o.Int(KeyFileCompressionZstdLevel),
		targetSize: o.Size(KeyManifestTargetFileSize), partition: t.Schema().partitionTypes(),
	}, nil
}

// manifestCodec turns a value of manifest.compression into Avro's name (Java's AvroFileFormat).
func manifestCodec(option string) (string, error) {
	switch option {
	case "zstd", "zstandard":
		return avro.CodecZstandard, nil
	case "none", "null", "uncompressed":
		return avro.CodecNull, nil
	case "deflate", "snappy":
		return option, nil
	}
	return "", fmt.Errorf("%w: manifest.compression is %q, not zstd, deflate, snappy or null", ErrOption, option)
}

// write makes one file of the manifest directory. Its name counts as created from before the first call on, as even a failed
// one may leave it behind.
func (w *metaWriter) write(ctx context.Context, name string, data []byte) error {
	w.created = append(w.created, name)
	path := w.t.manifestPath(name)
	f, err := w.t.fs.Create(ctx, path)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), f.Abort())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// list writes a manifest list and returns its name and size.
func (w *metaWriter) list(ctx context.Context, manifests []Manifest) (string, int64, error) {
	name := w.names.nextList()
	var file bytes.Buffer
	out, err := avro.NewBlockWriter(&file, manifestListSchema, w.codec, w.level)
	if err != nil {
		return "", 0, err
	}
	var datum []byte
	for i := range manifests {
		datum = appendManifest(datum[:0], &manifests[i])
		if err := out.Append(datum); err != nil {
			return "", 0, err
		}
	}
	if err := out.Close(); err != nil {
		return "", 0, err
	}
	if err := w.write(ctx, name, file.Bytes()); err != nil {
		return "", 0, err
	}
	kept := slices.Clone(manifests)
	if kept == nil {
		kept = []Manifest{}
	}
	w.t.meta.put(name, kept, listBytes(kept))
	return name, int64(file.Len()), nil
}

// rollEntries is how often the size of a manifest is looked at, in entries (Java's RollingFileWriter).
const rollEntries = 1000

// manifestRoller writes entries into manifests of about the target size.
type manifestRoller struct {
	w     *metaWriter
	done  []Manifest
	file  bytes.Buffer
	out   *avro.BlockWriter
	meta  Manifest
	parts *partitionStats
	plain *manifestData // the same entries for the cache
	datum []byte
}

// manifests writes entries, in order, into as many manifests as it takes.
func (w *metaWriter) manifests(ctx context.Context, entries []Entry) ([]Manifest, error) {
	r := &manifestRoller{w: w}
	for i := range entries {
		r.datum = appendEntry(r.datum[:0], &entries[i])
		if err := r.add(ctx, &entries[i], r.datum); err != nil {
			return nil, err
		}
	}
	return r.close(ctx)
}

// add appends an entry, given with its datum.
func (r *manifestRoller) add(ctx context.Context, e *Entry, datum []byte) error {
	if r.out == nil {
		if err := r.open(); err != nil {
			return err
		}
	}
	if err := r.out.Append(datum); err != nil {
		return err
	}
	r.keepPlain(datum)
	m := &r.meta
	if e.Kind == Add {
		m.Added++
	} else {
		m.Deleted++
	}
	m.SchemaID = max(m.SchemaID, e.File.SchemaID)
	m.Buckets.include(int64(e.Bucket))
	m.Levels.include(int64(e.File.Level))
	r.parts.add(e.Partition)
	if (m.Added+m.Deleted)%rollEntries == 0 && r.out.Size() >= r.w.targetSize {
		return r.roll(ctx)
	}
	return nil
}

func (r *manifestRoller) open() error {
	r.file = bytes.Buffer{}
	var err error
	if r.out, err = avro.NewBlockWriter(&r.file, manifestSchema, r.w.codec, r.w.level); err != nil {
		return err
	}
	r.meta = Manifest{Name: r.w.names.nextManifest()}
	r.parts = newPartitionStats(r.w.partition)
	r.plain = &manifestData{path: r.w.t.manifestPath(r.meta.Name)}
	return nil
}

// plainBlockBytes is the size of the blocks in which written entries are kept in memory.
const plainBlockBytes = 64 << 10

func (r *manifestRoller) keepPlain(datum []byte) {
	blocks := r.plain.blocks
	if n := len(blocks); n == 0 || len(blocks[n-1].data)+len(datum) > plainBlockBytes {
		r.plain.blocks = append(blocks, plainBlock{})
		blocks = r.plain.blocks
	}
	b := &blocks[len(blocks)-1]
	b.data = append(b.data, datum...)
	b.count++
}

// roll completes the open manifest.
func (r *manifestRoller) roll(ctx context.Context) error {
	err := r.out.Close()
	r.out = nil
	if err != nil {
		return err
	}
	r.meta.Size = int64(r.file.Len())
	if r.meta.PartitionStats, err = r.parts.stats(); err != nil {
		return err
	}
	if err := r.w.write(ctx, r.meta.Name, r.file.Bytes()); err != nil {
		return err
	}
	r.w.t.meta.put(r.meta.Name, r.plain, r.plain.bytes())
	r.done = append(r.done, r.meta)
	return nil
}

// close completes the last manifest and returns all, none when there were no entries.
func (r *manifestRoller) close(ctx context.Context) ([]Manifest, error) {
	if r.out != nil {
		if err := r.roll(ctx); err != nil {
			return nil, err
		}
	}
	return r.done, nil
}
