package lsm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/lsm/aggregate"
	"github.com/paimon-go/paimon-go/table"
)

// newPartialUpdate derives the function from options such as fields.<sequence columns>.sequence-group=<columns>.
func newPartialUpdate(s *table.Schema, o table.Options) (*partialUpdate, error) {
	p := &partialUpdate{
		row:            newMergedRow(s.RowType()),
		cols:           make([]partialColumn, len(s.Fields)),
		ignoreDelete:   o.Bool(table.KeyIgnoreDelete),
		removeOnDelete: o.Bool(table.KeyPartialUpdateRemoveRecordOnDelete),
	}
	for c := range p.cols {
		p.cols[c].group = -1
		p.cols[c].key = slices.Contains(s.PrimaryKeys, s.Fields[c].Name)
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if names, ok := groupColumns(key); ok {
			if err := p.addGroup(s, key, names, o[key]); err != nil {
				return nil, err
			}
		}
	}
	for _, step := range []func(*table.Schema, table.Options) error{checkFunctions, p.addFunctions, p.checkOptions, p.addRemoval} {
		if err := step(s, o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// groupColumns returns the sequence columns that the key of a sequence group names.
func groupColumns(key string) ([]string, bool) {
	rest, ok := strings.CutPrefix(key, "fields.")
	if !ok {
		return nil, false
	}
	rest, ok = strings.CutSuffix(rest, ".sequence-group")
	return splitNames(rest), ok
}

// splitNames splits at commas; commas at the end are nothing, as in Java.
func splitNames(s string) []string { return strings.Split(strings.TrimRight(s, ","), ",") }

func (p *partialUpdate) addGroup(s *table.Schema, key string, sequence []string, value string) error {
	g := len(p.groups)
	group := sequenceGroup{option: key}
	join := func(name string) (int, error) {
		c := s.FieldIndex(name)
		if c < 0 {
			return 0, fmt.Errorf("%w: %s: there is no column %q", table.ErrOption, key, name)
		}
		if old := p.cols[c].group; old >= 0 && old != g {
			return 0, fmt.Errorf("%w: column %s is in two sequence groups, %s and %s", table.ErrOption, name, p.groups[old].option, key)
		}
		return c, nil
	}
	for _, name := range sequence {
		c, err := join(name)
		if err != nil {
			return err
		}
		p.cols[c].group, p.cols[c].sequence = g, true
		group.sequence = append(group.sequence, c)
	}
	seen := map[string]bool{}
	for _, name := range splitNames(value) {
		c, err := join(name)
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%w: %s has column %s twice", table.ErrOption, key, name)
		}
		seen[name] = true
		p.cols[c].group = g
	}
	p.groups = append(p.groups, group)
	return nil
}

// addFunctions gives columns their functions. One that merges values needs a group that says which of them are newer.
func (p *partialUpdate) addFunctions(s *table.Schema, o table.Options) error {
	for c := range p.cols {
		col, f := &p.cols[c], &s.Fields[c]
		name, key := aggregate.Name(f.Name, o)
		switch {
		case col.sequence:
			continue
		case col.key:
			name = aggregate.PrimaryKey
		case name == "":
			continue
		case name != aggregate.LastNonNull && col.group < 0:
			return fmt.Errorf("%w: %s=%s: column %s is in no sequence group, which merge-engine partial-update needs for functions other than %s",
				table.ErrOption, key, name, f.Name, aggregate.LastNonNull)
		}
		var err error
		if col.fn, err = aggregate.New(f, name, o); err != nil {
			return err
		}
	}
	return nil
}

func (p *partialUpdate) checkOptions(_ *table.Schema, o table.Options) error {
	ignore, onDelete, onGroup := table.KeyIgnoreDelete.Name, table.KeyPartialUpdateRemoveRecordOnDelete.Name,
		table.KeyPartialUpdateRemoveRecordOnSequenceGroup.Name
	switch {
	case p.ignoreDelete && p.removeOnDelete:
		return excludeEachOther(ignore, onDelete)
	case p.ignoreDelete && o.Has(table.KeyPartialUpdateRemoveRecordOnSequenceGroup):
		return excludeEachOther(ignore, onGroup)
	case p.removeOnDelete && len(p.groups) > 0:
		return excludeEachOther(onDelete, p.groups[0].option)
	}
	return nil
}

// addRemoval notes the groups of which a -D removes the row.
func (p *partialUpdate) addRemoval(s *table.Schema, o table.Options) error {
	key := table.KeyPartialUpdateRemoveRecordOnSequenceGroup
	if !o.Has(key) {
		return nil
	}
	for _, name := range splitNames(o.Get(key)) {
		c := s.FieldIndex(name)
		if c < 0 || !p.cols[c].sequence {
			return fmt.Errorf("%w: %s: %q is no sequence column of a sequence group", table.ErrOption, key.Name, name)
		}
		p.groups[p.cols[c].group].removes = true
	}
	return nil
}
