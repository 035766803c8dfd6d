package parquet

import (
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// corrupt is an error about damage.
func corrupt(f string, args ...any) error {
	return fmt.Errorf("%w: parquet: %w", format.ErrCorrupt, fmt.Errorf(f, args...))
}

// errUnsupported is about files that are whole but use a part of the format that no Paimon writer uses.
var errUnsupported = errors.New("not supported")

// fileNode is a node of a file's own schema.
type fileNode struct {
	*schemaElement
	kids     []*fileNode
	def, rep int
	around   int
	leaf     int // -1 for groups
}

// readSchema makes a tree of a footer's schema and lists its leaves.
func readSchema(elems []schemaElement) (root *fileNode, leaves []*fileNode, err error) {
	if len(elems) == 0 || elems[0].hasType {
		return nil, nil, corrupt("the footer has no schema")
	}
	pos := 0
	var walk func(n *fileNode, depth int) error
	walk = func(n *fileNode, depth int) error {
		if depth > 2*maxDepth || int(n.children) > len(elems)-pos || n.children < 0 || n.children == 0 && depth > 0 {
			return corrupt("the schema's groups don't nest")
		}
		for range n.children {
			if pos >= len(elems) {
				return corrupt("the schema's groups don't nest")
			}
			e := &elems[pos]
			pos++
			k := &fileNode{schemaElement: e, def: n.def, rep: n.rep, around: n.around, leaf: -1}
			switch e.repetition {
			case repRequired:
			case repOptional:
				k.def++
			case repRepeated:
				k.def++
				k.rep++
				k.around = k.def
			default:
				return corrupt("column %q has repetition %d", e.name, e.repetition)
			}
			n.kids = append(n.kids, k)
			if !e.hasType {
				if err := walk(k, depth+1); err != nil {
					return err
				}
				continue
			}
			if e.typ < 0 || e.typ > pFixed || e.typ == pFixed && (e.typeLength <= 0 || e.typeLength > 1<<20) {
				return corrupt("column %q has type %d of length %d", e.name, e.typ, e.typeLength)
			}
			k.leaf = len(leaves)
			leaves = append(leaves, k)
		}
		return nil
	}
	root = &fileNode{schemaElement: &elems[0], leaf: -1}
	pos = 1
	if err := walk(root, 0); err != nil {
		return nil, nil, err
	}
	if pos != len(elems) {
		return nil, nil, corrupt("the schema has %d elements, its tree %d", len(elems), pos)
	}
	return root, leaves, nil
}

func (n *fileNode) kid(name string) *fileNode {
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

// firstLeaf returns a leaf below n: its levels tell n's shape.
func (n *fileNode) firstLeaf() int {
	for n.leaf < 0 {
		n = n.kids[0]
	}
	return n.leaf
}

// bound is a column to read, or a part of one, joined with the file's schema. Its node has the file's levels.
type bound struct {
	node
	kids    []*bound
	missing bool // not in the file: all null
	shape   int  // the leaf whose levels tell which rows are null and how long lists are
	lists   bool // a ROW or list, read through levels
}

// bind joins a type with a part of the file's schema.
func bind(name string, t *row.Type, f *fileNode) (*bound, error) {
	b := &bound{node: node{name: name, typ: t, leaf: -1}}
	if f == nil {
		b.missing = true
		return b, nil
	}
	b.def, b.rep, b.around, b.shape = f.def, f.rep, f.around, f.firstLeaf()
	b.optional = f.repetition == repOptional
	if f.repetition == repRepeated {
		return nil, corrupt("column %q is repeated in the file without being a list", name)
	}
	add := func(name string, t *row.Type, f *fileNode) error {
		k, err := bind(name, t, f)
		b.kids = append(b.kids, k)
		return err
	}
	switch t.Store() {
	case row.StoreRow:
		b.lists = true
		if f.leaf >= 0 || f.converted == convList || f.converted == convMap {
			return nil, mismatch(name, t, f)
		}
		for i := range t.Fields {
			if err := add(t.Fields[i].Name, &t.Fields[i].Type, f.kid(t.Fields[i].Name)); err != nil {
				return nil, err
			}
		}
		return b, nil
	case row.StoreList:
		b.lists = true
		parts := 2
		if t.Root == row.Array {
			parts = 1
		}
		if f.leaf >= 0 || len(f.kids) != 1 || f.kids[0].repetition != repRepeated || len(f.kids[0].kids) != parts {
			return nil, mismatch(name, t, f)
		}
		g := f.kids[0]
		switch t.Root {
		case row.Array:
			return b, add("element", t.Elem, g.kids[0])
		case row.Map:
			if err := add("key", t.Key, g.kids[0]); err != nil {
				return nil, err
			}
			return b, add("value", t.Elem, g.kids[1])
		}
		if err := add("key", t.Elem, g.kids[0]); err != nil {
			return nil, err
		}
		return b, add("value", &multisetCount, g.kids[1])
	}
	if f.leaf < 0 || !readable(t, f) {
		return nil, mismatch(name, t, f)
	}
	b.leaf, b.phys, b.width = f.leaf, f.typ, int(f.typeLength)
	if b.phys == pInt96 {
		b.width = int96Width
	}
	return b, nil
}

func mismatch(name string, t *row.Type, f *fileNode) error {
	kind := "a group"
	if f.leaf >= 0 {
		kind = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}[f.typ]
	}
	return corrupt("column %q is %s in the file, which can't be read as %s", name, kind, t)
}

// readable reports whether values of the file's leaf can become values of t.
func readable(t *row.Type, f *fileNode) bool {
	switch t.Root {
	case row.Boolean:
		return f.typ == pBoolean
	case row.TinyInt, row.SmallInt, row.Int, row.Date, row.Time:
		return f.typ == pInt32
	case row.BigInt:
		return f.typ == pInt64 || f.typ == pInt32
	case row.Float:
		return f.typ == pFloat
	case row.Double:
		return f.typ == pDouble || f.typ == pFloat
	case row.Decimal:
		return f.typ == pInt32 || f.typ == pInt64 || f.typ == pFixed || f.typ == pByteArray
	case row.Timestamp, row.TimestampLTZ:
		return f.typ == pInt96 || f.typ == pInt64
	case row.Char, row.VarChar, row.Binary, row.VarBinary:
		return f.typ == pByteArray || f.typ == pFixed
	}
	return false
}
