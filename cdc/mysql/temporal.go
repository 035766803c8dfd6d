package mysql

import (
	"fmt"
	"math"
	"time"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

const (
	dayMicros    = 86400 * 1000000
	microsPerSec = 1000000
)

// civil is a wall clock as MySQL stores it: any part may be zero.
type civil struct {
	year, month, day, hour, minute, second, micros int
}

var monthDays = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// validDate reports whether the day exists in the proleptic Gregorian calendar. MySQL can hold others: zeros in any
// part, and days past the end of the month with ALLOW_INVALID_DATES.
func validDate(y, m, d int) bool {
	if m < 1 || m > 12 || d < 1 {
		return false
	}
	return d <= monthDays[m] || m == 2 && d == 29 && (y%4 == 0 && y%100 != 0 || y%400 == 0)
}

// daysFromCivil returns the days since 1970-01-01. Counting years from March puts the leap day last.
func daysFromCivil(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	return int64(era)*146097 + int64(yoe*365+yoe/4-yoe/100+doy) - 719468
}

// civilFromDays is the inverse of daysFromCivil.
func civilFromDays(days int64) (y, m, d int) {
	days += 719468
	era := days / 146097
	if days < 0 {
		era = (days - 146096) / 146097
	}
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy - (153*mp+2)/5 + 1)
	m = int(mp) + 3
	y = int(yoe + era*400)
	if m > 12 {
		m -= 12
		y++
	}
	return y, m, d
}

// fraction reads the fraction bytes of a temporal type with fsp digits, in microseconds.
func fraction(v []byte, fsp int) int {
	switch {
	case fsp == 0:
		return 0
	case fsp <= 2:
		return int(v[0]) * 10000
	case fsp <= 4:
		return (int(v[0])<<8 | int(v[1])) * 100
	}
	return int(v[0])<<16 | int(v[1])<<8 | int(v[2])
}

// zeroDate appends what policy puts in the place of a date that does not exist.
func (d *Decoder) zeroDate(c *row.Column, f *field, what civil) error {
	d.n.ZeroDates++
	if d.opt.ZeroDate == ZeroDateError {
		return fmt.Errorf("column %s: there is no day %04d-%02d-%02d: %w", f.name, what.year, what.month, what.day, cdc.ErrRefused)
	}
	if f.typ.Nullable && d.opt.ZeroDate == ZeroDateNull {
		c.AppendNull()
		return nil
	}
	if f.key && d.opt.ZeroDate == ZeroDateNull {
		return fmt.Errorf("column %s: there is no day %04d-%02d-%02d, and in a key column it can't be NULL; with --mysql_conf zero-date=epoch it becomes 1970-01-01, which makes one row of those that differ by such a day only: %w",
			f.name, what.year, what.month, what.day, cdc.ErrRefused)
	}
	switch f.sink {
	case sinkDate:
		c.AppendI32(0)
	case sinkText:
		d.civilText(c, f, civil{year: 1970, month: 1, day: 1})
	default:
		f.micros(c, 0)
	}
	return nil
}

func (d *Decoder) date(c *row.Column, f *field, y, m, day int) error {
	if !validDate(y, m, day) {
		return d.zeroDate(c, f, civil{year: y, month: m, day: day})
	}
	if f.sink == sinkDate {
		c.I32 = append(c.I32, int32(daysFromCivil(y, m, day)))
		c.N++
		return nil
	}
	d.civilText(c, f, civil{year: y, month: m, day: day})
	return nil
}

// datetime2 appends a DATETIME of 5 bytes and a fraction: big-endian, sign bit set, then 17 bits year*13+month, 5 day,
// 5 hour, 6 minute, 6 second.
func (d *Decoder) datetime2(c *row.Column, f *field, v []byte) error {
	x := uint64(v[0])<<32 | uint64(beUint32(v[1:]))
	if x < 1<<39 {
		return malformed("column %s: a negative DATETIME", f.name)
	}
	x -= 1 << 39
	ymd := int(x >> 17)
	ym := ymd >> 5
	return d.datetime(c, f, civil{
		year: ym / 13, month: ym % 13, day: ymd & 31,
		hour: int(x >> 12 & 31), minute: int(x >> 6 & 63), second: int(x & 63), micros: fraction(v[5:], f.fsp),
	})
}

// datetimeOld appends a DATETIME of MySQL before 5.6.4: the decimal number YYYYMMDDhhmmss.
func (d *Decoder) datetimeOld(c *row.Column, f *field, v []byte) error {
	x := le.Uint64(v)
	if x > 99999999999999 {
		return malformed("column %s: DATETIME %d", f.name, x)
	}
	date, clock := int(x/1000000), int(x%1000000)
	return d.datetime(c, f, civil{
		year: date / 10000, month: date / 100 % 100, day: date % 100,
		hour: clock / 10000, minute: clock / 100 % 100, second: clock % 100,
	})
}

func (d *Decoder) datetime(c *row.Column, f *field, t civil) error {
	if t.hour > 23 || t.minute > 59 || t.second > 59 || t.micros > 999999 {
		return malformed("column %s: clock %02d:%02d:%02d.%06d", f.name, t.hour, t.minute, t.second, t.micros)
	}
	if !validDate(t.year, t.month, t.day) {
		return d.zeroDate(c, f, t)
	}
	if f.sink == sinkText {
		d.civilText(c, f, t)
		return nil
	}
	f.micros(c, t.unixMicros())
	return nil
}

func (t civil) unixMicros() int64 {
	secs := daysFromCivil(t.year, t.month, t.day)*86400 + int64(t.hour*3600+t.minute*60+t.second)
	return secs*microsPerSec + int64(t.micros)
}

// micros appends a point in time in the precision of the target.
func (f *field) micros(c *row.Column, us int64) {
	switch f.sink {
	case sinkMillis:
		c.I64 = append(c.I64, floorDiv(us, 1000))
	case sinkMicros:
		c.I64 = append(c.I64, us)
	default:
		ms := floorDiv(us, 1000)
		c.I64 = append(c.I64, ms)
		c.I32 = append(c.I32, int32(us-ms*1000)*1000)
	}
	c.N++
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// zoneCache remembers the offset of the zone between two of its transitions.
type zoneCache struct {
	loc      *time.Location
	from, to int64 // seconds since the epoch; from inclusive, to exclusive
	offset   int64
}

func (z *zoneCache) at(sec int64) int64 {
	if sec >= z.from && sec < z.to {
		return z.offset
	}
	t := time.Unix(sec, 0).In(z.loc)
	_, off := t.Zone()
	z.offset = int64(off)
	z.from, z.to = math.MinInt64, math.MaxInt64
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		z.from = start.Unix()
	}
	if !end.IsZero() {
		z.to = end.Unix()
	}
	return z.offset
}

// timestamp appends a TIMESTAMP, an instant, as a wall clock of the server's zone, or as the instant where the target
// is TIMESTAMP_LTZ. Zero seconds is MySQL's zero date: the type starts at 1970-01-01 00:00:01 UTC.
func (d *Decoder) timestamp(c *row.Column, f *field, sec int64, us int) error {
	if us > 999999 {
		return malformed("column %s: %d microseconds", f.name, us)
	}
	if sec == 0 {
		return d.zeroDate(c, f, civil{})
	}
	if !f.ltz {
		sec += d.zone.at(sec)
	}
	if f.sink == sinkText {
		days := floorDiv(sec, 86400)
		rest := int(sec - days*86400)
		t := civil{hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, micros: us}
		t.year, t.month, t.day = civilFromDays(days)
		d.civilText(c, f, t)
		return nil
	}
	f.micros(c, sec*microsPerSec+int64(us))
	return nil
}

// time2 returns the signed microseconds of a TIME of 3 bytes and a fraction. A negative value is stored as the
// difference from the middle of the range, the fraction included.
func time2(v []byte, fsp int) int64 {
	x := int64(v[0])<<16 | int64(v[1])<<8 | int64(v[2])
	n := fractionBytes(fsp)
	for _, b := range v[3 : 3+n] {
		x = x<<8 | int64(b)
	}
	x -= 0x800000 << (8 * n)
	negative := x < 0
	if negative {
		x = -x
	}
	frac := x & (1<<(8*n) - 1)
	hms := x >> (8 * n)
	switch n {
	case 1:
		frac *= 10000
	case 2:
		frac *= 100
	}
	us := ((hms>>12&1023)*3600+(hms>>6&63)*60+hms&63)*microsPerSec + frac
	if negative {
		return -us
	}
	return us
}

// timeOld appends a TIME of MySQL before 5.6.4: the signed decimal number hhmmss.
func (d *Decoder) timeOld(c *row.Column, f *field, v []byte) error {
	x := (int64(v[0]) | int64(v[1])<<8 | int64(v[2])<<16) << 40 >> 40
	sign := int64(1)
	if x < 0 {
		x, sign = -x, -1
	}
	return d.time(c, f, sign*(x/10000*3600+x/100%100*60+x%100)*microsPerSec)
}

// time appends a TIME of us microseconds.
func (d *Decoder) time(c *row.Column, f *field, us int64) error {
	if f.sink == sinkText {
		d.timeText(c, f, us)
		return nil
	}
	if us < 0 || us >= dayMicros {
		switch d.opt.Time {
		case TimeClamp:
			us = min(max(us, 0), dayMicros-1)
		case TimeModulo:
			if us %= dayMicros; us < 0 {
				us += dayMicros
			}
		default:
			return fmt.Errorf("column %s: TIME %s is not a time of the day (time policies: error, clamp, modulo, string): %w",
				f.name, appendTime(nil, us, f.fsp), cdc.ErrRefused)
		}
		d.n.TimesChanged++
	}
	c.I32 = append(c.I32, int32(us/1000))
	c.N++
	return nil
}

// timeText appends a TIME to a text column.
func (d *Decoder) timeText(c *row.Column, f *field, us int64) {
	c.Bytes = appendTime(c.Bytes, us, f.fsp)
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
}

// appendTime writes [-]hh:mm:ss with fsp fraction digits, as SELECT shows it.
func appendTime(b []byte, us int64, fsp int) []byte {
	if us < 0 {
		b = append(b, '-')
		us = -us
	}
	sec := us / microsPerSec
	if h := sec / 3600; h > 99 {
		b = appendInt(b, h)
	} else {
		b = appendDigits(b, uint64(h), 2)
	}
	b = append(b, ':')
	b = appendDigits(b, uint64(sec/60%60), 2)
	b = append(b, ':')
	b = appendDigits(b, uint64(sec%60), 2)
	if fsp > 0 {
		b = append(b, '.')
		b = appendDigits(b, uint64(us%microsPerSec)/pow10[6-fsp], fsp)
	}
	return b
}

// civilText appends a date or wall clock in the spelling of to-string: DATETIME with 3 or 6 fraction digits, TIMESTAMP
// with 6.
func (d *Decoder) civilText(c *row.Column, f *field, t civil) {
	b := appendDigits(c.Bytes, uint64(t.year), 4)
	b = append(b, '-')
	b = appendDigits(b, uint64(t.month), 2)
	b = append(b, '-')
	b = appendDigits(b, uint64(t.day), 2)
	if f.fam != famDate {
		b = append(b, ' ')
		b = appendClock(b, t)
		digits := 6
		if f.fam == famDatetime && f.fsp <= 3 {
			digits = 3
		}
		b = append(b, '.')
		b = appendDigits(b, uint64(t.micros)/pow10[6-digits], digits)
	}
	c.Bytes = b
	c.Off = append(c.Off, uint32(len(b)))
	c.N++
}

func appendClock(b []byte, t civil) []byte {
	b = appendDigits(b, uint64(t.hour), 2)
	b = append(b, ':')
	b = appendDigits(b, uint64(t.minute), 2)
	b = append(b, ':')
	return appendDigits(b, uint64(t.second), 2)
}
