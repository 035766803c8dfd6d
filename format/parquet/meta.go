package parquet

// The enums of parquet.thrift that are used here.
const (
	pBoolean   = 0
	pInt32     = 1
	pInt64     = 2
	pInt96     = 3
	pFloat     = 4
	pDouble    = 5
	pByteArray = 6
	pFixed     = 7

	repRequired = 0
	repOptional = 1
	repRepeated = 2

	encPlain          = 0
	encPlainDict      = 2
	encRLE            = 3
	encBitPacked      = 4
	encDeltaBinary    = 5
	encDeltaLength    = 6
	encDeltaByteArray = 7
	encRLEDict        = 8
	encByteSplit      = 9

	pageData   = 0
	pageIndex  = 1
	pageDict   = 2
	pageDataV2 = 3

	convNone        = -1
	convUTF8        = 0
	convMap         = 1
	convMapKeyValue = 2
	convList        = 3
	convDecimal     = 5
	convDate        = 6
	convTimeMillis  = 7
	convTsMillis    = 9
	convTsMicros    = 10
	convInt8        = 15
	convInt16       = 16
)

// Field numbers of the LogicalType union; 0 is none.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10

	unitMillis = 1
	unitMicros = 2
	unitNanos  = 3
)

// schemaElement is one node of a file's schema, as in the footer.
type schemaElement struct {
	name                  string
	typ, typeLength       int32
	repetition            int32
	children              int32
	converted             int32
	scale, precision      int32
	fieldID               int32
	logical               int16
	unit                  int16 // of TIME and TIMESTAMP
	utc                   bool
	bits                  int8 // of INTEGER
	hasType, hasID, isRep bool
}

func (e *schemaElement) write(w *thriftWriter, root bool) {
	w.beginElem()
	if e.hasType {
		w.i32(1, e.typ)
		if e.typ == pFixed {
			w.i32(2, e.typeLength)
		}
	}
	if !root {
		w.i32(3, e.repetition)
	}
	w.string(4, e.name)
	if !e.hasType {
		w.i32(5, e.children)
	}
	if e.converted != convNone {
		w.i32(6, e.converted)
	}
	if e.logical == logicalDecimal {
		w.i32(7, e.scale)
		w.i32(8, e.precision)
	}
	if e.hasID {
		w.i32(9, e.fieldID)
	}
	if e.logical != 0 {
		w.begin(10)
		switch e.logical {
		case logicalDecimal:
			w.begin(logicalDecimal)
			w.i32(1, e.scale)
			w.i32(2, e.precision)
			w.end()
		case logicalTime, logicalTimestamp:
			w.begin(e.logical)
			w.bool(1, e.utc)
			w.begin(2)
			w.empty(e.unit)
			w.end()
			w.end()
		case logicalInteger:
			w.begin(logicalInteger)
			w.i8(1, e.bits)
			w.bool(2, true)
			w.end()
		default:
			w.empty(e.logical)
		}
		w.end()
	}
	w.end()
}

func (e *schemaElement) read(r *thriftReader) {
	*e = schemaElement{converted: convNone}
	r.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == tI32:
			e.typ, e.hasType = r.i32(), true
		case id == 2 && typ == tI32:
			e.typeLength = r.i32()
		case id == 3 && typ == tI32:
			e.repetition, e.isRep = r.i32(), true
		case id == 4 && typ == tBinary:
			e.name = string(r.bytes())
		case id == 5 && typ == tI32:
			e.children = r.i32()
		case id == 6 && typ == tI32:
			e.converted = r.i32()
		case id == 7 && typ == tI32:
			e.scale = r.i32()
		case id == 8 && typ == tI32:
			e.precision = r.i32()
		case id == 9 && typ == tI32:
			e.fieldID, e.hasID = r.i32(), true
		case id == 10 && typ == tStruct:
			e.readLogical(r)
		default:
			return false
		}
		return true
	})
}

func (e *schemaElement) readLogical(r *thriftReader) {
	r.fields(func(id int16, typ byte) bool {
		e.logical = id
		if typ != tStruct {
			return false
		}
		r.fields(func(f int16, typ byte) bool {
			switch {
			case id == logicalDecimal && f == 1 && typ == tI32:
				e.scale = r.i32()
			case id == logicalDecimal && f == 2 && typ == tI32:
				e.precision = r.i32()
			case (id == logicalTime || id == logicalTimestamp) && f == 1:
				e.utc = typ == tTrue
			case (id == logicalTime || id == logicalTimestamp) && f == 2 && typ == tStruct:
				r.fields(func(u int16, _ byte) bool { e.unit = u; return false })
			case id == logicalInteger && f == 1 && typ == tByte:
				e.bits = int8(r.byte())
			default:
				return false
			}
			return true
		})
		return true
	})
}

// pageHeader is a page's header; fields of both data page versions are merged.
type pageHeader struct {
	typ                 int32
	uncompressed, size  int32
	crc                 uint32
	hasCRC              bool
	values, nulls, rows int32
	encoding            int32
	defEncoding         int32
	repEncoding         int32
	defLen, repLen      int32
	uncompressedValues  bool // v2 with is_compressed false
	hasBody             bool // the header of its page type was there
}

func (h *pageHeader) write(w *thriftWriter) {
	w.reset()
	w.i32(1, h.typ)
	w.i32(2, h.uncompressed)
	w.i32(3, h.size)
	w.i32(4, int32(h.crc))
	if h.typ == pageDict {
		w.begin(7)
		w.i32(1, h.values)
		w.i32(2, h.encoding)
		w.bool(3, false)
	} else {
		w.begin(5)
		w.i32(1, h.values)
		w.i32(2, h.encoding)
		w.i32(3, h.defEncoding)
		w.i32(4, h.repEncoding)
	}
	w.end()
	w.end()
}

// read decodes a header from b and returns its length, or errShort when b is too short for it.
func (h *pageHeader) read(b []byte) (int, error) {
	*h = pageHeader{}
	r := thriftReader{b: b}
	r.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == tI32:
			h.typ = r.i32()
		case id == 2 && typ == tI32:
			h.uncompressed = r.i32()
		case id == 3 && typ == tI32:
			h.size = r.i32()
		case id == 4 && typ == tI32:
			h.crc, h.hasCRC = uint32(r.i32()), true
		case (id == 5 || id == 7 || id == 8) && typ == tStruct:
			h.hasBody = h.hasBody || id == 5 && h.typ == pageData || id == 7 && h.typ == pageDict || id == 8 && h.typ == pageDataV2
			h.readBody(&r, id)
		default:
			return false
		}
		return true
	})
	return r.pos, r.err
}

func (h *pageHeader) readBody(r *thriftReader, kind int16) {
	r.fields(func(id int16, typ byte) bool {
		if kind == 8 && id == 7 {
			h.uncompressedValues = typ == tFalse
			return true
		}
		if typ != tI32 {
			return false
		}
		v := r.i32()
		switch {
		case id == 1:
			h.values = v
		case kind != 8 && id == 2, kind == 8 && id == 4:
			h.encoding = v
		case kind == 5 && id == 3:
			h.defEncoding = v
		case kind == 5 && id == 4:
			h.repEncoding = v
		case kind == 8 && id == 2:
			h.nulls = v
		case kind == 8 && id == 3:
			h.rows = v
		case kind == 8 && id == 5:
			h.defLen = v
		case kind == 8 && id == 6:
			h.repLen = v
		}
		return true
	})
}

// chunkMeta is what a reader needs of a ColumnMetaData.
type chunkMeta struct {
	typ, codec                     int32
	values                         int64
	uncompressed, size             int64
	dataOffset, dictOffset         int64
	hasDict, hasMeta, externalFile bool
}

type rowGroupMeta struct {
	chunks []chunkMeta
	rows   int64
}

type fileMeta struct {
	schema    []schemaElement
	rows      int64
	groups    []rowGroupMeta
	createdBy string
}

func (m *fileMeta) read(b []byte) error {
	r := thriftReader{b: b}
	r.fields(func(id int16, typ byte) bool {
		switch {
		case id == 2 && typ == tList:
			n, elem := r.list()
			if elem != tStruct {
				r.fail(errThrift)
			}
			for i := 0; i < n && r.err == nil; i++ {
				var e schemaElement
				e.read(&r)
				m.schema = append(m.schema, e)
			}
		case id == 3 && typ == tI64:
			m.rows = r.i64()
		case id == 4 && typ == tList:
			n, elem := r.list()
			if elem != tStruct {
				r.fail(errThrift)
			}
			for i := 0; i < n && r.err == nil; i++ {
				var g rowGroupMeta
				g.read(&r)
				m.groups = append(m.groups, g)
			}
		case id == 6 && typ == tBinary:
			m.createdBy = string(r.bytes())
		default:
			return false
		}
		return true
	})
	return r.err
}

func (g *rowGroupMeta) read(r *thriftReader) {
	r.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == tList:
			n, elem := r.list()
			if elem != tStruct {
				r.fail(errThrift)
			}
			for i := 0; i < n && r.err == nil; i++ {
				var c chunkMeta
				c.read(r)
				g.chunks = append(g.chunks, c)
			}
		case id == 3 && typ == tI64:
			g.rows = r.i64()
		default:
			return false
		}
		return true
	})
}

func (c *chunkMeta) read(r *thriftReader) {
	r.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == tBinary:
			c.externalFile = len(r.bytes()) > 0
		case id == 3 && typ == tStruct:
			c.hasMeta = true
			r.fields(func(id int16, typ byte) bool {
				switch {
				case id == 1 && typ == tI32:
					c.typ = r.i32()
				case id == 4 && typ == tI32:
					c.codec = r.i32()
				case id == 5 && typ == tI64:
					c.values = r.i64()
				case id == 6 && typ == tI64:
					c.uncompressed = r.i64()
				case id == 7 && typ == tI64:
					c.size = r.i64()
				case id == 9 && typ == tI64:
					c.dataOffset = r.i64()
				case id == 11 && typ == tI64:
					c.dictOffset, c.hasDict = r.i64(), true
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
}
