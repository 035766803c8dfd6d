package hdfs

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// What follows a handshake travels in frames: a length, the data (encrypted together with the first ten bytes of its HMAC-MD5, or
// followed by them), the number 1 in two bytes, and the frame's number.

const (
	macSize   = 10
	trailSize = 6
	// Java's side takes frames of at most 64 KiB.
	frameData = 64<<10 - 256
	maxFrame  = 1 << 20
)

// protect returns the connection for what follows the handshake.
func (d *digest) protect(c net.Conn, r *bufio.Reader, o *cipherOption) (net.Conn, error) {
	if d.qop == qopAuth {
		return &plainConn{c, r}, nil
	}
	p, err := d.framed(c, r)
	if err != nil || o == nil || d.qop != qopPrivacy {
		return p, err
	}
	return p.aes(o)
}

// plainConn reads on from the buffer of the handshake.
type plainConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *plainConn) Read(b []byte) (int, error) { return c.r.Read(b) }

// framedConn signs and encrypts.
type framedConn struct {
	net.Conn
	r        *bufio.Reader
	out, in  seal
	writeBuf []byte
	readBuf  []byte
	plain    []byte // of the last frame, not yet read
}

// seal is one direction.
type seal struct {
	key    []byte
	cipher *rc4.Cipher // nil: only signed
	seq    uint32
}

func (d *digest) framed(c net.Conn, r *bufio.Reader) (*framedConn, error) {
	secret := d.secret()
	f := &framedConn{Conn: c, r: r}
	f.out.key = derive(secret, "Digest session key to client-to-server signing key magic constant")
	f.in.key = derive(secret, "Digest session key to server-to-client signing key magic constant")
	if d.qop != qopPrivacy {
		return f, nil
	}
	n := map[string]int{"rc4": md5.Size, "rc4-56": 7, "rc4-40": 5}[d.cipher]
	var errOut, errIn error
	f.out.cipher, errOut = rc4.NewCipher(derive(secret[:n], "Digest H(A1) to client-to-server sealing key magic constant"))
	f.in.cipher, errIn = rc4.NewCipher(derive(secret[:n], "Digest H(A1) to server-to-client sealing key magic constant"))
	return f, errors.Join(errOut, errIn)
}

func derive(secret []byte, magic string) []byte {
	h := md5.Sum(append(append([]byte{}, secret...), magic...))
	return h[:]
}

func (s *seal) mac(data []byte) []byte {
	h := hmac.New(md5.New, s.key)
	_, _ = h.Write(binary.BigEndian.AppendUint32(nil, s.seq))
	_, _ = h.Write(data)
	return h.Sum(nil)[:macSize]
}

// append adds the frame of data, without its length.
func (s *seal) append(b, data []byte) []byte {
	at := len(b)
	b = append(b, data...)
	b = append(b, s.mac(data)...)
	if s.cipher != nil {
		s.cipher.XORKeyStream(b[at:], b[at:])
	}
	b = append(b, 0, 1)
	b = binary.BigEndian.AppendUint32(b, s.seq)
	s.seq++
	return b
}

// open returns the data of a frame, in its place.
func (s *seal) open(frame []byte) ([]byte, error) {
	if len(frame) < macSize+trailSize {
		return nil, fmt.Errorf("%w: frame of %d bytes", errWire, len(frame))
	}
	body, trail := frame[:len(frame)-trailSize], frame[len(frame)-trailSize:]
	if s.cipher != nil {
		s.cipher.XORKeyStream(body, body)
	}
	data := body[:len(body)-macSize]
	if binary.BigEndian.Uint16(trail) != 1 || binary.BigEndian.Uint32(trail[2:]) != s.seq || !hmac.Equal(s.mac(data), body[len(data):]) {
		return nil, errors.New("a frame's signature is wrong")
	}
	s.seq++
	return data, nil
}

func (c *framedConn) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n := min(frameData, len(b)-done)
		f := append(c.writeBuf[:0], 0, 0, 0, 0)
		f = c.out.append(f, b[done:done+n])
		binary.BigEndian.PutUint32(f, uint32(len(f)-4))
		c.writeBuf = f
		if _, err := c.Conn.Write(f); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

func (c *framedConn) Read(b []byte) (int, error) {
	for len(c.plain) == 0 {
		var head [4]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(head[:])
		if n > maxFrame {
			return 0, fmt.Errorf("%w: frame of %d bytes", errWire, n)
		}
		if cap(c.readBuf) < int(n) {
			c.readBuf = make([]byte, n)
		}
		f := c.readBuf[:n]
		if _, err := io.ReadFull(c.r, f); err != nil {
			return 0, noEOF(err)
		}
		data, err := c.in.open(f)
		if err != nil {
			return 0, err
		}
		c.plain = data
	}
	n := copy(b, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}

// aes changes from frames to a stream encrypted by AES, whose keys came in two frames.
func (c *framedConn) aes(o *cipherOption) (net.Conn, error) {
	inKey, err := c.in.open(append([]byte{}, o.inKey...))
	if err != nil {
		return nil, err
	}
	outKey, err := c.in.open(append([]byte{}, o.outKey...))
	if err != nil {
		return nil, err
	}
	enc, err := aes.NewCipher(inKey)
	if err != nil {
		return nil, err
	}
	dec, err := aes.NewCipher(outKey)
	if err != nil {
		return nil, err
	}
	if len(o.inIV) != aes.BlockSize || len(o.outIV) != aes.BlockSize {
		return nil, fmt.Errorf("%w: initialisation vectors of %d and %d bytes", errWire, len(o.inIV), len(o.outIV))
	}
	return &aesConn{Conn: c.Conn, r: c.r, enc: cipher.NewCTR(enc, o.inIV), dec: cipher.NewCTR(dec, o.outIV)}, nil
}

type aesConn struct {
	net.Conn
	r        *bufio.Reader
	enc, dec cipher.Stream
	buf      []byte
}

func (c *aesConn) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.dec.XORKeyStream(b[:n], b[:n])
	return n, err
}

func (c *aesConn) Write(b []byte) (int, error) {
	c.buf = append(c.buf[:0], b...)
	c.enc.XORKeyStream(c.buf, c.buf)
	return c.Conn.Write(c.buf)
}
