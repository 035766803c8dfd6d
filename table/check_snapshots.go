package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

// liveSet is the files of the table at a snapshot, by identity.
type liveSet map[string]*Entry

func (l liveSet) rows() (n int64) {
	for _, e := range l {
		n += e.File.RowCount
	}
	return n
}

// checkSnapshots goes through the snapshots in order, carrying the live files along.
func (c *checker) checkSnapshots() {
	latest, earliest := c.readHint(hintLatest), c.readHint(hintEarliest) // before the list: a writer goes on meanwhile
	ids, err := c.t.snapshotIDs(c.ctx)
	if err != nil {
		c.fail("snapshots", c.t.snapshotDir(), err)
		return
	}
	c.checkInTheWay()
	c.checkHint(hintLatest, latest, ids)
	c.checkHint(hintEarliest, earliest, ids)
	var prev *Snapshot
	var live liveSet
	byUser := map[string]int64{}
	for i, id := range ids {
		if c.enough {
			return
		}
		if i > 0 && id != ids[i-1]+1 {
			c.errorf("snapshot-gap", c.t.snapshotPath(id), "the one before is %d", ids[i-1])
			prev, live = nil, nil
		}
		s, err := c.t.Snapshot(c.ctx, id)
		if err != nil {
			c.fail("snapshot", c.t.snapshotPath(id), err)
			prev, live = nil, nil
			continue
		}
		c.checkSnapshot(s, prev, byUser)
		live = c.checkContent(s, prev, live)
		last := i == len(ids)-1
		if live != nil && (c.deep || c.target != nil && c.target.ID == id || c.target == nil && last) {
			c.checkLive(s, live)
		} else if c.files {
			c.markUsed(live)
		}
		prev = s
	}
	if c.files {
		c.checkOtherReferences()
	}
}

// checkInTheWay reports directories with the names of snapshots, which no writer gets past.
func (c *checker) checkInTheWay() {
	for info, err := range c.t.fs.List(c.ctx, c.t.snapshotDir()) {
		if err != nil {
			c.fail("snapshots", c.t.snapshotDir(), err)
			return
		}
		if digits, ok := strings.CutPrefix(info.Name, snapshotPrefix); ok && info.Dir {
			if _, err := strconv.ParseUint(digits, 10, 63); err == nil {
				c.errorf("in-the-way", fs.Join(c.t.snapshotDir(), info.Name), "a directory lies where a snapshot belongs: remove or rename it")
			}
		}
	}
}

// readHint returns what a hint says, 0 when there is none.
func (c *checker) readHint(name string) int64 {
	n, ok := c.t.readHint(c.ctx, name)
	if !ok {
		return 0
	}
	return n
}

// checkHint demands that a hint doesn't mislead.
func (c *checker) checkHint(name string, n int64, ids []int64) {
	at := fs.Join(c.t.snapshotDir(), name)
	switch {
	case n == 0:
	case name == hintLatest && (len(ids) == 0 || n > ids[len(ids)-1]):
		c.errorf("hint", at, "%d is ahead of the latest snapshot", n)
	case !slices.Contains(ids, n):
		c.warnf("hint", at, "there is no snapshot %d", n)
	}
}

// checkSnapshot compares a snapshot's own values with those of the one before.
func (c *checker) checkSnapshot(s, prev *Snapshot, byUser map[string]int64) {
	at := c.t.snapshotPath(s.ID)
	if s.Version != snapshotVersion {
		c.warnf("snapshot-version", at, "version %d", s.Version)
	}
	if s.BaseManifestListSize == nil || s.DeltaManifestListSize == nil || s.ChangelogManifestList != "" && s.ChangelogListSize == nil {
		c.warnf("list-size", at, "sizes of manifest lists are missing")
	}
	if _, err := c.t.SchemaByID(c.ctx, s.SchemaID); err != nil {
		c.fail("snapshot-schema", at, err)
	}
	if last, ok := byUser[s.CommitUser]; ok && s.CommitIdentifier < last {
		c.errorf("identifier", at, "identifier %d of %s after %d", s.CommitIdentifier, s.CommitUser, last)
	}
	byUser[s.CommitUser] = s.CommitIdentifier
	if prev == nil {
		return
	}
	if s.TimeMillis < prev.TimeMillis {
		c.warnf("snapshot-time", at, "%d ms before snapshot %d", prev.TimeMillis-s.TimeMillis, prev.ID)
	}
	if s.SchemaID < prev.SchemaID {
		c.errorf("snapshot-schema", at, "schema %d after %d", s.SchemaID, prev.SchemaID)
	}
	if prev.Watermark != nil && (s.Watermark == nil || *s.Watermark < *prev.Watermark) {
		c.errorf("watermark", at, "it went back")
	}
}

// checkContent checks lists and manifests of a snapshot and that it goes on from the one before; it returns the live files,
// nil when that can't be told.
func (c *checker) checkContent(s, prev *Snapshot, live liveSet) liveSet {
	at := c.t.snapshotPath(s.ID)
	base, baseOK := c.checkList(at, s.BaseManifestList, s.BaseManifestListSize)
	delta, deltaOK := c.checkList(at, s.DeltaManifestList, s.DeltaManifestListSize)
	if s.ChangelogManifestList != "" {
		if changelog, ok := c.checkList(at, s.ChangelogManifestList, s.ChangelogListSize); ok {
			c.checkChangelog(at, s, changelog)
		}
	} else if s.ChangelogRecordCount != nil && *s.ChangelogRecordCount != 0 {
		c.errorf("changelog-count", at, "%d changelog rows without a list", *s.ChangelogRecordCount)
	}
	c.checkIndexManifest(at, s.IndexManifest)
	if s.Statistics != "" {
		c.mustExist(at, fs.Join(c.t.path, "statistics", s.Statistics))
	}
	if !baseOK || !deltaOK {
		return nil
	}
	sum := live
	if live == nil || !slices.Equal(names(base), c.lastNames) { // the same manifests have the same sum
		if sum = c.sum(at, base); sum == nil {
			return nil
		}
		if live != nil {
			c.compareLive(at, prev, live, sum)
		}
	}
	c.lastNames = names(slices.Concat(base, delta))
	rows, ok := c.apply(at, sum, delta)
	if !ok {
		return nil
	}
	if rows != s.DeltaRecordCount {
		c.errorf("delta-count", at, "deltaRecordCount is %d, the entries make %d", s.DeltaRecordCount, rows)
	}
	if total := sum.rows(); total != s.TotalRecordCount {
		c.errorf("total-count", at, "totalRecordCount is %d, the live files have %d", s.TotalRecordCount, total)
	}
	return sum
}

func names(list []Manifest) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Name
	}
	return out
}

// checkList reads a manifest list and checks each of its manifests once.
func (c *checker) checkList(at, name string, size *int64) ([]Manifest, bool) {
	path := c.t.manifestPath(name)
	c.used[path] = true
	want := int64(-1)
	if size != nil {
		want = *size
	}
	raw, err := c.t.readExact(c.ctx, path, want)
	if err != nil {
		c.fail("manifest-list", at, err)
		return nil, false
	}
	list, err := parseManifestList(path, raw)
	if err != nil {
		c.fail("manifest-list", path, err)
		return nil, false
	}
	ok := true
	for i := range list {
		c.used[c.t.manifestPath(list[i].Name)] = true
		if !c.manifestsSeen[list[i].Name] {
			c.manifestsSeen[list[i].Name] = true
			ok = c.checkManifest(path, &list[i]) && ok
		}
	}
	return list, ok
}

// sum merges manifests as readers do.
func (c *checker) sum(at string, list []Manifest) liveSet {
	sum := liveSet{}
	if _, ok := c.apply(at, sum, list); !ok {
		return nil
	}
	return sum
}

// apply merges manifests into a set and returns the change of rows.
func (c *checker) apply(at string, sum liveSet, list []Manifest) (rows int64, ok bool) {
	var id []byte
	for data, err := range c.t.eachManifest(c.ctx, list) {
		if err != nil {
			return 0, false // checkManifest has told
		}
		for e, err := range data.entries(nil) {
			if err != nil {
				return 0, false
			}
			id = e.appendIdentity(id[:0])
			_, there := sum[string(id)]
			switch {
			case e.Kind == Add && there:
				c.errorf("double-add", at, "%s in %s is live already", e.describe(), data.path)
			case e.Kind == Delete && !there:
				c.errorf("dangling-delete", at, "%s in %s is not live", e.describe(), data.path)
			}
			if e.Kind == Delete {
				rows -= e.File.RowCount
				delete(sum, string(id))
			} else {
				rows += e.File.RowCount
				kept := *e
				sum[string(id)] = &kept
			}
		}
	}
	return rows, true
}

// compareLive demands that a base is what was live before.
func (c *checker) compareLive(at string, prev *Snapshot, before, base liveSet) {
	for id, e := range before {
		if base[id] == nil {
			c.errorf("base", at, "%s of snapshot %d is not in the base", e.describe(), prev.ID)
		}
	}
	for id, e := range base {
		if before[id] == nil {
			c.errorf("base", at, "%s of the base is not in snapshot %d", e.describe(), prev.ID)
		}
	}
}

func (c *checker) checkChangelog(at string, s *Snapshot, list []Manifest) {
	var rows int64
	parts := mergedParts{}
	for data, err := range c.t.eachManifest(c.ctx, list) {
		if err != nil {
			return
		}
		for e, err := range data.entries(nil) {
			if err != nil {
				return
			}
			rows += e.File.RowCount
			if e.Kind != Add {
				c.errorf("changelog", at, "%s is in the changelog", e.describe())
			}
			if c.files {
				c.checkFile(at, e, true)
				parts.add(c.t, e)
			}
		}
	}
	c.checkWhole(at, parts)
	if s.ChangelogRecordCount == nil || *s.ChangelogRecordCount != rows {
		c.errorf("changelog-count", at, "changelogRecordCount is not %d, the number of rows", rows)
	}
}

func (c *checker) mustExist(at, path string) {
	c.used[path] = true
	if _, err := c.t.fs.Stat(c.ctx, path); err != nil {
		c.fail("file-missing", path, fmt.Errorf("%s refers to it: %w", at, err))
	}
}

func (c *checker) markUsed(live liveSet) {
	for _, e := range live {
		path, err := c.t.DataFilePath(e.Partition, e.Bucket, &e.File)
		if err != nil {
			continue
		}
		c.used[path] = true
		for _, x := range e.File.ExtraFiles {
			c.used[extraFilePath(path, x)] = true
		}
		if part, ok, err := c.t.MergedPart(e.Partition, e.Bucket, &e.File); ok && err == nil {
			c.used[part.Path] = true
		}
	}
}

// checkOtherReferences finds what tags, branches and kept changelogs refer to, so that it isn't taken for orphaned. They are
// copies of snapshots.
func (c *checker) checkOtherReferences() {
	for path := range c.stored {
		dir := fs.Base(fs.Dir(path))
		name := fs.Base(path)
		switch {
		case dir == "tag" && strings.HasPrefix(name, "tag-"):
		case dir == "changelog" && strings.HasPrefix(name, "changelog-"):
		case dir == "snapshot" && strings.HasPrefix(name, snapshotPrefix) && strings.Contains(path, "/branch/"):
		default:
			continue
		}
		raw, err := readWhole(c.ctx, c.t.fs, path)
		var s Snapshot
		if err == nil {
			err = json.Unmarshal(raw, &s)
		}
		if err != nil {
			c.fail("reference", path, err)
			continue
		}
		c.markSnapshot(&s)
		if dir == "changelog" && !c.enough && path == c.t.changelogPath(s.ID) {
			c.checkKept(&s)
		}
	}
}

// markSnapshot marks all that a snapshot refers to. Of a kept changelog some may be gone.
func (c *checker) markSnapshot(s *Snapshot) {
	ctx := context.WithoutCancel(c.ctx)
	for _, l := range []string{s.BaseManifestList, s.DeltaManifestList, s.ChangelogManifestList} {
		if l == "" {
			continue
		}
		c.used[c.t.manifestPath(l)] = true
		list, err := c.t.readList(ctx, l, nil)
		if errors.Is(err, fs.ErrNotExist) || err != nil {
			continue
		}
		for data, err := range c.t.eachManifest(ctx, list) {
			if err != nil {
				break
			}
			c.used[data.path] = true
			for e, err := range data.entries(isAdd) {
				if err != nil {
					break
				}
				c.markUsed(liveSet{"": e})
			}
		}
	}
	c.checkIndexManifest("a tag, branch or changelog", s.IndexManifest)
	if s.Statistics != "" {
		c.used[fs.Join(c.t.path, "statistics", s.Statistics)] = true
	}
}
