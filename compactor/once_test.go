package compactor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/table"
)

func TestOnceMinorStopsWhereTheStrategyFindsNothing(t *testing.T) {
	w := newWorld(t)
	w.create("db.a", nil)
	w.create("db.b", nil)
	w.write("db.a", "d1", 0, 40, 7, false)
	w.write("db.a", "d2", 0, 40, 3, false)
	w.write("db.b", "d1", 0, 40, 9, true)
	report, err := w.service(compactor.Config{Strategy: compactor.Minor}, w.tables).Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"dt=d1/0": 1, "dt=d1/1": 1, "dt=d2/0": 3, "dt=d2/1": 3}, w.runs("db.a"))
	require.Equal(t, 1, w.maxRuns("db.b"))
	w.check(false)
	require.Len(t, report.Tables, 2)
	require.EqualValues(t, 2, report.Tables[0].Done)
	require.EqualValues(t, 1, report.Tables[0].Commits, "jobs of a round are committed together")
	last := w.snapshots("db.a")
	require.Equal(t, table.CommitCompact, last[len(last)-1].CommitKind)
}

func TestOnceFullLeavesOneRunInEachBucket(t *testing.T) {
	w := newWorld(t)
	w.create("db.a", nil)
	w.write("db.a", "d1", 0, 40, 2, false)
	w.write("db.a", "d2", 0, 40, 1, true)
	w.write("db.a", "d3", 0, 40, 9, true)
	s := w.service(compactor.Config{}, w.tables)
	_, err := s.Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, w.maxRuns("db.a"))
	w.check(false)
	report, err := s.Once(t.Context())
	require.NoError(t, err)
	require.Zero(t, report.Tables[0].Done, "there is nothing left to do")
	w.write("db.a", "d1", 0, 40, 2, false)
	_, err = s.Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, w.maxRuns("db.a"), "no identifier is used twice")
	w.check(false)
}

func TestATableThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.tables.set("db.none")
	_, err := w.service(compactor.Config{}, w.tables).Once(t.Context())
	require.NoError(t, err, "it has just gone")
	strict := w.service(compactor.Config{StrictTables: true}, w.tables)
	_, err = strict.Once(t.Context())
	require.ErrorIs(t, err, table.ErrNoTable)
	require.ErrorIs(t, strict.Run(t.Context()), table.ErrNoTable)
}
