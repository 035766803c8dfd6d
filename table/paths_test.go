package table

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func TestPartitionPathsAreJavas(t *testing.T) {
	data, err := os.ReadFile("../format/row/testdata/partition.jsonl")
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(data)) {
		var v struct {
			Types                           []string
			Serialized, Path, PathNotLegacy string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		schema := &Schema{}
		for i, typ := range v.Types {
			name := fmt.Sprint("p", i)
			typ, err := row.ParseType(typ)
			require.NoError(t, err)
			schema.Fields = append(schema.Fields, row.Field{ID: i, Name: name, Type: typ})
			schema.PartitionKeys = append(schema.PartitionKeys, name)
		}
		partition, err := hex.DecodeString(v.Serialized)
		require.NoError(t, err)
		for legacy, want := range map[string]string{"true": v.Path, "false": v.PathNotLegacy} {
			tab := &Table{path: "/t", schema: schema, options: Options{"partition.legacy-name": legacy}}
			got, err := tab.PartitionPath(partition)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSuffix(want, "/"), got, line)
		}
		n++
	}
	require.Greater(t, n, 50)
}

func TestBucketPaths(t *testing.T) {
	tab := testTable(t, mem.New(), Options{"data-file.path-directory": "data"})
	p, err := tab.BucketPath(binaryRow("a/b"), 3)
	require.NoError(t, err)
	require.Equal(t, testPath+"/data/p=a%2Fb/bucket-3", p)
	p, err = tab.BucketPath(binaryRow("\u2003 \t"), PostponeBucket)
	require.NoError(t, err)
	require.Equal(t, testPath+"/data/p=__DEFAULT_PARTITION__/bucket-postpone", p)
	f := testFile("f", 0, 0, 1)
	p, err = tab.DataFilePath(binaryRow("a"), 0, &f)
	require.NoError(t, err)
	require.Equal(t, testPath+"/data/p=a/bucket-0/f", p)
	f.ExternalPath = "oss://b/x/f"
	p, err = tab.DataFilePath(binaryRow("a"), 0, &f)
	require.NoError(t, err)
	require.Equal(t, "oss://b/x/f", p)
	_, err = tab.BucketPath([]byte{0, 0}, 0)
	require.ErrorIs(t, err, ErrCorrupt)
}
