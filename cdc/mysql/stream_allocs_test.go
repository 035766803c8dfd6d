//go:build !race

package mysql

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// TestAllocationsOfFollowing is a gate: an event of the log allocates nothing, from the connection to the batch. A stream of twice
// the length allocates as much as the simple one.
func TestAllocationsOfFollowing(t *testing.T) {
	follow := func(n, perTxn int) float64 {
		s, f := benchStream(t, n, perTxn)
		in := &fakeConn{r: bytes.NewReader(f.b)}
		d := &dump{in: newPackets(in, 1<<60)}
		empty, err := parseGTIDSet(flavorMySQL, "0e501230-ec2d-11f1-a3ef-02fc00000002:1-5:7-8")
		require.NoError(t, err)
		return testing.AllocsPerRun(3, func() {
			s.gset = empty.clone()
			s.gset.near = &nearInterval{}
			in.r = bytes.NewReader(f.b)
			d.in.seq, d.in.r, d.in.w = 1, 0, 0
			for {
				e, err := d.next()
				if err != nil {
					return
				}
				if s.hand.fill.batch.N >= 400 {
					s.drain()
				}
				if err := s.take(e); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for _, perTxn := range []int{1, 10} {
		require.Equal(t, follow(2000, perTxn), follow(4000, perTxn), "%d rows a transaction", perTxn)
	}
}

// Large packets too, and the events of compressed transactions, as long as they have the same size about.
func TestAllocationsOfLargeEvents(t *testing.T) {
	read := func(n int) float64 {
		f := newFakeStream()
		for range n {
			f.event(event{kind: eventWriteRowsV2, body: make([]byte, 3*readBuffer)})
		}
		in := &fakeConn{}
		d := &dump{in: newPackets(in, 1<<60)}
		return testing.AllocsPerRun(3, func() {
			in.r = bytes.NewReader(f.b)
			d.in.seq, d.in.r, d.in.w = 1, 0, 0
			for i := range n {
				if _, err := d.next(); err != nil {
					t.Fatal(i, err)
				}
			}
		})
	}
	require.Equal(t, read(4), read(8))

	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	inflate := func(n int) float64 {
		plain := plainEvents(txn(1, false, make([]int32, n), rand.New(rand.NewPCG(1, 1))))
		body := payloadOf(z, len(plain), plain)
		var f inflater
		return testing.AllocsPerRun(3, func() {
			if err := f.events(body, func(event) error { return nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	require.Equal(t, inflate(500), inflate(1000))
}
