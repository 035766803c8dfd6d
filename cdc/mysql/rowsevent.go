package mysql

import (
	"bytes"
	"compress/zlib"
	"io"
	"math"

	"github.com/paimon-go/paimon-go/format/row"
)

// The event types that carry rows.
const (
	eventWriteRowsV1       = 23
	eventUpdateRowsV1      = 24
	eventDeleteRowsV1      = 25
	eventWriteRowsV2       = 30
	eventUpdateRowsV2      = 31
	eventDeleteRowsV2      = 32
	eventPartialUpdateRows = 39
	eventMariaWriteComp    = 166 // MariaDB log_bin_compress: 166 to 168 of the v1 form, 169 to 171 of v2
	eventMariaDeleteCompV2 = 171
)

// IsRowsEvent reports whether an event type carries rows that ParseRows understands.
func IsRowsEvent(eventType byte) bool {
	switch eventType {
	case eventWriteRowsV1, eventUpdateRowsV1, eventDeleteRowsV1, eventWriteRowsV2, eventUpdateRowsV2, eventDeleteRowsV2,
		eventPartialUpdateRows:
		return true
	}
	return eventType >= eventMariaWriteComp && eventType <= eventMariaDeleteCompV2
}

// RowsEvent is the header of a rows event and its raw images.
type RowsEvent struct {
	TableID uint64
	// Kind is that of the change: row.Insert, row.UpdateAfter (each row is a before and an after image) or row.Delete.
	Kind row.Kind
	// Partial: JSON columns of the after images may be differences (binlog_row_value_options=PARTIAL_JSON).
	Partial bool
	// Columns is the number of columns. Present and PresentAfter are the bitmaps of those that the images have;
	// PresentAfter is that of the after images of updates, equal to Present for the others.
	Columns               int
	Present, PresentAfter []byte
	// Images are the row images one after the other. They alias the event unless it was compressed.
	Images []byte
}

// maxRowsEvent bounds what a compressed rows event may grow to: the largest packet that a server can send.
const maxRowsEvent = 1 << 30

// ParseRows parses the body of a rows event (without event header and checksum). The result aliases body.
func ParseRows(eventType byte, body []byte) (RowsEvent, error) {
	var e RowsEvent
	v2, compressed := false, false
	t := eventType
	switch {
	case t >= eventMariaWriteComp+3 && t <= eventMariaDeleteCompV2:
		v2, compressed, t = true, true, t-eventMariaWriteComp-3+eventWriteRowsV1
	case t >= eventMariaWriteComp && t < eventMariaWriteComp+3:
		compressed, t = true, t-eventMariaWriteComp+eventWriteRowsV1
	case t >= eventWriteRowsV2 && t <= eventDeleteRowsV2:
		v2, t = true, t-eventWriteRowsV2+eventWriteRowsV1
	case t == eventPartialUpdateRows:
		v2, t = true, eventUpdateRowsV1
		e.Partial = true
	}
	switch t {
	case eventWriteRowsV1:
		e.Kind = row.Insert
	case eventUpdateRowsV1:
		e.Kind = row.UpdateAfter
	case eventDeleteRowsV1:
		e.Kind = row.Delete
	default:
		return e, malformed("event type %d has no rows", eventType)
	}
	r := reader{b: body}
	e.TableID = r.u48()
	r.take(2) // flags
	if v2 {
		extra := int(r.u16())
		if extra < 2 {
			return e, malformed("rows event: extra data of %d bytes", extra)
		}
		r.take(extra - 2)
	}
	n := r.lenenc()
	if r.bad || n > math.MaxUint16 {
		return e, malformed("rows event: the header of %d bytes is cut", len(body))
	}
	e.Columns = int(n)
	e.Present = r.take((e.Columns + 7) / 8)
	e.PresentAfter = e.Present
	if e.Kind == row.UpdateAfter {
		e.PresentAfter = r.take((e.Columns + 7) / 8)
	}
	if r.bad {
		return e, malformed("rows event: the bitmaps of %d columns are cut", e.Columns)
	}
	e.Images = r.b
	if compressed {
		var err error
		if e.Images, err = inflateMaria(r.b); err != nil {
			return e, err
		}
	}
	return e, nil
}

// inflateMaria undoes MariaDB's binlog compression: a byte with the algorithm (bits 4 to 6, 0 is zlib) and the width of
// the length (bits 0 to 2), the uncompressed length in big-endian order, and the data.
func inflateMaria(b []byte) ([]byte, error) {
	r := reader{b: b}
	h := r.u8()
	width := int(h & 7)
	length := uintBE(r.take(width))
	if r.bad || width == 0 || width > 4 || h&0x80 == 0 {
		return nil, malformed("compressed rows event: header %#x", h)
	}
	if alg := h >> 4 & 7; alg != 0 {
		return nil, malformed("compressed rows event: algorithm %d", alg)
	}
	if length > maxRowsEvent {
		return nil, malformed("compressed rows event: %d bytes", length)
	}
	z, err := zlib.NewReader(bytes.NewReader(r.b))
	if err != nil {
		return nil, malformed("compressed rows event: %s", err.Error())
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(z, int64(length)+1))
	if err != nil || uint64(n) != length {
		return nil, malformed("compressed rows event: %d bytes instead of %d", n, length)
	}
	return out.Bytes(), nil
}
