package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/paimon-go/paimon-go/fs"
)

// checkMerged is checkFile for an entry whose file is part of a merged one.
func (c *checker) checkMerged(at string, e *Entry, part MergedPart, err error) {
	if err != nil {
		c.fail("file-name", e.File.Name, fmt.Errorf("%s refers to it: %w", at, err))
		return
	}
	c.used[part.Path] = true
	size, err := c.size(part.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.errorf("file-missing", part.Path, "%s of %s lies in it", e.describe(), at)
	case err != nil:
		c.fail("file-missing", part.Path, err)
	case part.Length != e.File.Size || part.Offset > size-part.Length:
		c.errorf("file-size", part.Path, "%d bytes, %s has %d from %d on, %s says %d", size, e.File.Name, part.Length, part.Offset, at, e.File.Size)
	case c.open != nil && !c.enough:
		for p := range c.open(c.ctx, c.t, e, true) {
			c.report(p.Severity, p.Check, p.At, "%s", p.Msg)
		}
	}
}

// mergedParts are the parts of merged changelog files that a changelog's list names, by file.
type mergedParts map[string][]MergedPart

func (m mergedParts) add(t *Table, e *Entry) {
	if part, ok, err := t.MergedPart(e.Partition, e.Bucket, &e.File); ok && err == nil {
		m[part.Path] = append(m[part.Path], part)
	}
}

// checkWhole demands that the parts of a file are all of it: a commit names all of them, or rows were lost.
func (c *checker) checkWhole(at string, m mergedParts) {
	for path, parts := range m {
		size, err := c.size(path)
		if err != nil {
			continue // told already
		}
		slices.SortFunc(parts, func(a, b MergedPart) int { return cmp.Compare(a.Offset, b.Offset) })
		var end int64
		for _, p := range parts {
			if p.Offset != end {
				c.errorf("file-parts", path, "a part that %s names begins at byte %d, the one before it ends at %d", at, p.Offset, end)
			}
			end = p.Offset + p.Length
		}
		if end < size {
			c.errorf("file-parts", path, "%d bytes, but the parts that %s names end at %d", size, at, end)
		}
	}
}

// checkKept looks at what readers need of a changelog that outlived its snapshot.
func (c *checker) checkKept(s *Snapshot) {
	at := c.t.changelogPath(s.ID)
	if s.ChangelogManifestList != "" {
		if list, ok := c.checkList(at, s.ChangelogManifestList, s.ChangelogListSize); ok {
			c.checkChangelog(at, s, list)
		}
		return
	}
	if s.CommitKind != CommitAppend || c.t.Options().Get(KeyChangelogProducer) != "none" {
		return
	}
	list, ok := c.checkList(at, s.DeltaManifestList, s.DeltaManifestListSize)
	if !ok {
		return
	}
	for data, err := range c.t.eachManifest(c.ctx, list) {
		if err != nil {
			return
		}
		for e, err := range data.entries(isAdd) {
			if err != nil {
				return
			}
			if c.files {
				c.checkFile(at, e, false)
			}
		}
	}
}
