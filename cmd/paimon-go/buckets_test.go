package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBucketsGiveAdvice(t *testing.T) {
	tbl := movingTable(t)
	upsert(t, tbl, 1, "a", 10)
	out, _ := call(t, 0, "buckets", tbl.Path(), "--json")
	require.Contains(t, out, `"advice":[]`)
	out, _ = call(t, 0, "buckets", golden+"/warehouse/golden.db/evolution_avro")
	require.Contains(t, out, "200 MB to 1 GB is healthy: if it will not grow, with bucket=1 a commit makes fewer files")
	out, _ = call(t, 0, "buckets", golden+"/warehouse/golden.db/dyn_bucket", "--json")
	require.Contains(t, out, "dynamic-bucket.")
}
