package table

import (
	iofs "io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1024": 1024, "64kb": 64 << 10, "256 mb": 256 << 20, " 1 GB ": 1 << 30, "2t": 2 << 40, "500 B": 500, "3 mebibytes": 3 << 20, "7 bytes": 7,
		"9223372036854775807": math.MaxInt64,
	} {
		got, err := ParseSize(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"", " ", "mb", "-1", "1.5 mb", "1 xb", "9223372036854775808", "9223372036854775807 kb", "1 mb 2"} {
		_, err := ParseSize(s)
		require.Error(t, err, s)
	}
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"10": 10 * time.Millisecond, "1 h": time.Hour, "500ms": 500 * time.Millisecond, "30 min": 30 * time.Minute, "2 days": 48 * time.Hour, "1 D": 24 * time.Hour,
		"3 secs": 3 * time.Second, "4 m": 4 * time.Minute, "5µs": 5 * time.Microsecond, "6 nanos": 6, "365000 d": math.MaxInt64, "0 ms": 0,
	} {
		got, err := ParseDuration(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "h", "-1 h", "1.5 h", "1 month", "99999999999999999999 s"} {
		_, err := ParseDuration(s)
		require.Error(t, err, s)
	}
}

func TestGettersApplyAliasesAndDefaults(t *testing.T) {
	o := Options{
		"write.compaction-skip": "TRUE", "bucket": "7", "write-buffer-size": "much", "commit.timeout": "3 min", "merge-engine": "First-Row",
		"file.format.per.level": "0:avro, 3:parquet", "sequence.field": " a, b ,", "deduplicate.ignore-delete": "true",
	}
	require.True(t, o.Bool(KeyWriteOnly))
	require.True(t, o.Bool(KeyIgnoreDelete))
	require.Equal(t, 7, o.Int(KeyBucket))
	require.EqualValues(t, 256<<20, o.Size(KeyWriteBufferSize), "malformed: the default")
	require.EqualValues(t, 64<<10, o.Size(KeyPageSize))
	require.Equal(t, 3*time.Minute, o.Duration(KeyCommitTimeout))
	require.Zero(t, o.Duration(KeySnapshotTimeRetained)-time.Hour)
	require.Equal(t, "first-row", o.Enum(KeyMergeEngine))
	require.Equal(t, "default", o.Enum(KeyBucketFunctionType))
	require.Equal(t, []string{"a", "b"}, o.List(KeySequenceField))
	require.Nil(t, o.List(KeyBucketKey))
	require.InDelta(t, 0.7, o.Float(KeyCompactionSmallFileRatio), 0)
	require.Equal(t, map[string]string{"0": "avro", "3": "parquet"}, o.Map(KeyFileFormatPerLevel))
	require.True(t, o.Has(KeyWriteOnly))
	require.False(t, o.Has(KeyPageSize))
	require.Zero(t, o.Int(KeyNumLevels), "no value, no default")
	o["write-only"] = "false"
	require.False(t, o.Bool(KeyWriteOnly), "the key comes before its alias, as in Java")
	require.Equal(t, "parquet", Options(nil).Get(KeyFileFormat))
}

func TestDefaultsOfTheTableAreValid(t *testing.T) {
	for _, k := range Keys() {
		require.NotEmpty(t, k.Doc, k.Name)
		require.True(t, strings.HasSuffix(k.Doc, "."), "%s: a sentence ends with a full stop", k.Name)
		if k.Default != "" {
			require.NoError(t, k.checkValue(k.Default), k.Name)
		}
		require.Equal(t, k.Status == Refused || k.limit != "", k.refuses != nil, k.Name)
		require.NotNil(t, lookupKey(k.Name), "the table has no key twice")
		require.Equal(t, strings.ToLower(k.Name), k.Name)
		if k.Kind == Enum {
			require.Contains(t, k.Values, k.Default, k.Name)
		}
	}
	require.Greater(t, len(Keys()), 200)
}

func TestValidateValues(t *testing.T) {
	for _, c := range []struct{ key, good, bad string }{
		{"bucket", "-2", "2.5"},
		{"bucket", "8", " 8"},
		{"bucket", "8", "2147483648"},
		{"write-only", "True", "yes"},
		{"write-buffer-size", "1 mb", "0"},
		{"commit.timeout", "1 h", "1 year"},
		{"merge-engine", "Aggregation", "aggregate"},
		{"metadata.stats-mode", "TRUNCATE(16)", "truncate(0)"},
		{"metadata.stats-mode", "counts", "count"},
		{"metadata.stats-mode.per.level", "0:none,5:full", "0:nothing"},
		{"file.format.per.level", "0:avro", "l0:avro"},
		{"file.format.per.level", "0:avro", "avro"},
		{"fields.a.stats-mode", "none", "non"},
		{"compaction.small-file-ratio", "0.5", "half"},
		{"dynamic-bucket.target-row-num", "3000000000", "many"},
		{"snapshot.num-retained.min", "1", "0"},
		{"write.compaction-skip", "true", "1"},
		{"sink.parallelism", "4", "0"},
	} {
		_, err := Options{c.key: c.good}.Validate()
		require.NoError(t, err, c)
		_, err = Options{c.key: c.bad}.Validate()
		require.ErrorIs(t, err, ErrOption, c)
		require.ErrorContains(t, err, c.key)
	}
}

func TestMisspeltKeysNameTheNearest(t *testing.T) {
	for name, near := range map[string]string{
		"buckets": "bucket", "Bucket": "bucket", "bukcet": "bucket", "write_only": "write-only", "write-ony": "write-only", "write-buffer.size": "write-buffer-size",
		"merge-engin": "merge-engine", "sequence-field": "sequence.field", "file-format": "file.format", "commit.max-retry": "commit.max-retries",
		"num-sorted-run.compaction-triger": "num-sorted-run.compaction-trigger", "file-index.in-manifest-treshold": "file-index.in-manifest-threshold",
		"parquet.enable.dictionnary": "parquet.enable.dictionary", "completely-unknown": "", "foo": "", "paimon-go.foo": "", "manifest.target-filesize": "manifest.target-file-size",
	} {
		_, err := Options{name: "1"}.Validate()
		require.ErrorIs(t, err, ErrOption, name)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, near)
	}
}

func TestKeysWithoutEffectWarn(t *testing.T) {
	warnings, err := Options{
		"write-only": "true", "bucket": "4", "fields.a.stats-mode": "none", // honoured: no word
		"lookup-wait":                           "true",  // its default: no word
		"local-merge-buffer-size":               "2 mb",  // stored
		"sink.committer-cpu":                    "2.0",   // Flink's
		"fields.a.nested-sequence-field":        "b",     // a pattern
		"file-index.bloom-filter.columns":       "a",     // a pattern
		"parquet.block.size.row.check.min":      "1",     // a library's
		"variant.shredding.maxSchemaDepth":      "3",     // of another feature
		"snapshot.something-of-a-newer-version": "1",     // unknown, but plausible
		"blob-field":                            "b",     // of other tables
		"bucket-append-ordered":                 "false", // append tables
	}.Validate()
	require.NoError(t, err)
	all := strings.Join(warnings, "\n")
	require.Len(t, warnings, 9, all)
	for _, part := range []string{
		"local-merge-buffer-size is kept and has no effect here: Buffer", "sink.committer-cpu", "fields.a.nested-sequence-field", "file-index.bloom", "parquet.block", "variant.",
		"snapshot.something-of-a-newer-version is not known here", "blob-field", "bucket-append-ordered",
	} {
		require.Contains(t, all, part)
	}
}

func TestWritersRefuseWhatTheyCannotNeglect(t *testing.T) {
	good := Options{
		"bucket": "4", "file.format": "AVRO", "file.format.per.level": "0:avro,5:parquet", "merge-engine": "partial-update", "branch": "main",
		"deletion-vectors.enabled": "true", "changelog-producer": "input", "manifest.format": "avro", "metadata.iceberg.storage": "disabled",
		"snapshot.num-retained.max": "5", "lookup-wait": "false",
	}
	require.NoError(t, good.CheckWritable())
	for name, value := range map[string]string{
		"file.format": "orc", "file.format.per.level": "0:avro,5:orc", "branch": "dev",
		"manifest.format": "orc", "encryption.mechanism": "plain",
		"data-file.external-paths": "s3://b/x", "pk-clustering-override": "true", "chain-table.enabled": "true", "sequence.snapshot-ordering": "true",
		"row-tracking.enabled": "true", "metadata.iceberg.storage": "table-location", "type": "format-table", "primary-key.nullable": "true",
		"write.sequence-number-init-mode": "snapshot", "data-evolution.enabled": "true", "partition.timestamp-format.strict": "true",
	} {
		o := good.With(Options{name: value})
		err := o.CheckWritable()
		require.ErrorIs(t, err, ErrOption, name)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, Options{}.CheckWritable())
}

// TestHonouredOptionsAreUsed keeps the status of options honest: the code reads each one that the table calls honoured.
func TestHonouredOptionsAreUsed(t *testing.T) {
	defs := regexp.MustCompile(`(\w+)\s*= define\(\w+, "([^"]+)"`)
	words := regexp.MustCompile(`\bKey\w+|"[a-z][^"\n]*"`)
	variable, used := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir("..", func(p string, d iofs.DirEntry, err error) error {
		if err == nil && p == filepath.Join("..", "integration") {
			return filepath.SkipDir // which only sets them
		}
		if err != nil || d.IsDir() || filepath.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
			return err
		}
		b, err := os.ReadFile(p)
		if strings.HasPrefix(filepath.Base(p), "option_keys_") {
			for _, m := range defs.FindAllStringSubmatch(string(b), -1) {
				variable[m[2]] = m[1]
			}
			return err
		}
		for _, w := range words.FindAllString(string(b), -1) {
			used[w] = true
		}
		return err
	})
	require.NoError(t, err)
	for _, k := range Keys() {
		require.Contains(t, variable, k.Name)
		if k.Status != Honoured || k.limit != "" {
			continue // a limit is looked at by CheckWritable
		}
		require.True(t, used[variable[k.Name]] || used[`"`+k.Name+`"`], "%s is called honoured, and nothing reads it", k.Name)
	}
}

func TestDerivedOptions(t *testing.T) {
	require.EqualValues(t, 128<<20, TargetFileSize(nil))
	require.EqualValues(t, 1<<20, TargetFileSize(Options{"target-file-size": "1 mb"}))
	require.Equal(t, 6, NumLevels(nil))
	require.Equal(t, 11, NumLevels(Options{"num-sorted-run.compaction-trigger": "10"}))
	require.Equal(t, 3, NumLevels(Options{"num-levels": "3"}))
	require.Equal(t, math.MaxInt32, NumLevels(Options{"num-sorted-run.compaction-trigger": "2147483647"}))
	require.Equal(t, 8, StopTrigger(nil))
	require.Equal(t, 5, StopTrigger(Options{"num-sorted-run.stop-trigger": "2"}))
	require.Equal(t, 9, StopTrigger(Options{"num-sorted-run.stop-trigger": "9"}))
	o := Options{
		"file.format": "Parquet", "file.format.per.level": "0:AVRO", "file.compression": "lz4", "file.compression.per.level": "5:zstd", "changelog-file.format": "ORC",
		"metadata.stats-mode": "full", "metadata.stats-mode.per.level": "0:none", "fields.b.stats-mode": "counts", "changelog-file.stats-mode": "truncate(3)",
	}
	require.Equal(t, "avro", FileFormat(o, 0))
	require.Equal(t, "parquet", FileFormat(o, 1))
	require.Equal(t, "lz4", Compression(o, 0))
	require.Equal(t, "zstd", Compression(o, 5))
	require.Equal(t, "orc", ChangelogFormat(o, 0))
	require.Equal(t, "avro", ChangelogFormat(Options{"file.format": "avro"}, 0))
	require.Equal(t, "lz4", ChangelogCompression(o, 0))
	require.Equal(t, "none", ChangelogCompression(Options{"changelog-file.compression": "none"}, 0))

	s, err := NewSchema(Spec{Fields: fieldsOf(t, "k INT, a INT, b INT, c INT"), PrimaryKeys: []string{"k"}, Options: Options{"bucket": "1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"none", "none", "counts", "none"}, StatsModes(o, s, 0))
	require.Equal(t, []string{"full", "full", "counts", "full"}, StatsModes(o, s, 3))
	require.Equal(t, []string{"truncate(3)", "truncate(3)", "counts", "truncate(3)"}, ChangelogStatsModes(o, s, 0))
	require.Equal(t, []string{"full", "none", "counts", "none"}, StatsModes(o.With(Options{"metadata.stats-keep-first-n-columns": "1"}), s, 1))
	require.Equal(t, []string{"truncate(128)", "full", "counts", "none"},
		StatsModes(o.With(Options{"metadata.stats-keep-first-n-columns": "2", "data-file.thin-mode": "true"}), s, 1))
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"", "abc", 3},
		{"bucket", "bucket", 0},
		{"bukcet", "bucket", 1},
		{"write-ony", "write-only", 1},
		{"kitten", "sitting", 3},
	} {
		require.Equal(t, c.want, editDistance(c.a, c.b), c)
		require.Equal(t, c.want, editDistance(c.b, c.a), c)
	}
}

func TestTheCompactorHasLimitsOfItsOwn(t *testing.T) {
	for _, o := range []Options{
		{"bucket": "4"}, {"bucket": "-1"}, {"bucket": "-2"}, {"write-only": "false", "merge-engine": "aggregation"}, {"changelog-producer": "input"}, {"changelog-producer": "lookup"}, {"changelog-producer": "full-compaction"},
		{"merge-engine": "partial-update"}, {"merge-engine": "first-row"}, {"partition.timestamp-format.strict": "true"},
	} {
		require.NoError(t, o.CheckCompactable(), o)
	}
	bad := Options{
		"deletion-vectors.bitmap64": "true", "file.format": "orc", "branch": "dev",
		"pk-clustering-override": "true", "encryption.mechanism": "plain", "sequence.snapshot-ordering": "true",
	}
	for name, value := range bad {
		o := Options{"bucket": "1"}.With(Options{name: value})
		err := o.CheckCompactable()
		require.ErrorIs(t, err, ErrOption, name)
		require.ErrorContains(t, err, name)
	}
}
