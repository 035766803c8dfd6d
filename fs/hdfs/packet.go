package hdfs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	chunkSize     = 512
	packetData    = 256 << 10 // Java sends 64 KiB; each packet costs every DataNode some calls and an answer
	maxPacket     = 16 << 20
	maxPacketHead = 1 << 10
	heartbeatSeq  = -1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packetHead is in front of each packet's checksums and data.
type packetHead struct {
	offset int64
	seq    int64
	last   bool
	sync   bool
	data   int
}

func (h packetHead) append(b []byte) []byte {
	e := enc(b)
	// NameNode and DataNodes rely on the length of the header being the same for all packets, so all fields are sent.
	e.fixed64(1, uint64(h.offset)).fixed64(2, uint64(h.seq)).flag(3, h.last).fixed32(4, uint32(h.data))
	if h.sync {
		e.flag(5, true)
	}
	return e
}

func parsePacketHead(b []byte) (packetHead, error) {
	var h packetHead
	err := fields(b, func(f field) error {
		switch f.id {
		case 1:
			h.offset = int64(f.num)
		case 2:
			h.seq = int64(f.num)
		case 3:
			h.last = f.num != 0
		case 4:
			h.data = int(int32(f.num))
		}
		return nil
	})
	if err == nil && (h.data < 0 || h.data > maxPacket || h.offset < 0) {
		err = fmt.Errorf("%w: packet of %d bytes at %d", errWire, h.data, h.offset)
	}
	return h, err
}

// appendPacket makes a packet: what goes before the data, and the data.
func appendPacket(b []byte, h packetHead, data []byte) []byte {
	return append(appendFront(b, h, data), data...)
}

// appendFront makes what is in front of a packet's data: length of checksums and data and itself, length of the header, header,
// checksums.
func appendFront(b []byte, h packetHead, data []byte) []byte {
	h.data = len(data)
	sums := (len(data) + chunkSize - 1) / chunkSize
	b = binary.BigEndian.AppendUint32(b, uint32(4+4*sums+len(data)))
	at := len(b)
	b = append(b, 0, 0)
	b = h.append(b)
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	for rest := data; len(rest) > 0; {
		n := min(chunkSize, len(rest))
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(rest[:n], castagnoli))
		rest = rest[n:]
	}
	return b
}

// packetReader takes packets apart and verifies their checksums.
type packetReader struct {
	r     io.Reader
	table *crc32.Table // nil: no checksums
	chunk int
	buf   []byte
}

func newPacketReader(r io.Reader, a opAnswer) (*packetReader, error) {
	p := &packetReader{r: r, chunk: a.perSum}
	switch a.checksum {
	case checksumNull:
		return p, nil
	case checksumCRC32:
		p.table = crc32.IEEETable
	case checksumCRC32C:
		p.table = castagnoli
	default:
		return nil, fmt.Errorf("%w: checksum type %d", errWire, a.checksum)
	}
	if p.chunk <= 0 || p.chunk > maxPacket {
		return nil, fmt.Errorf("%w: %d bytes per checksum", errWire, p.chunk)
	}
	return p, nil
}

// next returns the data of the next packet, good until the next call. If it fits into dst it is read right there.
func (p *packetReader) next(dst []byte) (packetHead, []byte, error) {
	var fixed [6]byte
	if _, err := io.ReadFull(p.r, fixed[:]); err != nil {
		return packetHead{}, nil, noEOF(err)
	}
	length, headLen := int(int32(binary.BigEndian.Uint32(fixed[:]))), int(binary.BigEndian.Uint16(fixed[4:]))
	if length < 4 || length > maxPacket || headLen > maxPacketHead {
		return packetHead{}, nil, fmt.Errorf("%w: packet of %d bytes", errWire, length)
	}
	head, err := p.fill(headLen)
	if err != nil {
		return packetHead{}, nil, err
	}
	h, err := parsePacketHead(head)
	if err != nil {
		return h, nil, err
	}
	if h.data > length-4 {
		return h, nil, fmt.Errorf("%w: packet is too short", errWire)
	}
	sumLen := length - 4 - h.data
	if h.data <= len(dst) {
		sums, err := p.fill(sumLen)
		if err != nil {
			return h, nil, err
		}
		if _, err := io.ReadFull(p.r, dst[:h.data]); err != nil {
			return h, nil, noEOF(err)
		}
		return h, dst[:h.data], p.verify(sums, dst[:h.data])
	}
	b, err := p.fill(length - 4)
	if err != nil {
		return h, nil, err
	}
	return h, b[sumLen:], p.verify(b[:sumLen], b[sumLen:])
}

// fill reads n bytes into the reader's own buffer.
func (p *packetReader) fill(n int) ([]byte, error) {
	if cap(p.buf) < n {
		p.buf = make([]byte, n)
	}
	_, err := io.ReadFull(p.r, p.buf[:n])
	return p.buf[:n], noEOF(err)
}

func (p *packetReader) verify(sums, data []byte) error {
	if p.table == nil {
		return nil
	}
	if want := (len(data) + p.chunk - 1) / p.chunk * 4; len(sums) != want {
		return fmt.Errorf("%w: %d bytes of checksums for %d bytes", errWire, len(sums), len(data))
	}
	for len(data) > 0 {
		n := min(p.chunk, len(data))
		if crc32.Checksum(data[:n], p.table) != binary.BigEndian.Uint32(sums) {
			return errChecksum
		}
		sums, data = sums[4:], data[n:]
	}
	return nil
}

var errChecksum = fmt.Errorf("checksum of the data does not match")

// ack is a DataNode's answer to a packet, with a status for each node of the pipeline.
type ack struct {
	seq     int64
	replies []uint64
}

func parseAck(b []byte) (ack, error) {
	var a ack
	var flags []uint64
	err := fields(b, func(f field) (err error) {
		switch f.id {
		case 1:
			a.seq = int64(f.num>>1) ^ -int64(f.num&1)
		case 2:
			a.replies, err = appendEnums(a.replies, f)
		case 4:
			flags, err = appendEnums(flags, f)
		}
		return err
	})
	// Newer DataNodes say the same in flags, whose lowest four bits are the status.
	if len(a.replies) == 0 {
		for _, f := range flags {
			a.replies = append(a.replies, f&15)
		}
	}
	return a, err
}
