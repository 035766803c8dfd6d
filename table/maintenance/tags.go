package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// ExpireTags removes the tags whose life (tag.default-time-retained when they were made) is over, and the files that only
// they kept. With tag.time-expire-enabled=false there are none. The limiter may be nil.
func ExpireTags(ctx context.Context, t *table.Table, dryRun bool, limit *Limiter) (Report, error) {
	return expireTags(ctx, t, dryRun, limit, NewClock(nil))
}

func expireTags(ctx context.Context, t *table.Table, dryRun bool, limit *Limiter, clock *Clock) (Report, error) {
	x := newTagRemoval(t, dryRun, limit)
	if !t.Options().Bool(table.KeyTagTimeExpireEnabled) {
		return x.report, nil
	}
	err := x.expire(ctx, clock)
	return x.report.finish(dryRun), wrap(err, "expiring tags of", t)
}

// DeleteTag removes a tag and the files that only it kept. That there is no such tag is no error.
func DeleteTag(ctx context.Context, t *table.Table, name string, dryRun bool, limit *Limiter) (Report, error) {
	x := newTagRemoval(t, dryRun, limit)
	err := x.remove(ctx, name)
	return x.report.finish(dryRun), wrap(err, "deleting tag "+name+" of", t)
}

type tagRemoval struct {
	t       *table.Table
	remover *remover
	report  Report
}

func newTagRemoval(t *table.Table, dryRun bool, limit *Limiter) *tagRemoval {
	x := &tagRemoval{t: t}
	x.remover = newRemover(t, limit, dryRun, &x.report)
	return x
}

func (x *tagRemoval) expire(ctx context.Context, clock *Clock) error {
	tags, err := x.t.Tags(ctx)
	if err != nil || len(tags) == 0 {
		return err
	}
	now, err := clock.now(ctx, x.t, x.remover.dryRun)
	if err != nil {
		return err
	}
	for i := range tags {
		if tags[i].Expired(now) {
			if err := x.remove(ctx, tags[i].Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes a tag. The tag goes first: what a run that is cut short leaves are orphans, never a tag without files.
func (x *tagRemoval) remove(ctx context.Context, name string) error {
	tags, err := x.t.Tags(ctx)
	if err != nil {
		return err
	}
	at := -1
	for i := range tags {
		if tags[i].Name == name {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	p, err := x.plan(ctx, tags, at)
	if err != nil {
		return err
	}
	if !x.remover.dryRun {
		if err := x.remover.limit.Wait(ctx); err != nil {
			return err
		}
		if err := x.t.RemoveTagFile(ctx, name); err != nil {
			return err
		}
		if err := x.t.FS().Remove(ctx, successFile(x.t, name)); err != nil {
			return fmt.Errorf("removing the success file of tag %s: %w", name, err)
		}
	}
	x.report.Tags++
	x.report.Files++
	x.report.name("tag/tag-"+name, x.remover.dryRun)
	return p.remove(ctx, x.remover)
}

// plan finds what only the tag needs: neither the tag before it nor what is next after it, a tag or the earliest snapshot. It
// is nothing while the tag's snapshot, an earlier one, or another tag of it, is there.
func (x *tagRemoval) plan(ctx context.Context, tags []table.Tag, at int) (*plan, error) {
	p := newPlan(x.t)
	s := tags[at].Snapshot
	_, err := x.t.Snapshot(ctx, s.ID)
	if err == nil {
		return p, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var before, after *table.Snapshot
	for i := range tags {
		switch other := tags[i].Snapshot; {
		case i == at:
		case other.ID == s.ID:
			return p, nil
		case other.ID < s.ID:
			before = other
		case after == nil:
			after = other
		}
	}
	earliest, err := x.t.Earliest(ctx)
	if err != nil || earliest == nil {
		return p, err
	}
	if earliest.ID < s.ID {
		return p, nil // a snapshot amid others is missing, and later ones may need any file of it
	}
	if after == nil || earliest.ID < after.ID {
		after = earliest
	}
	if err := x.candidates(ctx, p, s); err != nil {
		return nil, err
	}
	for _, neighbour := range []*table.Snapshot{before, after} {
		if neighbour == nil {
			continue
		}
		if err := x.keep(ctx, p, neighbour); err != nil {
			return nil, err
		}
	}
	if err := p.keepChangelogs(ctx); err != nil {
		return nil, err
	}
	return p, p.keepBranches(ctx)
}

func (x *tagRemoval) candidates(ctx context.Context, p *plan, s *table.Snapshot) error {
	for e, err := range x.t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			if !unreadable(err) {
				return err
			}
			p.note("files of the tag: %v", err)
			clear(p.data)
			break
		}
		f, err := p.file(&e)
		if err != nil {
			return err
		}
		p.data[e.File.Name] = f
	}
	if err := p.metadataOf(ctx, dataLists(s)); err != nil {
		return err
	}
	return p.indexesOf(ctx, s)
}

// keep takes out what a neighbour needs; when that can't be read, all that may be.
func (x *tagRemoval) keep(ctx context.Context, p *plan, s *table.Snapshot) error {
	if err := p.keepLive(ctx, s); err != nil {
		if !unreadable(err) {
			return err
		}
		p.note("files of the tag, because of snapshot %d: %v", s.ID, err)
		clear(p.data)
	}
	return p.keepSnapshot(ctx, s)
}

func successFile(t *table.Table, tag string) string {
	return t.Path() + "/tag/" + table.TagSuccessDir + "/" + tag + "_SUCCESS"
}

// writeSuccessFile marks a tag as made, for those who wait for it. The time at which it was first made stays.
func writeSuccessFile(ctx context.Context, t *table.Table, tag string) error {
	path := successFile(t, tag)
	now := time.Now().UnixMilli()
	mark := struct {
		Created int64 `json:"creationTime"`
		Changed int64 `json:"modificationTime"`
	}{now, now}
	old, err := readSmall(ctx, t.FS(), path)
	switch {
	case err == nil:
		if json.Unmarshal(old, &mark) == nil {
			mark.Changed = now
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading %s: %w", path, err)
	}
	text := fmt.Sprintf("{\n  \"creationTime\" : %d,\n  \"modificationTime\" : %d\n}", mark.Created, mark.Changed)
	if err := t.FS().Replace(ctx, path, []byte(text)); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// readSmall returns the content of a small file.
func readSmall(ctx context.Context, fsys fs.FileSystem, path string) ([]byte, error) {
	r, err := fsys.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, r.Size())
	if _, err := r.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data, nil
}
