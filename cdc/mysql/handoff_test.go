package mysql

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

func oneInt(t testing.TB) *row.Type { return targetType(t, columns(t, "id int"), TypeOptions{}) }

// put appends a row as the reader of the log does.
func (h *handoff) put(ctx context.Context, v int32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.waitBelow(ctx, hardRows, hardBytes); err != nil {
		return err
	}
	h.fill.batch.Cols[0].AppendI32(v)
	h.fill.batch.EndRow(row.Insert)
	h.fill.boundary = false
	return nil
}

// end ends a transaction as the reader of the log does; n is its position.
func (h *handoff) end(ctx context.Context, n *int, to int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	*n = to
	h.fill.boundary, h.fill.moved, h.fill.whole = true, true, h.fill.batch.N
	h.wake()
	return h.waitBelow(ctx, softRows, softBytes)
}

// TestHandoffGivesEveryRowOnceInOrder runs transactions of random sizes through, with a taker that is sometimes slow: each
// position must cover exactly the rows that came before it.
func TestHandoffGivesEveryRowOnceInOrder(t *testing.T) {
	for s := range uint64(20) {
		rng := rand.New(rand.NewPCG(s, 1))
		h := newHandoff(oneInt(t), time.Duration(s%3)*time.Millisecond)
		const total = 100_000
		done := 0 // rows in ended transactions: the position; guarded by h.mu
		go func() {
			ctx := context.Background()
			for i := 0; i < total; {
				for n := 1 + rng.IntN([]int{3, 3000, 40_000}[rng.IntN(3)]); n > 0 && i < total; n-- {
					_ = h.put(ctx, int32(i))
					i++
				}
				_ = h.end(ctx, &done, i)
			}
			h.fail(io.EOF)
		}()
		next, at := 0, 0
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
			ev, err := h.next(ctx, func() cdc.Position { at = done; return &Position{} })
			cancel()
			if errors.Is(err, io.EOF) {
				break
			}
			if errors.Is(err, context.DeadlineExceeded) {
				continue
			}
			require.NoError(t, err)
			if ev.Rows != nil {
				for _, v := range ev.Rows.Cols[0].I32 {
					require.EqualValues(t, next, v)
					next++
				}
				require.LessOrEqual(t, ev.Rows.N, hardRows+1)
			}
			if ev.Pos != nil {
				require.Equal(t, next, at, "the position covers the rows so far, no more")
			}
			if next%7 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		require.Equal(t, total, next)
	}
}

func TestHandoffEndsAfterTheLastWholeTransaction(t *testing.T) {
	h := newHandoff(oneInt(t), 0)
	ctx := t.Context()
	n := 0
	require.NoError(t, h.put(ctx, 1))
	require.NoError(t, h.end(ctx, &n, 1))
	require.NoError(t, h.put(ctx, 2)) // its transaction doesn't end
	h.fail(cdc.ErrRefused)
	ev, err := h.next(ctx, func() cdc.Position { return &Position{Pos: uint64(n)} })
	require.NoError(t, err)
	require.Equal(t, []int32{1}, ev.Rows.Cols[0].I32)
	require.NotNil(t, ev.Pos)
	_, err = h.next(ctx, nil)
	require.ErrorIs(t, err, cdc.ErrRefused)
}

func TestHandoffGivesAMovedPositionOnlyNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandoff(oneInt(t), 0)
		n := 0
		require.NoError(t, h.end(t.Context(), &n, 1))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		ev, err := h.next(ctx, func() cdc.Position { return &Position{} })
		require.NoError(t, err, "a caller that can't wait any longer gets it")
		require.NotNil(t, ev.Pos)
		require.Nil(t, ev.Rows)
		require.Equal(t, 10*time.Second, time.Since(start))
		_, err = h.next(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, "it did not move again")
	})
}

func TestHandoffGivesTheEndOfACutTransactionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandoff(oneInt(t), 0)
		n := 0
		for i := range hardRows {
			require.NoError(t, h.put(t.Context(), int32(i)))
		}
		ev, err := h.next(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, hardRows, ev.Rows.N)
		require.Nil(t, ev.Pos, "the transaction goes on")
		go func() {
			time.Sleep(10 * time.Millisecond)
			_ = h.end(t.Context(), &n, 1) // it had no more rows
		}()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ev, err = h.next(ctx, func() cdc.Position { return &Position{} })
		require.NoError(t, err)
		require.NotNil(t, ev.Pos)
		require.Less(t, time.Since(start), time.Second, "a checkpoint waits for it")
	})
}

func TestHandoffPassesSchemaChangesBehindTheRows(t *testing.T) {
	h := newHandoff(oneInt(t), 0)
	s := &stream{hand: h, ctx: t.Context(), retargeted: make(chan struct{}, 1)}
	n := 0
	require.NoError(t, h.put(t.Context(), 1))
	require.NoError(t, h.end(t.Context(), &n, 1))
	finished := make(chan error)
	go func() { finished <- s.handChanges("ALTER", []table.SchemaChange{{Kind: table.AddColumn, Column: "c"}}) }()
	pos := func() cdc.Position { return &Position{Pos: uint64(n)} }
	ev, err := h.next(t.Context(), pos)
	require.NoError(t, err)
	require.Equal(t, 1, ev.Rows.N)
	require.Empty(t, ev.Changes)
	ev, err = h.next(t.Context(), pos)
	require.NoError(t, err)
	require.Nil(t, ev.Rows)
	require.Len(t, ev.Changes, 1)
	require.Equal(t, "ALTER", ev.Statement)
	require.NotNil(t, ev.Pos, "the position before the statement")
	select {
	case <-finished:
		t.Fatal("the reader went on before the table was changed")
	case <-time.After(20 * time.Millisecond):
	}
	h.retype(oneInt(t))
	signal(s.retargeted)
	require.NoError(t, <-finished)
}

func TestDropRowsKeepsTheRest(t *testing.T) {
	b := row.NewBatch(oneInt(t))
	for i := range int32(6) {
		b.Cols[0].AppendI32(i)
		b.EndRow(row.Insert)
	}
	dropRows(b, 2, 3)
	require.Equal(t, []int32{0, 1, 5}, b.Cols[0].I32)
	require.Equal(t, 3, b.N)
	dropRows(b, 1, 2)
	require.Equal(t, []int32{0}, b.Cols[0].I32)
}

// Rows wait for more so that few wake-ups serve many transactions, but not when there are many, when the reader waits, at the end, or
// when a tick is due.
func TestHandoffGathersRows(t *testing.T) {
	given := func(t *testing.T, after func(ctx context.Context, h *handoff, cancel func())) (rows int, took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := newHandoff(oneInt(t), time.Second)
			start, n := time.Now(), 0
			go func() {
				for i := range 5 {
					_ = h.put(t.Context(), int32(i))
					_ = h.end(t.Context(), &n, i)
					time.Sleep(100 * time.Millisecond)
				}
				if after != nil {
					after(t.Context(), h, cancel)
				}
			}()
			ev, err := h.next(ctx, func() cdc.Position { return &Position{} })
			require.NoError(t, err)
			rows, took = ev.Rows.N, time.Since(start)
			synctest.Wait()
		})
		return rows, took
	}
	rows, took := given(t, nil)
	require.Equal(t, 5, rows)
	require.Equal(t, time.Second, took)
	_, took = given(t, func(_ context.Context, _ *handoff, cancel func()) { cancel() })
	require.Equal(t, 500*time.Millisecond, took, "a tick")
	_, took = given(t, func(_ context.Context, h *handoff, _ func()) { h.fail(io.EOF) })
	require.Equal(t, 500*time.Millisecond, took, "the end")
	_, took = given(t, func(_ context.Context, h *handoff, _ func()) { h.rest(true) })
	require.Equal(t, 500*time.Millisecond, took, "the reader rests")
	rows, took = given(t, func(ctx context.Context, h *handoff, _ func()) {
		n := 0
		for i := range softRows {
			_ = h.put(ctx, int32(i))
		}
		_ = h.end(ctx, &n, 1)
	})
	require.Equal(t, 5+softRows, rows)
	require.Equal(t, 500*time.Millisecond, took, "many rows")
	_, took = given(t, func(ctx context.Context, h *handoff, _ func()) {
		h.mu.Lock()
		_ = h.waitEmpty(ctx)
		h.mu.Unlock()
	})
	require.Equal(t, 500*time.Millisecond, took, "the reader waits")
}
