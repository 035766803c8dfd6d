package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/paimon-go/paimon-go/format/avro"
)

// nextIndex names an index manifest. Java counts them by themselves; the name is as unique with the counter of manifests.
func (n *fileNames) nextIndex() string {
	return "index-manifest-" + n.uuid + "-" + strconv.FormatInt(n.manifest.Add(1)-1, 10)
}

// dropIndexes writes an index manifest without the index files of some partitions, and returns its name: the old one when
// nothing goes. One without entries is written too, as Java does. Entries that stay are copied byte by byte under the schema they were written
// with, as this program knows no more of them than where they end.
func (w *metaWriter) dropIndexes(ctx context.Context, name string, partitions map[string]bool) (string, error) {
	path := w.t.manifestPath(name)
	raw, err := w.t.readExact(ctx, path, -1)
	if err != nil {
		return "", err
	}
	in, err := avro.NewBlockReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w: %w", path, ErrCorrupt, err)
	}
	head, err := newResolver(in.Schema(), indexEntrySchema)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w: %w", path, ErrCorrupt, err)
	}
	var file bytes.Buffer
	out, err := avro.NewBlockWriter(&file, in.Schema(), w.codec, w.level)
	if err != nil {
		return "", err
	}
	dropped, err := copyIndexes(path, in, out, head, partitions)
	if err != nil {
		out.Abort()
		return "", err
	}
	if dropped == 0 {
		out.Abort()
		return name, nil
	}
	if err := out.Close(); err != nil {
		return "", err
	}
	name = w.names.nextIndex()
	return name, w.write(ctx, name, file.Bytes())
}

// copyIndexes copies the entries of an index manifest but for those of some partitions, and returns how many these are.
func copyIndexes(path string, in *avro.BlockReader, out *avro.BlockWriter, head *avro.Resolver, partitions map[string]bool) (int, error) {
	dropped := 0
	for {
		count, data, err := in.Next()
		if errors.Is(err, io.EOF) {
			return dropped, nil
		}
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w: %w", path, ErrCorrupt, err)
		}
		d := avro.NewDecoder(data)
		for range count {
			start := d.Pos()
			e := avro.NewDecoder(head.Append(nil, d))
			version, kind, partition := e.Int(), e.Int(), e.Bytes()
			if d.Err() != nil || e.Err() != nil || version != 1 || kind != 0 {
				return 0, corruptBlock(path, in.BlockOffset(), d, "not an index entry of version 1")
			}
			if partitions[string(partition)] {
				dropped++
			} else if err := out.Append(data[start:d.Pos()]); err != nil {
				return 0, err
			}
		}
	}
}
