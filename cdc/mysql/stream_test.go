package mysql

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
)

// testStream is a stream of the table d.t (id int) without a server.
func testStream(t testing.TB, gtids bool) *stream {
	cols := columns(t, "id int")
	src := &Source{table: newTableInfo("d", "t", cols, []string{"id"}), cfg: &Config{Database: "d", Table: "t"}, flavor: flavorMySQL, logColumns: cols, target: oneInt(t), targetKey: []string{"id"},
		log: slog.New(slog.DiscardHandler)}
	s := &stream{src: src, hand: newHandoff(src.target, 0), maps: map[uint64]*watched{}, ctx: t.Context(), file: "log.1"}
	s.hand.fill.boundary, s.hand.spare.boundary = true, true
	if gtids {
		var err error
		s.gset, err = parseGTIDSet(flavorMySQL, "")
		require.NoError(t, err)
	}
	return s
}

func bodyOfMap() []byte {
	return []byte{9, 0, 0, 0, 0, 0, 1, 0, 1, 'd', 0, 1, 't', 0, 1, typeLong, 0, 1}
}

func bodyOfRows(ids []int32) []byte {
	b := []byte{9, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 0xff}
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(append(b, 0), uint32(id))
	}
	return b
}

func bodyOfQuery(sql string) []byte {
	return append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 'd', 0}, sql...)
}

func bodyOfGTID(n int) []byte {
	b := append([]byte{0}, "0123456789abcdef"...)
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	return append(append(b, 2), make([]byte, 16)...)
}

// txn is the events of a transaction; how its rows are cut into events is up to rng.
func txn(n int, gtids bool, ids []int32, rng *rand.Rand) []event {
	var events []event
	if gtids {
		events = append(events, event{kind: eventGTID, body: bodyOfGTID(n)})
	}
	events = append(events, event{kind: eventQuery, body: bodyOfQuery("BEGIN")})
	for len(ids) > 0 {
		k := 1 + rng.IntN(len(ids))
		events = append(events, event{kind: eventTableMap, body: bodyOfMap()}, event{kind: eventWriteRowsV2, body: bodyOfRows(ids[:k])})
		ids = ids[k:]
	}
	return append(events, event{kind: eventXID, body: make([]byte, 8)})
}

// TestStreamGoesOnWhereAConnectionWasLost loses the connection at random events. Each time the log comes again from the last
// position, with GTIDs as another replica may cut it into events. Every row must come once, in order.
func TestStreamGoesOnWhereAConnectionWasLost(t *testing.T) {
	for _, gtids := range []bool{false, true} {
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("gtids %v %d", gtids, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				const txns = 60
				var ids [txns][]int32
				next := int32(0)
				for i := range ids {
					n := rng.IntN(9)
					if seed%8 == 0 && rng.IntN(20) == 0 {
						n = rng.IntN(4 * hardRows) // handed over in several chunks
					}
					for range n {
						ids[i] = append(ids[i], next)
						next++
					}
				}
				s := testStream(t, gtids)
				go func() {
					s.hand.fail(feed(s, rng, gtids, ids[:]))
				}()
				want := int32(0)
				for {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					ev, err := s.hand.next(ctx, func() cdc.Position { return s.position() })
					cancel()
					if errors.Is(err, context.DeadlineExceeded) {
						continue
					}
					if errors.Is(err, io.EOF) {
						break
					}
					require.NoError(t, err)
					if ev.Rows != nil {
						for _, v := range ev.Rows.Cols[0].I32 {
							if v != want {
								require.Equal(t, want, v)
							}
							want++
						}
					}
				}
				require.Equal(t, next, want)
			})
		}
	}
}

// TestOthersBeforeTheCutTransaction: after a lost connection another replica may have many transactions before the one that was
// cut. They are no place to resume from, so that Next leaves them until they are very many; nobody may wait for it before.
func TestOthersBeforeTheCutTransaction(t *testing.T) {
	s := testStream(t, true)
	at := uint32(4)
	give := func(events []event) error {
		for _, e := range events {
			e.size = uint32(19 + len(e.body))
			at += e.size
			e.endPos = at
			if err := s.handle(e); err != nil {
				return err
			}
		}
		return nil
	}
	rng := rand.New(rand.NewPCG(1, 1))
	one := txn(1, true, []int32{-1, -2}, rng)
	go func() {
		s.hand.fail(func() error {
			if err := give(one[:len(one)-1]); err != nil {
				return err
			}
			s.cut()
			for i := range 3 * hardRows {
				if err := give(txn(2+i, true, []int32{int32(i)}, rng)); err != nil {
					return err
				}
			}
			if err := give(one); err != nil {
				return err
			}
			return io.EOF
		}())
	}()
	got := 0
	for {
		ev, err := s.hand.next(t.Context(), func() cdc.Position { return s.position() })
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if ev.Rows != nil {
			got += ev.Rows.N
		}
	}
	require.Equal(t, 2+3*hardRows, got)
}

// overwrite makes who has kept a body notice.
func overwrite(body []byte) {
	for i := range body {
		body[i] = 0xa5
	}
}

// feed plays transactions to a stream, with lost connections.
func feed(s *stream, rng *rand.Rand, gtids bool, ids [][]int32) error {
	layout := make([]uint64, len(ids)) // where each transaction of a log without GTIDs begins
	cut := make([][]event, len(ids))
	end := uint64(4)
	for i := range ids {
		layout[i] = end
		cut[i] = txn(i+1, gtids, ids[i], rng)
		for k := range cut[i] {
			cut[i][k].size = uint32(19 + len(cut[i][k].body))
			end += uint64(cut[i][k].size)
		}
	}
	s.doneFile, s.donePos = s.file, 4
	for {
		s.hand.mu.Lock()
		done := s.donePos
		s.hand.mu.Unlock()
		left := 1 + rng.IntN(60) // events until the connection is lost
		at := uint64(4)
		for i := range ids {
			if gtids {
				if s.gset.has(&gtid{is: true, sid: [16]byte([]byte("0123456789abcdef")), gno: int64(i + 1)}) {
					continue
				}
				cut[i] = txn(i+1, gtids, ids[i], rng)
			} else if at = layout[i]; at < done {
				continue
			}
			for _, e := range cut[i] {
				if left--; left < 0 {
					break
				}
				e.size = uint32(19 + len(e.body))
				at += uint64(e.size)
				e.endPos = uint32(at)
				e.body = bytes.Clone(e.body)
				if err := s.handle(e); err != nil {
					return err
				}
				overwrite(e.body) // as the next event does
			}
			if left < 0 {
				break
			}
		}
		if left >= 0 {
			return io.EOF
		}
		s.cut()
	}
}

// plainEvents is events as a compressed transaction has them.
func plainEvents(events []event) (plain []byte) {
	for _, e := range events {
		head := make([]byte, 19)
		head[4] = e.kind
		binary.LittleEndian.PutUint32(head[9:], uint32(19+len(e.body)))
		plain = append(append(plain, head...), e.body...)
	}
	return plain
}

// payloadOf is a compressed transaction that says that it has size bytes.
func payloadOf(z *zstd.Encoder, size int, data []byte) []byte {
	b := []byte{1, 4, 0xfd, byte(len(data)), byte(len(data) >> 8), byte(len(data) >> 16), 2, 1, 0, 3, 3, 0xfc, byte(size), byte(size >> 8), 0}
	return append(b, z.EncodeAll(data, nil)...)
}

func TestCompressedTransactions(t *testing.T) {
	plain := plainEvents(txn(1, false, []int32{1, 2, 3}, rand.New(rand.NewPCG(1, 1))))
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	payload := func(size int, data []byte) []byte { return payloadOf(z, size, data) }
	feed := func(body []byte) (*stream, error) {
		s := testStream(t, false)
		return s, s.handle(event{kind: eventPayload, endPos: 1000, body: body})
	}
	s, err := feed(payload(len(plain), plain))
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3}, s.hand.fill.batch.Cols[0].I32)
	require.True(t, s.hand.fill.boundary)
	require.EqualValues(t, 1000, s.donePos)

	for name, body := range map[string][]byte{
		"shorter than it says":  payload(len(plain), plain[:len(plain)-27]),
		"longer than it says":   payload(len(plain)-27, plain),
		"cut inside an event":   payload(len(plain)-3, plain[:len(plain)-3]),
		"not compressed at all": append(bytes.Clone(payload(len(plain), plain)[:15]), plain...),
		"no header":             {1, 3},
	} {
		_, err := feed(body)
		require.ErrorIs(t, err, cdc.ErrRefused, name)
	}
}

// TestWhatWasLoggedLongAgoIsPassedOver starts at the head of a file of a server without GTIDs.
func TestWhatWasLoggedLongAgoIsPassedOver(t *testing.T) {
	s := testStream(t, false)
	s.skipLogged = time.UnixMicro(2000)
	at := uint32(4)
	give := func(kind byte, body []byte) {
		at += uint32(19 + len(body))
		require.NoError(t, s.handle(event{kind: kind, body: body, size: uint32(19 + len(body)), endPos: at}))
	}
	anonymous := func(logged uint64) {
		b := bodyOfGTID(0)
		for i := range 7 {
			b = append(b, byte(logged>>(8*i)))
		}
		give(eventAnonymousGTID, b)
	}
	rows := func(id int32) {
		give(eventQuery, bodyOfQuery("BEGIN"))
		give(eventTableMap, bodyOfMap())
		give(eventWriteRowsV2, bodyOfRows([]int32{id}))
		give(eventXID, make([]byte, 8))
	}
	anonymous(1998)
	rows(1)
	anonymous(1999)
	give(eventQuery, bodyOfQuery("TRUNCATE t")) // would be refused
	anonymous(2000)
	rows(2)
	require.Equal(t, []int32{2}, s.hand.fill.batch.Cols[0].I32)
	require.EqualValues(t, at, s.donePos)
}

func TestAPanicEndsTheStream(t *testing.T) {
	s := testStream(t, false)
	tm, err := ParseTableMap(bodyOfMap(), false)
	require.NoError(t, err)
	s.maps[9] = &watched{tm: tm} // without a decoder
	fake := newFakeStream()
	fake.event(event{kind: eventWriteRowsV2, endPos: 100, body: bodyOfRows([]int32{1})})
	require.ErrorContains(t, fake.dump().follow(s), "nil pointer")
	require.Error(t, s.fatal)
	s.hand.fail(s.fatal)
	_, err = s.hand.next(t.Context(), nil)
	require.Equal(t, s.fatal, err)
}

func TestRollbackToASavepointInTheLogIsRefused(t *testing.T) {
	s := testStream(t, false)
	at := uint32(4)
	give := func(kind byte, body []byte) error {
		at += uint32(19 + len(body))
		return s.handle(event{kind: kind, body: body, size: uint32(19 + len(body)), endPos: at})
	}
	require.NoError(t, give(eventQuery, bodyOfQuery("BEGIN")))
	require.NoError(t, give(eventQuery, bodyOfQuery("SAVEPOINT `a`")))
	require.NoError(t, give(eventQuery, bodyOfQuery("ROLLBACK TO `a`")), "no rows of the table came")
	require.NoError(t, give(eventTableMap, bodyOfMap()))
	require.NoError(t, give(eventWriteRowsV2, bodyOfRows([]int32{1})))
	require.ErrorIs(t, give(eventQuery, bodyOfQuery("ROLLBACK TO `a`")), cdc.ErrRefused)
}
