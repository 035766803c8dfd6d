package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSize reads a size as Java's MemorySize does: "256 mb", "64kb", "1024". Units are powers of 1024.
func ParseSize(s string) (int64, error) {
	n, unit, err := splitUnit(s)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	mult := int64(1)
	switch unit {
	case "", "b", "bytes":
	case "k", "kb", "kibibytes":
		mult = 1 << 10
	case "m", "mb", "mebibytes":
		mult = 1 << 20
	case "g", "gb", "gibibytes":
		mult = 1 << 30
	case "t", "tb", "tebibytes":
		mult = 1 << 40
	default:
		return 0, fmt.Errorf("size %q: the unit is one of b, kb, mb, gb, tb", s)
	}
	if n > math.MaxInt64/mult {
		return 0, fmt.Errorf("size %q is more than 64 bits hold", s)
	}
	return n * mult, nil
}

// ParseDuration reads a time span as Java's TimeUtils does: "1 h", "500ms", "10 s"; a bare number is milliseconds. A span
// that Go's time.Duration can't hold (292 years) becomes the longest one: such values mean "for ever".
func ParseDuration(s string) (time.Duration, error) {
	n, unit, err := splitUnit(s)
	if err != nil {
		return 0, fmt.Errorf("duration %q: %w", s, err)
	}
	var u time.Duration
	switch unit {
	case "d", "day", "days":
		u = 24 * time.Hour
	case "h", "hour", "hours":
		u = time.Hour
	case "m", "min", "minute", "minutes":
		u = time.Minute
	case "s", "sec", "secs", "second", "seconds":
		u = time.Second
	case "", "ms", "milli", "millis", "millisecond", "milliseconds":
		u = time.Millisecond
	case "µs", "micro", "micros", "microsecond", "microseconds":
		u = time.Microsecond
	case "ns", "nano", "nanos", "nanosecond", "nanoseconds":
		u = time.Nanosecond
	default:
		return 0, fmt.Errorf("duration %q: the unit is one of d, h, min, s, ms, µs, ns", s)
	}
	if n > math.MaxInt64/int64(u) {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * u, nil
}

func splitUnit(s string) (int64, string, error) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return 0, "", fmt.Errorf("it must start with a number")
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("the number is more than 64 bits hold")
	}
	return n, strings.ToLower(strings.TrimSpace(s[i:])), nil
}

func parseBool(s string) (bool, error) {
	switch strings.ToUpper(s) {
	case "TRUE":
		return true, nil
	case "FALSE":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

func parseMap(s string) (map[string]string, error) {
	m := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		k, v, ok := strings.Cut(pair, ":")
		if !ok {
			return nil, fmt.Errorf("%q is not key:value", pair)
		}
		m[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return m, nil
}

// parseEnum takes any case, as Java does.
func parseEnum(s string, values []string) (string, error) {
	for _, v := range values {
		if strings.EqualFold(s, v) {
			return v, nil
		}
	}
	return "", fmt.Errorf("%q is none of %s", s, strings.Join(values, ", "))
}
