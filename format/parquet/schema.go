package parquet

import (
	"fmt"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
)

// rootName is the name of the schema's root in every Paimon file.
const rootName = "paimon_schema"

// Bases of the field ids of array elements and map entries (Java's SpecialFields).
const structuredTypeIDBase = 536870911

// maxDepth bounds the nesting of types, so that levels fit a byte and recursion is shallow.
const maxDepth = 64

// int96Width is the size of an INT96 timestamp: nanoseconds of the day and Julian day.
const int96Width = 12

// node is a column of a file or a part of one: a leaf, a ROW, or a list (ARRAY, MAP, MULTISET). A list's repeated group
// has no node of its own: kids of a list are its element, or its key and value.
type node struct {
	name     string
	path     []string // names from below the root down to the leaf, repeated groups included
	typ      *row.Type
	optional bool
	phys     int32 // of a leaf
	width    int   // of a leaf: bytes of a FIXED_LEN_BYTE_ARRAY or INT96
	// def is the definition level of a value that is there, rep the repetition level of a repeated value: that of the
	// innermost list around it.
	def, rep int
	// around is the definition level at which an element of the innermost list around this node exists.
	around int
	kids   []*node
	leaf   int // index of the leaf, in the writer's schema or in the file's; -1 for an inner node or one not in the file
}

func (n *node) isList() bool { return n.typ.Store() == row.StoreList }

// elemDef and elemRep are the levels of an element of a list.
func (n *node) elemDef() int { return n.def + 1 }
func (n *node) elemRep() int { return n.rep + 1 }

// fileSchema is the schema of a file to write.
type fileSchema struct {
	elems  []schemaElement
	roots  []*node
	leaves []*node
}

// newFileSchema lays out the columns of t as Java's ParquetSchemaConverter does.
func newFileSchema(t *row.Type) (*fileSchema, error) {
	if t == nil || t.Root != row.Row || len(t.Fields) == 0 {
		return nil, fmt.Errorf("a parquet file needs a ROW type with at least one column")
	}
	s := &fileSchema{elems: []schemaElement{{name: rootName, children: int32(len(t.Fields)), converted: convNone}}}
	for i := range t.Fields {
		f := &t.Fields[i]
		n, err := s.add(node{name: f.Name, typ: &f.Type, optional: f.Type.Nullable}, int32(f.ID), int32(f.ID), 0)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		s.roots = append(s.roots, n)
	}
	return s, nil
}

// add appends the schema of n, whose levels and path are still those of its parent. id is the node's own field id, base
// the id of the nearest named field around it and depth how many lists are between the two.
func (s *fileSchema) add(n node, id, base int32, depth int) (*node, error) {
	if len(n.path) > 2*maxDepth {
		return nil, fmt.Errorf("types nest deeper than %d", maxDepth)
	}
	n.path = append(n.path[:len(n.path):len(n.path)], n.name)
	n.leaf = -1
	e := schemaElement{name: n.name, converted: convNone, fieldID: id, hasID: true, repetition: repRequired}
	if n.optional {
		e.repetition = repOptional
		n.def++
	}
	t := n.typ
	switch t.Root {
	case row.Array, row.Map, row.Multiset:
		return s.addList(&n, e, base, depth)
	case row.Row:
		if len(t.Fields) == 0 {
			return nil, fmt.Errorf("parquet can't hold a ROW without fields")
		}
		e.children = int32(len(t.Fields))
		s.elems = append(s.elems, e)
		for i := range t.Fields {
			f := &t.Fields[i]
			kid, err := s.add(node{name: f.Name, path: n.path, typ: &f.Type, optional: f.Type.Nullable, def: n.def, rep: n.rep, around: n.around},
				int32(f.ID), int32(f.ID), 0)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", f.Name, err)
			}
			n.kids = append(n.kids, kid)
		}
		return &n, nil
	}
	if err := e.setLeaf(t); err != nil {
		return nil, err
	}
	n.phys, n.width = e.typ, int(e.typeLength)
	if n.phys == pInt96 {
		n.width = int96Width
	}
	n.leaf = len(s.leaves)
	s.elems = append(s.elems, e)
	s.leaves = append(s.leaves, &n)
	return &n, nil
}

var multisetCount = row.Type{Root: row.Int}

func (s *fileSchema) addList(n *node, e schemaElement, base int32, depth int) (*node, error) {
	t := n.typ
	e.children = 1
	group := schemaElement{name: "list", children: 1, converted: convNone, repetition: repRepeated}
	if t.Root == row.Array {
		e.converted, e.logical = convList, logicalList
	} else {
		e.converted, e.logical = convMap, logicalMap
		group.name, group.children, group.converted = "key_value", 2, convMapKeyValue
	}
	s.elems = append(s.elems, e, group)
	inner := node{path: append(n.path[:len(n.path):len(n.path)], group.name), def: n.elemDef(), rep: n.elemRep(), around: n.elemDef()}
	add := func(name string, t *row.Type, optional bool, sign int32) error {
		kid := inner
		kid.name, kid.typ, kid.optional = name, t, optional
		// Wraps around as Java's int does.
		id := structuredTypeIDBase + sign*(1024*base+int32(depth)+1)
		k, err := s.add(kid, id, base, depth+1)
		n.kids = append(n.kids, k)
		return err
	}
	if t.Root == row.Array {
		return n, add("element", t.Elem, t.Elem.Nullable, 1)
	}
	key, value := t.Key, t.Elem
	if t.Root == row.Multiset {
		key, value = t.Elem, &multisetCount
	}
	// Keys are required whatever their type says: Parquet knows no null keys.
	if err := add("key", key, false, -1); err != nil {
		return nil, err
	}
	return n, add("value", value, value.Nullable, 1)
}

// setLeaf sets the physical and logical type of an atomic type.
func (e *schemaElement) setLeaf(t *row.Type) error {
	e.hasType = true
	switch t.Root {
	case row.Char, row.VarChar:
		e.typ, e.converted, e.logical = pByteArray, convUTF8, logicalString
	case row.Binary, row.VarBinary:
		e.typ = pByteArray
	case row.Boolean:
		e.typ = pBoolean
	case row.TinyInt:
		e.typ, e.converted, e.logical, e.bits = pInt32, convInt8, logicalInteger, 8
	case row.SmallInt:
		e.typ, e.converted, e.logical, e.bits = pInt32, convInt16, logicalInteger, 16
	case row.Int:
		e.typ = pInt32
	case row.BigInt:
		e.typ = pInt64
	case row.Float:
		e.typ = pFloat
	case row.Double:
		e.typ = pDouble
	case row.Date:
		e.typ, e.converted, e.logical = pInt32, convDate, logicalDate
	case row.Time:
		e.typ, e.converted, e.logical, e.unit, e.utc = pInt32, convTimeMillis, logicalTime, unitMillis, true
	case row.Timestamp, row.TimestampLTZ:
		switch {
		case t.Precision <= 3:
			e.typ, e.converted, e.logical, e.unit = pInt64, convTsMillis, logicalTimestamp, unitMillis
		case t.Precision <= 6:
			e.typ, e.converted, e.logical, e.unit = pInt64, convTsMicros, logicalTimestamp, unitMicros
		default:
			e.typ = pInt96
		}
		e.utc = t.Root == row.TimestampLTZ
	case row.Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return fmt.Errorf("DECIMAL(%d, %d) is out of range", t.Precision, t.Scale)
		}
		e.converted, e.logical, e.precision, e.scale = convDecimal, logicalDecimal, int32(t.Precision), int32(t.Scale)
		switch {
		case t.Precision <= 9:
			e.typ = pInt32
		case t.Precision <= 18:
			e.typ = pInt64
		default:
			e.typ, e.typeLength = pFixed, int32(decimalWidth(t.Precision))
		}
	default:
		return fmt.Errorf("parquet can't hold %s", t)
	}
	return nil
}

// decimalWidth is the least number of bytes that holds every unscaled value of this precision in two's complement.
func decimalWidth(precision int) int {
	limit := row.Int128{Lo: 1} // 10^precision
	for range precision {
		limit = mulSmall(limit, 10)
	}
	for n := 1; n < 16; n++ {
		if bits := uint(8*n - 1); bits < 64 && limit.Hi == 0 && limit.Lo <= 1<<bits || bits >= 64 && uint64(limit.Hi) < 1<<(bits-64) {
			return n
		}
	}
	return 16
}

func mulSmall(v row.Int128, m uint64) row.Int128 {
	lo0, lo1 := v.Lo&0xFFFFFFFF, v.Lo>>32
	a, b := lo0*m, lo1*m
	lo := a + b<<32
	carry := b >> 32
	if lo < a {
		carry++
	}
	return row.Int128{Hi: v.Hi*int64(m) + int64(carry), Lo: lo}
}

func dotted(path []string) string { return strings.Join(path, ".") }
