package cdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// pos is a position of the fake source.
type pos string

func (p pos) Encode() (string, error) { return string(p), nil }
func (p pos) String() string          { return string(p) }

// step is what a fake source does next.
type step struct {
	after time.Duration
	ev    Event
	err   error
}

// script is a source that plays steps.
type script struct {
	steps   []step
	started time.Time
	log     *[]string
}

func (s *script) Next(ctx context.Context) (*Event, error) {
	if s.started.IsZero() {
		s.started = time.Now()
	}
	if len(s.steps) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	st := s.steps[0]
	t := time.NewTimer(time.Until(s.started.Add(st.after)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.steps = s.steps[1:]
	if st.err != nil {
		return nil, st.err
	}
	return &st.ev, nil
}

func (s *script) Retarget(t *row.Type) error {
	*s.log = append(*s.log, fmt.Sprintf("retarget %d", len(t.Fields)))
	return nil
}

func (s *script) Close() error { return nil }

// recorder is a writer that notes what it is told.
type recorder struct {
	log   []string
	fail  string
	ended error // what Err returns after the first checkpoint

	checkpoints int
}

func (w *recorder) note(format string, args ...any) error {
	s := fmt.Sprintf(format, args...)
	w.log = append(w.log, s)
	if w.fail == s {
		return errors.New("disk full")
	}
	return nil
}

func (w *recorder) Write(_ context.Context, b *row.Batch) error { return w.note("write %d", b.N) }
func (w *recorder) Checkpoint(_ context.Context, id int64, props map[string]string) error {
	w.checkpoints++
	return w.note("checkpoint %d at %s", id, props[PropertyPosition])
}

func (w *recorder) Err() error {
	if w.checkpoints == 0 {
		return nil
	}
	return w.ended
}

func (w *recorder) Alter(_ context.Context, c ...table.SchemaChange) error {
	return w.note("alter %d", len(c))
}
func (w *recorder) CatchUp(context.Context) error { return w.note("catch up") }
func (w *recorder) Wait(context.Context) error    { return w.note("wait") }

func rowsOf(n int) *row.Batch { return &row.Batch{N: n} }

// play runs a pipeline over steps with a tick of a second; stopAfter 0: until the source ends.
func play(t *testing.T, w *recorder, stopAfter time.Duration, steps ...step) (log []string, err error) {
	return playWith(t, w, stopAfter, func(*Config) {}, steps...)
}

func playWith(t *testing.T, w *recorder, stopAfter time.Duration, set func(*Config), steps ...step) (log []string, err error) {
	synctest.Test(t, func(t *testing.T) {
		src := &script{steps: steps, log: &w.log}
		fields := 2
		c := Config{Source: src, Writer: w, Interval: time.Second, NextID: 7,
			TargetType: func() *row.Type { fields++; return &row.Type{Fields: make([]row.Field, fields)} },
			SavePosition: func(_ context.Context, id int64, text string) error {
				return w.note("save %d at %s", id, text)
			}}
		set(&c)
		p := NewPipeline(c)
		stop := make(chan struct{})
		if stopAfter > 0 {
			time.AfterFunc(stopAfter, func() { close(stop) })
		}
		err = p.Run(t.Context(), stop)
	})
	return w.log, err
}

func at(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func TestPipelineCommitsAtTicksAndAtTheEnd(t *testing.T) {
	log, err := play(t, &recorder{}, 0,
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
		step{after: at(.2), ev: Event{Rows: rowsOf(2), Pos: pos("b")}},
		step{after: at(1.5), ev: Event{Rows: rowsOf(3), Pos: pos("c")}},
		step{after: at(1.6), err: io.EOF})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "write 1", "write 2", "checkpoint 7 at b", "write 3", "checkpoint 8 at c", "wait"}, log)
}

func TestPipelineCommitsItsFirstRowsSoon(t *testing.T) {
	log, err := play(t, &recorder{}, 0,
		step{after: at(5.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
		step{after: at(5.2), ev: Event{Rows: rowsOf(2), Pos: pos("b")}},
		step{after: at(5.4), ev: Event{Rows: rowsOf(3), Pos: pos("c")}},
		step{after: at(6.2), ev: Event{Rows: rowsOf(4), Pos: pos("d")}},
		step{after: at(6.4), ev: Event{Rows: rowsOf(5), Pos: pos("e")}},
		step{after: at(6.5), err: io.EOF})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "write 1", "write 2", "checkpoint 7 at b", "write 3", "write 4", "checkpoint 8 at d", "write 5", "checkpoint 9 at e", "wait"}, log)
}

func TestPipelineNeverCommitsInsideATransaction(t *testing.T) {
	log, err := play(t, &recorder{}, 0,
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
		step{after: at(.2), ev: Event{Rows: rowsOf(2)}},
		step{after: at(2.5), ev: Event{Rows: rowsOf(3)}},
		step{after: at(2.6), ev: Event{Rows: rowsOf(4), Pos: pos("b")}},
		step{after: at(2.7), err: io.EOF})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "write 1", "write 2", "write 3", "write 4", "checkpoint 7 at b", "wait"}, log)
}

func TestPipelineStopsAtTheEndOfTheTransaction(t *testing.T) {
	log, err := play(t, &recorder{}, at(.5),
		step{after: at(.1), ev: Event{Rows: rowsOf(1)}},
		step{after: at(3), ev: Event{Rows: rowsOf(2), Pos: pos("a")}},
		step{after: at(3.1), ev: Event{Rows: rowsOf(3), Pos: pos("b")}})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "write 1", "write 2", "checkpoint 7 at a", "wait"}, log)
}

func TestPipelineLeavesATransactionThatDoesNotEnd(t *testing.T) {
	log, err := play(t, &recorder{}, at(.5),
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
		step{after: at(.2), ev: Event{Rows: rowsOf(2)}},
		step{after: at(60), ev: Event{Rows: rowsOf(3), Pos: pos("b")}})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "write 1", "write 2", "wait"}, log, "its rows must not be in a commit")
}

func TestPipelineSavesThePositionOfAQuietSource(t *testing.T) {
	var steps []step
	for i := range 9 {
		steps = append(steps, step{after: at(float64(i) + .5), ev: Event{Pos: pos(fmt.Sprint("p", i))}})
	}
	log, err := play(t, &recorder{}, at(10.2), steps...)
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "wait", "save 6 at p3", "wait", "save 6 at p7", "wait", "save 6 at p8", "wait"}, log)
}

func TestPipelineTakesACheckpointAtEveryTickIfAsked(t *testing.T) {
	log, err := playWith(t, &recorder{}, at(3.5), func(c *Config) { c.Always = true },
		step{after: at(.1), ev: Event{Pos: pos("a")}},
		step{after: at(1.1), ev: Event{Rows: rowsOf(1), Pos: pos("b")}})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "checkpoint 7 at a", "write 1", "checkpoint 8 at b", "checkpoint 9 at b", "checkpoint 10 at b", "wait"}, log)
}

func TestPipelineEndsWhenACommitFailsAndNoMoreRowsCome(t *testing.T) {
	full := errors.New("disk full")
	log, err := play(t, &recorder{ended: full}, at(60),
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}})
	require.ErrorIs(t, err, full)
	require.Equal(t, []string{"retarget 3", "write 1", "checkpoint 7 at a"}, log)
}

func TestPipelineAppliesSchemaChanges(t *testing.T) {
	log, err := play(t, &recorder{}, 0,
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
		step{after: at(.2), ev: Event{Changes: make([]table.SchemaChange, 2), Statement: "ALTER", Pos: pos("a")}},
		step{after: at(.3), ev: Event{Rows: rowsOf(2), Pos: pos("b")}},
		step{after: at(.4), err: io.EOF})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "write 1", "alter 2", "retarget 4", "write 2", "checkpoint 7 at b", "wait"}, log)
}

// What the initial read has met already is written after all of the read is committed, and committed once it is over.
func TestPipelineCatchesUpInOneCheckpoint(t *testing.T) {
	log, err := play(t, &recorder{}, 0,
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Snapshot: true, Pos: pos("a")}},
		step{after: at(.2), ev: Event{Pos: pos("b")}},
		step{after: at(.3), ev: Event{Rows: rowsOf(2), CatchUp: true, Pos: pos("c")}},
		step{after: at(2.5), ev: Event{Rows: rowsOf(3), CatchUp: true}},
		step{after: at(2.6), ev: Event{Rows: rowsOf(4), CatchUp: true, CaughtUp: true, Pos: pos("d")}},
		step{after: at(2.7), ev: Event{Rows: rowsOf(5), Pos: pos("e")}},
		step{after: at(4.5), ev: Event{Rows: rowsOf(6), Pos: pos("f")}},
		step{after: at(4.6), err: io.EOF})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "write 1", "checkpoint 7 at b", "catch up", "write 2", "write 3", "write 4", "write 5",
		"checkpoint 8 at e", "write 6", "checkpoint 9 at f", "wait"}, log)
}

// A stop, a change of the schema and a long time end the epoch of a catch-up before it is over; the rest is another one.
func TestPipelineCatchesUpInParts(t *testing.T) {
	log, err := play(t, &recorder{}, at(400),
		step{after: at(.1), ev: Event{Rows: rowsOf(1), CatchUp: true, Pos: pos("a")}},
		step{after: at(.2), ev: Event{Changes: make([]table.SchemaChange, 1), CatchUp: true}},
		step{after: at(.3), ev: Event{Rows: rowsOf(2), CatchUp: true, Pos: pos("b")}},
		step{after: at(305), ev: Event{Rows: rowsOf(3), CatchUp: true, Pos: pos("c")}},
		step{after: at(500), ev: Event{Rows: rowsOf(4), CatchUp: true, Pos: pos("d")}})
	require.NoError(t, err)
	require.Equal(t, []string{"retarget 3", "catch up", "write 1", "checkpoint 7 at a", "alter 1", "retarget 4", "catch up", "write 2",
		"checkpoint 8 at b", "catch up", "write 3", "checkpoint 9 at c", "wait"}, log)
}

func TestPipelineCommitsWhatCameBeforeAnErrorOfTheSource(t *testing.T) {
	log, err := play(t, &recorder{}, 0,
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
		step{after: at(.2), err: fmt.Errorf("TRUNCATE: %w", ErrRefused)})
	require.ErrorIs(t, err, ErrRefused)
	require.Equal(t, []string{"retarget 3", "write 1", "checkpoint 7 at a", "wait"}, log)

	log, err = play(t, &recorder{}, 0,
		step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
		step{after: at(.2), ev: Event{Rows: rowsOf(2)}}, // within a transaction
		step{after: at(.3), err: fmt.Errorf("TRUNCATE: %w", ErrRefused)})
	require.ErrorIs(t, err, ErrRefused)
	require.False(t, slices.Contains(log, "checkpoint 7 at a"), log)
}

func TestPipelineCommitsNothingAfterAnErrorOfTheWriter(t *testing.T) {
	for _, fail := range []string{"write 2", "alter 1"} {
		log, err := play(t, &recorder{fail: fail}, 0,
			step{after: at(.1), ev: Event{Rows: rowsOf(1), Pos: pos("a")}},
			step{after: at(.2), ev: Event{Rows: rowsOf(2), Pos: pos("b")}},
			step{after: at(.3), ev: Event{Changes: make([]table.SchemaChange, 1), Pos: pos("b")}})
		require.ErrorContains(t, err, "disk full")
		require.False(t, slices.Contains(log, "wait"), log)
	}
}
