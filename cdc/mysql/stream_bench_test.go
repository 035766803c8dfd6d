package mysql

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/packet"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/stretchr/testify/require"
)

// benchStream is a stream that follows the wide table, and a log of n changes to it, perTxn in a transaction, each an event of
// its own.
func benchStream(t testing.TB, n, perTxn int) (*stream, *fakeStream) {
	s := testStream(t, true)
	d, tm, e, target := wideTable(t)
	body := bytes.Clone(tm.body)
	s.src.cfg = &Config{Database: tm.Schema, Table: tm.Table}
	s.src.logColumns, s.src.target = d.cols, target
	s.src.table = newTableInfo(tm.Schema, tm.Table, d.cols, []string{"id"})
	s.hand = newHandoff(target, 0)
	s.hand.fill.boundary, s.hand.spare.boundary = true, true

	f := newFakeStream()
	f.event(event{kind: eventRotate, body: append([]byte{4, 0, 0, 0, 0, 0, 0, 0}, "binlog.000007"...)})
	f.format("8.0.36", false)
	pos := uint32(1000)
	give := func(kind byte, b []byte) {
		pos = (pos + uint32(eventHeader+len(b))) & (1<<31 - 1)
		f.event(event{kind: kind, time: 1700000000, server: 1, endPos: pos, body: b})
	}
	images := e.Images[:len(e.Images)/1000]
	rows := append(binary.LittleEndian.AppendUint64(nil, 1), 2, 0, byte(e.Columns))
	rows = append(append(rows, e.Present...), images...)
	for i := range n {
		if i%perTxn == 0 {
			give(eventGTID, bodyOfGTID(i/perTxn+1))
			give(eventQuery, bodyOfQuery("BEGIN"))
		}
		give(eventTableMap, body)
		give(eventWriteRowsV2, rows)
		if i%perTxn == perTxn-1 {
			give(eventXID, make([]byte, 8))
		}
	}
	return s, f
}

// drain takes what the stream has gathered, as Next does.
func (s *stream) drain() {
	h := s.hand
	h.mu.Lock()
	h.fill.reset()
	h.mu.Unlock()
}

// processorTime is what the process has used.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const benchChanges = 20000

func benchFollow(b *testing.B, perTxn int, run func(f *fakeStream, s *stream, take func(event) error)) {
	s, f := benchStream(b, benchChanges, perTxn)
	b.ReportAllocs()
	b.ResetTimer()
	from := processorTime(b)
	for range b.N {
		set, err := parseGTIDSet(flavorMySQL, "")
		require.NoError(b, err)
		s.gset = set
		run(f, s, func(e event) error {
			if s.hand.fill.batch.N >= softRows/2 {
				s.drain()
			}
			return s.take(e)
		})
	}
	b.ReportMetric(float64((processorTime(b)-from).Nanoseconds())/float64(b.N)/benchChanges, "cpu-ns/change")
}

func library(b *testing.B, f *fakeStream, take func(event) error) {
	c := packet.NewConnWithTimeout(fakeConn{r: bytes.NewReader(f.b)}, time.Hour, 0, 65536)
	c.Sequence = 1
	p := replication.NewBinlogParser()
	p.SetRawMode(true)
	for {
		data, err := c.ReadPacket()
		if err != nil {
			return
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Hour))
		e, err := p.Parse(data[1:])
		require.NoError(b, err)
		h := e.Header
		ev := event{kind: byte(h.EventType), flags: h.Flags, time: h.Timestamp, size: h.EventSize, endPos: h.LogPos, server: h.ServerID}
		switch g := e.Event.(type) {
		case *replication.GenericEvent:
			ev.body = g.Data
		default:
			ev.body = data[1+eventHeader:]
		}
		require.NoError(b, take(ev))
	}
}

func ours(b *testing.B, f *fakeStream, take func(event) error) {
	d := f.dump()
	for {
		e, err := d.next()
		if err != nil {
			return
		}
		if err := take(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFollow(b *testing.B) {
	for _, perTxn := range []int{1, 100} {
		name := fmt.Sprintf("%d a transaction", perTxn)
		nothing := func(event) error { return nil }
		b.Run(name+"/library, reading", func(b *testing.B) {
			benchFollow(b, perTxn, func(f *fakeStream, s *stream, take func(event) error) { library(b, f, nothing) })
		})
		b.Run(name+"/library, all", func(b *testing.B) {
			benchFollow(b, perTxn, func(f *fakeStream, s *stream, take func(event) error) { library(b, f, take) })
		})
		b.Run(name+"/ours, reading", func(b *testing.B) {
			benchFollow(b, perTxn, func(f *fakeStream, s *stream, take func(event) error) { ours(b, f, nothing) })
		})
		b.Run(name+"/ours, all", func(b *testing.B) {
			benchFollow(b, perTxn, func(f *fakeStream, s *stream, take func(event) error) { ours(b, f, take) })
		})
	}
}
