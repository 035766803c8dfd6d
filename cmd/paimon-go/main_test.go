package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
)

const golden = "../../lsm/testdata/golden"

// call runs the program and returns its output, without and with the error.
func call(t *testing.T, code int, args ...string) (stdout, stderr string) {
	var out, errs bytes.Buffer
	got := run(args, strings.NewReader(""), &out, &errs)
	require.Equal(t, code, got, "%v\n%s%s", args, out.String(), errs.String())
	return out.String(), errs.String()
}

func sorted(text string) []string {
	l := slices.Collect(strings.Lines(text))
	slices.Sort(l)
	return l
}

func expected(t *testing.T, name string) []string {
	b, err := os.ReadFile(filepath.Join(golden, "expected", name))
	require.NoError(t, err)
	return sorted(string(b))
}

func TestScanPrintsTheJudgesRows(t *testing.T) {
	for _, name := range []string{"types_parquet", "nested_avro", "evolution_parquet", "dedup_seq2", "part_three", "first_row"} {
		out, _ := call(t, 0, "scan", "--json", "--warehouse="+golden+"/warehouse", "--database", "golden", "--table", name)
		require.Equal(t, expected(t, name+".jsonl"), sorted(out), name)
	}
}

func TestChangelogPrintsTheJudgesRows(t *testing.T) {
	for _, name := range []string{"types_parquet", "dedup_seq2", "first_row"} {
		out, _ := call(t, 0, "changelog", golden+"/warehouse/golden.db/"+name, "--json")
		require.Equal(t, expected(t, name+".changelog.jsonl"), sorted(out), name)
	}
	out, _ := call(t, 0, "changelog", golden+"/warehouse/golden.db/dedup_seq2", "--from=2", "--to=2", "--count")
	require.NotEqual(t, "0\n", out)
	call(t, cli.ExitUsage, "changelog", golden+"/warehouse/golden.db/dedup_seq2", "--to=99")
	call(t, cli.ExitUsage, "changelog", golden+"/warehouse/golden.db/dedup_seq2", "--from=99")
}

func TestEveryVerbPrintsTextAndJSON(t *testing.T) {
	table := golden + "/warehouse/golden.db/part_three"
	for _, verb := range []string{"schema", "snapshots", "files", "buckets", "scan", "changelog", "check"} {
		text, _ := call(t, 0, verb, table)
		require.NotEmpty(t, text, verb)
		out, _ := call(t, 0, verb, table, "--json")
		for line := range strings.Lines(out) {
			require.True(t, json.Valid([]byte(line)), "%s: %s", verb, line)
		}
	}
	out, _ := call(t, 0, "files", table, "--json", "--stats", "--partition=dt=p0,hr=1", "--bucket=0")
	require.Len(t, sorted(out), 2)
	require.Contains(t, out, `"stats":{"d":{"min":"2024-02-29"`)
	out, _ = call(t, 0, "schema", golden+"/warehouse/golden.db/evolution_avro", "--all")
	require.Contains(t, out, "schema 3")
	out, _ = call(t, 0, "scan", table, "--columns=hr,k", "--limit=3", "--snapshot=1", "--partition=dt=p0")
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 4)
	out, _ = call(t, 0, "--version")
	require.Equal(t, version+"\n", out)
}

func TestCellKeepsQuotes(t *testing.T) {
	typ := row.Type{Root: row.Row, Fields: []row.Field{{Name: "s", Type: row.Type{Root: row.VarChar, Length: row.MaxLength}}}}
	b := row.NewBatch(&typ)
	b.Cols[0].AppendString("{\"a\": \"b\\c\"}\n")
	b.EndRow(row.Insert)
	require.Equal(t, `{"a": "b\\c"}\n`, cell(&b.Cols[0], 0))
}

func TestCreate(t *testing.T) {
	place := []string{"--warehouse", t.TempDir(), "--database=d", "--table=t"}
	create := append([]string{"create", "--columns=id BIGINT NOT NULL, v STRING, dt STRING", "--primary_keys=dt,id", "--partition-keys=dt", "--table_conf=bucket=2"}, place...)
	text, _ := call(t, 0, create...)
	require.Contains(t, text, "primary key    dt, id\n")
	_, stderr := call(t, cli.ExitUsage, create...)
	require.Contains(t, stderr, "exists")
	call(t, 0, append(create, "--if-not-exists")...)
	out, _ := call(t, 0, append([]string{"schema", "--json"}, place...)...)
	require.Contains(t, out, `"partitionKeys":["dt"]`)
	for _, verb := range []string{"snapshots", "files", "buckets", "scan", "changelog", "check"} {
		call(t, 0, append([]string{verb, "--json"}, place...)...)
	}
	spec := `{"fields":[{"name":"k","type":"INT NOT NULL"},{"name":"a","type":{"type":"ARRAY","element":"INT"}}],"primaryKeys":["k"],"options":{"bucket":"1"}}`
	text, _ = call(t, 0, "create", t.TempDir()+"/x", "--spec="+spec)
	require.Contains(t, text, "ARRAY<INT>")
	call(t, cli.ExitUsage, "create", t.TempDir()+"/x", "--spec="+spec, "--comment=both")
	call(t, cli.ExitUsage, "create", t.TempDir()+"/x", `--spec={"feilds":[]}`)
	call(t, cli.ExitUsage, "create", t.TempDir()+"/x", "--columns=k INT", "--primary-keys=k", "--table-conf=buckett=1")
}

func TestErrorsSayTheCodeAndWhatToDo(t *testing.T) {
	_, stderr := call(t, cli.ExitUsage, "scan", "/no/such/table")
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	require.True(t, strings.HasPrefix(lines[len(lines)-1], "exit 2: "), stderr)
	for _, args := range [][]string{
		{"frobnicate"}, {"scan"}, {"scan", "--table=t"}, {"scan", "x", "--warehouse=y", "--database=d", "--table=t"},
		{"scan", golden + "/warehouse/golden.db/part_three", "--columns=nope"}, {"scan", golden + "/warehouse/golden.db/part_three", "--partition=x"},
		{"scan", golden + "/warehouse/golden.db/part_three", "--partition=v=1"}, {"scan", golden + "/warehouse/golden.db/part_three", "--snapshot=77"},
		{"scan", golden + "/warehouse/golden.db/part_three", "--catalog-conf=metastore=hive"}, {"scan", "gopher://x/y"},
		{"schema", golden + "/warehouse/golden.db/part_three", "--id=7"}, {"files", golden + "/warehouse/golden.db/part_three", "--scan=some"},
	} {
		_, stderr := call(t, cli.ExitUsage, args...)
		require.Contains(t, stderr, "\nexit 2: ", "%v", args)
	}
}

func TestCheckSeesADirectoryInThePlaceOfTheNextSnapshot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	require.NoError(t, os.CopyFS(dir, os.DirFS(golden+"/warehouse/golden.db/evolution_avro")))
	require.NoError(t, os.Mkdir(dir+"/snapshot/snapshot-99", 0o700))
	out, _ := call(t, cli.ExitCorrupt, "check", dir)
	require.Contains(t, out, "snapshot-99: a directory lies where a snapshot belongs")
	require.Contains(t, out, "1 errors")
}

func TestCheckOfADamagedTableExitsWith4(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	require.NoError(t, os.CopyFS(dir, os.DirFS(golden+"/warehouse/golden.db/evolution_avro")))
	call(t, 0, "check", dir)
	files, err := filepath.Glob(dir + "/bucket-*/*.avro")
	require.NoError(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		b[len(b)-20] ^= 0xff
		require.NoError(t, os.WriteFile(f, b, 0o600))
	}
	out, stderr := call(t, cli.ExitCorrupt, "check", dir)
	require.Contains(t, out, "error file-")
	require.Contains(t, stderr, "exit 4: ")
	call(t, 0, "check", dir, "--fast")
	_, stderr = call(t, cli.ExitCorrupt, "scan", dir)
	require.Contains(t, stderr, "exit 4: ")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orphan"), nil, 0o600))
	call(t, 0, "check", dir, "--fast")
	out, stderr = call(t, cli.ExitCorrupt, "check", dir, "--fast", "--strict")
	require.Contains(t, out, "orphan orphan: nothing refers to it\n") // a word and its name
	require.Contains(t, stderr, "remove_orphan_files")
}
