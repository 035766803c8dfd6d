package avro

import "fmt"

// Resolver rewrites datums from one schema to another, so that code that decodes one fixed schema reads the files of
// other versions too. Fields go by name: unknown ones are left out, missing ones are null (they must be nullable), the
// order is free. int is good for long. Not safe for concurrent use.
type Resolver struct{ root resolveNode }

// NewResolver prepares the way from the schema of a file to that of its reader.
func NewResolver(writer, reader *Schema) (*Resolver, error) {
	r := &Resolver{}
	if err := r.root.init(writer, reader, ""); err != nil {
		return nil, fmt.Errorf("resolving Avro schema: %w", err)
	}
	return r, nil
}

// Append reads one datum of the writer's schema and appends it to dst in the reader's. What it appends after damage,
// which is kept in d, is worthless.
func (r *Resolver) Append(dst []byte, d *Decoder) []byte { return r.root.append(dst, d) }

type resolveNode struct {
	writer     *Schema // without null
	writerNull int     // index of null in the writer's union, or -1
	nullable   bool    // the reader's is ["null", X]
	kids       []resolveNode
	from       []int // record: the writer's field of each of the reader's, -1 when missing
	start      []int // record: where each of the writer's fields begins in the datum being read
}

func (n *resolveNode) init(writer, reader *Schema, path string) error {
	n.writer, n.writerNull = writer.NonNull()
	r, null := reader.NonNull()
	n.nullable = null == 0
	if null == 1 || r.Kind == KindUnion || n.writer.Kind == KindUnion {
		return fmt.Errorf("field %s: a union other than [\"null\", X]", path)
	}
	w := n.writer
	text := func(k Kind) bool { return k == KindBytes || k == KindString }
	if w.Kind != r.Kind && !(w.Kind == KindInt && r.Kind == KindLong) && !(text(w.Kind) && text(r.Kind)) {
		return fmt.Errorf("field %s: is %s in the file, expected %s", path, w.Kind, r.Kind)
	}
	switch r.Kind {
	case KindFixed:
		if w.Size != r.Size {
			return fmt.Errorf("field %s: fixed of %d bytes, expected %d", path, w.Size, r.Size)
		}
	case KindArray, KindMap:
		n.kids = make([]resolveNode, 1)
		return n.kids[0].init(w.Items, r.Items, path+"[]")
	case KindRecord:
		n.kids = make([]resolveNode, len(r.Fields))
		n.from = make([]int, len(r.Fields))
		n.start = make([]int, len(w.Fields))
		for i, f := range r.Fields {
			n.from[i] = w.Field(f.Name)
			if n.from[i] < 0 {
				if _, null := f.Schema.NonNull(); null != 0 {
					return fmt.Errorf("field %s.%s: is missing in the file", path, f.Name)
				}
				continue
			}
			if err := n.kids[i].init(w.Fields[n.from[i]].Schema, f.Schema, path+"."+f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *resolveNode) append(dst []byte, d *Decoder) []byte {
	if n.writerNull >= 0 {
		i := d.Long()
		if i != 0 && i != 1 {
			d.fail("bad union branch")
			return dst
		}
		if int(i) == n.writerNull {
			if !n.nullable {
				d.fail("null where none may be")
				return dst
			}
			return AppendUnion(dst, false)
		}
	}
	if n.nullable {
		dst = AppendUnion(dst, true)
	}
	switch n.writer.Kind {
	case KindRecord:
		return n.appendRecord(dst, d)
	case KindArray, KindMap:
		for c := d.Items(); c > 0 && d.err == nil; c = d.Items() {
			dst = AppendCount(dst, c)
			for ; c > 0 && d.err == nil; c-- {
				if n.writer.Kind == KindMap {
					dst = AppendBytes(dst, d.Bytes())
				}
				dst = n.kids[0].append(dst, d)
			}
		}
		return AppendEnd(dst)
	}
	from := d.pos
	n.writer.Skip(d)
	if d.err != nil {
		return dst
	}
	return append(dst, d.buf[from:d.pos]...)
}

func (n *resolveNode) appendRecord(dst []byte, d *Decoder) []byte {
	for i := range n.start {
		n.start[i] = d.pos
		n.writer.Fields[i].Schema.Skip(d)
	}
	if d.err != nil {
		return dst
	}
	end := d.pos
	for i, f := range n.from {
		if f < 0 {
			dst = AppendUnion(dst, false)
			continue
		}
		d.pos = n.start[f]
		if dst = n.kids[i].append(dst, d); d.err != nil {
			return dst
		}
	}
	d.pos = end
	return dst
}
