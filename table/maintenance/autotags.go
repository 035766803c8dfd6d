package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// CreateTags makes the tags that tag.automatic-creation asks for: one a period, of the first snapshot after its end by the
// time of the commit or by the watermark, or with "batch" one of the latest snapshot. It goes through the snapshots since the
// last automatic tag, and keeps no more than tag.num-retained-max of such tags.
func CreateTags(ctx context.Context, t *table.Table) (Report, error) {
	if t.Options().Enum(table.KeyTagAutomaticCreation) == "batch" {
		x := newTagRemoval(t, false, nil)
		err := x.tagBatch(ctx)
		return x.report, wrap(err, "tagging", t)
	}
	a, err := newAutoTags(ctx, t)
	if err != nil || a == nil {
		return Report{}, wrap(err, "creating tags of", t)
	}
	return a.run(ctx, nil)
}

// autoTags is where the automatic creation of tags stands.
type autoTags struct {
	t         *table.Table
	period    tagPeriod
	zone      *time.Location
	watermark bool

	next     int64     // the snapshot to look at next
	nextTag  time.Time // the period that comes after the last tag
	firstTag bool      // there is no tag yet
}

// newAutoTags starts after the last automatic tag. It is nil when there are to be none.
func newAutoTags(ctx context.Context, t *table.Table) (*autoTags, error) {
	o := t.Options()
	a := &autoTags{t: t}
	zone := table.KeySinkProcessTimeZone
	switch o.Enum(table.KeyTagAutomaticCreation) {
	case "process-time":
	case "watermark":
		a.watermark, zone = true, table.KeySinkWatermarkTimeZone
	default:
		return nil, nil
	}
	var err error
	if a.zone, err = loadZone(o.Get(zone)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", table.ErrOption, zone.Name, err)
	}
	if a.period, err = newTagPeriod(o); err != nil {
		return nil, err
	}
	tags, err := a.tags(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(tags); n > 0 {
		start, _ := a.period.start(tags[n-1].Name)
		a.next, a.nextTag = tags[n-1].Snapshot.ID+1, start.Add(a.period.length)
		return a, nil
	}
	a.firstTag, a.next = true, 1
	return a, nil
}

func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	return time.LoadLocation(name)
}

// tags returns the automatic tags, by snapshot.
func (a *autoTags) tags(ctx context.Context) ([]table.Tag, error) {
	all, err := a.t.Tags(ctx)
	var auto []table.Tag
	for _, g := range all {
		if _, ok := a.period.start(g.Name); ok {
			auto = append(auto, g)
		}
	}
	return auto, err
}

// run looks at the snapshots that have come since.
func (a *autoTags) run(ctx context.Context, limit *Limiter) (Report, error) {
	x := newTagRemoval(a.t, false, limit)
	err := a.walk(ctx, x)
	return x.report, wrap(err, "creating tags of", a.t)
}

func (a *autoTags) walk(ctx context.Context, x *tagRemoval) error {
	for {
		s, err := a.t.Snapshot(ctx, a.next)
		if errors.Is(err, fs.ErrNotExist) {
			earliest, err := a.t.Earliest(ctx)
			if err != nil {
				return err
			}
			if earliest == nil || earliest.ID <= a.next {
				return nil
			}
			a.next = earliest.ID
			continue
		}
		if err == nil {
			err = a.look(ctx, s, x)
		}
		if err != nil {
			return err
		}
		a.next++
	}
}

// look tags a snapshot if it is the first after the end of a period and the delay.
func (a *autoTags) look(ctx context.Context, s *table.Snapshot, x *tagRemoval) error {
	millis := s.TimeMillis
	if a.watermark {
		if s.Watermark == nil || *s.Watermark == -1<<63 {
			return nil
		}
		millis = *s.Watermark
	}
	o := a.t.Options()
	at := wallClock(time.UnixMilli(millis), a.zone)
	if !a.firstTag && at.Add(-o.Duration(table.KeyTagCreationDelay)).Before(a.nextTag.Add(a.period.length)) {
		return nil
	}
	start := a.period.previous(at)
	if !a.firstTag && o.Bool(table.KeyTagAutomaticCompletion) {
		start = a.nextTag
	}
	if err := x.create(ctx, a.period.name(start), s); err != nil {
		return err
	}
	a.firstTag, a.nextTag = false, start.Add(a.period.length)
	return a.prune(ctx, x)
}

// prune removes the oldest automatic tags above tag.num-retained-max.
func (a *autoTags) prune(ctx context.Context, x *tagRemoval) error {
	if !a.t.Options().Has(table.KeyTagNumRetainedMax) {
		return nil
	}
	tags, err := a.tags(ctx)
	if err != nil {
		return err
	}
	return x.prune(ctx, tags)
}

// create makes a tag, unless it is there.
func (x *tagRemoval) create(ctx context.Context, name string, s *table.Snapshot) error {
	o := x.t.Options()
	retained := time.Duration(-1)
	if o.Has(table.KeyTagDefaultTimeRetained) {
		retained = o.Duration(table.KeyTagDefaultTimeRetained)
	}
	made, err := x.t.CreateTag(ctx, name, s, retained)
	if err != nil || !made {
		return err
	}
	if _, err := x.t.Snapshot(ctx, s.ID); errors.Is(err, fs.ErrNotExist) {
		// Somebody has expired it, perhaps before they could see the tag.
		return x.t.RemoveTagFile(ctx, name)
	}
	x.report.CreatedTags++
	x.report.name("tag/tag-"+name, false)
	if o.Bool(table.KeyTagCreateSuccessFile) {
		return writeSuccessFile(ctx, x.t, name)
	}
	return nil
}

// tagBatch tags the latest snapshot, as a batch job does at its end: under tag.batch.customized-name or its day. An older tag
// of that name goes, and of all tags the oldest ones above tag.num-retained-max.
func (x *tagRemoval) tagBatch(ctx context.Context) error {
	s, err := x.t.Latest(ctx)
	if err != nil || s == nil {
		return err
	}
	o := x.t.Options()
	zone, err := loadZone(o.Get(table.KeySinkProcessTimeZone))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", table.ErrOption, table.KeySinkProcessTimeZone.Name, err)
	}
	name := o.Get(table.KeyTagBatchCustomizedName)
	if name == "" {
		name = "batch-write-" + time.UnixMilli(s.TimeMillis).In(zone).Format("2006-01-02")
	}
	if err := x.remove(ctx, name); err != nil {
		return err
	}
	if err := x.create(ctx, name, s); err != nil || !o.Has(table.KeyTagNumRetainedMax) {
		return err
	}
	tags, err := x.t.Tags(ctx)
	if err != nil {
		return err
	}
	return x.prune(ctx, tags)
}

// prune removes the oldest of tags, as many as there are above tag.num-retained-max.
func (x *tagRemoval) prune(ctx context.Context, tags []table.Tag) error {
	for i := range len(tags) - x.t.Options().Int(table.KeyTagNumRetainedMax) {
		if err := x.remove(ctx, tags[i].Name); err != nil {
			return err
		}
	}
	return nil
}
