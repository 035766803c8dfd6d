package writer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

var (
	uuids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	counter = regexp.MustCompile(`(manifest-(?:list-)?U)-\d+`)
)

// normal makes a trace comparable: names without chance, and no reads and writes, whose number is that of buffers.
func normal(trace string, latest int64) []string {
	trace = counter.ReplaceAllString(uuids.ReplaceAllString(trace, "U"), "$1")
	for i, name := range []string{"snapshot-N", "snapshot-N+1"} {
		trace = strings.ReplaceAll(trace, fmt.Sprintf("snapshot-%d\n", latest+int64(i)), name+"\n")
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(trace), "\n"), func(l string) bool {
		return strings.HasPrefix(l, "write ") || strings.HasPrefix(l, "readat ")
	})
}

const (
	oneFile = `create /bucket-B/data-U-0.avro
close /bucket-B/data-U-0.avro
`
	twoFiles = `create /bucket-B/changelog-U-0.avro
create /bucket-B/data-U-0.avro
close /bucket-B/data-U-0.avro
close /bucket-B/changelog-U-0.avro
`
	look = `open /snapshot/snapshot-N+1
open /snapshot/snapshot-N
stat /schema/schema-1
`
	manifest = `create /manifest/manifest-U
close /manifest/manifest-U
`
	list = `create /manifest/manifest-list-U
close /manifest/manifest-list-U
`
	publish = `publish /snapshot/snapshot-N+1
replace /snapshot/LATEST
`
	merged = `create /changelogs
close /changelogs
`
)

// TestCallsOfACommit is the list of all calls that a commit of four buckets makes in the steady state. Each costs the namenode
// of HDFS an operation or more: a longer list wants a reason.
func TestCallsOfACommit(t *testing.T) {
	perBucket := func(calls string) (all string) {
		for _, b := range "3201" { // as the pool takes them
			all += strings.ReplaceAll(calls, "B/", string(b)+"/")
		}
		return all
	}
	for name, c := range map[string]struct {
		options table.Options
		want    string
	}{
		"no changelog":     {nil, perBucket(oneFile) + look + manifest + list + list + publish},
		"changelog":        {table.Options{"changelog-producer": "input"}, perBucket(twoFiles) + look + manifest + list + manifest + list + list + publish},
		"merged changelog": {table.Options{"changelog-producer": "input", "precommit-compact": "true"}, perBucket(oneFile) + merged + look + manifest + list + manifest + list + list + publish},
	} {
		t.Run(name, func(t *testing.T) {
			inner := mem.New()
			o := table.Options{"bucket": "4", "write-only": "true", "file.format": "avro"}
			createTable(t, inner, table.Spec{Fields: guideFields()[:2], PrimaryKeys: []string{"id"}, Options: o.With(c.options)})
			traced := faultfs.New(inner, nil)
			tbl, err := table.Open(t.Context(), traced, "/w/db.db/t", nil)
			require.NoError(t, err)
			w := openWriter(t, tbl, Config{CommitUser: "job", Resume: &Resume{}, FlushWorkers: 1, Shards: 1, PairedUpdates: true})
			for round := range int64(4) {
				traced.Set(nil)
				require.NoError(t, w.Write(t.Context(), idBatch(tbl, 100)))
				require.NoError(t, w.Checkpoint(t.Context(), round+1, nil))
				require.NoError(t, w.Wait(t.Context()))
				if round < 2 {
					continue // its own snapshot of before is what a commit goes on from, from the second one on
				}
				got := normal(traced.Trace("/w/db.db/t"), round)
				for i := range got { // the name of merged files is a matter of its own
					if op, path, _ := strings.Cut(got[i], " "); strings.Contains(path, "changelog-") && c.options["precommit-compact"] != "" {
						got[i] = op + " /changelogs"
					}
				}
				require.Equal(t, strings.Split(strings.TrimSpace(c.want), "\n"), got)
			}
		})
	}
}

// idBatch is n rows of a table of an id and a string.
func idBatch(tbl *table.Table, n int) *row.Batch {
	b := row.NewBatch(tbl.Schema().RowType())
	for i := range n {
		b.Cols[0].AppendI64(int64(i))
		b.Cols[1].AppendString("v")
		b.EndRow(row.UpdateAfter)
	}
	return b
}
