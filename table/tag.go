package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/fs"
)

// Tag is a snapshot under a name: a copy of its file in tag/tag-<name>, which outlives its expiry.
type Tag struct {
	Name     string
	Snapshot *Snapshot
	// Created is when the tag was made, by the wall clock of its maker; zero when the tag doesn't say. Only tags with a life
	// of their own do, as Paimon before 0.8 couldn't read them.
	Created time.Time
	// Retained is how long it is to be kept; negative: for ever.
	Retained time.Duration
}

// Expired tells whether the life that the tag was given is over.
func (g *Tag) Expired(now time.Time) bool {
	return g.Retained >= 0 && !g.Created.IsZero() && now.After(g.Created.Add(g.Retained))
}

// tagPrefix precedes the name in the names of tag files.
const tagPrefix = "tag-"

// TagSuccessDir is the directory below that of the tags where files mark complete tags.
const TagSuccessDir = "tag-success-file"

func (t *Table) tagPath(name string) string { return t.path + "/tag/" + tagPrefix + name }

// Tags returns all tags, by snapshot and then name. One that is removed meanwhile is left out.
func (t *Table) Tags(ctx context.Context) ([]Tag, error) { return t.tagsBelow(ctx, t.path) }

func (t *Table) tagsBelow(ctx context.Context, root string) ([]Tag, error) {
	var tags []Tag
	dir := root + "/tag"
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		name, ok := strings.CutPrefix(info.Name, tagPrefix)
		if !ok || info.Dir {
			continue
		}
		g, err := t.readTag(ctx, fs.Join(dir, info.Name), name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		tags = append(tags, *g)
	}
	slices.SortFunc(tags, func(a, b Tag) int {
		if a.Snapshot.ID != b.Snapshot.ID {
			return compareInts(a.Snapshot.ID, b.Snapshot.ID)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return tags, nil
}

func compareInts(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Tag returns the tag of this name; the error wraps fs.ErrNotExist when there is none.
func (t *Table) Tag(ctx context.Context, name string) (*Tag, error) {
	return t.readTag(ctx, t.tagPath(name), name)
}

func (t *Table) readTag(ctx context.Context, path, name string) (*Tag, error) {
	raw, err := readWhole(ctx, t.fs, path)
	if err != nil {
		return nil, fmt.Errorf("reading tag %s: %w", path, err)
	}
	s, err := parseSnapshot(path, raw)
	if err != nil {
		return nil, err
	}
	var life struct {
		Created  json.RawMessage `json:"tagCreateTime"`
		Retained *json.Number    `json:"tagTimeRetained"`
	}
	g := &Tag{Name: name, Snapshot: s, Retained: -1}
	if err := json.Unmarshal(raw, &life); err != nil {
		return nil, fmt.Errorf("reading tag %s: %w: %w", path, ErrCorrupt, err)
	}
	if len(life.Created) > 0 && string(life.Created) != "null" {
		if g.Created, err = parseLocalTime(life.Created); err != nil {
			return nil, fmt.Errorf("reading tag %s: %w: tagCreateTime: %w", path, ErrCorrupt, err)
		}
	}
	if life.Retained != nil {
		if g.Retained, err = parseSeconds(life.Retained.String()); err != nil {
			return nil, fmt.Errorf("reading tag %s: %w: tagTimeRetained: %w", path, ErrCorrupt, err)
		}
	}
	return g, nil
}

// parseLocalTime reads a LocalDateTime of Jackson: [2024,1,31,13,14,15,123456789], of which seconds and nanoseconds are left
// out when zero, or its ISO text.
func parseLocalTime(raw json.RawMessage) (time.Time, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04"} {
			if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
				return at, nil
			}
		}
		return time.Time{}, fmt.Errorf("%q is no time", text)
	}
	var p []int
	if err := json.Unmarshal(raw, &p); err != nil {
		return time.Time{}, err
	}
	if len(p) < 5 || len(p) > 7 {
		return time.Time{}, fmt.Errorf("%s is no time", raw)
	}
	p = append(p, 0, 0)
	return time.Date(p[0], time.Month(p[1]), p[2], p[3], p[4], p[5], p[6], time.Local), nil
}

// localTimeParts is the inverse of parseLocalTime.
func localTimeParts(at time.Time) []int {
	at = at.Local()
	p := []int{at.Year(), int(at.Month()), at.Day(), at.Hour(), at.Minute()}
	if at.Second() != 0 || at.Nanosecond() != 0 {
		p = append(p, at.Second())
	}
	if at.Nanosecond() != 0 {
		p = append(p, at.Nanosecond())
	}
	return p
}

// parseSeconds reads a Duration of Jackson: decimal seconds. What Go's time.Duration can't hold is its longest.
func parseSeconds(text string) (time.Duration, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > 64 {
		return 0, fmt.Errorf("%q is no number of seconds", text)
	}
	r.Mul(r, big.NewRat(int64(time.Second), 1))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	switch {
	case n.Sign() < 0:
		return 0, fmt.Errorf("%q is negative", text)
	case !n.IsInt64():
		return math.MaxInt64, nil
	}
	return time.Duration(n.Int64()), nil
}

func formatSeconds(d time.Duration) json.Number {
	s := strconv.FormatInt(int64(d/time.Second), 10)
	return json.Number(fmt.Sprintf("%s.%09d", s, int64(d%time.Second)))
}

// CreateTag gives a snapshot a name, and reports false if there is a tag of this name already. With retained >= 0 the tag
// expires after that time.
func (t *Table) CreateTag(ctx context.Context, name string, s *Snapshot, retained time.Duration) (bool, error) {
	if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "/") {
		return false, fmt.Errorf("%w: %q is no name of a tag", ErrOption, name)
	}
	data, err := encodeTag(s, retained, time.Now())
	if err != nil {
		return false, err
	}
	ok, err := publishOwn(ctx, t.fs, t.tagPath(name), data)
	if err != nil {
		return false, fmt.Errorf("creating tag %s: %w", t.tagPath(name), err)
	}
	return ok, nil
}

func encodeTag(s *Snapshot, retained time.Duration, now time.Time) ([]byte, error) {
	if retained < 0 {
		return s.encode()
	}
	compact, err := json.Marshal(struct {
		*Snapshot
		Created  []int       `json:"tagCreateTime"`
		Retained json.Number `json:"tagTimeRetained"`
	}{s, localTimeParts(now), formatSeconds(retained)})
	if err != nil {
		return nil, fmt.Errorf("encoding a tag of snapshot %d: %w", s.ID, err)
	}
	return prettyJSON(compact)
}

// RemoveTagFile takes the name away. What only the tag kept in the table stays, as orphans, unless the caller cleans up.
func (t *Table) RemoveTagFile(ctx context.Context, name string) error {
	if err := t.fs.Remove(ctx, t.tagPath(name)); err != nil {
		return fmt.Errorf("removing tag %s: %w", t.tagPath(name), err)
	}
	return nil
}
