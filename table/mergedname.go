package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

// MergedPart is where the file of a changelog entry lies inside a merged file (precommit-compact; Java's
// CompactedChangelogPathResolver). A merged file is whole files one after the other, each of which has an entry of its own:
//
//	bucket-<b>/compacted-changelog-<uuid>$<b>-<length>.cc-<format>           the first, which has the name of the merged file
//	compacted-changelog-<uuid>$<b>-<length>-<offset>-<length>.cc-<format>    another, beside the files of its bucket, where no
//	                                                                         such file exists
type MergedPart struct {
	Path           string // of the merged file
	Offset, Length int64
	Format         string // parquet, avro, orc
}

const mergedPrefix = "compacted-changelog-"

// MergedPart tells where the file of an entry lies when it is part of a merged one; ok is false when it is a file of its own.
func (t *Table) MergedPart(partition []byte, bucket int32, f *DataFile) (part MergedPart, ok bool, err error) {
	if !strings.HasPrefix(f.Name, mergedPrefix) {
		return MergedPart{}, false, nil
	}
	path, err := t.DataFilePath(partition, bucket, f)
	if err != nil {
		return MergedPart{}, false, err
	}
	stem, ext, dotted := strings.Cut(f.Name, ".")
	prefix, place, placed := strings.Cut(stem, "$")
	format, cc := strings.CutPrefix(ext, "cc-")
	var n [4]int64
	words := strings.Split(place, "-")
	good := dotted && placed && cc && (len(words) == 2 || len(words) == 4)
	for i := 0; good && i < len(words); i++ {
		n[i], err = strconv.ParseInt(words[i], 10, 64)
		good = err == nil && n[i] >= 0
	}
	if !good {
		return MergedPart{}, false, fmt.Errorf("%w: %s is no name of a merged changelog file", ErrCorrupt, path)
	}
	if len(words) == 2 {
		return MergedPart{Path: path, Length: n[1], Format: format}, true, nil
	}
	dir := fs.Join(fs.Dir(fs.Dir(path)), fmt.Sprintf("bucket-%d", n[0]))
	return MergedPart{Path: fs.Join(dir, fmt.Sprintf("%s$%d-%d.%s", prefix, n[0], n[1], ext)), Offset: n[2], Length: n[3], Format: format}, true, nil
}
