package table

import (
	"maps"
	"strconv"
	"strings"
	"time"
)

// Options are a table's options under Paimon's keys, the one vocabulary of the product. The keys are in option_table.go.
type Options map[string]string

// Kind is the type of an option's value.
type Kind uint8

// The kinds of option values.
const (
	String Kind = iota
	Bool
	Int
	Long
	Double
	Size     // "128 mb"
	Duration // "1 h"
	Enum
	Map // "0:avro,3:parquet"
)

var kindNames = [...]string{"string", "bool", "int", "long", "double", "size", "duration", "enum", "map"}

func (k Kind) String() string { return kindNames[k] }

// Status says what this program does with an option.
type Status uint8

// The statuses.
const (
	// Honoured works as in Java.
	Honoured Status = iota
	// Stored is kept in the schema and has no effect here: it means something to Java or Flink, or to a reader, only.
	Stored
	// Refused stops writers (CheckWritable) when the value is other than harmless: to neglect it could change data or
	// mislead readers. Tables that have it still open for reading and inspection.
	Refused
)

var statusNames = [...]string{"honoured", "stored", "refused"}

func (s Status) String() string { return statusNames[s] }

// Key is an option key.
type Key struct {
	Name    string
	Kind    Kind
	Default string // "" when there is none
	Values  []string
	Aliases []string
	Doc     string
	Since   string // Paimon version, "" for 1.4 and before
	Status  Status
	// Immutable options can't be changed or removed once the table has a snapshot.
	Immutable bool
	// Min is the least value of a number or a size.
	Min *int64
	// limit says in a few words which values stop writers, refuses tells of one.
	limit   string
	refuses func(value string) bool
	check   func(value string) error
	// The same for the compactor; nil: it has the writers' limits.
	compactLimit   string
	refusesCompact func(value string) bool
}

// Get returns the text of an option: its own key, else an alias, else the default.
func (o Options) Get(k *Key) string {
	if v, ok := o.lookup(k); ok {
		return v
	}
	return k.Default
}

// Has tells whether the option is set.
func (o Options) Has(k *Key) bool {
	_, ok := o.lookup(k)
	return ok
}

func (o Options) lookup(k *Key) (string, bool) {
	if v, ok := o[k.Name]; ok {
		return v, true
	}
	for _, a := range k.Aliases {
		if v, ok := o[a]; ok {
			return v, true
		}
	}
	return "", false
}

// Int returns a number; 0 when it is not set and has no default. As with all getters, a malformed value, which Validate
// refuses, gives the default.
func (o Options) Int(k *Key) int { return int(o.Int64(k)) }

// Int64 returns a number.
func (o Options) Int64(k *Key) int64 {
	return parsed(o, k, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
}

// Float returns a floating-point number.
func (o Options) Float(k *Key) float64 {
	return parsed(o, k, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

// Bool returns a truth value.
func (o Options) Bool(k *Key) bool { return parsed(o, k, parseBool) }

// Size returns a number of bytes.
func (o Options) Size(k *Key) int64 { return parsed(o, k, ParseSize) }

// Duration returns a time span.
func (o Options) Duration(k *Key) time.Duration { return parsed(o, k, ParseDuration) }

// Map returns the pairs of a value such as "0:avro,3:parquet".
func (o Options) Map(k *Key) map[string]string { return parsed(o, k, parseMap) }

// Enum returns a value of an enum in lower case.
func (o Options) Enum(k *Key) string {
	return parsed(o, k, func(s string) (string, error) { return parseEnum(s, k.Values) })
}

// List returns the elements of a comma-separated value, nil when there are none.
func (o Options) List(k *Key) []string {
	var list []string
	for s := range strings.SplitSeq(o.Get(k), ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func parsed[T any](o Options, k *Key, parse func(string) (T, error)) T {
	if s, ok := o.lookup(k); ok {
		if v, err := parse(s); err == nil {
			return v
		}
	}
	v, _ := parse(k.Default)
	return v
}

// Clone returns a copy that is never nil.
func (o Options) Clone() Options {
	c := make(Options, len(o))
	maps.Copy(c, o)
	return c
}

// With returns a copy with the dynamic options over it.
func (o Options) With(dynamic Options) Options {
	c := o.Clone()
	maps.Copy(c, dynamic)
	return c
}
