package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/fs/faultfs"
)

// callsOf counts the calls but for reads and writes, whose number is that of buffers, and closings, by what they are made for.
func callsOf(f *faultfs.FS) map[string]int {
	n := map[string]int{}
	for _, c := range f.Calls() {
		if c.Op == faultfs.OpWrite || c.Op == faultfs.OpReadAt || c.Op == faultfs.OpClose {
			continue
		}
		dir, _, _ := strings.Cut(strings.TrimPrefix(c.Path, pathOf("db.a")+"/"), "/")
		if c.Path == warehouse {
			dir = "warehouse"
		} else if strings.HasPrefix(dir, "dt=") {
			dir = "data"
		}
		n[fmt.Sprint(c.Op, " ", dir)]++
	}
	return n
}

// TestCallsOfTheService counts all calls of a service in the steady state. Each costs the namenode of HDFS an operation or
// more: a greater number wants a reason.
func TestCallsOfTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 20, 6, false)
		f := faultfs.New(w.fsys, nil)
		s := w.service(compactor.Config{Workers: 1}, &faultyTables{w.tables, f})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		calls := func(d time.Duration) map[string]int {
			f.Set(nil)
			time.Sleep(d)
			synctest.Wait()
			return callsOf(f)
		}
		calls(5 * time.Minute)
		// Each 10 s a look at the tables and one for the next snapshot; once a minute a thorough one, which finds a new schema, or
		// a table that was rolled back or made anew.
		require.Equal(t, map[string]int{"list warehouse": 6, "stat snapshot": 5, "open snapshot": 2, "list schema": 1, "open schema": 1}, calls(time.Minute))

		w.write("db.a", "d1", 0, 20, 5, false)
		n := calls(time.Minute)
		// What two jobs bring back is one commit, or two when one of them comes late.
		commits := n["publish snapshot"]
		require.LessOrEqual(t, commits, 2)
		require.Equal(t, []int{commits, 3 * commits, commits}, []int{n["replace snapshot"], n["create manifest"], n["stat schema"]})
		require.Equal(t, []int{10 + 2, 2}, []int{n["open data"], n["create data"]})
		// The deltas of the writer, and of the first of two commits of the service nothing, which it knows; the list of the latest
		// snapshot's base.
		require.LessOrEqual(t, n["open manifest"], 5*2+1)
		// A look each 10 s, more often after snapshots, 2 of them thorough; what was the latest, 5 new ones and none behind; at
		// a commit the latest and none behind; after it the one before, its own and none behind; at a thorough look the latest and
		// none behind.
		require.LessOrEqual(t, n["stat snapshot"]+n["list schema"], 11)
		require.LessOrEqual(t, n["list schema"], 2)
		require.LessOrEqual(t, n["open snapshot"], 7+2*(2+3)+2*2)
		for _, known := range []string{
			"publish snapshot", "replace snapshot", "create manifest", "stat schema", "open data", "create data", "open manifest",
			"stat snapshot", "list schema", "open schema", "open snapshot",
		} {
			delete(n, known)
		}
		require.Equal(t, map[string]int{"list warehouse": 6}, n)
		cancel()
		require.NoError(t, <-ended)
	})
}
