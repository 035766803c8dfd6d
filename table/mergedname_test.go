package table

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
)

// The names are those that Flink's ChangelogCompactTask makes.
func TestMergedPart(t *testing.T) {
	spec := smallSpec(t)
	spec.PartitionKeys = nil
	tbl, err := Create(t.Context(), mem.New(), testPath, spec)
	require.NoError(t, err)
	partition := row.AppendSerializedRow(nil, nil, 0)
	const name = "compacted-changelog-8e049c65-5ce4-4ce7-b1b0-78ce694ab351"
	real, err := tbl.BucketPath(partition, 0)
	require.NoError(t, err)
	real += "/" + name + "$0-39253.cc-parquet"

	part, ok, err := tbl.MergedPart(partition, 0, &DataFile{Name: name + "$0-39253.cc-parquet"})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, MergedPart{Path: real, Length: 39253, Format: "parquet"}, part)
	part, ok, err = tbl.MergedPart(partition, 1, &DataFile{Name: name + "$0-39253-39253-35699.cc-parquet"})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, MergedPart{Path: real, Offset: 39253, Length: 35699, Format: "parquet"}, part)

	_, ok, err = tbl.MergedPart(partition, 1, &DataFile{Name: "changelog-1$0-1.cc-parquet"})
	require.NoError(t, err)
	require.False(t, ok)
	for _, bad := range []string{"", "$0-1", ".cc-avro", "$0.cc-avro", "$0-1-2.cc-avro", "$0-x.cc-avro", "$0--1.cc-avro", "$0-1.avro", "$0-1-2-3-4.cc-avro"} {
		_, _, err = tbl.MergedPart(partition, 1, &DataFile{Name: name + bad})
		require.ErrorIs(t, err, ErrCorrupt, bad)
	}
}
