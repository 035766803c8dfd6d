package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Validate checks options that somebody has given: the values of known keys, and that the others are at least plausible. A
// key that looks like a misspelt one, or like none of Paimon's, is an error that names the nearest; other keys that this
// program doesn't know, and those without effect here, give a warning each. All errors wrap ErrOption.
func (o Options) Validate() (warnings []string, err error) {
	for _, name := range o.names() {
		w, err := checkOption(name, o[name])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOption, err)
		}
		if w != "" {
			warnings = append(warnings, w)
		}
	}
	return warnings, nil
}

func (o Options) names() []string {
	names := make([]string, 0, len(o))
	for n := range o {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func checkOption(name, value string) (warning string, err error) {
	if k := lookupKey(name); k != nil {
		if err := k.checkValue(value); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if k.Status == Stored && value != k.Default {
			warning = fmt.Sprintf("option %s is kept and has no effect here: %s", name, k.Doc)
		}
		return warning, nil
	}
	p := lookupPattern(name)
	if p != nil && (p.Suffix != "" || p.Status == Honoured) {
		switch {
		case strings.HasSuffix(name, ".stats-mode"):
			if err := checkStatsMode(value); err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
		case p.Status == Stored:
			warning = fmt.Sprintf("option %s is kept and has no effect here: %s", name, p.Doc)
		}
		return warning, nil
	}
	if near := nearestFamily(name); near != "" {
		return "", fmt.Errorf("%s is not known; is %s meant?", name, near)
	}
	near, dist := nearestKey(name)
	switch {
	case dist <= maxTypos(name):
		return "", fmt.Errorf("%s is not known; is %s meant?", name, near)
	case p != nil:
		return fmt.Sprintf("option %s is kept and has no effect here: %s", name, p.Doc), nil
	case hasKnownPrefix(name):
		return fmt.Sprintf("option %s is not known here; it is kept and has no effect", name), nil
	}
	return "", fmt.Errorf("%s is not known; the nearest is %s", name, near)
}

func (k *Key) checkValue(v string) error {
	var err error
	num := int64(math.MaxInt64)
	switch k.Kind {
	case Bool:
		_, err = parseBool(v)
	case Int:
		if num, err = strconv.ParseInt(v, 10, 32); err != nil {
			err = fmt.Errorf("%q is not a 32-bit number", v)
		}
	case Long:
		if num, err = strconv.ParseInt(v, 10, 64); err != nil {
			err = fmt.Errorf("%q is not a 64-bit number", v)
		}
	case Double:
		if _, err = strconv.ParseFloat(v, 64); err != nil {
			err = fmt.Errorf("%q is not a number", v)
		}
	case Size:
		num, err = ParseSize(v)
	case Duration:
		_, err = ParseDuration(v)
	case Enum:
		_, err = parseEnum(v, k.Values)
	case Map:
		_, err = parseMap(v)
	}
	if err == nil && k.Min != nil && num < *k.Min {
		err = fmt.Errorf("%q is less than %d", v, *k.Min)
	}
	if err == nil && k.check != nil {
		err = k.check(v)
	}
	return err
}

func checkStatsMode(v string) error {
	v = strings.ToLower(v)
	switch v {
	case "none", "counts", "full":
		return nil
	}
	if n, ok := strings.CutPrefix(v, "truncate("); ok {
		if n, ok = strings.CutSuffix(n, ")"); ok {
			if c, err := strconv.ParseUint(n, 10, 31); err == nil && c > 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("%q is none of none, counts, full, truncate(n) with n above 0", v)
}

// checkLevels checks a map whose keys are levels.
func checkLevels(value func(string) error) func(string) error {
	return func(v string) error {
		m, err := parseMap(v)
		if err != nil {
			return err
		}
		for level, x := range m {
			if _, err := strconv.ParseUint(level, 10, 31); err != nil {
				return fmt.Errorf("%q is not a level", level)
			}
			if value != nil {
				if err := value(x); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// CheckWritable refuses, as ErrOption, what writers can't neglect without changing data or misleading readers. A table that
// fails it can still be opened and read.
func (o Options) CheckWritable() error {
	return o.checkLimits(func(k *Key) (string, func(string) bool) { return k.limit, k.refuses })
}

// CheckCompactable is CheckWritable for the compactor, whose limits differ: it writes no rows of its own.
func (o Options) CheckCompactable() error {
	return o.checkLimits(func(k *Key) (string, func(string) bool) {
		if k.refusesCompact != nil {
			return k.compactLimit, k.refusesCompact
		}
		return k.limit, k.refuses
	})
}

func (o Options) checkLimits(limitOf func(*Key) (string, func(string) bool)) error {
	for _, k := range keys {
		limit, refuses := limitOf(k)
		if refuses == nil || !refuses(o.Get(k)) {
			continue
		}
		v := o.Get(k)
		if v == "" {
			v = "unset"
		}
		return fmt.Errorf("%w: %s is %s; %s", ErrOption, k.Name, v, limit)
	}
	for _, name := range o.names() {
		if p := lookupPattern(name); p != nil && p.Status == Refused && lookupKey(name) == nil {
			return fmt.Errorf("%w: %s is set; %s", ErrOption, name, p.why)
		}
	}
	return nil
}

// checkDynamic refuses dynamic options that contradict what is on disk, as Java's checkImmutability does; also another number
// of buckets, with which Java's writers fail when they meet an old partition.
func checkDynamic(stored, dynamic Options) error {
	for _, name := range dynamic.names() {
		if err := checkChange(stored, name, dynamic[name]); err != nil {
			return err
		}
	}
	if old, now := stored.Int(KeyBucket), stored.With(dynamic).Int(KeyBucket); old != now {
		return fmt.Errorf("%w: bucket is %d in the table and can't be %d for one writer only; alter the table and rewrite its partitions",
			ErrOption, old, now)
	}
	return nil
}

// checkChange tells whether an option of a table with snapshots may take another value (SchemaManager.checkAlterTableOption).
func checkChange(stored Options, name, value string) error {
	k := lookupKey(name)
	if k == nil {
		return nil
	}
	if old, ok := stored[name]; ok && old == value || !ok && value == k.Default {
		return nil
	}
	bad := func(why string) error {
		old := stored.Get(k)
		if old == "" {
			old = "not set"
		}
		return fmt.Errorf("%w: %s is %s in the table and can't become %s: %s", ErrOption, name, old, value, why)
	}
	if name == "path" || k.Immutable {
		return bad("it is fixed once the table has data")
	}
	now := Options{k.Name: value}
	switch k {
	case KeyBucket:
		if stored.Int(k) == -1 || now.Int(k) == -1 {
			return bad("tables with dynamic buckets stay so")
		}
	case KeyDeletionVectorsEnabled:
		if stored.Bool(k) != now.Bool(k) && !stored.Bool(KeyDeletionVectorsModifiable) {
			return bad("deletion-vectors.modifiable is not set")
		}
	case KeyIgnoreDelete, KeyIgnoreUpdateBefore:
		if stored.Bool(k) && !now.Bool(k) {
			return bad("it can only be switched on")
		}
	}
	return nil
}

// checkReset tells whether an option of a table with snapshots may be removed.
func checkReset(stored Options, name string) error {
	if _, ok := stored[name]; !ok {
		return nil
	}
	if k := lookupKey(name); k != nil && (k.Immutable || k == KeyBucket) {
		return fmt.Errorf("%w: %s can't be removed once the table has data", ErrOption, name)
	}
	return nil
}

// maxTypos is how many typing errors make a key another one.
func maxTypos(name string) int {
	switch {
	case len(name) < 8:
		return 1
	case len(name) < 14:
		return 2
	}
	return 3
}

func hasKnownPrefix(name string) bool {
	if slices.ContainsFunc(foreignPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return true
	}
	head, _, dotted := strings.Cut(name, ".")
	if head == "paimon-go" {
		return false // we know our own
	}
	return dotted && slices.ContainsFunc(keys, func(k *Key) bool { return strings.HasPrefix(k.Name, head+".") })
}

// nearestKey returns the known key that takes the fewest typing errors to become name.
func nearestKey(name string) (string, int) {
	best, dist := "", math.MaxInt
	norm := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }
	for _, k := range keys {
		for _, n := range append([]string{k.Name}, k.Aliases...) {
			if d := editDistance(norm(name), norm(n)); d < dist {
				best, dist = n, d
			}
		}
	}
	return best, dist
}

// nearestFamily returns what a key is meant to be whose end is a misspelt one of a family, such as fields.a.aggregate-funtion.
func nearestFamily(name string) string {
	for i := range Patterns {
		p := &Patterns[i]
		dot := strings.LastIndexByte(name, '.')
		if p.Suffix == "" || !strings.HasPrefix(name, p.Prefix) || dot < len(p.Prefix) {
			continue
		}
		if end := name[dot:]; editDistance(strings.ToLower(end), p.Suffix) <= maxTypos(end) {
			return name[:dot] + p.Suffix
		}
	}
	return ""
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
