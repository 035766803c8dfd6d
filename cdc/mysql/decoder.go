package mysql

import (
	"fmt"
	mathbits "math/bits"
	"slices"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// TimePolicy says what becomes of a TIME outside [00:00:00, 24:00:00) in a TIME column.
type TimePolicy uint8

// The time policies. The policy "string" is TypeOptions.TimeAsString: the column is a STRING then.
const (
	TimeError  TimePolicy = iota // refuse the row
	TimeClamp                    // the nearest time of the day
	TimeModulo                   // modulo a day, as Paimon's own action does
)

// ZeroDatePolicy says what becomes of dates with a zero month or day, and of days that the month does not have.
type ZeroDatePolicy uint8

// The zero date policies.
const (
	ZeroDateNull  ZeroDatePolicy = iota // NULL, or 1970-01-01 where the target is NOT NULL; refused in the key
	ZeroDateEpoch                       // 1970-01-01 everywhere
	ZeroDateError                       // refuse the row
)

// InvalidCharsPolicy says what becomes of bytes that are no text in the column's character set.
type InvalidCharsPolicy uint8

// The policies for invalid characters.
const (
	InvalidReplace InvalidCharsPolicy = iota // U+FFFD for each
	InvalidError                             // refuse the row
	InvalidKeep                              // the value's bytes as they are; such a string is not valid UTF-8
)

// ValueOptions are the choices of a Decoder. The zero value is the default.
type ValueOptions struct {
	Types TypeOptions
	// ServerZone is the zone in which TIMESTAMP values are rendered as wall clocks; nil is UTC.
	ServerZone *time.Location
	Time       TimePolicy
	ZeroDate   ZeroDatePolicy
	Invalid    InvalidCharsPolicy
	// ConvertedText tells that AppendBinaryRow's text comes in utf8mb4 (character_set_results=utf8mb4). Without it text is
	// expected in each column's own character set (character_set_results=NULL), which gives the same answer as the row
	// images even for bytes that are no text.
	ConvertedText bool
	// Key names the fields that tell rows apart: there, a TINYINT(1) that is neither 0 nor 1 is refused, and a zero date unless
	// by ZeroDateEpoch, since they would make one row of several.
	Key []string
}

// Counters are the values that needed a policy since the Decoder was made.
type Counters struct {
	ZeroDates    int64
	InvalidChars int64
	TimesChanged int64
}

// Decoder turns row images of the binlog and rows of prepared SELECTs into columns of a Paimon table. Both give the same
// bytes for the same value. It keeps scratch memory and is not safe for concurrent use: Clone it for each worker.
//
// Rules of values that the types alone do not tell: a TINYINT(1) that is not zero is true as a BOOLEAN; a fraction of a
// second in TIME is kept to the millisecond whatever the precision of the target says, as the Java action does; a JSON
// document is the text that SELECT gives; an empty JSON value is null, the JSON literal.
type Decoder struct {
	cols   []Column
	target *row.Type
	opt    ValueOptions
	fields []field // one for each of cols, for the binary protocol
	absent []int   // target positions that have no source column
	picked []int   // columns that a SELECT gives, in order

	bound       *TableMap // the map that the next two are made for
	images      []field   // one for each column of the table map
	imageAbsent []int     // target positions that row images have no column for
	scratch     []byte
	zone        zoneCache
	n           Counters
}

// NewDecoder compiles the way from cols, all columns of a table in the order of the row image, to the fields of target,
// a ROW type. Fields are found by name. A field without a column is null in every row; a column without a field is
// skipped. It fails when a column cannot be held by its field, with the names of both.
func NewDecoder(cols []Column, target *row.Type, opt ValueOptions) (*Decoder, error) {
	d := &Decoder{cols: cols, target: target, opt: opt, fields: make([]field, len(cols))}
	d.zone.loc = opt.ServerZone
	if d.zone.loc == nil {
		d.zone.loc = time.UTC
	}
	taken := make([]bool, len(target.Fields))
	for i := range cols {
		d.fields[i].target = d.find(cols[i].Name)
		t := d.fields[i].target
		if t < 0 {
			continue
		}
		if taken[t] {
			return nil, fmt.Errorf("column %s: field %s has a column already: %w", cols[i].Name, target.Fields[t].Name, cdc.ErrRefused)
		}
		taken[t] = true
		d.picked = append(d.picked, i)
	}
	for t := range taken {
		if taken[t] {
			continue
		}
		if !target.Fields[t].Type.Nullable {
			return nil, fmt.Errorf("field %s is NOT NULL and has no source column: %w", target.Fields[t].Name, cdc.ErrRefused)
		}
		d.absent = append(d.absent, t)
	}
	for i := range cols {
		if err := d.compile(&d.fields[i], &cols[i]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Clone returns a Decoder of the same columns and options for another goroutine. Its counters start at zero.
func (d *Decoder) Clone() *Decoder {
	c, err := NewDecoder(d.cols, d.target, d.opt)
	if err != nil {
		panic(err) // the same arguments compiled before
	}
	return c
}

// find returns the position of the target's field for a column, -1 when there is none. MySQL compares column names without
// case.
func (d *Decoder) find(name string) int {
	return slices.IndexFunc(d.target.Fields, func(f row.Field) bool { return strings.EqualFold(f.Name, name) })
}

// Counters returns what needed a policy so far.
func (d *Decoder) Counters() Counters { return d.n }

// SelectColumns returns the names of the columns that AppendBinaryRow expects, in order: those that the target has.
func (d *Decoder) SelectColumns() []string {
	names := make([]string, len(d.picked))
	for i, c := range d.picked {
		names[i] = d.cols[c].Name
	}
	return names
}

// AppendRows appends all rows of an event to dst: one row for each insert and delete, two, UpdateBefore and UpdateAfter,
// for each update. It returns how many rows of the table the event has. After an error dst is in no usable state and must
// be reset.
func (d *Decoder) AppendRows(dst *row.Batch, tm *TableMap, e *RowsEvent) (int, error) {
	if err := d.check(tm, e); err != nil {
		return 0, err
	}
	kind := e.Kind
	if kind == row.UpdateAfter {
		kind = row.UpdateBefore
	}
	p, n := e.Images, 0
	for len(p) > 0 {
		size, err := d.image(dst.Cols, p)
		if err != nil {
			return n, fmt.Errorf("%s.%s: row %d of %s event: %w", tm.Schema, tm.Table, n+1, e.Kind, err)
		}
		p = p[size:]
		dst.EndRow(kind)
		if kind == row.UpdateBefore {
			if size, err = d.image(dst.Cols, p); err != nil {
				return n, fmt.Errorf("%s.%s: after image of row %d: %w", tm.Schema, tm.Table, n+1, err)
			}
			p = p[size:]
			dst.EndRow(row.UpdateAfter)
		}
		n++
	}
	return n, nil
}

// check binds the Decoder to the table map of an event and refuses images that are not whole rows.
func (d *Decoder) check(tm *TableMap, e *RowsEvent) error {
	if tm != d.bound {
		if err := d.bind(tm); err != nil {
			return err
		}
	}
	if e.Columns != len(d.images) {
		return malformed("%s.%s: a rows event has %d columns, its table map %d", tm.Schema, tm.Table, e.Columns, len(d.images))
	}
	absent := firstAbsent(e.Present, e.Columns)
	if absent < 0 && e.Kind == row.UpdateAfter {
		absent = firstAbsent(e.PresentAfter, e.Columns)
	}
	if absent >= 0 {
		return fmt.Errorf("%s.%s: column %s is missing from a row image (binlog_row_image of that session is not FULL): %w",
			tm.Schema, tm.Table, d.images[absent].name, cdc.ErrRefused)
	}
	if e.Partial {
		return fmt.Errorf("%s.%s: a row image has a partial JSON update (binlog_row_value_options of that session is PARTIAL_JSON): %w",
			tm.Schema, tm.Table, cdc.ErrRefused)
	}
	return nil
}

// firstAbsent returns the first column whose bit is not set, -1 when all n are there.
func firstAbsent(bits []byte, n int) int {
	for i := range (n + 7) >> 3 {
		if k := mathbits.TrailingZeros8(^bits[i]); i<<3+k < n && k < 8 {
			return i<<3 + k
		}
	}
	return -1
}
