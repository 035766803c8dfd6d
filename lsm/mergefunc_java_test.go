//go:build integration

package lsm

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// judge is one process of the oracle, for many commands.
type judge struct {
	in  io.Writer
	out *bufio.Reader
}

func startJudge(t *testing.T) *judge {
	program := os.Getenv("PAIMON_GO_ORACLE")
	require.NotEmpty(t, program, "PAIMON_GO_ORACLE names the judge of integration/java")
	cmd := exec.Command(program, "serve")
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "ORACLE_JAVA_OPTS=-Xmx1g -XX:+UseSerialGC -XX:-UsePerfData")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &judge{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// run gives the lines of a command for a table.
func (j *judge) run(t *testing.T, verb string, tab *table.Table, args ...string) []string {
	words := append([]string{verb, filepath.Dir(filepath.Dir(tab.Path())), "db", "t"}, args...)
	b, err := json.Marshal(words)
	require.NoError(t, err)
	_, err = j.in.Write(append(b, '\n'))
	require.NoError(t, err)
	var lines []string
	for {
		line, err := j.out.ReadString('\n')
		require.NoError(t, err)
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, `{"_rc":`) {
			lines = append(lines, line)
			continue
		}
		require.Equal(t, `{"_rc":0}`, line, "%s", words)
		return lines
	}
}

// TestMergeFunctionsAreJavas lets Java write random records in many commits, so that records of a key meet in its write
// buffer and then, from files of level 0, in its reader; what is read from the same files here and merged by ours must be
// the same, all at once as well as in a scan.
func TestMergeFunctionsAreJavas(t *testing.T) {
	java := startJudge(t)
	for _, formatID := range []string{"parquet", "avro"} {
		for _, c := range mergeCases() {
			t.Run(formatID+" "+c.name, func(t *testing.T) {
				if formatID == "avro" {
					c.fields = slices.DeleteFunc(slices.Clone(c.fields), func(f [2]string) bool {
						return f[1] == "TIMESTAMP(9)" || f[1] == "MAP<INT, STRING>" || strings.HasPrefix(f[1], "MAP<INT")
					})
					for o := range c.options {
						if strings.HasPrefix(o, "fields.ns.") || strings.HasPrefix(o, "fields.i.") || strings.HasPrefix(o, "fields.o.") {
							delete(c.options, o)
						}
					}
				}
				tab := mustCreate(t, table.Spec{
					Fields:      c.rowFields(func(s string) row.Type { return mustType(t, s) }),
					PrimaryKeys: []string{"k"},
					Options:     table.Options{"bucket": "1", "write-only": "true", "file.format": formatID}.With(c.options),
				})
				writeByJava(t, java, tab, &c)
				s, err := tab.Latest(t.Context())
				require.NoError(t, err)
				got := mergedHere(t, tab, s)
				if c.options["merge-engine"] == "first-row" {
					java.run(t, "compact", tab, "--full") // level 0 isn't visible
					s, err = tab.Latest(t.Context())
					require.NoError(t, err)
				}
				want := java.run(t, "read", tab)
				require.NotEmpty(t, want)
				require.Empty(t, cmp.Diff(normal(t, want, c.sets), normal(t, got, c.sets)), "-java +ours")
				got, err = scanLines(t, tab, s, ScanOptions{})
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(normal(t, want, c.sets), normal(t, got, c.sets)), "-java +our scan")
			})
		}
	}
}

func writeByJava(t *testing.T, java *judge, tab *table.Table, c *mergeCase) {
	r := rand.New(rand.NewPCG(11, uint64(len(c.name))))
	var text []byte
	for range 12 {
		b := row.NewBatch(tab.Schema().RowType())
		for range 60 {
			c.appendRow(r, b, 40)
			text = append(row.AppendJSONRow(text, b, b.N-1, true), '\n')
		}
		text = append(text, "{\"_commit\":1}\n"...)
	}
	input := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(input, text, 0o600))
	java.run(t, "write", tab, "--input", input)
}

// mergedHere reads every file of a snapshot and merges all records with the table's merge function.
func mergedHere(t *testing.T, tab *table.Table, s *table.Snapshot) []string {
	schema := tab.Schema()
	records := NewKeyValues(schema.RowType())
	batch := NewKeyValues(schema.RowType())
	for e, err := range tab.Scan(t.Context(), s, table.Filter{}) {
		require.NoError(t, err)
		f, err := OpenFile(t.Context(), tab, e.Partition, e.Bucket, &e.File, schema)
		require.NoError(t, err)
		for err = f.Next(batch); err == nil; err = f.Next(batch) {
			records.AppendRange(batch, 0, batch.Len())
		}
		require.True(t, errors.Is(err, io.EOF), err)
		require.NoError(t, f.Close())
	}
	merge, err := NewMergeFunc(schema, tab.Options())
	require.NoError(t, err)
	out, err := mergeAll(schema, tab.Options(), merge, records)
	require.NoError(t, err)
	var lines []string
	for i, k := range out.Rows.Kinds {
		if !k.IsRetract() {
			lines = append(lines, string(row.AppendJSONRow(nil, out.Rows, i, true)))
		}
	}
	return lines
}

// normal sorts rows and the arrays whose order has no meaning.
func normal(t *testing.T, lines, sets []string) []string {
	var out []string
	for _, l := range lines {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(l), &m), l)
		delete(m, "_kind") // +U of a lone record
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(m)) {
			v := m[name]
			if slices.Contains(sets, name) && string(v) != "null" {
				var list []json.RawMessage
				require.NoError(t, json.Unmarshal(v, &list))
				slices.SortFunc(list, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
				v, _ = json.Marshal(list)
			}
			b.WriteString(name + "=" + string(v) + " ")
		}
		out = append(out, b.String())
	}
	slices.Sort(out)
	return out
}
