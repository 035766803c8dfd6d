package floor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/klauspost/compress/zstd"

	"github.com/paimon-go/paimon-go/format/avro"
)

// Zstd compresses the blocks or pages of files again. Levels that come to files like the given ones are tried, and the cheapest counts:
// the writer's own choice of a level may not cost more than the better of them saves.
func Zstd(files []string) (Cost, error) {
	var best Cost
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault} {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return best, err
		}
		c, packed, err := compress(enc, files)
		if err != nil {
			return best, err
		}
		var size int64
		for _, name := range files {
			info, err := os.Stat(name)
			if err != nil {
				return best, err
			}
			size += info.Size()
		}
		c.Size = float64(packed) / float64(max(size, 1))
		if best.Plain == 0 || c.Size <= 1.03 && (best.Size > 1.03 || c.Zstd < best.Zstd) {
			best = c
		}
	}
	return best, nil
}

// compress goes over the pieces that files were compressed in.
func compress(enc *zstd.Encoder, files []string) (c Cost, packed int64, err error) {
	var pieces [][]byte
	var out []byte
	for _, name := range files {
		pieces = pieces[:0]
		if err := eachPiece(name, func(b []byte) { pieces = append(pieces, append([]byte(nil), b...)) }); err != nil {
			return c, 0, fmt.Errorf("taking %s apart: %w", name, err)
		}
		start := processorTime()
		for _, p := range pieces {
			out = enc.EncodeAll(p, out[:0])
			packed += int64(len(out))
			c.Plain += int64(len(p))
		}
		c.Zstd += processorTime() - start
	}
	return c, packed, nil
}

// eachPiece gives what was compressed at once, uncompressed.
func eachPiece(name string, give func([]byte)) error {
	if strings.HasSuffix(name, ".parquet") || strings.Contains(name, ".parquet.") || strings.HasSuffix(name, ".cc-parquet") {
		return eachPage(name, give)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := avro.NewBlockReader(f, info.Size())
	if err != nil {
		return err
	}
	for {
		_, b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		give(b)
	}
}

func eachPage(name string, give func([]byte)) error {
	r, err := file.OpenParquetFile(name, false)
	if err != nil {
		return err
	}
	defer r.Close()
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		for c := range group.NumColumns() {
			pages, err := group.GetColumnPageReader(c)
			if err != nil {
				return err
			}
			for pages.Next() {
				give(pages.Page().Data())
			}
			if err := pages.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
