//go:build integration

package testkit

import (
	"fmt"
	"sort"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// CreateTable makes a table of (id BIGINT, data STRING) with the key id, by our own code; empty options are the defaults.
func CreateTable(t testing.TB, warehouse, database, name string, options map[string]string) *Table {
	t.Helper()
	x := TableAt(t, warehouse, database, name)
	o := table.Options{"bucket": "2", "write-only": "true"}
	for k, v := range options {
		o[k] = v
	}
	_, err := table.Create(t.Context(), Files(t, x.Path()), x.Path(), table.Spec{
		Fields:      []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}, {Name: "data", Type: row.Type{Root: row.VarChar, Nullable: true, Length: row.MaxLength}}},
		PrimaryKeys: []string{"id"}, Options: o})
	require.NoError(t, err)
	return x
}

// RowWriter writes rows of a table of CreateTable, and knows what the table must have.
type RowWriter struct {
	t    testing.TB
	w    *writer.Writer
	b    *row.Batch
	id   int64
	mu   sync.Mutex // guards rows
	rows map[int64]string
	keep bool
}

// Writer opens a writer that is closed with the test. keep: it remembers the rows for Rows.
func (x *Table) Writer(user string, keep bool) *RowWriter {
	x.t.Helper()
	w, err := writer.Open(x.t.Context(), x.Open(), writer.Config{CommitUser: user, Shards: 1, FlushWorkers: 2})
	require.NoError(x.t, err)
	return &RowWriter{t: x.t, w: w, b: row.NewBatch(w.Type()), rows: map[int64]string{}, keep: keep}
}

// Put upserts a row.
func (r *RowWriter) Put(id int64, data string) { r.add(id, data, row.Insert) }

// Delete deletes a row.
func (r *RowWriter) Delete(id int64) { r.add(id, "", row.Delete) }

func (r *RowWriter) add(id int64, data string, kind row.Kind) {
	r.b.Cols[0].AppendI64(id)
	r.b.Cols[1].AppendString(data)
	r.b.EndRow(kind)
	if r.keep {
		r.mu.Lock()
		if r.rows[id] = data; kind == row.Delete {
			delete(r.rows, id)
		}
		r.mu.Unlock()
	}
	if r.b.N == 1024 {
		r.flush()
	}
}

func (r *RowWriter) flush() {
	require.NoError(r.t, r.w.Write(r.t.Context(), r.b))
	r.b.Reset()
}

// Commit makes a snapshot of all rows so far.
func (r *RowWriter) Commit() {
	r.flush()
	r.id++
	require.NoError(r.t, r.w.Checkpoint(r.t.Context(), r.id, nil))
	require.NoError(r.t, r.w.Wait(r.t.Context()))
}

// Close ends the writer.
func (r *RowWriter) Close() { require.NoError(r.t, r.w.Close(r.t.Context())) }

// Rows are the rows that the table must have, sorted, in the form of Table.JavaRows.
func (r *RowWriter) Rows() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, 0, len(r.rows))
	for id, data := range r.rows {
		out = append(out, string(appendText(fmt.Appendf(nil, `{"id":%d,"data":`, id), data))+"}")
	}
	sort.Strings(out)
	return out
}
