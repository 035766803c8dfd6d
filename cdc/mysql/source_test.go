package mysql

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

func TestBackgroundWorkOutlivesTheWaitOfATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Source{}
		s.ctx, s.cancel = context.WithCancel(t.Context())
		begun := 0
		work := func(ctx context.Context) (int, error) {
			begun++
			return 7, backoff.Sleep(ctx, 10*time.Second)
		}
		var b background[int]
		ticks := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			v, err := b.wait(ctx, s, work)
			cancel()
			if err == nil {
				require.Equal(t, 7, v)
				break
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			ticks++
		}
		require.Equal(t, 1, begun)
		require.Equal(t, 3, ticks)
		require.NoError(t, s.Close())
	})
}

func TestCloseEndsBackgroundWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Source{}
		s.ctx, s.cancel = context.WithCancel(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var b background[int]
		_, err := b.wait(ctx, s, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, s.Close())
	})
}

func TestPositionOfAnotherServer(t *testing.T) {
	open := func(saved *Position) error {
		s := &Source{flavor: flavorMySQL, server: &server{uuid: "a", addr: "db:3306"}, resume: saved}
		return s.fits()
	}
	require.NoError(t, open(nil))
	require.NoError(t, open(&Position{Flavor: flavorMySQL, ServerUUID: "a", File: "binlog.000003", Pos: 4}))
	require.NoError(t, open(&Position{Flavor: flavorMySQL, ServerUUID: "b", GTID: "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"}))
	err := open(&Position{Flavor: flavorMySQL, ServerUUID: "b", File: "binlog.000003", Pos: 4})
	require.True(t, errors.Is(err, cdc.ErrPositionLost), "its file of that name is another: %v", err)
	require.ErrorIs(t, open(&Position{Flavor: flavorMariaDB, GTID: "0-1-5"}), cdc.ErrPositionLost)
}

// What a table map says of a column must come back from a saved position.
func TestColumnsOfTheLogSurviveASavedPosition(t *testing.T) {
	for _, m := range []MapColumn{
		{Name: "e", Type: typeEnum, Collation: 45, Elements: []string{"a", "it's", "x,y", `back\slash`, "line\nfeed\r", "nul\x00"}},
		{Name: "s", Type: typeSet, Collation: 8, Elements: []string{"caf\xe9"}}, // latin1
		{Name: "d", Type: typeNewDecimal, Meta: 10<<8 | 2, Unsigned: true},
		{Name: "t", Type: typeDatetime2, Meta: 3},
		{Name: "b", Type: typeBit, Meta: 5},
		{Name: "v", Type: typeVarchar, Meta: 80, Collation: 255},
		{Name: "x", Type: typeBlob, Meta: 2, Collation: 63, Nullable: true},
		{Name: "u", Type: typeLongLong, Unsigned: true},
		{Name: "j", Type: typeJSON},
		{Name: "f", Type: typeVector, Dimensions: 3},
	} {
		c, err := m.column()
		require.NoError(t, err, m.Name)
		back, err := restoreColumns(savedColumns([]Column{c}))
		require.NoError(t, err, m.Name)
		require.Equal(t, c, back[0], m.Name)
	}
}
