package compactor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

// Files of one writer that were made within a millisecond are in the order of their numbers, whatever its commit user is called.
func TestFilesOfAMillisecondAreInTheOrderOfTheirNumbers(t *testing.T) {
	for _, user := range []string{"6d4d-4c", "team.etl_6d4d-4c"} {
		var files, want []table.DataFile
		for _, n := range []string{"2", "10", "1", "0"} {
			files = append(files, table.DataFile{Name: "data--u-" + user + "-s-0-w-0f-" + n + ".zstd.avro"})
		}
		for _, i := range []int{3, 2, 0, 1} {
			want = append(want, files[i])
		}
		require.Equal(t, want, inOrder(files), user)
	}
}
