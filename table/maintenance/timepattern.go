package maintenance

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// timePattern reads times by a pattern of Java's DateTimeFormatter, as far as partitions need it:
//
//	y u   year: yyyy takes four digits, y any, yy is of 2000 to 2099
//	M d H m s   numbers: one letter takes any digits, two take exactly two
//	S     that many digits of a fraction of a second
//	'…'   text as it is, '' a quote;  […] what may be missing;  other signs stand for themselves
//
// Digits that follow each other without a sign between them, as in yyyyMMdd, are told apart from the right, as Java does.
type timePattern struct{ parts []timePart }

type timePart struct {
	field    byte   // y M d H m s S, 0 for text, [ for optional parts
	min, max int    // digits
	exact    bool   // exactly min digits, though those that follow without a sign between count as well
	reserve  int    // digits that the fixed fields right after it take
	text     string // of text
	optional []timePart
}

// newTimePattern refuses what it doesn't know by name.
func newTimePattern(pattern string) (*timePattern, error) {
	parts, rest, err := parseTimeParts(pattern, false)
	if err == nil && rest != "" {
		err = errors.New("] without [")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", table.ErrOption, table.KeyPartitionTimestampFormatter.Name, err)
	}
	return &timePattern{parts}, nil
}

// parseTimeParts reads parts up to the end or, inside, to the ] that closes them.
func parseTimeParts(p string, inside bool) (parts []timePart, rest string, err error) {
	for p != "" {
		switch c := p[0]; {
		case c == '[':
			optional, after, err := parseTimeParts(p[1:], true)
			if err != nil {
				return nil, "", err
			}
			if !strings.HasPrefix(after, "]") {
				return nil, "", errors.New("[ without ]")
			}
			parts = append(parts, timePart{field: '[', optional: optional})
			p = after[1:]
		case c == ']':
			if !inside {
				return parts, p, nil
			}
			return reserveDigits(parts), p, nil
		case c == '\'':
			text, after, ok := quoted(p[1:])
			if !ok {
				return nil, "", errors.New("a quote without its end")
			}
			parts = append(parts, timePart{text: text})
			p = after
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			n := len(p) - len(strings.TrimLeft(p, p[:1]))
			part, err := timeField(c, n)
			if err != nil {
				return nil, "", err
			}
			parts = append(parts, part)
			p = p[n:]
		case strings.IndexByte("{}#", c) >= 0:
			return nil, "", fmt.Errorf("%q is reserved", p[:1])
		default:
			parts = append(parts, timePart{text: p[:1]})
			p = p[1:]
		}
	}
	return reserveDigits(parts), "", nil
}

// quoted reads text up to the closing quote; two quotes are one in the text.
func quoted(p string) (text, rest string, ok bool) {
	if strings.HasPrefix(p, "'") {
		return "'", p[1:], true
	}
	for {
		before, after, found := strings.Cut(p, "'")
		if !found {
			return "", "", false
		}
		text += before
		if !strings.HasPrefix(after, "'") {
			return text, after, true
		}
		text += "'"
		p = after[1:]
	}
}

func timeField(letter byte, n int) (timePart, error) {
	switch {
	case (letter == 'y' || letter == 'u') && n == 2:
		return timePart{field: 'Y', min: 2, max: 2}, nil
	case (letter == 'y' || letter == 'u') && n <= 19:
		return timePart{field: 'y', min: n, max: 19, exact: n >= 4}, nil
	case letter == 'S' && n <= 9:
		return timePart{field: 'S', min: n, max: n}, nil
	case strings.IndexByte("MdHms", letter) >= 0 && n == 2:
		return timePart{field: letter, min: 2, max: 2}, nil
	case strings.IndexByte("MdHms", letter) >= 0 && n == 1:
		return timePart{field: letter, min: 1, max: 19}, nil
	}
	return timePart{}, fmt.Errorf("%s is not supported; y, M, d, H, m, s and S are", strings.Repeat(string(rune(letter)), n))
}

// reserveDigits lets a field of any width leave enough digits to the fixed ones right after it.
func reserveDigits(parts []timePart) []timePart {
	for i := range parts {
		if parts[i].max == parts[i].min {
			continue
		}
		for _, next := range parts[i+1:] {
			if next.field == 0 || next.field == '[' || next.max != next.min {
				break
			}
			parts[i].reserve += next.max
		}
	}
	return parts
}

// clock is a time in parts; those that the text doesn't have are -1.
type clock struct{ year, month, day, hour, minute, second, nano int }

// parse reads the whole of a text as a wall-clock time, given as if it were UTC. A time of day may be missing.
func (p *timePattern) parse(text string) (time.Time, error) {
	c := clock{-1, -1, -1, -1, -1, -1, -1}
	rest, ok := parseParts(p.parts, text, &c)
	if !ok || rest != "" {
		return time.Time{}, fmt.Errorf("%q doesn't match the pattern", text)
	}
	return c.time(text)
}

func parseParts(parts []timePart, s string, c *clock) (string, bool) {
	for i := range parts {
		p := &parts[i]
		switch p.field {
		case 0:
			if !strings.HasPrefix(s, p.text) {
				return s, false
			}
			s = s[len(p.text):]
		case '[':
			saved := *c
			rest, ok := parseParts(p.optional, s, c)
			if !ok {
				*c, rest = saved, s
			}
			s = rest
		default:
			rest, ok := p.number(s, c)
			if !ok {
				return s, false
			}
			s = rest
		}
	}
	return s, true
}

// number reads one field.
func (p *timePart) number(s string, c *clock) (string, bool) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if n := digits - p.reserve; p.reserve > 0 && n < digits {
		digits = max(n, p.min)
		if digits > len(s) {
			return s, false
		}
	}
	digits = min(digits, p.max)
	if digits < p.min || p.exact && digits > p.min {
		return s, false
	}
	v := 0
	for _, d := range []byte(s[:digits]) {
		if d < '0' || d > '9' || v > 1e8 {
			return s, false
		}
		v = v*10 + int(d-'0')
	}
	switch p.field {
	case 'y':
		c.year = v
	case 'Y':
		c.year = 2000 + v
	case 'M':
		c.month = v
	case 'd':
		c.day = v
	case 'H':
		c.hour = v
	case 'm':
		c.minute = v
	case 's':
		c.second = v
	case 'S':
		for range 9 - digits {
			v *= 10
		}
		c.nano = v
	}
	return s[digits:], true
}

// time puts the parts together as Java's SMART resolver does: the 31st of a short month is its last day, 24:00 the next day.
func (c *clock) time(text string) (time.Time, error) {
	bad := func() (time.Time, error) { return time.Time{}, fmt.Errorf("%q is no date", text) }
	if c.year < 1 || c.month < 1 || c.month > 12 || c.day < 1 || c.day > 31 {
		return bad()
	}
	last := time.Date(c.year, time.Month(c.month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	day := time.Date(c.year, time.Month(c.month), min(c.day, last), 0, 0, 0, 0, time.UTC)
	if c.hour < 0 {
		return day, nil // what is left of a time without hours counts for nothing
	}
	minute, second, nano := max(c.minute, 0), max(c.second, 0), max(c.nano, 0)
	switch {
	case c.minute < 0 && (c.second >= 0 || c.nano >= 0), c.second < 0 && c.nano >= 0:
		return day, nil
	case c.hour == 24 && minute == 0 && second == 0 && nano == 0:
		return day.AddDate(0, 0, 1), nil
	case c.hour > 23 || minute > 59 || second > 59:
		return bad()
	}
	return day.Add(time.Duration(c.hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + time.Duration(nano)), nil
}

// defaultTime reads what partitions are expected to hold when there is no pattern: 2024-1-31, optionally with 13:14:15 and a
// fraction after a blank. Numbers out of their range go on to the next month or day, as with Java's lenient resolver.
func defaultTime(text string) (time.Time, error) {
	var n [7]int
	s := text
	limits := [...]struct {
		digits int
		before string
	}{{10, ""}, {2, "-"}, {2, "-"}, {2, " "}, {2, ":"}, {2, ":"}}
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for i, l := range limits {
		if i == 3 && s == "" {
			break
		}
		after, ok := strings.CutPrefix(s, l.before)
		v, rest, found := leadingNumber(after, l.digits)
		if !ok || !found {
			return time.Time{}, fmt.Errorf("%q is no time such as 2024-01-31 or 2024-01-31 13:14:15", text)
		}
		n[i], s = v, rest
	}
	if fraction, ok := strings.CutPrefix(s, "."); ok {
		v, rest, found := leadingNumber(fraction, 9)
		if found {
			for range 9 - (len(fraction) - len(rest)) {
				v *= 10
			}
			n[6], s = v, rest
		}
	}
	if s != "" || n[0] > 999_999_999 {
		return time.Time{}, fmt.Errorf("%q is no time: %q is too much", text, s)
	}
	if negative {
		n[0] = -n[0]
	}
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6], time.UTC), nil
}

func leadingNumber(s string, digits int) (v int, rest string, ok bool) {
	n := 0
	for n < len(s) && n < digits && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + int(s[n]-'0')
		n++
	}
	return v, s[n:], n > 0
}
