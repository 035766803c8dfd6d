package lsm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

func TestCheckFileAllowsAnyOrderInThePostponeBucket(t *testing.T) {
	for bucket, want := range map[int32]string{0: "its key is below that of the row before", table.PostponeBucket: ""} {
		tab := wideTable(t, "avro", nil)
		w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, bucket, 0, Data, table.SourceAppend)
		kv := randomRecords(rand.New(rand.NewPCG(1, 2)), tab.Schema(), 50, 7)
		require.NoError(t, w.Write(kv))
		require.NoError(t, w.Write(kv), "the keys begin anew")
		files, err := w.Close()
		require.NoError(t, err)
		e := entryOf(files[0])
		e.Bucket = bucket
		if bucket < 0 {
			e.TotalBuckets = bucket
		}
		got := checkText(t, tab, e)
		if want == "" {
			require.Empty(t, got)
		} else {
			require.Contains(t, got, want)
		}
	}
}
