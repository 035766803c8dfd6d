package lsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

func TestBatchesShrinkWithLargeRowsAndManyRuns(t *testing.T) {
	sec := func(runs int, rowBytes int64) section {
		s := make(section, runs)
		for i := range s {
			s[i] = run{{file: &table.DataFile{Size: 100 * rowBytes, RowCount: 100}}}
		}
		return s
	}
	require.Equal(t, 4096, sec(1, 100).batchRows(4096))
	require.Equal(t, 3, sec(1, 100).batchRows(3))
	require.Equal(t, 16, sec(5, 1<<20).batchRows(4096), "a megabyte a row")
	many := sec(1000, 100).batchRows(4096)
	require.Less(t, many, 256)
	require.LessOrEqual(t, int64(many)*1000*100*8, int64(batchBytes)+1000*100*8*16)
}
