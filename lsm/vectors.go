package lsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/table"
)

// WithVectors returns the same levels with the deletion vectors of their files: rows, by their position in a file, that are no
// longer there. A Rewriter of a table with deletion vectors wants them, a nil map when there are none yet; it changes neither
// the map nor the bitmaps. For a Strategy, which only asks which files have a vector, the bitmaps may be nil. Vectors of other
// files are ignored.
func (l *Levels) WithVectors(v map[string]*roaring.Bitmap) *Levels {
	c := *l
	c.vectors = make(map[string]*roaring.Bitmap, len(v))
	for _, r := range c.runs {
		for i := range r.Files {
			if b, ok := v[r.Files[i].Name]; ok {
				c.vectors[r.Files[i].Name] = b
			}
		}
	}
	c.strange = len(v) - len(c.vectors)
	return &c
}

// hasVector tells whether rows of a file are deleted.
func (l *Levels) hasVector(name string) bool {
	_, ok := l.vectors[name]
	return ok
}

// vectorSet is the deletion vectors of a bucket as a compaction changes them.
type vectorSet struct {
	was map[string]*roaring.Bitmap // never changed
	now map[string]*roaring.Bitmap // bitmaps are those of was until they change
	own map[string]bool            // whose bitmap is now's alone

	modified bool
}

func newVectorSet(was map[string]*roaring.Bitmap) *vectorSet {
	return &vectorSet{was: was, now: maps.Clone(was), own: map[string]bool{}}
}

// mark deletes a row.
func (v *vectorSet) mark(file string, pos uint32) {
	b := v.now[file]
	switch {
	case b == nil:
		b = roaring.New()
	case b.Contains(pos):
		return
	case !v.own[file]:
		b = b.Clone()
	}
	b.Add(pos)
	v.now[file], v.own[file], v.modified = b, true, true
}

// drop forgets a file that is no more.
func (v *vectorSet) drop(file string) {
	if _, ok := v.now[file]; ok {
		delete(v.now, file)
		v.modified = true
	}
}

// files lists those with a vector in a fixed order.
func (v *vectorSet) files() []string { return slices.Sorted(maps.Keys(v.now)) }

// place is where a row is stored: the number that a compaction has given to the file, and the row's position.
type place uint64

func newPlace(file, pos uint32) place { return place(file)<<32 | place(pos) }

func (p place) file() uint32 { return uint32(p >> 32) }
func (p place) pos() uint32  { return uint32(p) }

// numberOf numbers the files whose rows may be deleted.
func (t *rewriteTask) numberOf(file string) uint32 {
	i := slices.Index(t.numbered, file)
	if i < 0 {
		i = len(t.numbered)
		t.numbered = append(t.numbered, file)
	}
	return uint32(i)
}

// markAt deletes the row at a place.
func (t *rewriteTask) markAt(p place) { t.vectors.mark(t.numbered[p.file()], p.pos()) }

// onlyPlaces tells that of the older records all that counts is where they are: the newest record wins whatever it was.
func (m *sectionMerge) onlyPlaces() bool {
	return m.dv && m.keep == keepNewest && !m.ignore && !m.way.log && len(m.order.seqs) == 0
}

// openVectors begins with the vectors that the levels have.
func (t *rewriteTask) openVectors() error {
	if !t.dv {
		return nil
	}
	if t.levels.vectors == nil {
		return errors.New("the table has deletion vectors, and those of the bucket are not given")
	}
	for name, v := range t.levels.vectors {
		if v == nil {
			return fmt.Errorf("the deletion vector of %s has not been read", name)
		}
	}
	t.vectors = newVectorSet(t.levels.vectors)
	return nil
}

// consumed forgets the deleted rows of a file that has been rewritten.
func (t *rewriteTask) consumed(f *table.DataFile) {
	if t.dv {
		t.vectors.drop(f.Name)
	}
}
