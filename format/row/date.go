package row

import "strconv"

// civil returns the proleptic Gregorian date of a day since 1970-01-01. Years before 1 are 0, -1...
func civil(days int64) (year int64, month, day int) {
	z := days + 719468 // days since 0000-03-01
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	m := (5*doy + 2) / 153
	day = int(doy - (153*m+2)/5 + 1)
	month = int(m) + 3
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// daysOf is the inverse of civil for a valid date.
func daysOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := int64((153*(month-3)+2)/5 + day - 1)
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func daysInMonth(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// appendDate appends a date as Java's LocalDate.toString: four digits of year, more with a sign in front.
func appendDate(dst []byte, days int64) []byte {
	y, m, d := civil(days)
	switch {
	case y > 9999:
		dst = append(dst, '+')
	case y < 0:
		dst = append(dst, '-')
		y = -y
	}
	if y > 9999 {
		dst = strconv.AppendInt(dst, y, 10)
	} else {
		dst = append2(append2(dst, int(y/100)), int(y%100))
	}
	dst = append2(append(dst, '-'), m)
	return append2(append(dst, '-'), d)
}

func append2(dst []byte, n int) []byte { return append(dst, '0'+byte(n/10%10), '0'+byte(n%10)) }

// appendHMS appends hh:mm:ss of a second of the day.
func appendHMS(dst []byte, s int) []byte {
	dst = append2(dst, s/3600)
	dst = append2(append(dst, ':'), s/60%60)
	return append2(append(dst, ':'), s%60)
}

// appendFraction appends the first n of nine digits.
func appendFraction(dst []byte, nanos, n int) []byte {
	for d := 100_000_000; n > 0; n-- {
		dst = append(dst, '0'+byte(nanos/d%10))
		d /= 10
	}
	return dst
}

// splitMillis splits a timestamp into days, seconds of the day and nanoseconds of the second.
func splitMillis(millis int64, nanoOfMilli int32) (days int64, sec, nanos int) {
	days = floorDiv(millis, 86_400_000)
	ms := int(millis - days*86_400_000)
	return days, ms / 1000, ms%1000*1_000_000 + int(nanoOfMilli)
}

// parseDigits reads lo to hi digits at the start of s.
func parseDigits(s []byte, lo, hi int) (v int64, rest []byte, ok bool) {
	n := 0
	for n < hi && n < len(s) && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + int64(s[n]-'0')
		n++
	}
	return v, s[n:], n >= lo
}

// after drops c from the start of s.
func after(s []byte, c byte) ([]byte, bool) {
	if len(s) == 0 || s[0] != c {
		return s, false
	}
	return s[1:], true
}

// parseDate reads a date as appendDate writes it.
func parseDate(s []byte) (days int64, rest []byte, ok bool) {
	neg := false
	digits := 4
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s, digits = s[1:], 9
	}
	y, s, ok1 := parseDigits(s, 4, digits)
	s, ok2 := after(s, '-')
	m, s, ok3 := parseDigits(s, 2, 2)
	s, ok4 := after(s, '-')
	d, s, ok5 := parseDigits(s, 2, 2)
	if neg {
		y = -y
	}
	if !(ok1 && ok2 && ok3 && ok4 && ok5) || m < 1 || m > 12 || d < 1 || int(d) > daysInMonth(y, int(m)) {
		return 0, s, false
	}
	return daysOf(y, int(m), int(d)), s, true
}

// parseTime reads hh:mm, optionally with seconds and a fraction of up to nine digits.
func parseTime(s []byte) (sec, nanos int, rest []byte, ok bool) {
	h, s, ok1 := parseDigits(s, 2, 2)
	s, ok2 := after(s, ':')
	m, s, ok3 := parseDigits(s, 2, 2)
	if !(ok1 && ok2 && ok3) || h > 23 || m > 59 {
		return 0, 0, s, false
	}
	sec = int(h*3600 + m*60)
	var more bool
	if s, more = after(s, ':'); !more {
		return sec, 0, s, true
	}
	x, s, ok := parseDigits(s, 2, 2)
	if !ok || x > 59 {
		return 0, 0, s, false
	}
	sec += int(x)
	if s, more = after(s, '.'); more {
		n := len(s)
		x, s, ok = parseDigits(s, 1, 9)
		for n -= len(s); n < 9; n++ {
			x *= 10
		}
		nanos = int(x)
	}
	return sec, nanos, s, ok
}

// parseTimestamp reads a date, a T or blank, a time, and optionally Z or an offset such as +08:00, which is taken off.
func parseTimestamp(s []byte) (millis int64, nanoOfMilli int32, zoned, ok bool) {
	days, s, ok := parseDate(s)
	if !ok || len(s) == 0 || s[0] != 'T' && s[0] != ' ' {
		return 0, 0, false, false
	}
	sec, nanos, s, ok := parseTime(s[1:])
	if !ok {
		return 0, 0, false, false
	}
	millis = days*86_400_000 + int64(sec)*1000 + int64(nanos/1_000_000)
	switch {
	case len(s) == 1 && s[0] == 'Z':
		return millis, int32(nanos % 1_000_000), true, true
	case len(s) > 0 && (s[0] == '+' || s[0] == '-'):
		off, _, rest, ok := parseTime(s[1:])
		if s[0] == '+' {
			off = -off
		}
		return millis + int64(off)*1000, int32(nanos % 1_000_000), true, ok && len(rest) == 0
	}
	return millis, int32(nanos % 1_000_000), false, len(s) == 0
}
