package mysql

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// fakeStream is what a server sends after a dump command.
type fakeStream struct {
	b        []byte
	seq      byte
	checksum bool
}

func newFakeStream() *fakeStream { return &fakeStream{seq: 1} }

// packet appends a payload, cut into packets as a server does.
func (f *fakeStream) packet(payload []byte) {
	for {
		n := min(len(payload), fullPacket)
		f.b = append(f.b, byte(n), byte(n>>8), byte(n>>16), f.seq)
		f.b = append(f.b, payload[:n]...)
		f.seq++
		if payload = payload[n:]; n < fullPacket {
			return
		}
	}
}

func (f *fakeStream) event(e event) {
	body := e.body
	if f.checksum {
		body = append(bytes.Clone(body), 0, 0, 0, 0)
	}
	b := make([]byte, 1+eventHeader, 1+eventHeader+len(body))
	binary.LittleEndian.PutUint32(b[1:], e.time)
	b[5] = e.kind
	binary.LittleEndian.PutUint32(b[6:], e.server)
	binary.LittleEndian.PutUint32(b[10:], uint32(eventHeader+len(body)))
	binary.LittleEndian.PutUint32(b[14:], e.endPos)
	binary.LittleEndian.PutUint16(b[18:], e.flags)
	b = append(b, body...)
	if f.checksum {
		binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.ChecksumIEEE(b[1:len(b)-4]))
	}
	f.packet(b)
}

// format appends the description of a file of a server version.
func (f *fakeStream) format(version string, checksum bool) {
	b := make([]byte, 2+50+4+1+30+1+4)
	copy(b[2:], version)
	b[56] = eventHeader
	if checksum {
		b[len(b)-5] = 1
	}
	f.checksum = false
	f.event(event{kind: eventFormat, body: b})
	f.checksum = checksum
}

func (f *fakeStream) dump() *dump { return dumpOf(bytes.NewReader(f.b)) }

func dumpOf(r io.Reader) *dump { return &dump{in: newPackets(fakeConn{r: r}, time.Hour)} }

// fakeConn is a connection of bytes that are there already.
type fakeConn struct {
	net.Conn
	r io.Reader
}

func (c fakeConn) Read(p []byte) (int, error)      { return c.r.Read(p) }
func (c fakeConn) SetReadDeadline(time.Time) error { return nil }

// all reads all events, each with its own copy of the body, until the error.
func (d *dump) all() (events []event, err error) {
	for {
		e, err := d.next()
		if err != nil {
			return events, err
		}
		e.body = bytes.Clone(e.body)
		events = append(events, e)
	}
}

// cutReader gives reads of random lengths.
type cutReader struct {
	r   io.Reader
	rng *rand.Rand
}

func (c cutReader) Read(p []byte) (int, error) {
	return c.r.Read(p[:min(len(p), 1+c.rng.IntN(1+c.rng.IntN(600<<10)))])
}

func eventsOf(rng *rand.Rand, n, most int) (f *fakeStream, want []event) {
	f = newFakeStream()
	for range n {
		e := event{kind: byte(1 + rng.IntN(41)), flags: uint16(rng.Uint32()), time: rng.Uint32(), endPos: rng.Uint32(), server: rng.Uint32(),
			body: make([]byte, rng.IntN(1+rng.IntN(most)))}
		if e.kind == eventFormat {
			e.kind = eventXID
		}
		for i := range e.body {
			e.body[i] = byte(rng.Uint32())
		}
		e.size = uint32(eventHeader + len(e.body))
		want = append(want, e)
		f.event(e)
	}
	return f, want
}

func TestEventsCutByReads(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		f, want := eventsOf(rng, 40, []int{60, 3000, 2 * readBuffer}[seed%3])
		got, err := dumpOf(cutReader{bytes.NewReader(f.b), rng}).all()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, want, got)
	}
	f, want := eventsOf(rand.New(rand.NewPCG(1, 1)), 300, 200)
	for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(f.b)), iotest.DataErrReader(bytes.NewReader(f.b))} {
		got, err := dumpOf(r).all()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, want, got)
	}
}

// Packets around the size of the buffer, and events that need one, two and three packets, with those of just full ones.
func TestLargeEvents(t *testing.T) {
	pattern := make([]byte, 2*fullPacket+100)
	for i := range pattern {
		pattern[i] = byte(i ^ i>>8 ^ i>>16)
	}
	for _, payload := range []int{readBuffer - 1, readBuffer, readBuffer + 1, fullPacket - 1, fullPacket, fullPacket + 1, fullPacket + readBuffer, 2 * fullPacket, 2*fullPacket + 77} {
		f := newFakeStream()
		small := event{kind: eventXID, size: eventHeader + 8, body: []byte("12345678")}
		large := event{kind: eventWriteRowsV2, body: pattern[:payload-1-eventHeader]}
		large.size = uint32(eventHeader + len(large.body))
		f.event(small)
		f.event(large)
		f.event(small)
		d := f.dump()
		for _, want := range []event{small, large, small} {
			got, err := d.next()
			require.NoError(t, err)
			require.Equal(t, want.size, got.size)
			require.True(t, bytes.Equal(want.body, got.body), "%d bytes", payload)
		}
		_, err := d.next()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.LessOrEqual(t, cap(d.in.large), keptBuffer)
	}
}

// An event that says it is small must not make a stream of full packets fill the memory.
func TestAPacketThatGoesOnPastItsEvent(t *testing.T) {
	f := newFakeStream()
	b := make([]byte, fullPacket+1000)
	binary.LittleEndian.PutUint32(b[10:], 100)
	f.packet(b)
	_, err := f.dump().all()
	require.ErrorIs(t, err, ErrMalformed)
}

// A connection that is cut at any byte gives the whole events before it, and an error that a new connection mends.
func TestAConnectionCutAtEveryByte(t *testing.T) {
	f, want := eventsOf(rand.New(rand.NewPCG(5, 5)), 12, 40)
	at := 0
	for cut := range len(f.b) {
		whole := 0
		for at = 0; whole < len(want); whole++ {
			if at += 5 + int(want[whole].size); at > cut {
				break
			}
		}
		got, err := dumpOf(bytes.NewReader(f.b[:cut])).all()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NotErrorIs(t, err, io.EOF)
		require.NoError(t, terminal(err, ""))
		require.Equal(t, want[:whole], append([]event{}, got...), "cut at %d", cut)
	}
}

func TestErrorsOfTheServerInTheStream(t *testing.T) {
	errPacket := func(code uint16, text string) []byte {
		return append(binary.LittleEndian.AppendUint16([]byte{0xff}, code), text...)
	}
	for name, c := range map[string]struct {
		payload []byte
		check   func(t *testing.T, err error)
	}{
		"position lost": {errPacket(1236, "#HY000Could not find first log file name in binary log index file"), func(t *testing.T, err error) {
			require.ErrorContains(t, terminal(err, "x:1"), "the server no longer has the log after x:1")
		}},
		"same server": {errPacket(1236, "#HY000A slave with the same server_uuid/server_id as this slave has connected to the master"), func(t *testing.T, err error) {
			require.ErrorContains(t, terminal(err, ""), "another client with our server-id")
		}},
		"same server, MariaDB": {errPacket(4052, "#HY000A slave with the same server_uuid/server_id is already connected"), func(t *testing.T, err error) {
			require.ErrorContains(t, terminal(err, ""), "another client with our server-id")
		}},
		"large event": {errPacket(1236, "#HY000log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source"), func(t *testing.T, err error) {
			require.ErrorContains(t, terminal(err, ""), "raise its max_allowed_packet")
		}},
		"no privilege": {errPacket(1227, "#42000Access denied; you need REPLICATION SLAVE"), func(t *testing.T, err error) {
			require.ErrorContains(t, terminal(err, ""), "Access denied")
		}},
		"shutdown": {errPacket(1053, "#08S01Server shutdown in progress"), func(t *testing.T, err error) {
			var e *gomysql.MyError
			require.ErrorAs(t, err, &e)
			require.Equal(t, gomysql.MyError{Code: 1053, State: "08S01", Message: "Server shutdown in progress"}, *e)
			require.NoError(t, terminal(err, ""))
		}},
		"an error without a state": {errPacket(1236, "no"), func(t *testing.T, err error) { require.Error(t, terminal(err, "")) }},
		"an error cut":             {[]byte{0xff, 1}, func(t *testing.T, err error) { require.ErrorIs(t, err, ErrMalformed) }},
		"end":                      {[]byte{0xfe, 0, 0, 2, 0}, func(t *testing.T, err error) { require.ErrorIs(t, err, errStreamEnded) }},
		"empty":                    {nil, func(t *testing.T, err error) { require.ErrorIs(t, err, ErrMalformed) }},
		"no event":                 {[]byte("\x01what is this? it is long enough"), func(t *testing.T, err error) { require.ErrorIs(t, err, ErrMalformed) }},
		"an event of another size": {append(make([]byte, 10), "123456789012"...), func(t *testing.T, err error) { require.ErrorIs(t, err, ErrMalformed) }},
	} {
		t.Run(name, func(t *testing.T) {
			f, want := eventsOf(rand.New(rand.NewPCG(5, 5)), 3, 40)
			f.packet(c.payload)
			got, err := f.dump().all()
			require.Equal(t, want, got)
			c.check(t, err)
		})
	}
}

func TestAMissingPacketIsNoticed(t *testing.T) {
	f, want := eventsOf(rand.New(rand.NewPCG(5, 5)), 300, 4) // the number goes round
	got, err := f.dump().all()
	require.Equal(t, want, got)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	f.seq++
	f.event(want[0])
	got, err = f.dump().all()
	require.Equal(t, want, got)
	require.ErrorIs(t, err, ErrMalformed)
	require.NoError(t, terminal(err, ""))
}

// Whether events have a checksum is said anew by each file; the rotate event that comes first of all has none.
func TestChecksumsAreTakenOff(t *testing.T) {
	f := newFakeStream()
	rotate := event{kind: eventRotate, body: append(make([]byte, 8), "binlog.000007"...)}
	query := event{kind: eventQuery, body: []byte("abc")}
	want := [][]byte{}
	for _, c := range []struct {
		version string
		on      bool
	}{{"8.0.36", false}, {"8.0.36-debug", true}, {"5.5.62", false}, {"10.11.8-MariaDB-log", true}, {"9.7.0", false}} {
		f.event(rotate)
		f.format(c.version, c.on)
		f.event(query)
		want = append(want, rotate.body, query.body)
	}
	events, err := f.dump().all()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	events = slices.DeleteFunc(events, func(e event) bool { return e.kind == eventFormat })
	for i := range want {
		require.Equal(t, want[i], events[i].body, i)
	}
	f = newFakeStream()
	f.format("8.0.36", true)
	f.checksum = false
	f.event(event{kind: eventXID, body: []byte("123")})
	_, err = f.dump().all()
	require.ErrorIs(t, err, ErrMalformed)
}

// tcpPair is a connection with its other end.
func tcpPair(t *testing.T) (ours, theirs net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ours, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	theirs, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	return ours, theirs
}

func TestASilentServerIsNoticed(t *testing.T) {
	ours, theirs := tcpPair(t)
	f, want := eventsOf(rand.New(rand.NewPCG(5, 5)), 3, 40)
	_, err := theirs.Write(f.b[:len(f.b)-1])
	require.NoError(t, err)
	d := &dump{in: newPackets(ours, 50*time.Millisecond)}
	got, err := d.all()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.ErrorContains(t, err, "nothing came from the server for 50ms")
	require.NoError(t, terminal(err, ""))
	require.Equal(t, want[:2], got)
}

// Ending the context ends a read that waits, with TLS too, and nothing is left behind.
func TestAWaitingReadIsEnded(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"plain": func(c net.Conn) net.Conn { return c },
		"TLS":   func(c net.Conn) net.Conn { return tls.Client(c, &tls.Config{InsecureSkipVerify: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			ours, theirs := tcpPair(t)
			conn := wrap(ours)
			ctx, cancel := context.WithCancel(t.Context())
			stop := closeOn(ctx, socket(conn))
			done := make(chan error)
			go func() {
				defer close(done)
				_, err := (&dump{in: newPackets(conn, time.Hour)}).all()
				done <- err
			}()
			if name == "TLS" { // its hello: the reader waits for the answer
				_, err := io.ReadFull(theirs, make([]byte, 5))
				require.NoError(t, err)
			}
			cancel()
			require.ErrorIs(t, <-done, net.ErrClosed)
			<-done
			stop()
			_, err := io.Copy(io.Discard, theirs)
			if err != nil { // what it sent was not read
				require.ErrorIs(t, err, syscall.ECONNRESET)
			}
		})
	}
}

// deadlines counts how often the read deadline is set, and how far it is from now when a read begins.
type deadlines struct {
	net.Conn
	set     int
	at      time.Time
	nearest time.Duration
}

func (c *deadlines) SetReadDeadline(t time.Time) error {
	c.set++
	c.at = t
	return nil
}

func (c *deadlines) Read(p []byte) (int, error) {
	c.nearest = min(c.nearest, time.Until(c.at))
	return 1, nil
}

func TestTheDeadlineIsNeverNear(t *testing.T) {
	c := &deadlines{nearest: time.Hour}
	p := newPackets(c, time.Minute)
	for range 10000 {
		_, err := p.read(p.buf)
		require.NoError(t, err)
	}
	require.Less(t, c.set, 20)
	require.Greater(t, c.nearest, 45*time.Second)
	p.armed = time.Now().Add(-time.Hour) // the handler took that long
	c.at, c.nearest = time.Now().Add(-time.Minute), time.Hour
	_, err := p.read(p.buf)
	require.NoError(t, err)
	require.Greater(t, c.nearest, 45*time.Second)
}

// FuzzPackets gives any bytes, in reads of several lengths: the same events and error must come, without a panic.
func FuzzPackets(f *testing.F) {
	s, _ := eventsOf(rand.New(rand.NewPCG(5, 5)), 4, 40)
	f.Add(s.b)
	s.packet([]byte{0xff, 1, 0, '#'})
	f.Add(s.b)
	s = newFakeStream()
	s.format("8.0.36", true)
	s.event(event{kind: eventXID, body: make([]byte, 8)})
	s.event(event{kind: eventRotate, body: append(make([]byte, 8), "binlog.000007"...)})
	f.Add(s.b)
	f.Add([]byte{0xff, 0xff, 0xff, 1, 0, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		one, oneErr := dumpOf(bytes.NewReader(b)).all()
		two, twoErr := dumpOf(iotest.HalfReader(iotest.OneByteReader(bytes.NewReader(b)))).all()
		require.Equal(t, one, two)
		require.Equal(t, fmt.Sprint(oneErr), fmt.Sprint(twoErr))
		require.False(t, errors.Is(oneErr, io.EOF))
		st := testStream(t, true)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		st.ctx = ctx // nobody takes the rows
		require.Error(t, dumpOf(bytes.NewReader(b)).follow(st))
	})
}
