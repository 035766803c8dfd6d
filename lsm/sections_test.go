package lsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/table"
)

func drawSpans(t *rapid.T) []span {
	n := rapid.IntRange(0, 30).Draw(t, "files")
	files := make([]span, n)
	for i := range files {
		lo := rapid.IntRange(0, 40).Draw(t, "lo")
		hi := lo + rapid.IntRange(0, 8).Draw(t, "len")
		files[i] = span{&table.DataFile{Name: fmt.Sprint(i)}, []byte{byte(lo)}, []byte{byte(hi)}}
	}
	return files
}

func overlap(a, b span) bool {
	return bytes.Compare(a.min, b.max) <= 0 && bytes.Compare(b.min, a.max) <= 0
}

func TestSectionsPartitionFilesAndDoNotShareKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := drawSpans(t)
		seen := map[string]bool{}
		var before []span
		for _, sec := range sections(append([]span(nil), files...)) {
			var here []span
			for _, r := range sec {
				for i, f := range r {
					require.False(t, seen[f.file.Name], "file %s comes twice", f.file.Name)
					seen[f.file.Name] = true
					require.True(t, i == 0 || bytes.Compare(r[i-1].max, f.min) < 0, "a run overlaps itself")
					here = append(here, f)
				}
			}
			for _, f := range here {
				for _, b := range before {
					require.Negative(t, bytes.Compare(b.max, f.min), "sections touch")
				}
			}
			before = append(before, here...)
			require.Len(t, sec, depth(here), "runs of a section: as many as files overlap at one key, no more")
		}
		require.Len(t, seen, len(files))
	})
}

// depth is the largest number of files that hold one key.
func depth(files []span) int {
	most := 0
	for _, f := range files {
		n := 0
		for _, g := range files {
			if bytes.Compare(g.min, f.min) <= 0 && bytes.Compare(f.min, g.max) <= 0 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestSectionsAreAsSmallAsCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, sec := range sections(drawSpans(t)) {
			var all []span
			for _, r := range sec {
				all = append(all, r...)
			}
			group := map[string]bool{all[0].file.Name: true}
			for grew := true; grew; {
				grew = false
				for _, a := range all {
					for _, b := range all {
						if group[a.file.Name] && !group[b.file.Name] && overlap(a, b) {
							group[b.file.Name], grew = true, true
						}
					}
				}
			}
			require.Len(t, group, len(all), "the files of a section hang together")
		}
	})
}
