//go:build integration

package testkit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// Table is a table of a warehouse.
type Table struct {
	t                         testing.TB
	Warehouse, Database, Name string
}

// NewTable makes a table by Java from a spec as the oracle's verb create takes it, in a warehouse of its own.
func NewTable(t testing.TB, spec string) *Table { return NewTableOn(t, OnDisk, spec) }

// NewTableOn is NewTable in another storage.
func NewTableOn(t testing.TB, s Storage, spec string) *Table {
	x := &Table{t: t, Warehouse: s(t), Database: "d", Name: "t"}
	x.Java(JavaVersions[0], "create", "--spec", spec)
	return x
}

// TableAt is a table that is there, or will be.
func TableAt(t testing.TB, warehouse, database, name string) *Table {
	return &Table{t: t, Warehouse: warehouse, Database: database, Name: name}
}

// At is the job's table.
func (j *Job) At() *Table { return TableAt(j.t, j.Warehouse, j.Database, j.Table) }

// In is the same table with failures told to another test.
func (x *Table) In(t testing.TB) *Table {
	y := *x
	y.t = t
	return &y
}

// Path is the table's directory.
func (x *Table) Path() string { return table.TablePath(x.Warehouse, x.Database, x.Name) }

// Open opens the table by our own code.
func (x *Table) Open() *table.Table {
	x.t.Helper()
	t, err := table.Open(x.t.Context(), Files(x.t, x.Path()), x.Path(), nil)
	require.NoError(x.t, err)
	return t
}

// Copy copies the table's directory into another warehouse. What compacts the table beside it may remove what it made in vain meanwhile.
func (x *Table) Copy(warehouse string) *Table {
	x.t.Helper()
	y := TableAt(x.t, warehouse, x.Database, x.Name)
	err := os.CopyFS(y.Path(), os.DirFS(x.Path()))
	for tries := 0; tries < 100 && errors.Is(err, os.ErrNotExist); tries++ {
		require.NoError(x.t, os.RemoveAll(y.Path()))
		err = os.CopyFS(y.Path(), os.DirFS(x.Path()))
	}
	require.NoError(x.t, err)
	return y
}

// Bytes are the table's files with their content, by path below the table.
func (x *Table) Bytes() map[string]string {
	x.t.Helper()
	m := map[string]string{}
	require.NoError(x.t, filepath.WalkDir(x.Path(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		m[strings.TrimPrefix(path, x.Path())] = string(b)
		return err
	}))
	return m
}

// Java runs a verb on the table and requires success.
func (x *Table) Java(version, verb string, words ...string) []string {
	x.t.Helper()
	lines, err := x.TryJava(version, verb, words...)
	require.NoError(x.t, err)
	return lines
}

// TryJava runs a verb on the table.
func (x *Table) TryJava(version, verb string, words ...string) ([]string, error) {
	x.t.Helper()
	return Java(x.t, version, append(append([]string{verb, x.Warehouse, x.Database, x.Name}, words...), CatalogArgs("--catalog", x.Warehouse)...)...)
}

// JavaRows are the rows that a Java version reads, sorted, without kinds.
func (x *Table) JavaRows(version string, words ...string) []string {
	x.t.Helper()
	return bare(x.Java(version, "read", words...))
}

// JavaCompacts compacts by Java as the dedicated job does; a lost conflict is retried, as Flink would restart the job.
func (x *Table) JavaCompacts(version string, words ...string) {
	x.t.Helper()
	var err error
	for range 50 {
		if _, err = x.TryJava(version, "compact", words...); err == nil {
			return
		}
		require.Contains(x.t, err.Error(), "conflict", "Java's compaction")
	}
	require.NoError(x.t, err, "Java's compaction lost 50 times")
}

// JavaDrains compacts by Java until a round changes nothing.
func (x *Table) JavaDrains(version string, words ...string) {
	x.t.Helper()
	for before := int64(-1); before != x.Latest(); {
		before = x.Latest()
		x.JavaCompacts(version, words...)
	}
}

// RequireClean requires that Java finds nothing wrong with any file or snapshot. It reads every snapshot's rows only on the disk.
func (x *Table) RequireClean() {
	x.t.Helper()
	if fs.Scheme(x.Warehouse) != "" {
		x.RequireCleanFiles()
		return
	}
	lines, err := x.TryJava(JavaVersions[0], "check", "--deep")
	require.NoError(x.t, err, strings.Join(lines, "\n"))
}

// RequireCleanFiles is RequireClean without reading every snapshot's rows: for tables of hundreds of them.
func (x *Table) RequireCleanFiles() {
	x.t.Helper()
	lines, err := x.TryJava(JavaVersions[0], "check")
	require.NoError(x.t, err, strings.Join(lines, "\n"))
}

// CheckErrors are the errors that Java's check finds.
func (x *Table) CheckErrors() (found []string) {
	x.t.Helper()
	lines, _ := x.TryJava(JavaVersions[0], "check")
	require.NotEmpty(x.t, lines)
	for _, l := range lines {
		if strings.HasPrefix(l, `{"severity":"error"`) {
			found = append(found, l)
		}
	}
	return found
}

// Orphans are the paths of files that nothing refers to, by our own check. Nothing may be at work on the table.
func (x *Table) Orphans() []string {
	x.t.Helper()
	var out []string
	for p := range x.Open().Check(x.t.Context(), nil, true, nil) {
		if p.Severity == table.SeverityOrphan {
			out = append(out, p.At)
		}
	}
	return out
}

// RequireIntact requires that every file of every snapshot is there, by our own check; a writer may be at work.
func (x *Table) RequireIntact() {
	x.t.Helper()
	for p := range x.Open().Check(x.t.Context(), nil, true, nil) {
		require.NotEqual(x.t, table.SeverityError, p.Severity, p.String())
	}
}

// RequireRows requires that both Java versions read rows.
func (x *Table) RequireRows(rows []string) {
	x.t.Helper()
	for _, v := range JavaVersions {
		requireRows(x.t, "java "+v, rows, x.JavaRows(v))
	}
}

// RequirePython requires that pypaimon reads rows, except on HDFS: it has no client of its own for that.
func (x *Table) RequirePython(rows []string) {
	x.t.Helper()
	if fs.Scheme(x.Warehouse) == "hdfs" {
		return
	}
	requireRows(x.t, "pypaimon", rows, bare(python(x.t, append([]string{"read", x.Warehouse, x.Database, x.Name}, CatalogArgs("--catalog", x.Warehouse)...)...)))
}

// RequireSameRows compares sorted rows and shows only what differs.
func RequireSameRows(t testing.TB, who string, want, got []string) {
	t.Helper()
	requireRows(t, who, want, got)
}

// Bare cuts the kinds of rows as the oracle prints them, and sorts them.
func Bare(lines []string) []string { return bare(lines) }

// Latest is the newest snapshot's id, 0 when there is none.
func (x *Table) Latest() int64 { return latest(x.t, x.Path()) }

// Snapshots are all snapshots, oldest first.
func (x *Table) Snapshots() []*table.Snapshot {
	x.t.Helper()
	var list []*table.Snapshot
	for s, err := range x.Open().Snapshots(x.t.Context()) {
		require.NoError(x.t, err)
		list = append(list, s)
	}
	return list
}

// Live are the live files of the latest snapshot, by partition directory and bucket.
func (x *Table) Live() map[string][]table.DataFile {
	x.t.Helper()
	t := x.Open()
	s, err := t.Latest(x.t.Context())
	require.NoError(x.t, err)
	m := map[string][]table.DataFile{}
	if s == nil {
		return m
	}
	for e, err := range t.Scan(x.t.Context(), s, table.Filter{}) {
		require.NoError(x.t, err)
		path, err := t.DataFilePath(e.Partition, e.Bucket, &e.File)
		require.NoError(x.t, err)
		m[filepath.Dir(path)] = append(m[filepath.Dir(path)], e.File)
	}
	return m
}

// Runs is the number of sorted runs of a bucket's files.
func Runs(files []table.DataFile) int {
	n, seen := 0, map[int]bool{}
	for i := range files {
		if l := files[i].Level; l == 0 || !seen[l] {
			seen[l] = true
			n++
		}
	}
	return n
}

// MaxRuns is the largest number of runs of a bucket, and the number of live files.
func (x *Table) MaxRuns() (runs, files int) {
	x.t.Helper()
	for _, list := range x.Live() {
		runs = max(runs, Runs(list))
		files += len(list)
	}
	return runs, files
}

// Args are the arguments that name the table.
func (x *Table) Args() []string {
	return append([]string{"--warehouse", x.Warehouse, "--database", x.Database, "--table", x.Name}, CatalogArgs("--catalog_conf", x.Warehouse)...)
}

// Compactor starts a verb of paimon-go-compact on the table.
func (x *Table) Compactor(verb string, args ...string) *Process {
	return Run(x.t, "paimon-go-compact", append(append([]string{verb}, x.Args()...), args...))
}

// Compact runs a verb of paimon-go-compact on the table to its end and requires success.
func (x *Table) Compact(verb string, args ...string) *Process {
	x.t.Helper()
	p := x.Compactor(verb, args...)
	require.Equal(x.t, 0, p.Wait(5*time.Minute), p.Output())
	return p
}
