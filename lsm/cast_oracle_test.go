//go:build integration

package lsm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// TestJavaCastsTheSame: a table has a column for each case of castCases, whose types Java alters.
func TestJavaCastsTheSame(t *testing.T) {
	type change struct {
		Op     string `json:"op"`
		Column string `json:"column"`
		Type   string `json:"type"`
	}
	spec := table.Spec{
		Fields:      []row.Field{{Name: "id", Type: row.Type{Root: row.Int}}},
		PrimaryKeys: []string{"id"}, Options: table.Options{"bucket": "1", "file.format": "parquet"},
	}
	next := 1000 // of nested fields
	var changes []change
	want := []string{"1"}
	var values []string
	for _, c := range castCases {
		from := mustType(t, c.from)
		if from.Root == row.Array && !strings.Contains(c.to, "STRING") || from.Root >= row.Array && c.to[len(c.to)-1] == '>' {
			continue // Java alters the elements' type, not the list's
		}
		for i := range from.Fields {
			from.Fields[i].ID = next
			next++
		}
		from.Nullable = true
		f := row.Field{ID: len(spec.Fields), Name: fmt.Sprintf("c%d", len(spec.Fields)), Type: from}
		spec.Fields = append(spec.Fields, f)
		changes = append(changes, change{"type", f.Name, c.to})
		want = append(want, c.want)
		values = append(values, c.value)
	}
	tab := mustCreate(t, spec)
	kv := NewKeyValues(tab.Schema().RowType())
	b := kv.Rows
	b.Cols[0].AppendI32(1)
	for i, v := range values {
		require.NoError(t, row.ParseJSONValue([]byte(v), &b.Cols[i+1]))
	}
	b.EndRow(row.Insert)
	b.Cols[0].AppendI32(2)
	for i := range values {
		b.Cols[i+1].AppendNull()
	}
	b.EndRow(row.Insert)
	kv.Seq = append(kv.Seq, 0, 1)
	msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1}
	msg.Data.New = mustWrite(t, tab, kv, Data)
	_, err := tab.NewCommit("test", nil).Commit(t.Context(), table.Committable{ID: 1, Messages: []table.CommitMessage{msg}})
	require.NoError(t, err)

	text, err := json.Marshal(changes)
	require.NoError(t, err)
	oracle(t, "alter", tab, "--spec", string(text))
	java := oracle(t, "read", tab, "--sorted")
	require.NoError(t, tab.Refresh(t.Context()))
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	ours, err := scanLines(t, tab, s, ScanOptions{})
	require.NoError(t, err)
	require.Len(t, java, 2)
	var theirs map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(java[0]), &theirs))
	for i, f := range tab.Schema().Fields {
		if i > 0 {
			c := changes[i-1]
			if got := string(theirs[f.Name]); got != want[i] {
				t.Errorf("%s as %s: Java has %s, the test has %s", spec.Fields[i].Type.String(), c.Type, got, want[i])
			}
		}
	}
	require.Equal(t, strings.TrimSpace(strings.Join(java, "")), strings.TrimSpace(strings.Join(ours, "\n")))
}
