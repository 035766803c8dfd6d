package hdfs

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The few messages that we exchange with NameNode and DataNodes are written and read by hand: the client library's generated
// types are internal to it, and what we keep of an answer (block, token, node) is sent on as the bytes it came in.

// enc appends protobuf fields to a buffer.
type enc []byte

func (e *enc) num(field protowire.Number, v uint64) *enc {
	*e = protowire.AppendVarint(protowire.AppendTag(*e, field, protowire.VarintType), v)
	return e
}

func (e *enc) flag(field protowire.Number, v bool) *enc { return e.num(field, protowire.EncodeBool(v)) }

func (e *enc) str(field protowire.Number, v string) *enc {
	*e = protowire.AppendString(protowire.AppendTag(*e, field, protowire.BytesType), v)
	return e
}

func (e *enc) bytes(field protowire.Number, v []byte) *enc {
	*e = protowire.AppendBytes(protowire.AppendTag(*e, field, protowire.BytesType), v)
	return e
}

func (e *enc) fixed32(field protowire.Number, v uint32) *enc {
	*e = protowire.AppendFixed32(protowire.AppendTag(*e, field, protowire.Fixed32Type), v)
	return e
}

func (e *enc) fixed64(field protowire.Number, v uint64) *enc {
	*e = protowire.AppendFixed64(protowire.AppendTag(*e, field, protowire.Fixed64Type), v)
	return e
}

// delimited puts the message's length in front of it.
func (e enc) delimited() []byte { return protowire.AppendBytes(nil, e) }

// field is one field of a message. num holds varints and fixed values, raw the bytes of strings and messages.
type field struct {
	id  protowire.Number
	num uint64
	raw []byte
}

var errWire = errors.New("answer does not parse")

// fields calls f for each field of a message. raw is a part of b.
func fields(b []byte, f func(field) error) error {
	for len(b) > 0 {
		id, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", errWire, protowire.ParseError(n))
		}
		b = b[n:]
		v := field{id: id}
		switch typ {
		case protowire.VarintType:
			v.num, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(b)
			v.num = uint64(x)
		case protowire.Fixed64Type:
			v.num, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v.raw, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(id, typ, b)
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", errWire, protowire.ParseError(n))
		}
		b = b[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// child returns the bytes of a message's only occurrence of a field; ok tells whether it was there.
func child(b []byte, id protowire.Number) (raw []byte, ok bool, err error) {
	err = fields(b, func(f field) error {
		if f.id == id {
			raw, ok = f.raw, true
		}
		return nil
	})
	return raw, ok, err
}

// truth reads a message that is one bool in field 1.
func truth(b []byte) (v bool, err error) {
	err = fields(b, func(f field) error {
		if f.id == 1 {
			v = f.num != 0
		}
		return nil
	})
	return v, err
}

// status is what the NameNode tells about a file or directory.
type status struct {
	name    string
	kind    uint64 // kindDir, or of a file or link
	size    int64
	modTime int64 // milliseconds
	id      uint64
	ec      bool
}

const kindDir = 1

func parseStatus(b []byte) (status, error) {
	var s status
	err := fields(b, func(f field) error {
		switch f.id {
		case 1:
			s.kind = f.num
		case 2:
			s.name = string(f.raw)
		case 3:
			s.size = int64(f.num)
		case 7:
			s.modTime = int64(f.num)
		case 13:
			s.id = f.num
		case 17:
			s.ec = true
		}
		return nil
	})
	if err == nil && s.size < 0 {
		err = fmt.Errorf("%w: negative length", errWire)
	}
	return s, err
}

// node is a DataNode.
type node struct {
	raw  []byte // DatanodeInfoProto as it came
	ip   string
	host string
	uuid string
	port int
}

func (n node) String() string { return fmt.Sprintf("%s:%d", n.ip, n.port) }

func parseNode(b []byte) (node, error) {
	n := node{raw: b}
	id, _, err := child(b, 1)
	if err != nil {
		return n, err
	}
	err = fields(id, func(f field) error {
		switch f.id {
		case 1:
			n.ip = string(f.raw)
		case 2:
			n.host = string(f.raw)
		case 3:
			n.uuid = string(f.raw)
		case 4:
			n.port = int(f.num)
		}
		return nil
	})
	if err == nil && (n.uuid == "" || n.port <= 0 || n.port > 65535) {
		err = fmt.Errorf("%w: datanode without id or port", errWire)
	}
	return n, err
}

// block is a block and where it is.
type block struct {
	id       extendedBlock
	offset   int64
	nodes    []node
	token    token
	corrupt  bool
	storages []string // one for each node, or none
	types    []uint64 // one for each node, or none
}

// extendedBlock names a block. numBytes is what its answer said.
type extendedBlock struct {
	pool     string
	blockID  uint64
	stamp    uint64
	numBytes int64
}

func (x extendedBlock) encode() []byte {
	var e enc
	e.str(1, x.pool).num(2, x.blockID).num(3, x.stamp).num(4, uint64(x.numBytes))
	return e
}

func parseExtendedBlock(b []byte) (x extendedBlock, err error) {
	err = fields(b, func(f field) error {
		switch f.id {
		case 1:
			x.pool = string(f.raw)
		case 2:
			x.blockID = f.num
		case 3:
			x.stamp = f.num
		case 4:
			x.numBytes = int64(f.num)
		}
		return nil
	})
	if err == nil && x.numBytes < 0 {
		err = fmt.Errorf("%w: negative block length", errWire)
	}
	return x, err
}

// token is the right to use a block. All is empty on clusters without block tokens.
type token struct {
	raw        []byte
	identifier []byte
	password   []byte
}

func parseToken(b []byte) (token, error) {
	t := token{raw: b}
	err := fields(b, func(f field) error {
		switch f.id {
		case 1:
			t.identifier = f.raw
		case 2:
			t.password = f.raw
		}
		return nil
	})
	return t, err
}

func parseBlock(b []byte) (block, error) {
	var k block
	err := fields(b, func(f field) (err error) {
		switch f.id {
		case 1:
			k.id, err = parseExtendedBlock(f.raw)
		case 2:
			k.offset = int64(f.num)
		case 3:
			var n node
			n, err = parseNode(f.raw)
			k.nodes = append(k.nodes, n)
		case 4:
			k.corrupt = f.num != 0
		case 5:
			k.token, err = parseToken(f.raw)
		case 7:
			k.types, err = appendEnums(k.types, f)
		case 8:
			k.storages = append(k.storages, string(f.raw))
		}
		return err
	})
	if err == nil && (k.id.pool == "" || k.offset < 0) {
		err = fmt.Errorf("%w: block without a name", errWire)
	}
	if len(k.storages) != len(k.nodes) || len(k.types) != len(k.nodes) {
		k.storages, k.types = nil, nil
	}
	return k, err
}

// appendEnums reads a repeated enum, packed or not.
func appendEnums(to []uint64, f field) ([]uint64, error) {
	if f.raw == nil {
		return append(to, f.num), nil
	}
	for b := f.raw; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", errWire, protowire.ParseError(n))
		}
		to, b = append(to, v), b[n:]
	}
	return to, nil
}

// located is a file's length and blocks.
type located struct {
	size      int64
	blocks    []block
	encrypted bool
	ec        bool
}

func parseLocated(b []byte) (located, error) {
	var l located
	err := fields(b, func(f field) error {
		switch f.id {
		case 1:
			l.size = int64(f.num)
		case 2:
			k, err := parseBlock(f.raw)
			if err != nil {
				return err
			}
			l.blocks = append(l.blocks, k)
		case 6:
			l.encrypted = true
		case 7:
			l.ec = true
		}
		return nil
	})
	if err == nil && l.size < 0 {
		err = fmt.Errorf("%w: negative length", errWire)
	}
	return l, err
}
