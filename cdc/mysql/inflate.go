package mysql

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxPayload bounds what a compressed transaction may grow to.
const maxPayload = 4 << 30

// inflater takes compressed transactions (binlog_transaction_compression) apart, one event at a time: a transaction may be
// far larger than memory. The zero value is ready.
type inflater struct {
	zstd *zstd.Decoder
	body []byte // of the event
}

// events gives the events of a payload. They have no place in the file and no checksum; each is valid until the next. An error of take is returned as it
// is, others wrap ErrMalformed.
func (f *inflater) events(body []byte, take func(event) error) error {
	in, left, err := f.open(body)
	if err != nil {
		return err
	}
	var head [19]byte
	for left > 0 {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return malformed("a compressed transaction ends with %d bytes to come: %s", left, err.Error())
		}
		size := uintLE(head[9:13])
		if size < uint64(len(head)) || size > left {
			return malformed("a compressed transaction with an event of %d bytes where %d are left", size, left)
		}
		left -= size
		e := eventOf(head[:])
		e.endPos = 0
		if f.body, err = readInto(f.body, in, int(size)-len(head)); err != nil {
			return malformed("a compressed transaction ends inside an event of %d bytes: %s", size, err.Error())
		}
		e.body = f.body
		if err := take(e); err != nil {
			return err
		}
	}
	if _, err := io.ReadFull(in, head[:1]); err != io.EOF {
		return malformed("a compressed transaction is longer than it says")
	}
	return nil
}

// open reads the header of a payload and returns the events as bytes, and how many.
func (f *inflater) open(body []byte) (io.Reader, uint64, error) {
	r := reader{b: body}
	var algorithm, size uint64
	for {
		field := r.lenenc()
		if field == 0 || r.bad { // the end mark
			break
		}
		v := reader{b: r.take(int(r.lenenc()))}
		switch field {
		case 2:
			algorithm = v.lenenc()
		case 3:
			size = v.lenenc()
		}
	}
	if r.bad || size > maxPayload {
		return nil, 0, malformed("a header of %d bytes, %d uncompressed", len(body), size)
	}
	switch algorithm {
	case 255: // none
		return bytes.NewReader(r.b), uint64(len(r.b)), nil
	case 0:
	default:
		return nil, 0, malformed("compression %d", algorithm)
	}
	if f.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(512<<20))
		if err != nil {
			return nil, 0, err
		}
		f.zstd = z
	}
	if err := f.zstd.Reset(bytes.NewReader(r.b)); err != nil {
		return nil, 0, malformed("a compressed transaction: %s", err.Error())
	}
	return f.zstd, size, nil
}
