//go:build integration

package testkit

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// Job is one mysql_sync_table command with a warehouse of its own.
type Job struct {
	t         testing.TB
	DB        *DB
	Source    string // the MySQL table
	Warehouse string
	// Database and Table name the Paimon table.
	Database, Table string
	// Interval is the commit tick.
	Interval string
	// MySQL are settings of the source, Conf options of the table, Args other arguments.
	MySQL, Conf map[string]string
	Args        []string
	Env         []string
}

// NewJob returns a job with a short tick: the table bucket=2, write-only.
func NewJob(t testing.TB, db *DB, source string) *Job {
	host, port, err := net.SplitHostPort(db.Server.Addr)
	require.NoError(t, err)
	return &Job{t: t, DB: db, Source: source, Warehouse: t.TempDir(), Database: "d", Table: "t", Interval: "300ms",
		MySQL: map[string]string{"hostname": host, "port": port, "username": db.Server.User, "password": db.Server.Password,
			"database-name": db.Name, "table-name": source, "server-time-zone": "+00:00", "heartbeat.interval": "1s"},
		Conf: map[string]string{"bucket": "2", "write-only": "true"}}
}

// Set changes a setting of the source and returns the job; an empty value removes it.
func (j *Job) Set(key, value string) *Job {
	if j.MySQL[key] = value; value == "" {
		delete(j.MySQL, key)
	}
	return j
}

// On puts the table into another storage than the local disk.
func (j *Job) On(s Storage) *Job { j.Warehouse = s(j.t); return j }

// With adds arguments.
func (j *Job) With(args ...string) *Job { j.Args = append(j.Args, args...); return j }

// Command is the command line.
func (j *Job) Command(extra ...string) []string {
	args := []string{"mysql_sync_table", "--warehouse", j.Warehouse, "--database", j.Database, "--table", j.Table, "--commit_interval", j.Interval}
	for _, k := range keys(j.MySQL) {
		args = append(args, "--mysql_conf", k+"="+j.MySQL[k])
	}
	for _, k := range keys(j.Conf) {
		args = append(args, "--table_conf", k+"="+j.Conf[k])
	}
	args = append(args, CatalogArgs("--catalog_conf", j.Warehouse)...)
	return append(append(args, j.Args...), extra...)
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Start runs the job until it is stopped.
func (j *Job) Start(extra ...string) *Process {
	p := start(j.t, j.Command(extra...), j.Env...)
	p.job = j
	return p
}

// RunToLatest runs the job with --stop_at_latest and requires success.
func (j *Job) RunToLatest(extra ...string) *Process {
	j.t.Helper()
	p := j.Start(append(extra, "--stop_at_latest")...)
	require.Equal(j.t, 0, p.Wait(3*time.Minute), p.Output())
	return p
}

// RequireExit runs the job and requires an exit code and texts in its output.
func (j *Job) RequireExit(code int, texts ...string) *Process {
	j.t.Helper()
	p := j.Start()
	p.RequireExit(code, texts...)
	return p
}

// RequireExit waits for the end and requires an exit code and texts in the output.
func (p *Process) RequireExit(code int, texts ...string) {
	p.t.Helper()
	require.Equal(p.t, code, p.Wait(time.Minute), p.Output())
	for _, s := range texts {
		require.Contains(p.t, p.Output(), s)
	}
	require.Contains(p.t, p.Output(), fmt.Sprintf("\nexit %d: ", code))
	require.NotContains(p.t, p.Output(), "goroutine ")
}

// Path is the table's directory.
func (j *Job) Path() string { return table.TablePath(j.Warehouse, j.Database, j.Table) }

// Open opens the table by our own code.
func (j *Job) Open() *table.Table {
	t, err := table.Open(j.t.Context(), Files(j.t, j.Path()), j.Path(), nil)
	require.NoError(j.t, err)
	return t
}

// Snapshots are all snapshots, oldest first; none when there is no table.
func (j *Job) Snapshots() []*table.Snapshot {
	t, err := table.Open(j.t.Context(), Files(j.t, j.Path()), j.Path(), nil)
	if err != nil {
		return nil
	}
	var list []*table.Snapshot
	for s, err := range t.Snapshots(j.t.Context()) {
		require.NoError(j.t, err)
		list = append(list, s)
	}
	return list
}

// Latest is the newest snapshot's id, 0 when there is none.
func (j *Job) Latest() int64 { return latest(j.t, j.Path()) }

func latest(t testing.TB, path string) int64 {
	list, _ := names(t, fs.Join(path, "snapshot"))
	var newest int64
	for _, name := range list {
		var id int64
		if _, err := fmt.Sscanf(name, "snapshot-%d", &id); err == nil && name == fmt.Sprintf("snapshot-%d", id) {
			newest = max(newest, id)
		}
	}
	return newest
}

// SavedPosition is the position in the state file beside the table.
type SavedPosition struct {
	GTID     string          `json:"gtid"`
	File     string          `json:"file"`
	Pos      int64           `json:"pos"`
	Snapshot json.RawMessage `json:"snapshot"`
}

// Saved is the position that is in the state file, or in a snapshot that is newer; false when there is none.
func (j *Job) Saved() (SavedPosition, bool) {
	var p SavedPosition
	dir := fs.Join(j.Path(), "paimon-go")
	list, err := names(j.t, dir)
	require.NoError(j.t, err)
	sort.Strings(list)
	at := slices.IndexFunc(list, func(n string) bool { return n[0] != '.' && strings.HasSuffix(n, ".json") })
	if at < 0 {
		return p, false
	}
	b, err := Read(j.t, fs.Join(dir, list[at]))
	require.NoError(j.t, err)
	var state table.SinkState
	require.NoError(j.t, json.Unmarshal(b, &state), "%s: %q", list[at], b)
	if state.Pending != nil { // as a rule only the snapshots tell that it was committed, until the next
		now, err := j.Open().FindSinkState(j.t.Context(), state.User, cdc.PropertyPosition)
		require.NoError(j.t, err)
		if now == nil {
			return p, false
		}
		state = *now
	}
	if state.Position == "" { // the first commit is under way
		return p, false
	}
	require.NoError(j.t, json.Unmarshal([]byte(state.Position), &p), "%s: %q", list[at], state.Position)
	return p, true
}

// CaughtUp reports whether all transactions of a set are saved, and the initial read is over.
func (j *Job) CaughtUp(end string) bool {
	p, ok := j.Saved()
	return ok && p.Snapshot == nil && p.GTID != "" && contains(j.t, j.DB.Server.Flavor, p.GTID, end)
}

// WaitCaughtUp waits until everything that the server has now is committed.
func (p *Process) WaitCaughtUp() {
	p.t.Helper()
	end := p.job.DB.Server.End(p.t)
	p.Until(2*time.Minute, "the sink to catch up", func() bool { return p.job.CaughtUp(end) })
}

// WaitSnapshot waits until there is a snapshot with this id.
func (p *Process) WaitSnapshot(id int64) {
	p.t.Helper()
	p.Until(time.Minute, fmt.Sprintf("snapshot %d", id), func() bool { return p.job.Latest() >= id })
}

// Java runs a verb on the table.
func (j *Job) Java(version, verb string, words ...string) []string {
	j.t.Helper()
	lines, err := Java(j.t, version, append(append([]string{verb, j.Warehouse, j.Database, j.Table}, words...), CatalogArgs("--catalog", j.Warehouse)...)...)
	require.NoError(j.t, err)
	return lines
}

// JavaRows are the rows that a Java version reads, sorted, without kinds.
func (j *Job) JavaRows(version string) []string {
	j.t.Helper()
	return bare(j.Java(version, "read"))
}

// RequireSame requires that both Java versions and pypaimon read what MySQL has, and that Java finds all files to be as their
// metadata says.
func (j *Job) RequireSame() {
	j.t.Helper()
	j.RequireJava(j.DB.Rows(j.Source))
	j.RequirePython(j.DB.Rows(j.Source))
}

// RequireJava requires that both Java versions read rows (in the form of DB.Rows), and a clean deep check.
func (j *Job) RequireJava(rows []string) {
	j.t.Helper()
	for _, v := range JavaVersions {
		requireRows(j.t, "java "+v, rows, j.JavaRows(v))
	}
	j.RequireClean()
}

// RequireClean requires that Java finds nothing wrong with any file or snapshot.
func (j *Job) RequireClean() {
	j.t.Helper()
	j.At().RequireClean()
}

// RequirePython requires that pypaimon reads rows.
func (j *Job) RequirePython(rows []string) {
	j.t.Helper()
	j.At().RequirePython(rows)
}

// requireRows compares sorted rows and shows only what differs.
func requireRows(t testing.TB, who string, want, got []string) {
	t.Helper()
	var missing, extra []string
	i, k := 0, 0
	for i < len(want) || k < len(got) {
		switch {
		case k == len(got) || i < len(want) && want[i] < got[k]:
			missing = append(missing, want[i])
			i++
		case i == len(want) || got[k] < want[i]:
			extra = append(extra, got[k])
			k++
		default:
			i++
			k++
		}
	}
	if len(missing)+len(extra) == 0 {
		return
	}
	show := func(list []string) string {
		var b strings.Builder
		for _, s := range list[:min(len(list), 3)] {
			b.WriteString("\n  " + s[:min(len(s), 4000)])
		}
		return b.String()
	}
	t.Fatalf("%s reads %d rows where there are %d: %d are missing%s\n%d are too many or different%s", who, len(got), len(want), len(missing), show(missing), len(extra), show(extra))
}

// Appended is the sum of the records that the commits of a job's snapshots added, and the number of commits.
func (j *Job) Appended() (records int64, commits int) {
	for _, s := range j.Snapshots() {
		if s.CommitKind == "APPEND" && strings.Contains(s.CommitUser, "paimon-go-sink-") {
			records += s.DeltaRecordCount
			commits++
		}
	}
	return records, commits
}

// CheckSource runs check_source with the job's settings of the source.
func (j *Job) CheckSource() *Process {
	args := []string{"check_source"}
	for _, k := range keys(j.MySQL) {
		args = append(args, "--mysql_conf", k+"="+j.MySQL[k])
	}
	p := start(j.t, args, j.Env...)
	p.job = j
	return p
}
