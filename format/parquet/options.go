package parquet

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/format"
)

// Defaults of parquet-mr, which Paimon leaves as they are.
const (
	defaultBlockSize    = 128 << 20
	defaultPageSize     = 1 << 20
	defaultPageRows     = 20_000
	defaultDictSize     = 1 << 20
	defaultZstdLevel    = 1
	defaultCompression  = "zstd"
	keyCompression      = "parquet.compression"
	keyZstdLevel        = "parquet.compression.codec.zstd.level"
	keyBlockSize        = "parquet.block.size"
	keyPageSize         = "parquet.page.size"
	keyPageRows         = "parquet.page.row.count.limit"
	keyDictSize         = "parquet.dictionary.page.size"
	keyEnableDictionary = "parquet.enable.dictionary"
)

// config is how a file is to be written.
type config struct {
	codec     int32
	zstdLevel int
	blockSize int64
	pageSize  int
	pageRows  int
	dictSize  int
	dict      bool
	dictOf    map[string]bool  // by dotted path
	codecOf   map[string]int32 // by dotted path
}

func (c *config) useDict(path string) bool {
	if v, ok := c.dictOf[path]; ok {
		return v
	}
	return c.dict
}

// newConfig reads the options as Java's RowDataParquetBuilder does: a parquet.* key goes before Paimon's general one,
// except that file.block-size goes before parquet.block.size.
func newConfig(s *format.WriteSpec) (*config, error) {
	c := &config{dict: true}
	o := options{m: s.Options}
	name := s.Compression
	if v, ok := o.m[keyCompression]; ok {
		name = v
	}
	if name == "" {
		name = defaultCompression
	}
	var err error
	if c.codec, err = parseCodec(name); err != nil {
		return nil, err
	}
	level := s.ZstdLevel
	if level == 0 {
		level = defaultZstdLevel
	}
	c.zstdLevel = int(o.int(keyZstdLevel, int64(level), math.MinInt32))
	c.blockSize = o.int(keyBlockSize, defaultBlockSize, 1)
	if s.BlockSize > 0 {
		c.blockSize = s.BlockSize
	}
	c.pageSize = int(min(o.int(keyPageSize, defaultPageSize, 1), 1<<30))
	c.pageRows = int(min(o.int(keyPageRows, defaultPageRows, 1), math.MaxInt32))
	c.dictSize = int(min(o.int(keyDictSize, defaultDictSize, 1), 1<<30))
	c.dict = o.bool(keyEnableDictionary, true)
	for k := range o.m {
		if path, ok := strings.CutPrefix(k, keyEnableDictionary+"#"); ok {
			if c.dictOf == nil {
				c.dictOf = map[string]bool{}
			}
			c.dictOf[path] = o.bool(k, false)
		}
		if path, ok := strings.CutPrefix(k, keyCompression+"#"); ok {
			codec, err := parseCodec(o.m[k])
			if err != nil {
				return nil, fmt.Errorf("option %s: %w", k, err)
			}
			if c.codecOf == nil {
				c.codecOf = map[string]int32{}
			}
			c.codecOf[path] = codec
		}
	}
	return c, o.err
}

// options gives typed values and keeps the first error.
type options struct {
	m   map[string]string
	err error
}

func (o *options) int(key string, def, least int64) int64 {
	s, ok := o.m[key]
	if !ok {
		return def
	}
	v, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	if err != nil || v < least {
		if o.err == nil {
			o.err = fmt.Errorf("option %s is %q, not a whole number from %d", key, s, least)
		}
		return def
	}
	return v
}

// bool is lenient as Hadoop's Configuration.getBoolean: what is neither true nor false is the default.
func (o *options) bool(key string, def bool) bool {
	switch strings.ToLower(strings.TrimSpace(o.m[key])) {
	case "true":
		return true
	case "false":
		return false
	}
	return def
}
