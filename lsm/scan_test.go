package lsm

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// scanTable commits random upserts and deletes of a partitioned table and returns, by key, what must be there.
func scanTable(t *testing.T, options table.Options) (*table.Table, map[string]string) {
	tab := mustCreate(t, table.Spec{
		Fields: []row.Field{
			{Name: "v", Type: mustType(t, "STRING")}, {Name: "ts", Type: mustType(t, "INT")},
			{Name: "p", Type: mustType(t, "STRING NOT NULL")}, {Name: "k", Type: mustType(t, "INT NOT NULL")},
		},
		PrimaryKeys: []string{"p", "k"}, PartitionKeys: []string{"p"},
		Options: table.Options{"bucket": "2", "file.format": "avro", "target-file-size": "2 kb"}.With(options),
	})
	r := rand.New(rand.NewPCG(5, 6))
	bucketOf, err := row.NewBucketFunc("default", []*row.Type{&tab.Schema().Fields[3].Type}, 2)
	require.NoError(t, err)
	commit := tab.NewCommit("test", nil)
	type version struct {
		ts, seq int64
		line    string
	}
	newest := map[string]version{}
	var seq int64
	for id := range int64(5) {
		rows := map[string]*KeyValues{} // by partition and bucket
		for k := range int32(400) {
			for _, p := range []string{"a", "b"} {
				if r.IntN(3) > 0 {
					continue
				}
				one := row.NewBatch(tab.Schema().RowType())
				one.Cols[0].AppendString(fmt.Sprint("v", r.IntN(1000)))
				one.Cols[1].AppendI32(int32(r.IntN(3)))
				one.Cols[2].AppendString(p)
				one.Cols[3].AppendI32(k)
				kind := []row.Kind{row.Insert, row.UpdateAfter, row.Delete}[r.IntN(3)]
				one.EndRow(kind)
				b := bucketOf.Buckets(nil, []*row.Column{&one.Cols[3]}, 0, 1)[0]
				key := fmt.Sprint(p, b)
				if rows[key] == nil {
					rows[key] = NewKeyValues(tab.Schema().RowType())
				}
				rows[key].AppendRange(&KeyValues{Rows: one, Seq: []int64{seq}}, 0, 1)
				v := version{ts: int64(one.Cols[1].I32[0]), seq: seq}
				if options["sequence.field"] == "" {
					v.ts = 0
				}
				if !kind.IsRetract() {
					v.line = string(row.AppendJSONRow(nil, one, 0, false))
				}
				name := fmt.Sprint(p, k)
				if old, ok := newest[name]; !ok || v.ts > old.ts || v.ts == old.ts && v.seq > old.seq {
					newest[name] = v
				}
				seq++
			}
		}
		var msgs []table.CommitMessage
		for key, kv := range rows {
			var part row.Column
			part.Init(&tab.Schema().Fields[2].Type)
			part.AppendString(key[:1])
			msg := table.CommitMessage{Partition: row.AppendSerializedRow(nil, []*row.Column{&part}, 0), Bucket: int32(key[1] - '0'), TotalBuckets: 2}
			w := mustFiles(t, tab).NewWriter(t.Context(), msg.Partition, msg.Bucket, 0, Data, table.SourceAppend)
			require.NoError(t, w.Write(kv))
			msg.Data.New, err = w.Close()
			require.NoError(t, err)
			msgs = append(msgs, msg)
		}
		_, err := commit.Commit(t.Context(), table.Committable{ID: id, Messages: msgs})
		require.NoError(t, err)
	}
	want := map[string]string{}
	for k, v := range newest {
		if v.line != "" {
			want[k] = v.line
		}
	}
	return tab, want
}

func scanAll(t *testing.T, tab *table.Table, o ScanOptions) []string {
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	var out []string
	for b, err := range Scan(t.Context(), tab, s, o) {
		require.NoError(t, err)
		for i := range b.N {
			out = append(out, string(row.AppendJSONRow(nil, b, i, false)))
		}
	}
	return out
}

func TestScanMergesWhatWasCommitted(t *testing.T) {
	for _, options := range []table.Options{{}, {"sequence.field": "ts"}} {
		tab, want := scanTable(t, options)
		for _, batch := range []int{0, 1, 7} {
			got := scanAll(t, tab, ScanOptions{BatchRows: batch})
			require.Len(t, got, len(want))
			sorted := slices.Clone(got)
			slices.Sort(sorted)
			var model []string
			for _, l := range want {
				model = append(model, l)
			}
			slices.Sort(model)
			require.Equal(t, model, sorted)
			require.Equal(t, scanAll(t, tab, ScanOptions{}), got, "the order doesn't depend on the batches")
		}
	}
}

func TestScanNarrowedByPartitionBucketAndColumns(t *testing.T) {
	tab, _ := scanTable(t, table.Options{"sequence.field": "ts"})
	all := scanAll(t, tab, ScanOptions{})
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	var parts [][]byte
	for e, err := range tab.Scan(t.Context(), s, table.Filter{}) {
		require.NoError(t, err)
		if !slices.ContainsFunc(parts, func(p []byte) bool { return bytes.Equal(p, e.Partition) }) {
			parts = append(parts, e.Partition)
		}
	}
	slices.SortFunc(parts, bytes.Compare)
	require.Len(t, parts, 2)
	var byPart, byBucket []string
	for _, p := range parts {
		byPart = append(byPart, scanAll(t, tab, ScanOptions{Partition: p})...)
		for b := range int32(2) {
			byBucket = append(byBucket, scanAll(t, tab, ScanOptions{
				Bucket: &b, Match: func(partition []byte, _ int32) bool { return bytes.Equal(partition, p) },
			})...)
		}
	}
	require.Equal(t, all, byPart)
	require.Equal(t, all, byBucket)

	cut := scanAll(t, tab, ScanOptions{Columns: []string{"k", "v"}})
	require.Len(t, cut, len(all))
	for i := range cut {
		b := row.NewBatch(tab.Schema().RowType())
		require.NoError(t, row.ParseJSONRow([]byte(all[i]), b))
		require.Equal(t, fmt.Sprintf(`{"k":%d,"v":"%s"}`, b.Cols[3].I32[0], b.Cols[0].Value(0)), cut[i])
	}
	for _, columns := range [][]string{{"nope"}, {"k", "k"}} {
		for _, err := range Scan(t.Context(), tab, s, ScanOptions{Columns: columns}) {
			require.ErrorIs(t, err, table.ErrOption)
		}
	}
}

func TestScanRefusesWhatItWouldReadWrong(t *testing.T) {
	fields := []row.Field{{Name: "k", Type: mustType(t, "INT NOT NULL")}, {Name: "v", Type: mustType(t, "INT")}}
	for _, spec := range []table.Spec{
		{Options: table.Options{"bucket-key": "k"}},
	} {
		spec.Fields, spec.Options["bucket"] = fields, "1"
		n := 0
		for _, err := range Scan(t.Context(), mustCreate(t, spec), nil, ScanOptions{}) {
			require.ErrorIs(t, err, ErrUnsupported)
			n++
		}
		require.Equal(t, 1, n)
	}
}

func TestScanEndsWhenTheCallerOrTheContextDoes(t *testing.T) {
	tab, _ := scanTable(t, nil)
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	for range Scan(t.Context(), tab, s, ScanOptions{BatchRows: 1}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range Scan(ctx, tab, s, ScanOptions{}) {
		require.ErrorIs(t, err, context.Canceled)
	}
}
