//go:build integration

package lsm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// pickCase is one line of input of the oracle's verb pick.
type pickCase struct {
	Options   table.Options `json:"options"`
	Keys      []string      `json:"keys"`
	Files     []pickFile    `json:"files"`
	Hour      int           `json:"hour"`
	SinceFull *int64        `json:"sinceFull,omitempty"` // milliseconds
	Force     bool          `json:"force"`
	Full      bool          `json:"full"`
	Expire    bool          `json:"expire"`

	now time.Time
}

type pickFile struct {
	Name    string `json:"name"`
	Level   int    `json:"level"`
	Size    int64  `json:"size"`
	MinSeq  int64  `json:"minSeq"`
	MaxSeq  int64  `json:"maxSeq"`
	Created int64  `json:"created"`
	Min     []byte `json:"min"`
	Max     []byte `json:"max"`
	Expired bool   `json:"expired"`
}

// pickAnswer is one line of its output, and what the same looks like here.
type pickAnswer struct {
	Error   string    `json:"error,omitempty"`
	Runs    []pickRun `json:"runs"`
	Levels  int       `json:"levels"`
	Highest int       `json:"highest"`
	Size    int64     `json:"size"`
	Unit    *pickUnit `json:"unit,omitempty"`
}

type pickRun struct {
	Level int      `json:"level"`
	Files []string `json:"files"`
}

type pickUnit struct {
	Files       []string `json:"files"`
	Level       int      `json:"level"`
	DropDelete  bool     `json:"dropDelete"`
	FileRewrite bool     `json:"fileRewrite"`
}

func fileNames(files []table.DataFile) []string {
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].Name
	}
	return names
}

// answer picks here. The reason of the pick comes besides.
func (c *pickCase) answer(t *testing.T) (a pickAnswer, reason string) {
	fields := make([]row.Field, len(c.Keys))
	names := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		names[i] = "k" + strconv.Itoa(i)
		fields[i] = row.Field{Name: names[i], Type: mustType(t, k)}
	}
	schema, err := table.NewSchema(table.Spec{Fields: fields, PrimaryKeys: names, Options: table.Options{"bucket": "1"}})
	require.NoError(t, err)
	files := make([]table.DataFile, len(c.Files))
	expired := map[string]bool{}
	for i, f := range c.Files {
		files[i] = table.DataFile{
			Name: f.Name, Level: f.Level, Size: f.Size, MinSeq: f.MinSeq, MaxSeq: f.MaxSeq, CreationMillis: f.Created, MinKey: f.Min, MaxKey: f.Max,
		}
		expired[f.Name] = f.Expired
	}
	levels, err := NewLevels(files, schema, c.Options)
	if err != nil {
		return pickAnswer{Error: err.Error()}, "error"
	}
	a = pickAnswer{Runs: []pickRun{}, Levels: levels.NumLevels(), Highest: levels.HighestNonEmpty(), Size: levels.Size()}
	for _, r := range levels.Runs() {
		a.Runs = append(a.Runs, pickRun{r.Level, fileNames(r.Files)})
	}
	s, err := NewStrategy(c.Options)
	require.NoError(t, err)
	st := PickState{Levels: levels, Now: c.now, ForceUp: c.Force && s.LookupInterval() > 0}
	u, ok := s.Pick(st)
	if c.Full {
		var isExpired func(*table.DataFile) bool
		if c.Expire {
			isExpired = func(f *table.DataFile) bool { return expired[f.Name] }
		}
		u, ok = s.PickFull(st, isExpired)
	}
	if !ok {
		return a, "nothing"
	}
	a.Unit = &pickUnit{fileNames(u.Files), u.OutputLevel, u.DropDelete, u.FileRewrite}
	if u.FileRewrite {
		return a, "file rewrite"
	}
	return a, u.Reason
}

// TestPicksWhatJavaPicks feeds the same random levels and options to Java's classes and to ours.
func TestPicksWhatJavaPicks(t *testing.T) {
	program := os.Getenv("PAIMON_GO_ORACLE")
	require.NotEmpty(t, program, "PAIMON_GO_ORACLE names the judge of integration/java")
	r := rand.New(rand.NewPCG(4, 2))
	cases := make([]*pickCase, 15000)
	var in bytes.Buffer
	for i := range cases {
		cases[i] = randomPick(t, r)
		line, err := json.Marshal(cases[i])
		require.NoError(t, err)
		in.Write(append(line, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), program, "pick")
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())

	reasons := map[string]int{}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	require.Len(t, lines, len(cases))
	for i, c := range cases {
		var java pickAnswer
		require.NoError(t, json.Unmarshal(lines[i], &java), string(lines[i]))
		ours, reason := c.answer(t)
		reasons[reason]++
		if (java.Error != "") == (ours.Error != "") && (java.Error != "" || cmp.Equal(java, ours)) {
			continue
		}
		input, _ := json.Marshal(c)
		t.Fatalf("case %d: %s\nour reason: %s, error %q; Java's error: %q\n- Java, + ours: %s", i, input, reason, ours.Error, java.Error, cmp.Diff(java, ours))
	}
	t.Log(reasons)
	for _, reason := range []string{
		ReasonInterval, ReasonTotalSize, ReasonIncremental, ReasonAmplification, ReasonSizeRatio, ReasonFileNumber, ReasonForceUp, ReasonFull,
		"file rewrite", "nothing", "error",
	} {
		require.Greater(t, reasons[reason], len(cases)/200, "too few cases end in %q to say that they agree", reason)
	}
}

func oneOf[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

func randomPick(t *testing.T, r *rand.Rand) *pickCase {
	c := &pickCase{
		Options: randomStrategy(r), Hour: r.IntN(24), Force: r.IntN(2) == 0, Full: r.IntN(8) == 0, Expire: r.IntN(2) == 0,
		Keys: oneOf(r, []string{"INT NOT NULL"}, []string{"INT NOT NULL"}, []string{"STRING NOT NULL", "BIGINT NOT NULL"},
			[]string{"DECIMAL(38, 10) NOT NULL", "DATE NOT NULL"}, []string{"DOUBLE NOT NULL"}, []string{"BYTES NOT NULL", "TINYINT NOT NULL"},
			[]string{"TIMESTAMP(9) NOT NULL"}),
	}
	c.now = time.Date(2024, 5, 17, c.Hour, 30, 0, 0, time.UTC)
	c.addFiles(t, r)
	numLevels := table.NumLevels(c.Options)
	for _, f := range c.Files {
		numLevels = max(numLevels, f.Level+1)
	}
	for _, f := range c.Files { // the age of the youngest file of the last level
		age := c.now.UnixMilli() - f.Created
		if f.Level == numLevels-1 && (c.SinceFull == nil || *c.SinceFull > age) {
			c.SinceFull = &age
		}
	}
	return c
}

func randomStrategy(r *rand.Rand) table.Options {
	o := table.Options{}
	maybe := func(oneIn int, key string, value any) {
		if r.IntN(oneIn) == 0 {
			o[key] = fmt.Sprint(value)
		}
	}
	maybe(2, "num-sorted-run.compaction-trigger", 1+r.IntN(8))
	maybe(4, "num-levels", 2+r.IntN(9))
	maybe(3, "compaction.max-size-amplification-percent", oneOf(r, 0, 50, 100, 300, 2000, math.MaxInt32, -1))
	maybe(3, "compaction.size-ratio", oneOf(r, 0, 7, 20, 33, 100, 1000, -30, math.MaxInt32))
	maybe(3, "compaction.offpeak.start.hour", r.IntN(25)-1)
	maybe(3, "compaction.offpeak.end.hour", r.IntN(26)-1)
	maybe(2, "compaction.offpeak-ratio", oneOf(r, 1, 13, 50, 300))
	maybe(15, "compaction.optimization-interval", oneOf(r, "1 min", "1 h", "1 d"))
	maybe(15, "compaction.total-size-threshold", oneOf(r, "100", "1 kb", "100 kb", "1 gb"))
	maybe(15, "compaction.incremental-size-threshold", oneOf(r, "0", "100", "10 kb", "10 mb"))
	maybe(8, "compaction.force-up-level-0", true)
	maybe(8, "compaction.force-rewrite-all-files", true)
	maybe(20, "changelog-producer", oneOf(r, "lookup", "full-compaction"))
	maybe(20, "merge-engine", oneOf(r, "first-row", "aggregation"))
	maybe(20, "force-lookup", true)
	maybe(20, "deletion-vectors.enabled", true)
	maybe(20, "chain-table.enabled", true)
	maybe(2, "lookup-compact", oneOf(r, "gentle", "radical", "GENTLE"))
	maybe(3, "lookup-compact.max-interval", r.IntN(20))
	return o
}

// addFiles fills a case with files: mostly a state that can be, of sizes that are near what the rules ask for.
func (c *pickCase) addFiles(t *testing.T, r *rand.Rand) {
	deepest := table.NumLevels(c.Options) - 1
	if r.IntN(10) == 0 {
		deepest += 1 + r.IntN(3)
	}
	var sum int64
	unit := oneOf[int64](r, 1, 10, 1000, 1<<20, 1<<40, 1<<56)
	level0 := r.IntN(oneOf(r, 1, 3, 9, 9, 20))
	compacted := c.Full && r.IntN(2) == 0
	if compacted {
		level0 = 0
	}
	order := r.Perm(level0)
	seqs := make([]int64, level0)
	for i := range seqs {
		seqs[i] = 1000 + 10*int64(level0-i) // newest first, some alike
		if r.IntN(6) == 0 {
			seqs[i] -= 10
		}
	}
	first := len(c.Files)
	for i := range level0 {
		size := randomSize(r, c.Options, unit, sum)
		sum += size
		c.add(t, r, 0, []int64{size}, seqs[i])
	}
	shuffled := make([]pickFile, level0)
	for i, j := range order {
		shuffled[j] = c.Files[first+i]
	}
	copy(c.Files[first:], shuffled)
	for level := 1; level <= deepest; level++ {
		if level < deepest && (compacted || r.IntN(3) > 0) || r.IntN(4) == 0 {
			continue
		}
		size := randomSize(r, c.Options, unit, sum)
		sum += size
		sizes := make([]int64, 1+r.IntN(4))
		for i := range sizes {
			sizes[i] = size / int64(len(sizes))
		}
		sizes[0] += size % int64(len(sizes))
		c.add(t, r, level, sizes, 900-int64(level))
	}
	if r.IntN(100) == 0 && len(c.Files) > 0 { // a file twice: TreeSet would lose it, a run touch itself
		c.Files = append(c.Files, c.Files[r.IntN(len(c.Files))])
	}
}

// randomSize returns the size of the next run after runs of sum bytes: often on the edge of the size ratio.
func randomSize(r *rand.Rand, o table.Options, unit, sum int64) int64 {
	switch r.IntN(6) {
	case 0, 1:
		f := 100 + float64(o.Int64(table.KeyCompactionSizeRatio))
		if r.IntN(3) == 0 {
			f += float64(o.Int64(table.KeyCompactionOffpeakRatio))
		}
		return max(0, int64(min(float64(sum)*f/100, 1<<58))+int64(r.IntN(3))-1)
	case 2:
		return unit
	case 3:
		return max(0, sum/oneOf[int64](r, 1, 2, 3, 4)+int64(r.IntN(3))-1)
	case 4:
		return min(unit, 1<<50) << r.IntN(8)
	}
	return r.Int64N(unit*2) + 1
}

// add appends the files of a run, which are shuffled, and rarely overlap.
func (c *pickCase) add(t *testing.T, r *rand.Rand, level int, sizes []int64, maxSeq int64) {
	types := make([]row.Field, len(c.Keys))
	for i, k := range c.Keys {
		types[i].Type = mustType(t, k)
	}
	rt := row.NewRow(types...)
	b := row.NewBatch(&rt)
	cols := columnsOf(b)
	keys := make([][]byte, 2*len(sizes))
	at := make([]int, len(keys))
	for i := range keys {
		for _, col := range cols {
			randomValue(r, col)
		}
		keys[i], at[i] = row.AppendKey(nil, cols, i), i
	}
	slices.SortFunc(at, func(i, j int) int { return bytes.Compare(keys[i], keys[j]) })
	if level > 0 && r.IntN(40) == 0 {
		i := r.IntN(len(at))
		j := max(0, i-1) // touches, or crosses
		at[i], at[j] = at[j], oneOf(r, at[i], at[j])
	}
	for i, p := range r.Perm(len(sizes)) {
		lo, hi := at[2*p], at[2*p+1]
		if bytes.Compare(keys[lo], keys[hi]) > 0 {
			lo, hi = hi, lo
		}
		c.Files = append(c.Files, pickFile{
			Name: fmt.Sprintf("f%d-%d-%d", r.IntN(1000), len(c.Files), level), Level: level, Size: sizes[i], MaxSeq: maxSeq, MinSeq: maxSeq - int64(r.IntN(3)),
			Created: c.now.UnixMilli() - int64(r.IntN(3)+r.IntN(100)*60_000) - 20_000,
			Min:     row.AppendSerializedRow(nil, cols, lo), Max: row.AppendSerializedRow(nil, cols, hi), Expired: r.IntN(3) == 0,
		})
	}
}
