package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// TargetFileSize is the size in bytes at which a data file of a primary-key table is closed.
func TargetFileSize(o Options) int64 {
	if o.Has(KeyTargetFileSize) {
		return o.Size(KeyTargetFileSize)
	}
	return 128 << 20
}

// NumLevels is the number of levels of a merge tree, level 0 included.
func NumLevels(o Options) int {
	if o.Has(KeyNumLevels) {
		return o.Int(KeyNumLevels)
	}
	return int(min(int64(o.Int(KeyNumSortedRunCompactionTrigger))+1, math.MaxInt32))
}

// StopTrigger is the number of sorted runs from which on a compacting writer waits.
func StopTrigger(o Options) int {
	trigger := o.Int64(KeyNumSortedRunCompactionTrigger)
	stop := trigger + 3
	if o.Has(KeyNumSortedRunStopTrigger) {
		stop = o.Int64(KeyNumSortedRunStopTrigger)
	}
	return int(min(max(stop, trigger), math.MaxInt32))
}

// SortSpillThreshold is the number of runs above which a merge first brings some to local disk. When it is not set there is none:
// Java takes the stop trigger and one more, as nothing else bounds the memory of its merges.
func SortSpillThreshold(o Options) (int, error) {
	if !o.Has(KeySortSpillThreshold) {
		return math.MaxInt32, nil
	}
	n := o.Int(KeySortSpillThreshold)
	if n < 2 {
		return 0, fmt.Errorf("%w: %s is %d, and a merge has 2 runs at least", ErrOption, KeySortSpillThreshold.Name, n)
	}
	return n, nil
}

// FileFormat is the format of data files of a level.
func FileFormat(o Options, level int) string {
	return strings.ToLower(perLevel(o, KeyFileFormatPerLevel, KeyFileFormat, level))
}

// Compression is the compression of data files of a level.
func Compression(o Options, level int) string {
	return perLevel(o, KeyFileCompressionPerLevel, KeyFileCompression, level)
}

// ChangelogFormat is the format of changelog files of a level.
func ChangelogFormat(o Options, level int) string {
	if f := o.Get(KeyChangelogFileFormat); f != "" {
		return strings.ToLower(f)
	}
	return FileFormat(o, level)
}

// ChangelogCompression is the compression of changelog files of a level.
func ChangelogCompression(o Options, level int) string {
	if c := o.Get(KeyChangelogFileCompression); c != "" {
		return c
	}
	return Compression(o, level)
}

// StatsModes returns the statistics mode of each column of the schema in data files of a level, after Java's
// StatsCollectorFactories: a mode of the column's own first; with data-file.thin-mode, key columns keep bounds of 128
// characters, as readers take the key's statistics from them.
func StatsModes(o Options, s *Schema, level int) []string {
	return statsModes(o, s, perLevel(o, KeyMetadataStatsModePerLevel, KeyMetadataStatsMode, level))
}

// ChangelogStatsModes is StatsModes for changelog files.
func ChangelogStatsModes(o Options, s *Schema, level int) []string {
	if m := o.Get(KeyChangelogFileStatsMode); m != "" {
		return statsModes(o, s, m)
	}
	return StatsModes(o, s, level)
}

func statsModes(o Options, s *Schema, mode string) []string {
	keep := o.Int(KeyMetadataStatsKeepFirstNColumns)
	isKey := make([]bool, len(s.Fields))
	if o.Bool(KeyDataFileThinMode) {
		for _, i := range s.KeyIndexes() {
			isKey[i] = true
		}
	}
	modes := make([]string, len(s.Fields))
	counted := 0
	for i := range s.Fields {
		own, has := o["fields."+s.Fields[i].Name+".stats-mode"]
		switch {
		case has:
			modes[i] = own
		case isKey[i]:
			modes[i] = "truncate(128)"
			continue // doesn't count against keep-first-n
		case keep >= 0 && counted >= keep:
			modes[i] = "none"
		default:
			modes[i] = mode
		}
		counted++
	}
	return modes
}

func perLevel(o Options, byLevel, all *Key, level int) string {
	if v, ok := o.Map(byLevel)[strconv.Itoa(level)]; ok {
		return v
	}
	return o.Get(all)
}
