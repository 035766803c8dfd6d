package table

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/mem"
)

// A table of a hundred thousand files in ten partitions and a tenth as many deletions.
func benchManifests(b *testing.B) (*Table, []Manifest) {
	tab := testTable(b, mem.New(), nil)
	w := newTestWriter(b, tab)
	var list []Manifest
	for m := range 10 {
		var entries []Entry
		for i := range 11000 {
			name := fmt.Sprintf("data-0b3afdde-692e-4601-942a-ed66fb381ede-%d-%d.parquet", m, i)
			kind := Add
			if i >= 10000 {
				name, kind = fmt.Sprintf("data-0b3afdde-692e-4601-942a-ed66fb381ede-%d-%d.parquet", m, i-10000), Delete
			}
			entries = append(entries, Entry{Kind: kind, Partition: binaryRow(fmt.Sprint("2024-01-0", m)), Bucket: int32(i % 2), TotalBuckets: 2, File: testFile(name, 0, i, i+1)})
		}
		made, err := w.manifests(b.Context(), entries)
		require.NoError(b, err)
		list = append(list, made...)
	}
	return tab, list
}

func BenchmarkScan(b *testing.B) {
	tab, list := benchManifests(b)
	for _, c := range []struct {
		name   string
		filter Filter
		cold   bool
	}{{"all", Filter{}, false}, {"cold", Filter{}, true}, {"partition", Filter{Partition: binaryRow("2024-01-05")}, false}, {"none", Filter{Bucket: new(int32(7))}, false}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c.cold {
					for _, m := range list {
						tab.meta.drop(m.Name)
					}
				}
				pruned, err := c.filter.prune(tab.Schema(), list)
				require.NoError(b, err)
				n := 0
				for _, err := range tab.liveEntries(b.Context(), pruned, &c.filter) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
			}
		})
	}
}

func BenchmarkWriteManifests(b *testing.B) {
	tab := testTable(b, mem.New(), nil)
	var entries []Entry
	for i := range 10000 {
		entries = append(entries, Entry{Partition: binaryRow("a"), TotalBuckets: 2, File: testFile(fmt.Sprint("data-", i), 0, i, i)})
	}
	b.ReportAllocs()
	for b.Loop() {
		w := newTestWriter(b, tab)
		_, err := w.manifests(b.Context(), entries)
		require.NoError(b, err)
		for _, name := range w.created {
			require.NoError(b, tab.fs.Remove(b.Context(), tab.manifestPath(name)))
		}
	}
}

func BenchmarkMergeFull(b *testing.B) {
	tab, list := benchManifests(b)
	b.ReportAllocs()
	for b.Loop() {
		w := newTestWriter(b, tab)
		_, ok, err := w.mergeFull(b.Context(), list, mergeRules{targetSize: 8 << 20, fullSize: 1})
		require.NoError(b, err)
		require.True(b, ok)
		for _, name := range w.created {
			require.NoError(b, tab.fs.Remove(b.Context(), tab.manifestPath(name)))
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	tab := testTable(b, mem.New(), nil)
	c := tab.NewCommit("u", nil)
	id := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		id++
		var messages []CommitMessage
		for bucket := range int32(2) {
			messages = append(messages, appendOf("x", bucket, testFile(fmt.Sprintf("f-%d-%d", id, bucket), 0, 0, 9)))
		}
		mustCommit(b, c, id, messages...)
	}
}
