package mysql

import (
	"context"
	"crypto/ed25519"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
)

// The reader rests when little came since it looked last, and never while something waits or where nobody knows.
func TestWhenTheReaderRests(t *testing.T) {
	ours, theirs := tcpPair(t)
	require.NoError(t, ours.(*net.TCPConn).SetReadBuffer(receiveBuffer))
	now := time.Now()
	l := newLull(ours, time.Second)
	require.Greater(t, l.few, 16<<10)
	look := func(read int) bool { now = now.Add(time.Second); return l.due(read, now) }
	require.False(t, look(0), "the first look knows nothing")
	require.True(t, look(1000))
	require.False(t, l.due(1000, now.Add(999*time.Millisecond)), "too soon to know")
	require.False(t, look(1000+l.few), "a lot came")
	require.True(t, look(1000+l.few), "no more")
	_, err := theirs.Write([]byte{1})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !nothingWaits(ours) }, time.Minute, time.Millisecond)
	require.False(t, look(1000+l.few), "more waits")
	_, err = ours.Read(make([]byte, 10))
	require.NoError(t, err)
	require.True(t, look(1001+l.few))

	pipe, _ := net.Pipe()
	l = newLull(pipe, time.Second)
	require.False(t, look(0))
	require.False(t, look(0), "who knows what waits")
	l = lull{}
	require.False(t, look(0))
	require.False(t, look(0), "not asked for")
}

// followed gives a stream that rests the log of transactions of a row each, over TCP.
func followed(t *testing.T, rest time.Duration, txns int, wrap func(ours, theirs net.Conn) (net.Conn, net.Conn)) (s *stream, cancel func(), ended chan error) {
	ours, theirs := tcpPair(t)
	conn, server := wrap(ours, theirs)
	f := newFakeStream()
	f.format("8.0.36", false)
	pos := uint32(1000)
	for i := range txns {
		for _, e := range txn(i+1, true, []int32{int32(i)}, rand.New(rand.NewPCG(1, 1))) {
			pos += 100
			e.endPos = pos
			f.event(e)
		}
	}
	s = testStream(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	s.ctx = ctx
	stop := closeOn(ctx, ours)
	ended = make(chan error, 2)
	go func() {
		for b := f.b; len(b) > 0; {
			n, err := server.Write(b[:min(len(b), 700)])
			if err != nil {
				return
			}
			b = b[n:]
		}
	}()
	go func() {
		err := (&dump{in: newPackets(conn, time.Hour), lull: newLull(ours, rest)}).follow(s)
		s.hand.fail(err)
		stop()
		ended <- err
	}()
	return s, cancel, ended
}

// A reader that rests takes all there is, in order, with TLS too, whose records may be received and not read yet.
func TestARestingReaderTakesAll(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(crand.Reader, about, about, public, private)
	require.NoError(t, err)
	cert := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
	for name, wrap := range map[string]func(ours, theirs net.Conn) (net.Conn, net.Conn){
		"plain": func(ours, theirs net.Conn) (net.Conn, net.Conn) { return ours, theirs },
		"TLS": func(ours, theirs net.Conn) (net.Conn, net.Conn) {
			return tls.Client(ours, &tls.Config{InsecureSkipVerify: true}), tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{cert}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			const txns = 3000
			s, cancel, ended := followed(t, time.Millisecond, txns, wrap)
			for want := int32(0); want < txns; {
				ev, err := s.hand.next(t.Context(), func() cdc.Position { return s.position() })
				require.NoError(t, err)
				if ev.Rows == nil {
					continue
				}
				for _, id := range ev.Rows.Cols[0].I32 {
					require.Equal(t, want, id)
					want++
				}
			}
			cancel()
			require.Error(t, <-ended)
		})
	}
}

func TestARestEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ours, _ := tcpPair(t)
	l := newLull(ours, time.Hour)
	done := make(chan error)
	go func() { done <- l.rest(ctx, newHandoff(oneInt(t), 0)) }()
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}
