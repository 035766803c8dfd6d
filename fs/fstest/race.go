package fstest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

const racerEnv = "PAIMON_GO_FSTEST_RACER" // set in the processes that RaceProcesses starts: "<name> <count> <root>"

// Racer belongs into the TestMain of a package that calls RaceProcesses: in a process that RaceProcesses has started it does
// that process's part and ends it, otherwise it returns.
func Racer(open func(root string) (fs.FileSystem, error)) {
	job := os.Getenv(racerEnv)
	if job == "" {
		return
	}
	parts := strings.SplitN(job, " ", 3)
	count, err := strconv.Atoi(parts[1])
	if err == nil {
		err = race(open, parts[0], count, parts[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// race publishes file after file, waiting for the other process before each, and prints the numbers of those it has won.
func race(open func(string) (fs.FileSystem, error), name string, count int, root string) error {
	ctx := context.Background()
	fsys, err := open(root)
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	for i := range count {
		fmt.Println("ready")
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
		ok, err := fsys.Publish(ctx, racePath(root, i), []byte(raceData(name, i)))
		if err != nil {
			return err
		}
		fmt.Println(ok)
	}
	return nil
}

func racePath(root string, i int) string { return fs.Join(root, fmt.Sprint("snapshot-", i)) }

func raceData(name string, i int) string { return strings.Repeat(fmt.Sprintf("%s %d;", name, i), 100) }

// RaceProcesses lets two processes of this test program publish the same paths at the same time, count times: exactly one of
// them wins each, and its bytes are there. Needs Racer in TestMain.
func RaceProcesses(t *testing.T, fsys fs.FileSystem, root string, count int) {
	type racer struct {
		name string
		cmd  *exec.Cmd
		in   *os.File
		out  *bufio.Scanner
	}
	var racers []racer
	for _, name := range []string{"left", "right"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", racerEnv, name, count, root))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		cmd.Stdin = r
		require.NoError(t, cmd.Start())
		require.NoError(t, r.Close())
		racers = append(racers, racer{name, cmd, w, bufio.NewScanner(out)})
	}
	line := func(r racer) string {
		require.True(t, r.out.Scan(), "%s has ended", r.name)
		return r.out.Text()
	}
	wins := map[string]int{}
	for i := range count {
		for _, r := range racers {
			require.Equal(t, "ready", line(r))
		}
		for _, r := range racers { // the pipes are written in one go each, so the two start within microseconds
			_, err := r.in.WriteString("\n")
			require.NoError(t, err)
		}
		var winner string
		for _, r := range racers {
			if line(r) == "true" {
				require.Empty(t, winner, "both have won snapshot-%d", i)
				winner = r.name
			}
		}
		require.NotEmpty(t, winner, "nobody has won snapshot-%d", i)
		require.Equal(t, raceData(winner, i), string(Read(t, fsys, racePath(root, i))))
		wins[winner]++
	}
	for _, r := range racers {
		require.NoError(t, r.cmd.Wait())
		require.NoError(t, r.in.Close())
	}
	require.Len(t, Names(t, fsys, root), count, "nothing but the published files is left")
	t.Logf("wins: %v", wins)
}
