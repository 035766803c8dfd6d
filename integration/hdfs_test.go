//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

func TestSinkOnHDFS(t *testing.T) {
	t.Run("killed in the initial read", func(t *testing.T) { killedInTheInitialRead(t, testkit.OnHDFS) })
	t.Run("killed while streaming", func(t *testing.T) { killedWhileStreaming(t, testkit.OnHDFS) })
	t.Run("killed while Java compacts and expires", func(t *testing.T) { killedWhileJavaCompactsAndExpires(t, testkit.OnHDFS) })
	t.Run("sink and compactor killed", func(t *testing.T) { sinkAndCompactorKilled(t, testkit.OnHDFS) })
	t.Run("a second instance is fenced", func(t *testing.T) { secondInstanceIsFenced(t, testkit.OnHDFS) })
	t.Run("Java writes and compacts beside", func(t *testing.T) { javaWritesAndCompactsBeside(t, testkit.OnHDFS) })
	t.Run("all types", func(t *testing.T) { allTypesFromTableAndLog(t, testkit.OnHDFS, "parquet") })
}

func TestCompactorOnHDFS(t *testing.T) {
	t.Run("Java writes and we compact", func(t *testing.T) { javaWritesAndWeCompact(t, testkit.OnHDFS) })
	t.Run("we write and Java compacts", func(t *testing.T) { weWriteAndJavaCompacts(t, testkit.OnHDFS) })
	t.Run("two of ours leave nothing", func(t *testing.T) { twoOfOursLeaveNothing(t, testkit.OnHDFS) })
}

// TestHDFSOfErasureCodes has the sink write where files are striped over the DataNodes.
func TestHDFSOfErasureCodes(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 2000, 1000, wideRow)
	c := testkit.FaultyHDFS(t)
	j := testkit.NewJob(t, db, "s").On(func(t testing.TB) string { return c.ErasureCoded(t) })
	j.RunToLatest()
	db.InsertRows("s", 2000, 3000, 100, wideRow)
	j.RunToLatest()
	j.At().Compact("compact", "--once")
	j.RequireJava(db.Rows("s"))
}

// TestHDFSWithKerberos has the sink log in by a keytab, on a cluster that encrypts what passes and whose tickets live 20 s.
func TestHDFSWithKerberos(t *testing.T) {
	c := testkit.StartHDFSInOne(t, "kerberos=true", "protection=privacy", "ticket=20")
	t.Setenv("KRB5_CONFIG", c.Dir+"/krb5.conf")
	c.Catalog = map[string]string{"security.kerberos.login.principal": "hdfs/localhost@EXAMPLE.COM", "security.kerberos.login.keytab": c.Dir + "/keytab"}
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 2000, 1000, wideRow)
	j := testkit.NewJob(t, db, "s").On(c.Warehouse)
	p := j.Start()
	n := 2000
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); n += 100 { // longer than a ticket
		db.InsertRows("s", n, n+100, 100, wideRow)
		p.WaitCaughtUp()
		time.Sleep(time.Second) // the time that passes is what is tested
	}
	p.Stop()
	j.At().Compact("compact", "--once")
	records, _ := j.Appended()
	require.EqualValues(t, n, records)
	requireConsecutive(t, j)
	lines := testkit.JavaOnce(t, "-Djava.security.krb5.conf="+c.Dir+"/krb5.conf", append([]string{"read", j.Warehouse, j.Database, j.Table}, testkit.CatalogArgs("--catalog", j.Warehouse)...)...)
	testkit.RequireSameRows(t, "java", db.Rows("s"), testkit.Bare(lines))
}

// racer is a process that wants to make the same files as others. It says when it is ready, and then whether it won.
type racer struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
}

func startRacer(t *testing.T, name string, cmd *exec.Cmd) *racer {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &racer{name, cmd, in, bufio.NewScanner(out)}
}

func (r *racer) line(t *testing.T) string {
	t.Helper()
	require.True(t, r.out.Scan(), "%s has ended", r.name)
	return r.out.Text()
}

const racerVariable = "PAIMON_GO_TEST_RACER" // "<name> <count> <conf> <root>": this process is a racer

// race does a racer's part and ends the process, if it is one.
func race() {
	job := os.Getenv(racerVariable)
	if job == "" {
		return
	}
	parts := strings.SplitN(job, " ", 4)
	if err := raceAs(parts[0], parts[1], map[string]string{"hadoop-conf-dir": parts[2]}, parts[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func raceAs(name, count string, conf map[string]string, dir string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	ctx := context.Background()
	fsys, err := fs.For(ctx, dir, conf)
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	for i := range n {
		fmt.Println("ready")
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
		won, err := fsys.Publish(ctx, fs.Join(dir, fmt.Sprint("snapshot-", i)), raceData(name, i))
		if err != nil {
			return err
		}
		fmt.Println(won)
	}
	return nil
}

func raceData(name string, i int) []byte {
	return []byte(strings.Repeat(fmt.Sprintf("%s %d;", name, i), 100))
}

// TestJavaRacesToPublish has two processes of ours publish the same names as one that renames by Hadoop's FileSystem, as Java's
// commit does: one wins each, its bytes are there, and no reader sees anything else. PAIMON_GO_TEST_RACES sets how many names.
func TestJavaRacesToPublish(t *testing.T) {
	count := 100
	if v := os.Getenv("PAIMON_GO_TEST_RACES"); v != "" {
		var err error
		count, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	c := testkit.HDFS(t)
	dir := c.Warehouse(t)
	var racers []*racer
	for _, name := range []string{"go1", "go2"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s %s", racerVariable, name, count, c.Conf, dir))
		racers = append(racers, startRacer(t, name, cmd))
	}
	racers = append(racers, startRacer(t, "java", exec.Command(os.Getenv("PAIMON_GO_ORACLE"), "hdfs-race", dir, "java",
		"--rounds", strconv.Itoa(count), "--delay-ms", "100", "--catalog", "hadoop-conf-dir="+c.Conf)))
	wins := map[string]int{}
	for i := range count {
		for _, r := range racers {
			require.Equal(t, "ready", r.line(t))
		}
		for _, r := range racers {
			_, err := io.WriteString(r.in, "\n")
			require.NoError(t, err)
		}
		path, winner := fs.Join(dir, fmt.Sprint("snapshot-", i)), ""
		decided := make(chan []byte, 1)
		go func() { decided <- firstSeen(t.Context(), testkit.Files(t, path), path) }()
		for _, r := range racers {
			if r.line(t) == "true" {
				require.Empty(t, winner, "two have won snapshot-%d", i)
				winner = r.name
			}
		}
		require.NotEmpty(t, winner, "nobody has won snapshot-%d", i)
		require.Equal(t, string(raceData(winner, i)), string(<-decided), "what a reader saw first")
		require.Equal(t, string(raceData(winner, i)), string(content(t, path)))
		wins[winner]++
	}
	left := 0
	for _, err := range testkit.Files(t, dir).List(t.Context(), dir) {
		require.NoError(t, err)
		left++
	}
	require.Equal(t, count, left, "nothing but the published files is left")
	t.Logf("wins: %v", wins)
}

// firstSeen polls a file until it is there, and is what it has then; nil after a minute.
func firstSeen(ctx context.Context, f fs.FileSystem, path string) []byte {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if b, err := readAll(ctx, f, path); err == nil {
			return b
		}
	}
	return nil
}

func readAll(ctx context.Context, f fs.FileSystem, path string) ([]byte, error) {
	r, err := f.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, r.Size())
	if len(b) > 0 {
		if _, err = r.ReadAt(b, 0); err == io.EOF { //nolint:errorlint // as ReadAt says
			err = nil
		}
	}
	return b, err
}

func content(t *testing.T, path string) []byte {
	b, err := readAll(t.Context(), testkit.Files(t, path), path)
	require.NoError(t, err)
	return b
}

// ownCPU is the processor time that this process used so far.
func ownCPU(t *testing.T) time.Duration {
	var r syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestHDFSThroughput compares what one stream writes and reads with Hadoop's client, in turn. CI only looks that it runs:
// PAIMON_GO_TEST_THROUGHPUT=ROUNDS,MB measures and judges.
func TestHDFSThroughput(t *testing.T) {
	rounds, mb, judge := 1, 16, false
	if v := os.Getenv("PAIMON_GO_TEST_THROUGHPUT"); v != "" {
		_, err := fmt.Sscanf(v, "%d,%d", &rounds, &mb)
		require.NoError(t, err)
		judge = true
	}
	c := testkit.HDFS(t)
	dir := c.Warehouse(t)
	fsys := testkit.Files(t, dir)
	java := func(op string) float64 {
		lines, err := testkit.Java(t, testkit.JavaVersions[0], "hdfs-bench", dir+"/java", "--mb", strconv.Itoa(mb), "--op", op, "--catalog", "hadoop-conf-dir="+c.Conf)
		require.NoError(t, err)
		var rate float64
		_, after, _ := strings.Cut(lines[0], `"mbPerSecond":`)
		_, err = fmt.Sscanf(after, "%g", &rate)
		require.NoError(t, err)
		return rate
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * i >> 7)
	}
	ours := func(op string, i int) float64 {
		path := fmt.Sprintf("%s/ours-%d", dir, i)
		began := time.Now()
		if op == "write" {
			w, err := fsys.Create(t.Context(), path)
			require.NoError(t, err)
			for range mb {
				_, err = w.Write(block)
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())
		} else {
			r, err := fsys.Open(t.Context(), path)
			require.NoError(t, err)
			require.EqualValues(t, mb<<20, r.Size())
			buf := make([]byte, 1<<20)
			for off := int64(0); off < r.Size(); off += 1 << 20 {
				_, err = r.ReadAt(buf, off)
				require.NoError(t, err)
			}
			require.True(t, bytes.Equal(buf, block))
			require.NoError(t, r.Close())
		}
		return float64(mb) / time.Since(began).Seconds()
	}
	java("write") // warm
	java("read")
	for _, op := range []string{"write", "read"} {
		var we, they []float64
		var ourCPU, theirCPU time.Duration
		for i := range rounds {
			ourBegin, theirBegin := ownCPU(t), testkit.JavaCPU(t, testkit.JavaVersions[0])
			we = append(we, ours(op, i))
			ourEnd := ownCPU(t)
			they = append(they, java(op))
			ourCPU += ourEnd - ourBegin
			theirCPU += testkit.JavaCPU(t, testkit.JavaVersions[0]) - theirBegin
		}
		slices.Sort(we)
		slices.Sort(they)
		t.Logf("%s, MB/s: ours %.0f, Java's %.0f (medians of %d; all ours %.0f, Java's %.0f)", op, we[rounds/2], they[rounds/2], rounds, we, they)
		gb := float64(rounds*mb) / 1024
		t.Logf("%s, seconds of processor for a GB: ours %.2f, Java's %.2f", op, ourCPU.Seconds()/gb, theirCPU.Seconds()/gb)
		if judge {
			assert.GreaterOrEqual(t, we[rounds/2], 0.9*they[rounds/2], op)
		}
	}
}
