package compactor_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const warehouse = "/w"

var (
	bigint = row.Type{Root: row.BigInt}
	text   = row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}

	bigintNull = row.Type{Root: row.BigInt, Nullable: true}
)

// tables are those of a warehouse in a file system, by name.
type tables struct {
	fsys fs.FileSystem

	mu    sync.Mutex
	names []string // guarded by mu
}

func (s *tables) List(ctx context.Context) ([]string, error) {
	for _, err := range s.fsys.List(ctx, warehouse) { // fails as storage does
		if err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names), nil
}

func (s *tables) set(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = names
}

func (s *tables) Open(ctx context.Context, name string) (*table.Table, error) {
	return table.Open(ctx, s.fsys, pathOf(name), nil)
}

func pathOf(name string) string {
	db, t, _ := strings.Cut(name, ".")
	return table.TablePath(warehouse, db, t)
}

// guide is the table id BIGINT, data STRING, dt STRING with key (dt, id), partitioned by dt.
func guide(options table.Options) table.Spec {
	// Nothing is compressed: encoders outlive a test, and with it its synctest bubble.
	o := table.Options{"bucket": "2", "write-only": "true", "file.format": "avro", "file.compression": "none", "manifest.compression": "none"}
	return table.Spec{
		Fields:        []row.Field{{ID: 0, Name: "id", Type: bigint}, {ID: 1, Name: "data", Type: text}, {ID: 2, Name: "dt", Type: text}},
		PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"}, Options: o.With(options),
	}
}

// world is tables with writers, and what the tables should hold.
type world struct {
	t      require.TestingT
	fsys   *mem.FS
	tables *tables
	want   map[string]map[string]string // by table: id/dt to data
	next   map[string]int64             // commit identifier
	at     func() int64                 // value of the fourth column; nil: NULL
}

func newWorld(t require.TestingT) *world {
	fsys := mem.New()
	return &world{t: t, fsys: fsys, tables: &tables{fsys: fsys}, want: map[string]map[string]string{}, next: map[string]int64{}}
}

func (w *world) create(name string, options table.Options) {
	_, err := table.Create(context.Background(), w.fsys, pathOf(name), guide(options))
	require.NoError(w.t, err)
	w.want[name] = map[string]string{}
	w.next[name] = 0
	w.tables.set(append(w.tables.names, name)...)
}

func (w *world) open(name string) *table.Table {
	t, err := table.Open(context.Background(), w.fsys, pathOf(name), nil)
	require.NoError(w.t, err)
	return t
}

// write commits rows once for each round: ids from up to to, in partition dt. Every third id is deleted when del is set.
func (w *world) write(name, dt string, from, to int64, rounds int, del bool) {
	ctx := context.Background()
	wr, err := writer.Open(ctx, w.open(name), writer.Config{CommitUser: "writer", Shards: 1, FlushWorkers: 1})
	require.NoError(w.t, err)
	for range rounds {
		w.next[name]++
		b := row.NewBatch(wr.Type())
		for id := from; id < to; id++ {
			key, data, kind := fmt.Sprintf("%d/%s", id, dt), fmt.Sprintf("v%d", w.next[name]), row.Insert
			if del && id%3 == 0 {
				kind = row.Delete
				delete(w.want[name], key)
			} else {
				w.want[name][key] = data
			}
			b.Cols[0].AppendI64(id)
			b.Cols[1].AppendString(data)
			b.Cols[2].AppendString(dt)
			for c := 3; c < len(b.Cols); c++ {
				if c == 3 && w.at != nil {
					b.Cols[c].AppendI64(w.at())
				} else {
					b.Cols[c].AppendNull()
				}
			}
			b.EndRow(kind)
		}
		require.NoError(w.t, wr.Write(ctx, b))
		require.NoError(w.t, wr.Checkpoint(ctx, w.next[name], nil))
		require.NoError(w.t, wr.Wait(ctx))
	}
	require.NoError(w.t, wr.Close(ctx))
}

// contents reads a table as a map from id and dt to data.
func contents(t require.TestingT, tbl *table.Table) map[string]string {
	out, err := tryContents(tbl)
	require.NoError(t, err)
	return out
}

func tryContents(tbl *table.Table) (map[string]string, error) {
	ctx := context.Background()
	s, err := tbl.Latest(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for b, err := range lsm.Scan(ctx, tbl, s, lsm.ScanOptions{}) {
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			key := fmt.Sprintf("%d/%s", b.Cols[0].I64[i], b.Cols[2].Value(i))
			if _, twice := out[key]; twice {
				return nil, fmt.Errorf("key %s comes twice", key)
			}
			out[key] = string(b.Cols[1].Value(i))
		}
	}
	return out, nil
}

// check requires that all tables are sound and hold what was written. orphans: files that nothing refers to are fine.
func (w *world) check(orphans bool) {
	for _, name := range slices.Sorted(maps.Keys(w.want)) {
		tbl := w.open(name)
		require.Equal(w.t, w.want[name], contents(w.t, tbl), name)
		requireSound(w.t, tbl, orphans)
	}
}

func requireSound(t require.TestingT, tbl *table.Table, orphans bool) {
	for p := range tbl.Check(context.Background(), nil, true, lsm.CheckFile) {
		require.True(t, orphans && p.Severity != table.SeverityError, "%s: %s", tbl.Path(), p)
	}
}

// runs returns the sorted runs of each bucket of a table, by "dt/bucket".
func (w *world) runs(name string) map[string]int {
	ctx := context.Background()
	tbl := w.open(name)
	s, err := tbl.Latest(ctx)
	require.NoError(w.t, err)
	files := map[string][]table.DataFile{}
	for e, err := range tbl.Scan(ctx, s, table.Filter{}) {
		require.NoError(w.t, err)
		path, err := tbl.PartitionPath(e.Partition)
		require.NoError(w.t, err)
		k := fmt.Sprintf("%s/%d", path, e.Bucket)
		files[k] = append(files[k], e.File)
	}
	out := map[string]int{}
	for k, f := range files {
		levels, err := lsm.NewLevels(f, tbl.Schema(), tbl.Options())
		require.NoError(w.t, err)
		out[k] = levels.NumSortedRuns()
	}
	return out
}

func (w *world) maxRuns(name string) int {
	n := 0
	for _, r := range w.runs(name) {
		n = max(n, r)
	}
	return n
}

// kinds returns the kinds of the snapshots that a user made.
func (w *world) snapshots(name string) (all []*table.Snapshot) {
	for s, err := range w.open(name).Snapshots(context.Background()) {
		require.NoError(w.t, err)
		all = append(all, s)
	}
	return all
}

func (w *world) service(cfg compactor.Config, ts compactor.Tables) *compactor.Service {
	if cfg.Workers == 0 {
		cfg.Workers = 2
	}
	if cfg.Memory == 0 {
		cfg.Memory = 32 << 20
	}
	s, err := compactor.New(cfg, ts)
	require.NoError(w.t, err)
	return s
}

// drop removes a table with all its files.
func (w *world) drop(name string) {
	for _, p := range w.fsys.Paths() {
		if strings.HasPrefix(p, pathOf(name)+"/") {
			require.NoError(w.t, w.fsys.Remove(context.Background(), p))
		}
	}
	delete(w.want, name)
	w.tables.set(slices.DeleteFunc(slices.Clone(w.tables.names), func(n string) bool { return n == name })...)
}

// faultyTables are tables seen through another file system.
type faultyTables struct {
	*tables
	fsys fs.FileSystem
}

func (f *faultyTables) List(ctx context.Context) ([]string, error) {
	for _, err := range f.fsys.List(ctx, warehouse) {
		if err != nil {
			return nil, err
		}
	}
	return f.tables.List(ctx)
}

func (f *faultyTables) Open(ctx context.Context, name string) (*table.Table, error) {
	return table.Open(ctx, f.fsys, pathOf(name), nil)
}
