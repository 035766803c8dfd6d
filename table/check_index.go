package table

import (
	"errors"

	"github.com/paimon-go/paimon-go/fs"
)

// checkIndexManifest compares the entries of an index manifest with each other and with the files that they name.
func (c *checker) checkIndexManifest(at, name string) {
	if name == "" {
		return
	}
	path := c.t.manifestPath(name)
	c.used[path] = true
	if c.manifestsSeen[name] {
		return
	}
	c.manifestsSeen[name] = true
	entries, err := c.t.IndexFiles(c.ctx, name)
	if err != nil {
		c.fail("index-manifest", at, err)
		return
	}
	slots := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if one := e.File.Type == IndexHash || e.File.Type == IndexDeletionVectors && len(c.schema.PrimaryKeys) > 0; one && slots[e.slot()] {
			c.errorf("index-double", path, "bucket %d has two %s index files", e.Bucket, e.File.Type)
		}
		slots[e.slot()] = true
		c.checkIndexEntry(path, e)
		if c.files {
			c.checkIndexFile(path, e)
		}
	}
}

// checkIndexEntry tests what can be told from an entry alone.
func (c *checker) checkIndexEntry(path string, e *IndexEntry) {
	f := &e.File
	switch f.Type {
	case IndexHash:
		if f.Size != f.Rows*hashBytes {
			c.errorf("index-entry", path, "%s of bucket %d: %d bytes are not %d hashes", f.Name, e.Bucket, f.Size, f.Rows)
		}
	case IndexDeletionVectors:
		if f.Rows != int64(len(f.Vectors)) {
			c.errorf("index-entry", path, "%s of bucket %d: %d deletion vectors, %d listed", f.Name, e.Bucket, f.Rows, len(f.Vectors))
		}
		if end, ok := f.contiguous(); !ok {
			c.errorf("index-ranges", path, "%s of bucket %d: the deletion vector of %s does not begin where the one before it ends",
				f.Name, e.Bucket, f.Vectors[end].File)
		}
	}
}

// contiguous reports whether the vectors lie one after the other in the file, as listed, from its beginning to its end. Java
// reads them one after the other and would give them to the wrong files. If not, it returns the first that is elsewhere.
func (f *IndexFile) contiguous() (int, bool) {
	// The length that is listed has the numbers around it or not, by the form of the vector.
	for i, next := 0, int64(1); i < len(f.Vectors); i++ {
		v := &f.Vectors[i]
		if int64(v.Offset) != next {
			return i, false
		}
		end := f.Size
		if i+1 < len(f.Vectors) {
			end = int64(f.Vectors[i+1].Offset)
		}
		if n := end - next - int64(v.Length); n != 0 && n != 8 {
			return min(i+1, len(f.Vectors)-1), false
		}
		next = end
	}
	return 0, true
}

func (c *checker) checkIndexFile(at string, e *IndexEntry) {
	paths := c.t.IndexFilePaths(e)
	if dir, err := c.t.BucketPath(e.Partition, e.Bucket); err == nil {
		paths = append(paths, fs.Join(dir, e.File.Name)) // the option may have been changed
	}
	for _, path := range paths {
		n, err := c.size(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			c.fail("index-file", path, err)
			return
		}
		c.used[path] = true
		switch {
		case n != e.File.Size:
			c.errorf("index-size", path, "%d bytes, %s says %d", n, at, e.File.Size)
		case c.open != nil && e.File.Type == IndexDeletionVectors:
			if _, err := c.t.ReadVectors(c.ctx, e.Partition, e.Bucket, &e.File); err != nil {
				c.fail("index-content", path, err)
			}
		}
		return
	}
	c.errorf("file-missing", paths[0], "%s index of bucket %d in %s", e.File.Type, e.Bucket, at)
}

// checkLiveVectors compares the deletion vectors of a snapshot with its files. A vector of a file that is no more is left by
// some compactions of Java; readers don't mind.
func (c *checker) checkLiveVectors(at string, s *Snapshot, live liveSet) {
	if s.IndexManifest == "" {
		return
	}
	type file struct {
		bucketKey
		name string
	}
	var rows map[file]int64
	for e, err := range c.t.IndexEntries(c.ctx, s, Filter{}) {
		if err != nil {
			return // checkIndexManifest has told
		}
		if e.File.Type != IndexDeletionVectors {
			continue
		}
		if rows == nil {
			rows = make(map[file]int64, len(live))
			for _, d := range live {
				rows[file{bucketKey{string(d.Partition), d.Bucket}, d.File.Name}] = d.File.RowCount
			}
		}
		for i := range e.File.Vectors {
			v := &e.File.Vectors[i]
			n, ok := rows[file{bucketKey{string(e.Partition), e.Bucket}, v.File}]
			switch {
			case !ok:
				c.warnf("index-stale", at, "%s of bucket %d has a deletion vector of %s, which is not in the table", e.File.Name, e.Bucket, v.File)
			case v.Cardinality != nil && *v.Cardinality > n:
				c.errorf("index-cardinality", at, "%s of bucket %d deletes %d of the %d rows of %s", e.File.Name, e.Bucket, *v.Cardinality, n, v.File)
			}
		}
	}
}
