package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScheduleIsOfTheSeed(t *testing.T) {
	kinds := append(append([]Kind{}, ProgramKinds...), append(MySQLKinds, HDFSKinds...)...)
	a, b := Schedule(7, 30*time.Minute, 10*time.Second, kinds), Schedule(7, 30*time.Minute, 10*time.Second, kinds)
	require.Equal(t, a, b)
	require.NotEqual(t, a, Schedule(8, 30*time.Minute, 10*time.Second, kinds))
	require.Greater(t, len(a), 160, "one each ten seconds")
	seen, free := map[Kind]int{}, map[string]time.Duration{}
	for _, f := range a {
		seen[f.Kind]++
		part := rules[f.Kind].part
		require.GreaterOrEqual(t, f.At, free[part], "faults of %s overlap", part)
		free[part] = f.Ends()
		require.LessOrEqual(t, f.Ends(), 30*time.Minute)
		require.Less(t, f.Target, f.Kind.targets())
	}
	require.Greater(t, len(seen), len(kinds)*3/4, "most kinds occur: %v", seen)
	for k := range rules {
		require.NotZero(t, rules[k].weight)
		require.NotZero(t, k.targets())
	}
}

func TestWorkloadIsOfTheSeed(t *testing.T) {
	text := func(seed uint64) string {
		w := &Workload{Seed: seed, Keys: 100, Tables: Tables()}
		var b strings.Builder
		for i := 1; i < 300; i++ {
			if q, _, _, ok := w.Added(i); ok {
				b.WriteString(q + "\n")
				continue
			}
			statements, undone := w.Txn(i)
			fmt.Fprintln(&b, statements, undone)
		}
		return b.String()
	}
	require.Equal(t, text(1), text(1))
	require.NotEqual(t, text(1), text(2))
}

// TestAddedColumnsAreKnown follows the statements: each transaction writes as many columns as there are.
func TestAddedColumnsAreKnown(t *testing.T) {
	w := &Workload{Seed: 1, Keys: 100, Tables: Tables()}
	columns := make([]int, len(w.Tables))
	for i := 1; i < 6000; i++ {
		for k := range columns {
			require.Equal(t, columns[k], w.columns(k, i), "transaction %d table %d", i, k)
		}
		if q, table, column, ok := w.Added(i); ok {
			for k := range w.Tables {
				if w.Tables[k].Name == table {
					require.Equal(t, fmt.Sprintf("added_%d", columns[k]), column, q)
					columns[k]++
				}
			}
		}
	}
	for _, n := range columns {
		require.Equal(t, addMost, n)
	}
}

func TestProgramIsStartedAgain(t *testing.T) {
	dir := t.TempDir()
	failures := make(chan error, 10)
	p := &Program{Name: "p", Log: filepath.Join(dir, "log"), GivesUp: []int{7}, Argv: []string{"sh", "-c", `
		echo run >> "$0"; case $(wc -l < "$0") in 1) exit 7;; 2) echo last words; exit 4;; *) trap 'exit 0' TERM; while :; do sleep 0.05; done;; esac`, dir + "/runs"}}
	require.NoError(t, p.Start(func(err error) { failures <- err }))
	require.ErrorContains(t, <-failures, "last words", "exit 4 is a failure")
	ran := func(n int) func() bool {
		return func() bool { b, _ := os.ReadFile(dir + "/runs"); return strings.Count(string(b), "run") >= n }
	}
	require.Eventually(t, ran(3), 10*time.Second, 10*time.Millisecond)
	require.NoError(t, p.Strike(syscall.SIGKILL))
	require.Eventually(t, ran(4), 10*time.Second, 10*time.Millisecond, "killed, and started again")
	_, gaveUp := p.Starts()
	require.Len(t, gaveUp, 1)
	_, err := p.Stop(20 * time.Second)
	require.NoError(t, err)
	require.Empty(t, failures)
}
