package table

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// keys is the table of all option keys, in the order of the docs page. Getters, validation, help texts and the docs page
// come from it; the rows are in the files option_keys_*.go.
var keys []*Key

// Keys returns the table of all option keys. Don't change it.
func Keys() []*Key { return keys }

// define adds a row to the table. A Default of "" means that there is none.
func define(kind Kind, name, def, doc string) *Key {
	k := &Key{Name: name, Kind: kind, Default: def, Doc: doc}
	keys = append(keys, k)
	return k
}

func (k *Key) alias(names ...string) *Key { k.Aliases = names; return k }
func (k *Key) oneOf(values ...string) *Key {
	k.Kind, k.Values = Enum, values
	return k
}
func (k *Key) since(version string) *Key { k.Since = version; return k }
func (k *Key) immutable() *Key           { k.Immutable = true; return k }
func (k *Key) atLeast(n int64) *Key      { k.Min = &n; return k }
func (k *Key) stored() *Key              { k.Status = Stored; return k }

// checked adds a check of the value beyond its kind.
func (k *Key) checked(check func(v string) error) *Key { k.check = check; return k }

// refused marks a key that stops writers when its value isn't the default.
func (k *Key) refused(why string) *Key {
	k.Status, k.limit = Refused, why
	k.refuses = func(v string) bool { return !strings.EqualFold(v, k.Default) }
	return k
}

// only marks an honoured key of which some values stop writers.
func (k *Key) only(limit string, ok func(v string) bool) *Key {
	k.limit = limit
	k.refuses = func(v string) bool { return !ok(v) }
	return k
}

// onlyValues marks an honoured key of which all but these values stop writers.
func (k *Key) onlyValues(values ...string) *Key {
	return k.only("writers need "+strings.Join(values, " or "), func(v string) bool {
		return slices.ContainsFunc(values, func(x string) bool { return strings.EqualFold(x, v) })
	})
}

// compactors gives the compactor a rule of its own in place of the writers'.
func (k *Key) compactors(limit string, ok func(v string) bool) *Key {
	k.compactLimit = limit
	k.refusesCompact = func(v string) bool { return !ok(strings.ToLower(v)) }
	return k
}

// writersOnly marks a limit that is none of the compactor's business.
func (k *Key) writersOnly() *Key {
	k.refusesCompact = func(string) bool { return false }
	return k
}

// Pattern is a family of keys, such as fields.<column>.stats-mode.
type Pattern struct {
	Prefix, Suffix string // what stands before and after the variable part
	Doc            string
	Status         Status
	why            string // for Refused
}

// Name returns the pattern as it is written in documents.
func (p *Pattern) Name() string { return p.Prefix + "<…>" + p.Suffix }

func (p *Pattern) match(key string) bool {
	return len(key) > len(p.Prefix)+len(p.Suffix) && strings.HasPrefix(key, p.Prefix) && strings.HasSuffix(key, p.Suffix)
}

var (
	byNameOnce sync.Once
	byName     map[string]*Key
)

// lookupKey finds the row of a key by its name or an alias.
func lookupKey(name string) *Key {
	byNameOnce.Do(func() {
		byName = map[string]*Key{}
		for _, k := range keys {
			for _, n := range append([]string{k.Name}, k.Aliases...) {
				if byName[n] != nil {
					panic(fmt.Sprintf("option %s stands in the table twice", n))
				}
				byName[n] = k
			}
		}
	})
	return byName[name]
}

func lookupPattern(name string) *Pattern {
	for i := range Patterns {
		if Patterns[i].match(name) {
			return &Patterns[i]
		}
	}
	return nil
}
