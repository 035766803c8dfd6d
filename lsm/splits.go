package lsm

import "github.com/paimon-go/paimon-go/table"

// Java's defaults of source.split.target-size and source.split.open-file-cost.
const (
	splitTargetBytes = 128 << 20
	openFileBytes    = 4 << 20
)

// rawSections tells which sections Java's batch readers take as they are, without merging (MergeTreeSplitGenerator).
// Their rows come out as +I, the others with the kind that is stored. It makes no difference to anybody but a reader that
// compares the two, so it is done the same way.
//
// unique says that no key is in two files, which holds for tables with deletion vectors unless there are retracts; then the whole
// bucket may be raw.
func rawSections(files []table.DataFile, secs []section, unique bool) []bool {
	raw := make([]bool, len(secs))
	if rawBucket(files, unique) {
		for i := range raw {
			raw[i] = true
		}
		return raw
	}
	for from := 0; from < len(secs); {
		var weight int64
		to := from
		for ; to < len(secs); to++ {
			w := max(secs[to].bytes(), openFileBytes)
			if to > from && weight+w > splitTargetBytes {
				break
			}
			weight += w
		}
		if s := secs[from]; to == from+1 && len(s) == 1 && len(s[0]) == 1 {
			raw[from] = s[0][0].file.DeleteRows == 0
		}
		from = to
	}
	return raw
}

// rawBucket tells whether all files of a bucket are taken as they are.
func rawBucket(files []table.DataFile, unique bool) bool {
	for i := range files {
		f := &files[i]
		if f.Level == 0 || f.DeleteRows != 0 || !unique && f.Level != files[0].Level {
			return false
		}
	}
	return true
}

func (s section) bytes() int64 {
	var n int64
	for _, r := range s {
		for _, f := range r {
			n += f.file.Size
		}
	}
	return n
}
