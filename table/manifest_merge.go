package table

import (
	"context"
	"fmt"
	"slices"
)

// Manifests are merged at every commit, so that a table's list stays short (Java's ManifestFileMerger, in its 1.x form).
// For example, with a target size of 8 MB and a minimum of 30 files,
//
//	[8 MB] [2 MB] [7 MB] [10 kB] … 29 small ones     minor: 2+7 MB pass the target and merge, the small ones wait
//	[9 MB] … [10 kB] … 30 small ones                 minor: the small ones merge into one
//	small ones and those with deletions make 16 MB   full: all deletions are carried out and vanish
//
// mergeRules are the options that govern it.
type mergeRules struct {
	targetSize, fullSize int64
	minCount             int
}

func mergeRulesOf(o Options) mergeRules {
	return mergeRules{
		targetSize: o.Size(KeyManifestTargetFileSize),
		fullSize:   o.Size(KeyManifestFullCompactionThresholdSize),
		minCount:   o.Int(KeyManifestMergeMinCount),
	}
}

// merge returns manifests equal in content to the input and, when it pays, fewer.
func (w *metaWriter) merge(ctx context.Context, input []Manifest, rules mergeRules) ([]Manifest, error) {
	merged, ok, err := w.mergeFull(ctx, input, rules)
	if ok || err != nil {
		return merged, err
	}
	return w.mergeMinor(ctx, input, rules)
}

// mergeMinor merges neighbours up to the target size, and the rest when there are enough.
func (w *metaWriter) mergeMinor(ctx context.Context, input []Manifest, rules mergeRules) ([]Manifest, error) {
	var out, group []Manifest
	var size int64
	for _, m := range input {
		size += m.Size
		group = append(group, m)
		if size >= rules.targetSize {
			merged, err := w.mergeGroup(ctx, group)
			if err != nil {
				return nil, err
			}
			out, group, size = append(out, merged...), nil, 0
		}
	}
	if len(group) >= max(rules.minCount, 1) {
		merged, err := w.mergeGroup(ctx, group)
		return append(out, merged...), err
	}
	return append(out, group...), nil
}

// mergeGroup writes the sum of neighbouring manifests. An ADD and its DELETE cancel out; a DELETE whose ADD lies before the
// group stays.
func (w *metaWriter) mergeGroup(ctx context.Context, group []Manifest) ([]Manifest, error) {
	if len(group) == 1 {
		return group, nil
	}
	// First pass: which entries cancel out, as the number of the entry within the group.
	byIdentity := map[string]int{}
	var gone []int
	number := 0
	var id []byte
	for data, err := range w.t.eachManifest(ctx, group) {
		if err != nil {
			return nil, err
		}
		for e, err := range data.entries(nil) {
			if err != nil {
				return nil, err
			}
			id = e.appendIdentity(id[:0])
			earlier, there := byIdentity[string(id)]
			switch {
			case !there:
				byIdentity[string(id)] = number
			case e.Kind == Delete:
				gone = append(gone, earlier, number)
				delete(byIdentity, string(id))
			default:
				return nil, fmt.Errorf("merging manifest %s: %w: %s, but the file was there or deleted before", data.path, ErrCorrupt, e.describe())
			}
			number++
		}
	}
	slices.Sort(gone)
	// Second pass: copy the others.
	out := &manifestRoller{w: w}
	number = 0
	for data, err := range w.t.eachManifest(ctx, group) {
		if err != nil {
			return nil, err
		}
		err := data.records(nil, func(e *Entry, datum []byte) error {
			number++
			if len(gone) > 0 && gone[0] == number-1 {
				gone = gone[1:]
				return nil
			}
			return out.add(ctx, e, datum)
		})
		if err != nil {
			return nil, err
		}
	}
	return out.close(ctx)
}

// mergeFull rewrites all manifests that are small or have or suffer deletions; the result has no DELETE entries. It is not ok
// when there is too little to do.
func (w *metaWriter) mergeFull(ctx context.Context, input []Manifest, rules mergeRules) (_ []Manifest, ok bool, _ error) {
	mustChange := func(m *Manifest) bool { return m.Deleted > 0 || m.Size < rules.targetSize }
	var size int64
	for i := range input {
		if mustChange(&input[i]) {
			size += input[i].Size
		}
	}
	if size < rules.fullSize {
		return nil, false, nil
	}
	deletes, err := w.t.deletes(ctx, input, &Filter{})
	if err != nil {
		return nil, false, err
	}
	suffers, err := w.suffersFrom(ctx, input, deletes)
	if err != nil {
		return nil, false, err
	}
	var kept, work []Manifest
	for i := range input {
		if mustChange(&input[i]) || suffers(&input[i]) {
			work = append(work, input[i])
		} else {
			kept = append(kept, input[i])
		}
	}
	if len(work) <= 1 {
		return nil, false, nil
	}
	out := &manifestRoller{w: w}
	for i := range work {
		data, err := w.t.readManifest(ctx, &work[i])
		if err != nil {
			return nil, false, err
		}
		if !mustChange(&work[i]) {
			hit, err := data.hasAny(deletes)
			if err != nil {
				return nil, false, err
			}
			if !hit {
				kept = append(kept, work[i])
				continue
			}
		}
		if err := out.addLive(ctx, data, deletes); err != nil {
			return nil, false, err
		}
	}
	merged, err := out.close(ctx)
	return append(kept, merged...), true, err
}

// suffersFrom returns a test whether a manifest may hold a file that was deleted, by the partitions of the deletions.
func (w *metaWriter) suffersFrom(ctx context.Context, input []Manifest, deletes map[string]position) (func(*Manifest) bool, error) {
	if len(deletes) == 0 {
		return func(*Manifest) bool { return false }, nil
	}
	partitions := map[string]bool{}
	var with []Manifest
	for i := range input {
		if input[i].Deleted > 0 {
			with = append(with, input[i])
		}
	}
	keep := func(h *entryHead) bool {
		if h.kind == Delete {
			partitions[string(h.partition)] = true
		}
		return false
	}
	for data, err := range w.t.eachManifest(ctx, with) {
		if err != nil {
			return nil, err
		}
		for _, err := range data.entries(keep) {
			if err != nil {
				return nil, err
			}
		}
	}
	p, err := newPartitionPruner(w.partition, partitions)
	if err != nil {
		return nil, err
	}
	return func(m *Manifest) bool { return p.mayHave(&m.PartitionStats) }, nil
}

// addLive adds the ADD entries of a manifest that no DELETE takes out.
func (r *manifestRoller) addLive(ctx context.Context, data *manifestData, deletes map[string]position) error {
	var id []byte
	return data.records(isAdd, func(e *Entry, datum []byte) error {
		id = e.appendIdentity(id[:0])
		if _, gone := deletes[string(id)]; gone {
			return nil
		}
		return r.add(ctx, e, datum)
	})
}

func isAdd(h *entryHead) bool { return h.kind == Add }

// hasAny reports whether a manifest adds one of these files.
func (m *manifestData) hasAny(identities map[string]position) (bool, error) {
	var id []byte
	for e, err := range m.entries(isAdd) {
		if err != nil {
			return false, err
		}
		id = e.appendIdentity(id[:0])
		if _, hit := identities[string(id)]; hit {
			return true, nil
		}
	}
	return false, nil
}
