package lsm

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/table"
)

// FileKind tells what a key-value file is for.
type FileKind uint8

// Data files hold the table's rows, changelog files what changed.
const (
	Data FileKind = iota
	Changelog
)

// Files makes the data and changelog files of one schema version of a table. It is immutable and safe for concurrent use.
type Files struct {
	table  *table.Table
	schema *table.Schema
	layout *layout
	opts   table.Options // as they were when the maker was made
	dense  bool
	target int64 // bytes at which a file is closed
	block  int64 // bytes that a row group may have at most; 0: as the options say

	unsorted bool // rows come in any order (table.PostponeBucket)

	mu       sync.Mutex
	settings map[settingsKey]*fileSettings // guarded by mu; filled as levels come up
}

type settingsKey struct {
	level int
	kind  FileKind
}

// fileSettings is what the options say about the files of one level and kind.
type fileSettings struct {
	format format.Format
	spec   format.WriteSpec
	prefix string // data- or changelog-
	suffix string // .parquet, .zst.parquet
	stats  *statsPlan

	maxRows int64 // rows at which a file is closed
}

// NewFiles returns the file maker of schema s, a schema of t. The options are the table's, dynamic ones included.
func NewFiles(t *table.Table, s *table.Schema) (*Files, error) { return newFiles(t, s, 0) }

// NewFilesWithin is NewFiles for a process that has so much memory for one file.
func NewFilesWithin(t *table.Table, s *table.Schema, memory int64) (*Files, error) {
	return newFiles(t, s, max(memory/2, 1)) // pages and dictionaries under way take up to twice what is in them
}

// newFiles is NewFiles with a limit for row groups, which a Parquet writer holds in memory; 0 is none.
func newFiles(t *table.Table, s *table.Schema, block int64) (*Files, error) {
	return newFilesOf(t, s, t.Options(), block)
}

func newFilesOf(t *table.Table, s *table.Schema, o table.Options, block int64) (*Files, error) {
	f := &Files{
		table:    t,
		schema:   s,
		opts:     o,
		layout:   newLayout(s.RowType(), s.KeyIndexes(), o.Bool(table.KeyDataFileThinMode)),
		dense:    o.Bool(table.KeyMetadataStatsDenseStore),
		target:   table.TargetFileSize(o),
		block:    block,
		settings: map[settingsKey]*fileSettings{},
	}
	kinds := []FileKind{Data}
	if o.Enum(table.KeyChangelogProducer) != "none" {
		kinds = append(kinds, Changelog)
	}
	// Formats know their compressions and types: refuse now what no flush could write.
	for _, kind := range kinds {
		set, err := f.settingsOf(0, kind)
		if err != nil {
			return nil, err
		}
		enc, err := set.format.NewWriter(io.Discard, set.spec)
		if err != nil {
			return nil, fmt.Errorf("%w: %s files of level 0: %w", table.ErrOption, [...]string{"data", "changelog"}[kind], err)
		}
		enc.Abort()
	}
	return f, nil
}

// Schema returns the schema version that the files are written with.
func (f *Files) Schema() *table.Schema { return f.schema }

// settingsOf returns what holds for files of a level and kind.
func (f *Files) settingsOf(level int, kind FileKind) (*fileSettings, error) {
	k := settingsKey{level, kind}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.settings[k]; s != nil {
		return s, nil
	}
	s, err := f.makeSettings(level, kind)
	if err != nil {
		return nil, err
	}
	f.settings[k] = s
	return s, nil
}

// alike tells whether data and changelog files of level 0 are written in the same way.
func (f *Files) alike() bool {
	data, err := f.settingsOf(0, Data)
	if err != nil {
		return false
	}
	changelog, err := f.settingsOf(0, Changelog)
	return err == nil && data.format == changelog.format && data.spec.Compression == changelog.spec.Compression
}

// NewWriter starts a run of files of a bucket. Nothing is made in storage before the first row. ctx ends the writing, not
// the removal of files by Abort.
func (f *Files) NewWriter(ctx context.Context, partition []byte, bucket int32, level int, kind FileKind, source table.FileSource) *RollingWriter {
	w := &RollingWriter{files: f, ctx: ctx, bucket: bucket, level: level, source: source, store: f.table.FS()}
	if w.settings, w.err = f.settingsOf(level, kind); w.err != nil {
		return w
	}
	w.dir, w.err = f.table.BucketPath(partition, bucket)
	w.base = w.settings.prefix + uuid.NewString() + "-"
	return w
}

// extensionOf returns the name that Java gives a compression inside a file's name (HadoopCompressionType).
func extensionOf(compression string) string {
	switch c := strings.ToLower(compression); c {
	case "none", "":
		return ""
	case "gzip":
		return "gz"
	case "bzip2":
		return "bz2"
	case "zstd":
		return "zst"
	case "deflate", "snappy", "lz4":
		return c
	}
	return compression
}

func (f *Files) makeSettings(level int, kind FileKind) (*fileSettings, error) {
	o := f.opts
	id, compression := table.FileFormat(o, level), table.Compression(o, level)
	modes, prefix, maxRows := table.StatsModes(o, f.schema, level), o.Get(table.KeyDataFilePrefix), o.Int64(table.KeyTargetFileRowNum)
	if kind == Changelog {
		id, compression = table.ChangelogFormat(o, level), table.ChangelogCompression(o, level)
		modes, prefix = table.ChangelogStatsModes(o, f.schema, level), o.Get(table.KeyChangelogFilePrefix)
		maxRows = math.MaxInt64 // as in Java
	}
	fm, err := format.Get(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", table.ErrOption, err)
	}
	stats := make([]format.StatsMode, len(modes))
	for i, m := range modes {
		if stats[i], err = format.ParseStatsMode(m); err != nil {
			return nil, fmt.Errorf("%w: statistics of column %s: %w", table.ErrOption, f.schema.Fields[i].Name, err)
		}
	}
	suffix := "." + id
	if c := extensionOf(compression); c != "" && o.Bool(table.KeyFileSuffixIncludeCompression) {
		suffix = "." + c + suffix
	}
	return &fileSettings{
		format: fm,
		spec: format.WriteSpec{
			Type: f.layout.physical, Compression: compression, ZstdLevel: o.Int(table.KeyFileCompressionZstdLevel),
			BlockSize: f.blockSize(o, id, level), Options: o,
		},
		prefix:  prefix,
		suffix:  suffix,
		maxRows: maxRows,
		stats:   newStatsPlan(f.schema, id, stats, f.dense, f.layout.first == 2),
	}, nil
}

// blockSize is file.block-size, else for a new Parquet file of level 0 a share of the write buffer: the file's writer holds a
// row group in memory until it is whole, and several buckets are written at once. 0 is the format's own size.
func (f *Files) blockSize(o table.Options, format string, level int) int64 {
	const least, most = 32 << 20, 128 << 20
	n := o.Size(table.KeyFileBlockSize)
	own, set := o["parquet.block.size"]
	if format == "parquet" && n == 0 && !set && level == 0 {
		n = min(max(o.Size(table.KeyWriteBufferSize)/2, least), most)
	}
	if f.block == 0 || format != "parquet" {
		return n
	}
	if n == 0 {
		if n, _ = strconv.ParseInt(own, 10, 64); n <= 0 {
			n = most
		}
	}
	return min(n, f.block)
}
