//go:build integration

package hdfs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

// BenchmarkRead reads a file of 200 MB in order.
func BenchmarkRead(b *testing.B) {
	f, root := open(b, testkit.HDFS(b))
	fstest.Write(b, f, root+"/big", pattern(200<<20))
	buf := make([]byte, 1<<20)
	b.SetBytes(200 << 20)
	for b.Loop() {
		r, err := f.Open(b.Context(), root+"/big")
		require.NoError(b, err)
		for off := int64(0); off < r.Size(); off += 1 << 20 {
			_, err = r.ReadAt(buf, off)
			require.NoError(b, err)
		}
		require.NoError(b, r.Close())
	}
	require.NoError(b, f.Remove(b.Context(), root+"/big"))
}

// BenchmarkWrite writes a file of 200 MB.
func BenchmarkWrite(b *testing.B) {
	f, root := open(b, testkit.HDFS(b))
	block := pattern(1 << 20)
	b.SetBytes(200 << 20)
	for b.Loop() {
		w, err := f.Create(b.Context(), root+"/big")
		require.NoError(b, err)
		for range 200 {
			_, err = w.Write(block)
			require.NoError(b, err)
		}
		require.NoError(b, w.Close())
		require.NoError(b, f.Remove(b.Context(), root+"/big"))
	}
}
