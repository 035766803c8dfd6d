package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
)

// attempts are the tries to make one snapshot. What they write is used again where it can be: the delta doesn't depend on
// the snapshot it is applied to, and mergers of old manifests often still apply.
type attempts struct {
	c     *Commit
	part  *part
	w     *metaWriter
	rules mergeRules
	count int

	delta     *listRef // written once
	changelog *listRef
	merged    *mergeResult
	indexes   *indexResult
	noMerge   bool // a merger was in vain: don't waste more time against a busy table

	last   *publication // the last one tried, if it failed or nobody knows
	reused bool
	// mergedManifests is how many manifests the mergers wrote.
	mergedManifests int
}

// indexResult says which index manifest follows on another.
type indexResult struct{ before, after string }

// changeIndexes returns the index manifest that follows on the one with a name, which an earlier attempt may have written.
func (a *attempts) changeIndexes(ctx context.Context, before string) (string, error) {
	if a.part.indexes.empty() {
		return before, nil
	}
	if a.indexes == nil || a.indexes.before != before {
		after, err := a.w.changeIndexes(ctx, before, &a.part.indexes)
		if err != nil {
			return "", err
		}
		a.indexes = &indexResult{before, after}
	}
	return a.indexes.after, nil
}

// listRef is a written manifest list and what is in it.
type listRef struct {
	name      string
	size      int64
	manifests []Manifest
}

func (l *listRef) files() []string {
	names := []string{l.name}
	for i := range l.manifests {
		names = append(names, l.manifests[i].Name)
	}
	return names
}

// mergeResult says that the manifests in input are the same as those in output.
type mergeResult struct {
	input, output []Manifest
	created       []string
}

// publication is a snapshot that was offered to the storage.
type publication struct {
	snapshot *Snapshot
	data     []byte
	base     *cachedSnapshot // what it goes on from, nil for nothing
	unknown  bool            // it may be there, or still appear
	uses     []string        // the files of the manifest directory that this commit made and it needs
}

// try makes one attempt.
func (a *attempts) try(ctx context.Context) (*Snapshot, error) {
	a.count++
	latest, walked, err := a.c.t.latestWalked(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.c.inspect(ctx, latest, walked, a)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return a.succeed(ctx, found), nil
	}
	if done := a.c.committedBefore(a.part); done != nil {
		a.reused = true
		return done, nil
	}
	if p := a.last; p != nil && p.unknown && sameSnapshot(p.base, latest) {
		return a.publish(ctx, p) // the same bytes again: it doesn't matter which of the two wins
	}
	if err := a.forgetLast(ctx, latest); err != nil {
		return nil, err
	}
	p, err := a.prepare(ctx, latest)
	if err != nil {
		return nil, err
	}
	return a.publish(ctx, p)
}

func sameSnapshot(a, b *cachedSnapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && string(a.raw) == string(b.raw)
}

// forgetLast makes sure that the last publication has lost, before the next one is prepared.
func (a *attempts) forgetLast(ctx context.Context, latest *cachedSnapshot) error {
	if a.last != nil && a.last.unknown {
		// Its id must be taken by somebody else's snapshot to be sure.
		lost, err := a.hasLost(ctx, a.last, latest)
		if err != nil {
			return err
		}
		if !lost {
			return fmt.Errorf("%w: snapshot %d of %s", ErrUnknownOutcome, a.last.snapshot.ID, a.c.t.path)
		}
	}
	a.lost()
	return nil
}

// lost records that the last publication certainly isn't there and won't be.
func (a *attempts) lost() {
	if a.last != nil {
		a.w.created = append(a.w.created, a.last.uses...) // it may be of an earlier call
		a.last = nil
	}
}

// hasLost reports whether the id of a publication is taken by a snapshot that isn't it.
func (a *attempts) hasLost(ctx context.Context, p *publication, latest *cachedSnapshot) (bool, error) {
	if latest != nil && latest.ID == p.snapshot.ID {
		return latest.UUID != p.snapshot.UUID, nil
	}
	s, err := a.c.t.readSnapshot(ctx, p.snapshot.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.UUID != p.snapshot.UUID, nil
}

// prepare checks the part against the latest snapshot and writes all but the snapshot.
func (a *attempts) prepare(ctx context.Context, latest *cachedSnapshot) (*publication, error) {
	t, p := a.c.t, a.part
	var prev *Snapshot
	if latest != nil {
		prev = latest.Snapshot
	}
	if err := a.check(ctx, prev); err != nil {
		return nil, err
	}
	if err := t.checkHashes(ctx, prev, p); err != nil {
		return nil, err
	}
	if err := a.c.checkAlone(ctx, prev, p); err != nil {
		return nil, err
	}
	schema, err := a.schema(ctx, latest)
	if err != nil {
		return nil, err
	}
	if err := a.writeDelta(ctx); err != nil {
		return nil, err
	}
	var manifests []Manifest
	if prev != nil {
		if manifests, err = t.manifests(ctx, prev); err != nil {
			return nil, err
		}
		if manifests, err = a.merge(ctx, manifests); err != nil {
			return nil, err
		}
	}
	baseName, baseSize, err := a.w.list(ctx, manifests)
	if err != nil {
		return nil, err
	}
	zero := int64(0)
	s := &Snapshot{
		Version: snapshotVersion, UUID: uuid.NewString(), ID: 1, SchemaID: schema.ID,
		BaseManifestList: baseName, BaseManifestListSize: &baseSize,
		DeltaManifestList: a.delta.name, DeltaManifestListSize: &a.delta.size,
		CommitUser: a.c.user, CommitIdentifier: p.id, CommitKind: p.kind, TimeMillis: time.Now().UnixMilli(),
		TotalRecordCount: p.deltaRows, DeltaRecordCount: p.deltaRows,
		Watermark: p.watermark, Properties: p.properties, NextRowID: &zero,
	}
	if a.changelog != nil {
		s.ChangelogManifestList, s.ChangelogListSize = a.changelog.name, &a.changelog.size
		s.ChangelogRecordCount = &p.changelogRows
	}
	if prev != nil {
		if err := a.goOnFrom(ctx, s, prev); err != nil {
			return nil, err
		}
	}
	if s.IndexManifest, err = a.changeIndexes(ctx, s.IndexManifest); err != nil {
		return nil, err
	}
	data, err := s.encode()
	if err != nil {
		return nil, err
	}
	uses := a.uses(baseName)
	if slices.Contains(a.w.created, s.IndexManifest) {
		uses = append(uses, s.IndexManifest)
	}
	return &publication{snapshot: s, data: data, base: latest, uses: uses}, nil
}

// schema returns the newest schema at this moment. What is known of schemas holds while the snapshots are those we know: a table
// made anew under the name has others.
func (a *attempts) schema(ctx context.Context, latest *cachedSnapshot) (*Schema, error) {
	if latest == nil || a.c.built == 0 || latest.ID < a.c.built {
		return a.c.t.LatestSchema(ctx)
	}
	return a.c.t.newestSchema(ctx)
}

// uses returns the files of this commit that a snapshot with this base list needs.
func (a *attempts) uses(base string) []string {
	names := append(a.delta.files(), base)
	if a.changelog != nil {
		names = append(names, a.changelog.files()...)
	}
	if a.merged != nil {
		names = append(names, a.merged.created...)
	}
	return names
}

// check tests for conflicts where the kind of commit needs it. An append never conflicts.
func (a *attempts) check(ctx context.Context, prev *Snapshot) error {
	if a.part.kind != CommitAppend {
		return a.c.t.checkConflicts(ctx, prev, a.part)
	}
	if a.c.t.Options().Bool(KeyCommitDiscardDuplicateFiles) {
		dropped, err := a.c.t.discardDuplicates(ctx, prev, a.part)
		if dropped {
			a.delta = nil
		}
		return err
	}
	return nil
}

// goOnFrom takes over from the previous snapshot what a commit inherits.
func (a *attempts) goOnFrom(ctx context.Context, s, prev *Snapshot) error {
	s.ID = prev.ID + 1
	s.TotalRecordCount += prev.TotalRecordCount
	s.IndexManifest = prev.IndexManifest
	if prev.NextRowID != nil {
		s.NextRowID = prev.NextRowID
	}
	if prev.Watermark != nil && (s.Watermark == nil || *s.Watermark < *prev.Watermark) {
		s.Watermark = prev.Watermark
	}
	if prev.Statistics == "" {
		return nil
	}
	same, err := a.c.t.statisticsAreOf(ctx, prev.Statistics, s.SchemaID)
	if same {
		s.Statistics = prev.Statistics
	}
	return err
}

// statisticsAreOf reports whether a statistics file was made under this schema. One that is gone or damaged isn't: it only
// helps planners.
func (t *Table) statisticsAreOf(ctx context.Context, name string, schemaID int64) (bool, error) {
	data, err := readWhole(ctx, t.fs, fs.Join(t.path, "statistics", name))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, fmt.Errorf("reading statistics %s: %w", name, err)
	}
	var head struct {
		SchemaID *int64 `json:"schemaId"`
	}
	if json.Unmarshal(data, &head) != nil || head.SchemaID == nil {
		return false, nil
	}
	return *head.SchemaID == schemaID, nil
}

// writeDelta writes the manifests and lists of the part itself, once.
func (a *attempts) writeDelta(ctx context.Context) (err error) {
	if a.delta == nil {
		if a.delta, err = a.writeEntries(ctx, a.part.entries); err != nil {
			return err
		}
	}
	if a.changelog == nil && len(a.part.changelog) > 0 {
		a.changelog, err = a.writeEntries(ctx, a.part.changelog)
	}
	return err
}

func (a *attempts) writeEntries(ctx context.Context, entries []Entry) (*listRef, error) {
	manifests, err := a.w.manifests(ctx, entries)
	if err != nil {
		return nil, err
	}
	name, size, err := a.w.list(ctx, manifests)
	if err != nil {
		return nil, err
	}
	return &listRef{name, size, manifests}, nil
}

// merge shortens the list of the previous snapshot's manifests, with the result of an earlier attempt if its input is still
// there.
func (a *attempts) merge(ctx context.Context, manifests []Manifest) ([]Manifest, error) {
	if a.merged != nil {
		if again, ok := a.merged.apply(manifests); ok {
			return again, nil
		}
		a.merged, a.noMerge = nil, true
	}
	if a.noMerge {
		return manifests, nil
	}
	before := len(a.w.created)
	output, err := a.w.merge(ctx, manifests, a.rules)
	if err != nil {
		return nil, err
	}
	if created := a.w.created[before:]; len(created) > 0 {
		a.mergedManifests += len(created)
		a.merged = &mergeResult{input: slices.Clone(manifests), output: slices.Clone(output), created: slices.Clone(created)}
	}
	return output, nil
}

// apply puts the output where the input is in a list of manifests.
func (m *mergeResult) apply(manifests []Manifest) ([]Manifest, bool) {
	for from := 0; from+len(m.input) <= len(manifests); from++ {
		part := manifests[from : from+len(m.input)]
		if slices.EqualFunc(part, m.input, func(a, b Manifest) bool { return a.Name == b.Name }) {
			return slices.Concat(manifests[:from], m.output, manifests[from+len(m.input):]), true
		}
	}
	return nil, false
}

// publish offers a snapshot to the storage.
func (a *attempts) publish(ctx context.Context, p *publication) (*Snapshot, error) {
	t := a.c.t
	a.last = p
	path := t.snapshotPath(p.snapshot.ID)
	ok, err := t.fs.Publish(ctx, path, p.data)
	switch {
	case ok && err == nil:
		cached := &cachedSnapshot{Snapshot: p.snapshot, raw: p.data}
		t.meta.setLastSeen(cached)
		a.c.watch, a.c.built = cached, cached.ID
		if x := a.c.pending; x != nil && x.snapshot.ID <= p.snapshot.ID {
			a.c.pending = nil // all ids up to ours are taken, and none by it
		}
		return a.succeed(ctx, p.snapshot), nil
	case err == nil:
		// Others took the id, or it was us and the storage tried twice: the next look tells.
		p.unknown = true
		return nil, errLostRace
	case errors.Is(err, fs.ErrNotPublished):
		return nil, fmt.Errorf("publishing %s: %w", path, err)
	}
	p.unknown = true
	return nil, fmt.Errorf("%w: publishing %s: %w", errUnpublished, path, err)
}

// succeed ends the attempts with a snapshot that is there.
func (a *attempts) succeed(ctx context.Context, s *Snapshot) *Snapshot {
	a.c.own = ownCommit{id: s.ID, identifier: s.CommitIdentifier, kind: s.CommitKind, snapshot: s}
	a.reused = !a.made(s)
	if !a.reused {
		a.removeUnused(ctx, a.last.uses)
	}
	if latest := a.c.t.meta.lastSeen(); latest != nil && latest.ID > s.ID {
		return s // somebody wrote a newer hint or will
	}
	if err := a.c.t.writeLatestHint(ctx, s.ID); err != nil {
		if f := a.c.listener.HintFailed; f != nil {
			f(err)
		}
	}
	return s
}

// giveUp ends the attempts with an error, after a last look whether the snapshot is there in spite of it. The look happens
// even if the context has ended, with a little time of its own.
func (a *attempts) giveUp(ctx context.Context, cause error) (*Snapshot, error) {
	if a.last == nil {
		return nil, cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLookTime)
	defer cancel()
	p := a.last
	s, err := a.c.t.readSnapshot(ctx, p.snapshot.ID)
	switch {
	case err == nil && s.UUID == p.snapshot.UUID:
		return a.succeed(ctx, s.Snapshot), nil
	case err == nil, !p.unknown && errors.Is(err, fs.ErrNotExist):
		a.lost()
		return nil, cause
	}
	return nil, fmt.Errorf("%w: snapshot %d of %s: %w", ErrUnknownOutcome, p.snapshot.ID, a.c.t.path, cause)
}

const lastLookTime = 10 * time.Second

// cleanUp removes all that the attempts wrote; called when none of it is in use.
func (a *attempts) cleanUp(ctx context.Context) { a.removeUnused(ctx, nil) }

// removeUnused removes the files that this commit made but for those in use. Nothing has ever referred to them; one that
// stays is an orphan, which a cleaning will find.
func (a *attempts) removeUnused(ctx context.Context, used []string) {
	ctx, cancel := fs.CleanUp(ctx)
	defer cancel()
	for _, name := range a.w.created {
		if !slices.Contains(used, name) {
			a.c.t.meta.drop(name)
			_ = a.c.t.fs.Remove(ctx, a.c.t.manifestPath(name))
		}
	}
	a.w.created = nil
}
