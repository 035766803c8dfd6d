package mysql

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/paimon-go/paimon-go/format/row"
)

// maxGeometryDepth bounds collections in collections.
const maxGeometryDepth = 64

var geometryNames = [8]string{"", "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"}

// geometry appends a GEOMETRY, stored as a 4 byte SRID and well-known binary, as the Java action spells it:
// {"coordinates":[1,2],"type":"Point","srid":4326}. The axis order of the storage, longitude first, is kept.
func (d *Decoder) geometry(c *row.Column, f *field, v []byte) error {
	if len(v) < 4 {
		return malformed("column %s: geometry of %d bytes", f.name, len(v))
	}
	srid := le.Uint32(v)
	w := geometryWriter{out: c.Bytes, in: v[4:]}
	kind, ok := w.header()
	if ok {
		if kind == 7 {
			w.out = append(w.out, `{"geometries":`...)
			ok = w.list(func() bool { return w.member(1) })
		} else {
			w.out = append(w.out, `{"coordinates":`...)
			ok = w.coordinates(kind)
		}
	}
	if !ok || len(w.in) > 0 {
		return malformed("column %s: geometry of %d bytes", f.name, len(v))
	}
	w.out = append(w.out, `,"type":"`...)
	w.out = append(w.out, geometryNames[kind]...)
	w.out = append(w.out, `","srid":`...)
	w.out = strconv.AppendUint(w.out, uint64(srid), 10)
	c.Bytes = append(w.out, '}')
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
	return nil
}

type geometryWriter struct {
	out, in []byte
	order   binary.ByteOrder
}

// header reads the byte order and the kind in front of every geometry.
func (w *geometryWriter) header() (uint32, bool) {
	if len(w.in) < 5 || w.in[0] > 1 {
		return 0, false
	}
	w.order = binary.ByteOrder(binary.BigEndian)
	if w.in[0] == 1 {
		w.order = binary.LittleEndian
	}
	kind := w.order.Uint32(w.in[1:])
	w.in = w.in[5:]
	return kind, kind >= 1 && kind <= 7
}

// list writes a counted list. Every item takes at least one byte, or the bytes are damaged.
func (w *geometryWriter) list(item func() bool) bool {
	if len(w.in) < 4 {
		return false
	}
	n := w.order.Uint32(w.in)
	w.in = w.in[4:]
	w.out = append(w.out, '[')
	for i := range n {
		if len(w.in) == 0 {
			return false
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if !item() {
			return false
		}
	}
	w.out = append(w.out, ']')
	return true
}

func (w *geometryWriter) point() bool {
	if len(w.in) < 16 {
		return false
	}
	x, y := math.Float64frombits(w.order.Uint64(w.in)), math.Float64frombits(w.order.Uint64(w.in[8:]))
	w.in = w.in[16:]
	w.out = append(w.out, '[')
	w.out = appendCoordinate(w.out, x)
	w.out = append(w.out, ',')
	w.out = appendCoordinate(w.out, y)
	w.out = append(w.out, ']')
	return true
}

func (w *geometryWriter) points() bool { return w.list(w.point) }

// part reads a member of a MULTI geometry, which has a header of its own.
func (w *geometryWriter) part(want uint32) bool {
	kind, ok := w.header()
	return ok && kind == want && w.coordinates(kind)
}

func (w *geometryWriter) coordinates(kind uint32) bool {
	switch kind {
	case 1:
		return w.point()
	case 2:
		return w.points()
	case 3:
		return w.list(w.points)
	}
	return w.list(func() bool { return w.part(kind - 3) })
}

// member writes a member of a collection: {"type":"Point","coordinates":[1,2]}.
func (w *geometryWriter) member(depth int) bool {
	kind, ok := w.header()
	if !ok || depth > maxGeometryDepth {
		return false
	}
	w.out = append(w.out, `{"type":"`...)
	w.out = append(w.out, geometryNames[kind]...)
	if kind == 7 {
		w.out = append(w.out, `","geometries":`...)
		ok = w.list(func() bool { return w.member(depth + 1) })
	} else {
		w.out = append(w.out, `","coordinates":`...)
		ok = w.coordinates(kind)
	}
	w.out = append(w.out, '}')
	return ok
}

// appendCoordinate writes the shortest decimal form; whole numbers have no point.
func appendCoordinate(b []byte, x float64) []byte {
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(b, x, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, x, 'f', -1, 64)
}
