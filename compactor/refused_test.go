package compactor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/table"
)

// TestATableIsRefusedWhileItIsCompacted: a table becomes one that can't be compacted while jobs of it are under way, and
// later one that can be again.
func TestATableIsRefusedWhileItIsCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		set := func(value string) {
			_, err := w.open("db.a").Alter(t.Context(), table.SchemaChange{Kind: table.SetOption, Key: "deletion-vectors.bitmap64", Value: value})
			require.NoError(t, err)
		}
		w.write("db.a", "d1", 0, 40, 6, false)
		release := make(chan struct{})
		s := w.service(compactor.Config{Listener: compactor.Listener{JobStart: func(compactor.Job) { <-release }}}, w.tables)
		stop := running(t, s)
		time.Sleep(10 * time.Second)
		require.Equal(t, 2, statsOf(t, s, "db.a").Running)

		set("true")
		time.Sleep(10 * time.Minute)
		require.Contains(t, statsOf(t, s, "db.a").Refused, "deletion-vectors")
		close(release)
		time.Sleep(10 * time.Minute)
		require.Equal(t, 6, w.maxRuns("db.a"), "what the jobs wrote is not committed")

		set("false")
		time.Sleep(10 * time.Minute)
		require.Empty(t, statsOf(t, s, "db.a").Refused)
		stop()
		require.Equal(t, 1, w.maxRuns("db.a"))
		w.check(false)
	})
}
