package hdfs

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// fakeNode is a DataNode. The first one of a pipeline keeps the block for all.
type fakeNode struct {
	c     *fakeCluster
	index int
	l     net.Listener

	mu     sync.Mutex
	blocks map[uint64][]byte
	broken func(op byte) nodeFault
}

// nodeFault is what is wrong with a DataNode.
type nodeFault struct {
	hangUp   bool // at once
	badLink  *fakeNode
	failAck  int // with that many packets acknowledged, the index of ackNode fails; 0: never
	ackNode  int
	cutAfter int  // packets, then the connection ends; 0: never
	rot      bool // what is read is damaged
}

func (n *fakeNode) uuid() string { return fmt.Sprint("node-", n.index) }

func (n *fakeNode) has(id uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.blocks[id]
	return ok
}

func (n *fakeNode) setBroken(f func(op byte) nodeFault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = f
}

func (n *fakeNode) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	for {
		var head [3]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		msg, err := readMessage(r)
		if err != nil {
			return
		}
		var x nodeFault
		n.mu.Lock()
		if n.broken != nil {
			x = n.broken(head[2])
		}
		n.mu.Unlock()
		if x.hangUp {
			return
		}
		h, _, _ := child(msg, 1)
		base, _, _ := child(h, 1)
		raw, _, _ := child(base, 1)
		b, _ := parseExtendedBlock(raw)
		switch head[2] {
		case opWriteBlock:
			n.write(conn, r, msg, b, x)
			return
		case opReadBlock:
			if !n.read(conn, r, msg, b, x) {
				return
			}
		}
	}
}

func (n *fakeNode) write(conn net.Conn, r *bufio.Reader, msg []byte, b extendedBlock, x nodeFault) {
	pipe := []*fakeNode{n}
	_ = fields(msg, func(f field) error {
		if f.id == 2 {
			y, err := parseNode(f.raw)
			for _, other := range n.c.data {
				if other.uuid() == y.uuid {
					pipe = append(pipe, other)
				}
			}
			return err
		}
		return nil
	})
	var a enc
	if x.badLink != nil {
		a.num(1, 1).str(2, x.badLink.l.Addr().String())
	} else {
		a.num(1, dnSuccess).str(2, "")
	}
	if _, err := conn.Write(a.delimited()); err != nil || x.badLink != nil {
		return
	}
	p, _ := newPacketReader(r, opAnswer{checksum: checksumCRC32C, perSum: chunkSize})
	var data []byte
	for i := 1; ; i++ {
		h, d, err := p.next(nil)
		if err != nil || int64(len(data)) != h.offset && h.seq != heartbeatSeq {
			return
		}
		data = append(data, d...)
		if x.cutAfter > 0 && i > x.cutAfter {
			return
		}
		if h.last { // complete before it is acknowledged, as finalized blocks are
			for _, m := range pipe {
				m.mu.Lock()
				m.blocks[b.blockID] = data
				m.mu.Unlock()
			}
		}
		var e enc
		e.num(1, protowire.EncodeZigZag(h.seq))
		for k := range pipe {
			s := uint64(dnSuccess)
			if x.failAck > 0 && i >= x.failAck && k == x.ackNode {
				s = 1
			}
			e.num(2, s)
		}
		if _, err := conn.Write(e.delimited()); err != nil || h.last {
			return
		}
	}
}

// read sends whole chunks, as real ones do, and tells whether the connection can be used again.
func (n *fakeNode) read(conn net.Conn, r *bufio.Reader, msg []byte, b extendedBlock, x nodeFault) bool {
	n.mu.Lock()
	data, ok := n.blocks[b.blockID]
	n.mu.Unlock()
	var a, ri, sum enc
	if !ok {
		a.num(1, 1).str(5, "no such block")
		_, err := conn.Write(a.delimited())
		return err == nil
	}
	off, length := int(number(msg, 2)), int(number(msg, 3))
	from := off / chunkSize * chunkSize
	to := min((off+length+chunkSize-1)/chunkSize*chunkSize, len(data))
	sum.num(1, checksumCRC32C).num(2, chunkSize)
	ri.bytes(1, sum).num(2, uint64(from))
	a.num(1, dnSuccess).bytes(4, ri)
	out := a.delimited()
	seq := int64(0)
	for at := from; at < to; {
		m := min(packetData, to-at)
		pkt := appendPacket(nil, packetHead{offset: int64(at), seq: seq}, data[at:at+m])
		if x.rot {
			pkt[len(pkt)-1] ^= 1
		}
		out = append(out, pkt...)
		at, seq = at+m, seq+1
		if x.cutAfter > 0 && seq >= int64(x.cutAfter) {
			_, _ = conn.Write(out)
			return false
		}
	}
	out = append(out, appendPacket(nil, packetHead{offset: int64(to), seq: seq, last: true}, nil)...)
	if _, err := conn.Write(out); err != nil {
		return false
	}
	_, err := readMessage(r)
	return err == nil
}
