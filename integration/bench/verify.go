package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	pfs "github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// content is what a table must have: the number of its rows, and their checksum as `oracle read --checksum` makes it.
type content struct {
	rows     int64
	checksum uint64
}

func (c *content) add(b *row.Batch, buf []byte) []byte {
	for i := range b.N {
		buf = row.AppendJSONRow(buf[:0], b, i, true)
		sum := sha256.Sum256(buf)
		c.checksum += binary.BigEndian.Uint64(sum[:])
	}
	c.rows += int64(b.N)
	return buf
}

// addFile adds the rows of a file, and closes it.
func (c *content) addFile(r *lsm.FileReader, t *table.Table, buf []byte) ([]byte, error) {
	defer r.Close()
	kv := lsm.NewKeyValues(t.Schema().RowType())
	for {
		kv.Reset()
		if err := r.Next(kv); errors.Is(err, io.EOF) {
			return buf, nil
		} else if err != nil {
			return buf, err
		}
		buf = c.add(kv.Rows, buf)
	}
}

// expected returns the content after all upserts: of each key the last row.
func expected(w workload) (content, error) {
	g := newGenerator(w)
	last := make([]int32, w.Keys)
	for i := range w.Base + w.Rows {
		last[g.hash(i)%g.keys] = int32(i + 1)
	}
	s, err := table.NewSchema(w.spec())
	if err != nil {
		return content{}, err
	}
	var (
		c   content
		buf []byte
		b   = row.NewBatch(s.RowType())
	)
	for _, i := range last {
		if i == 0 {
			continue
		}
		g.appendRow(b, int(i-1))
		if b.N == 4096 || b.N*w.DataLen > batchBytes {
			buf = c.add(b, buf)
			b.Reset()
		}
	}
	c.add(b, buf)
	return c, nil
}

var errNoSnapshot = errors.New("there is none")

// actual returns the content of a table by our own reader.
func actual(ctx context.Context, path string) (content, error) {
	var c content
	t, err := open(ctx, path)
	if err != nil {
		return c, err
	}
	s, err := t.Latest(ctx)
	if err != nil || s == nil {
		return c, fmt.Errorf("finding the snapshot of %s: %w", path, cmp.Or(err, errNoSnapshot))
	}
	var buf []byte
	for b, err := range lsm.Scan(ctx, t, s, lsm.ScanOptions{}) {
		if err != nil {
			return c, fmt.Errorf("reading %s back: %w", path, err)
		}
		buf = c.add(b, buf)
	}
	return c, nil
}

func open(ctx context.Context, path string) (*table.Table, error) {
	fsys, err := pfs.For(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return table.Open(ctx, fsys, path, nil)
}

// dataFiles counts the data files below a table and their bytes, without those named in known.
func dataFiles(path string, known map[string]bool) (files int, bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "data-") || known[d.Name()] {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		bytes += info.Size()
		return nil
	})
	return files, bytes, err
}
