//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

func postponedTable(t *testing.T, o table.Options) *testkit.Table {
	options, err := json.Marshal(o.With(table.Options{"snapshot.num-retained.min": "1000", "snapshot.num-retained.max": "1000"}))
	require.NoError(t, err)
	return testkit.NewTable(t, `{"fields": [{"name": "k", "type": "INT NOT NULL"}, {"name": "p", "type": "STRING NOT NULL"}, {"name": "n", "type": "BIGINT"}, {"name": "v", "type": "STRING"}],
		"partitionKeys": ["p"], "primaryKeys": ["p", "k"], "options": `+string(options)+`}`)
}

// postponedRow is a change of a key, which is always in the same partition.
type postponedRow struct {
	kind row.Kind
	k    int32
	n    int64
}

func (r postponedRow) part() string { return fmt.Sprintf("p%d", r.k%3) }

// text is the row as the oracle prints it.
func (r postponedRow) text() string {
	return fmt.Sprintf(`{"k":%d,"p":%q,"n":%d,"v":"v%d"}`, r.k, r.part(), r.n, r.n)
}

func (r postponedRow) appendTo(b *row.Batch) {
	b.Cols[0].AppendI32(r.k)
	b.Cols[1].AppendString(r.part())
	b.Cols[2].AppendI64(r.n)
	b.Cols[3].AppendString(fmt.Sprint("v", r.n))
	b.EndRow(r.kind)
}

// postponer is our writer of a table with bucket=-2, and what it has committed.
type postponer struct {
	t      *testing.T
	rng    *rand.Rand
	x      *testkit.Table
	w      *writer.Writer
	id     int64
	kinds  []row.Kind
	n      int64
	rows   []postponedRow // committed
	states map[int32]string
}

func (p *postponer) open() {
	tbl := p.x.Open()
	cfg := writer.Config{CommitUser: "job", Resume: &writer.Resume{}}
	s, err := tbl.LatestOf(p.t.Context(), "job")
	require.NoError(p.t, err)
	if s != nil {
		*cfg.Resume = writer.Resume{SnapshotID: s.ID, Identifier: s.CommitIdentifier}
	}
	p.w, err = writer.Open(p.t.Context(), tbl, cfg)
	require.NoError(p.t, err)
}

func (p *postponer) write() (rows []postponedRow) {
	b := row.NewBatch(p.w.Type())
	for range 1 + p.rng.IntN(200) {
		p.n++
		r := postponedRow{p.kinds[p.rng.IntN(len(p.kinds))], int32(p.rng.IntN(40)), p.n}
		r.appendTo(b)
		rows = append(rows, r)
	}
	require.NoError(p.t, p.w.Write(p.t.Context(), b))
	return rows
}

// round commits a few times, as fast as it can, and ends with a writer that forgets what it was about to write.
func (p *postponer) round() {
	p.open()
	for range 2 + p.rng.IntN(8) {
		for _, r := range p.write() {
			p.rows = append(p.rows, r)
			if p.states[r.k] = r.text(); r.kind.IsRetract() {
				delete(p.states, r.k)
			}
		}
		p.id++
		require.NoError(p.t, p.w.Checkpoint(p.t.Context(), p.id, nil))
	}
	p.write()
	require.NoError(p.t, p.w.Close(p.t.Context()))
}

// json are rows as the oracle's verb write takes them.
func (p *postponer) json(rows []postponedRow) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, `{"_kind":%q,%s`+"\n", r.kind.String(), r.text()[1:])
	}
	path := filepath.Join(p.t.TempDir(), "rows")
	require.NoError(p.t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// TestJavaCompactsWhatWePostpone: we write rows that have no bucket, Java gives them theirs and compacts. The rows, and what a stream
// gives, are those of a table with buckets that Java wrote and compacted alone; with deduplicate the last that came wins.
func TestJavaCompactsWhatWePostpone(t *testing.T) {
	java := testkit.JavaVersions[0]
	kinds := []row.Kind{row.Insert, row.UpdateAfter, row.UpdateAfter, row.Delete}
	for name, o := range map[string]table.Options{
		"none":            {"write-only": "true"},
		"input":           {"changelog-producer": "input"},
		"lookup":          {"changelog-producer": "lookup"},
		"full-compaction": {"changelog-producer": "full-compaction"},
		"thin":            {"data-file.thin-mode": "true", "file.compression": "none"},
		"partial-update":  {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", "changelog-producer": "lookup"},
		"aggregation":     {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.v.aggregate-function": "last_value"},
	} {
		t.Run(name, func(t *testing.T) {
			x := postponedTable(t, o.With(table.Options{"bucket": "-2", "postpone.default-bucket-num": "2"}))
			twin := postponedTable(t, o.With(table.Options{"bucket": "2", "write-only": "true"}))
			p := &postponer{t: t, rng: seed(t), x: x, kinds: kinds, states: map[int32]string{}}
			if name == "aggregation" {
				p.kinds = kinds[:3]
			}
			for range 3 {
				from := len(p.rows)
				p.round()
				before := x.JavaRows(java)
				x.Java(java, "postpone-compact")
				require.NotEqual(t, before, x.JavaRows(java), "Java saw rows that had no bucket")
				twin.Java(java, "write", "--input", p.json(p.rows[from:]))
				twin.JavaCompacts(java, "--full")
				testkit.RequireSameRows(t, "the twin", twin.JavaRows(java), x.JavaRows(java))
			}
			for dir := range x.Live() {
				require.NotContains(t, dir, "bucket-postpone")
			}
			if o["merge-engine"] == "" {
				testkit.RequireSameRows(t, "the model", p.contents(), x.JavaRows(java))
			}
			stream := x.JavaChanges(java)
			if o["changelog-producer"] != "" {
				testkit.RequireSameHistory(t, twin.JavaChanges(java), stream)
				x.RequireChangelogCounts(stream)
			} else { // readers get all rows, as they came
				require.Equal(t, p.history(p.rows), historyOf(stream))
			}
			x.RequireCleanFiles()
		})
	}
}

// TestJavaCompactsManyPostponedFilesInOrder: Java packs many files into splits by their ranges of keys and keeps the order of those in
// one split only, so that files with a key in common must have ranges that overlap.
func TestJavaCompactsManyPostponedFilesInOrder(t *testing.T) {
	java := testkit.JavaVersions[0]
	x := postponedTable(t, table.Options{"bucket": "-2", "write-only": "true"})
	p := &postponer{t: t, rng: seed(t), x: x, states: map[int32]string{}}
	p.open()
	put := func(keys ...int32) {
		b := row.NewBatch(p.w.Type())
		for _, k := range keys {
			p.n++
			r := postponedRow{row.Insert, 3 * k, p.n} // all in one partition
			r.appendTo(b)
			p.states[r.k] = r.text()
		}
		require.NoError(t, p.w.Write(t.Context(), b))
		p.id++
		require.NoError(t, p.w.Checkpoint(t.Context(), p.id, nil))
	}
	put(500, 1, 600)
	for k := range int32(45) {
		put(100 + k)
	}
	put(1)
	require.NoError(t, p.w.Close(t.Context()))
	x.Java(java, "postpone-compact")
	testkit.RequireSameRows(t, "the model", p.contents(), x.JavaRows(java))
}

func (p *postponer) contents() (out []string) {
	for _, s := range p.states {
		out = append(out, s)
	}
	sort.Strings(out)
	return out
}

// history are the changes of each key in their order.
func (p *postponer) history(rows []postponedRow) map[string][]string {
	m := map[string][]string{}
	for _, r := range rows {
		k := fmt.Sprintf("%q %d ", r.part(), r.k)
		m[k] = append(m[k], r.kind.String()+r.text())
	}
	return m
}

func historyOf(stream []testkit.Change) map[string][]string {
	m := map[string][]string{}
	for _, c := range stream {
		m[c.Key] = append(m[c.Key], c.Kind+c.Row)
	}
	return m
}

// TestSinkPostponesBuckets follows MySQL into tables with bucket=-2, stopped and started again, while Java compacts now and then.
func TestSinkPostponesBuckets(t *testing.T) {
	java := testkit.JavaVersions[0]
	for _, producer := range []string{"none", "input", "lookup"} {
		t.Run(producer, func(t *testing.T) {
			db := testkit.MySQL(t).Database(t)
			db.Exec(changedTable)
			c := newChanger(seed(t), db, 30)
			for range 20 {
				c.step()
			}
			j := testkit.NewJob(t, db, "s")
			j.Conf = map[string]string{"bucket": "-2", "postpone.default-bucket-num": "3", "changelog-producer": producer}
			stop := c.goOn() // rows change while the source is read
			j.RunToLatest()
			stop()
			x := j.At()
			for range 3 {
				for range 15 {
					c.step()
				}
				j.RunToLatest()
				x.Java(java, "postpone-compact")
				require.Equal(t, c.rows(), idAndData(t, x.JavaRows(java)))
			}
			if producer == "input" {
				stream := map[string][]string{}
				for _, ch := range x.JavaChanges(java) {
					var v struct{ ID, Data string }
					require.NoError(t, json.Unmarshal([]byte(ch.Row), &v))
					stream[v.ID] = append(stream[v.ID], ch.Kind+" "+v.Data)
				}
				c.requireStream(t, stream, map[string]int{})
			} else if producer != "none" {
				testkit.RequireSameRows(t, "the replay", x.JavaRows(java), testkit.Replayed(t, x.JavaChanges(java)))
			}
			x.RequireCleanFiles()
		})
	}
}

// rows are those of the source, as "id data".
func (c *changer) rows() (out []string) {
	for k, v := range c.state {
		out = append(out, k+" "+v)
	}
	slices.Sort(out)
	return out
}

func idAndData(t *testing.T, rows []string) (out []string) {
	for _, r := range rows {
		var x struct{ ID, Data string }
		require.NoError(t, json.Unmarshal([]byte(r), &x))
		out = append(out, x.ID+" "+x.Data)
	}
	slices.Sort(out)
	return out
}
