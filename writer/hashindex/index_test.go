package hashindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// javaAssigner is HashBucketAssigner with its PartitionIndexes, as plain as can be.
type javaAssigner struct {
	share, id, target, max int32
	maxID                  int32
	parts                  map[int32]*javaPartition
}

type javaPartition struct {
	buckets map[int32]int32 // by hash
	rows    map[int32]int32 // by bucket, not full ones
	all     []int32
}

// assign returns -1 when any bucket of all will do.
func (a *javaAssigner) assign(partition, hash int32) int32 {
	p := a.parts[partition]
	id, ok := p.buckets[hash]
	if !ok {
		id = a.pick(p)
		if id < 0 {
			return -1
		}
		p.buckets[hash] = id
	}
	a.maxID = max(a.maxID, id)
	return id
}

func (a *javaAssigner) pick(p *javaPartition) int32 {
	for _, b := range slices.Sorted(maps.Keys(p.rows)) {
		if p.rows[b] < a.target {
			p.rows[b]++
			return b
		}
		delete(p.rows, b)
	}
	limit := a.max
	if limit == -1 {
		limit = 32767
	}
	if len(p.all) == 0 || a.maxID < limit-1 {
		for b := range limit {
			if b%a.share == a.id%a.share && !slices.Contains(p.all, b) {
				p.rows[b] = 1
				p.all = append(p.all, b)
				return b
			}
		}
	}
	return -1
}

// load is what a start does: hashes of own keys, rows of own buckets.
func (a *javaAssigner) load(partition int32, files map[int32][]int32, mine func(hash int32) bool) {
	p := &javaPartition{buckets: map[int32]int32{}, rows: map[int32]int32{}}
	for _, b := range slices.Sorted(maps.Keys(files)) {
		for _, h := range files[b] {
			if mine(h) {
				p.buckets[h] = b
			}
			if b%a.share == a.id%a.share {
				p.rows[b]++
			}
		}
		if p.rows[b] > 0 {
			p.all = append(p.all, b)
		}
	}
	a.parts[partition] = p
}

func fileOf(b int32, hashes []int32) File {
	raw, _ := binary.Append(nil, binary.BigEndian, hashes)
	return File{Bucket: b, Rows: int64(len(hashes)), Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }}
}

func TestBucketsAreThoseOfJava(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		share := rapid.SampledFrom([]int32{1, 1, 2, 3}).Draw(t, "initial")
		assigners := share * rapid.Int32Range(1, 3).Draw(t, "assigners")
		target := rapid.SampledFrom([]int32{1, 2, 7, 100, 3000}).Draw(t, "target")
		limit := rapid.SampledFrom([]int32{-1, -1, 3, 8}).Draw(t, "max")
		heap := int64(0)
		s, err := NewStore([]string{dir}, func(n int64) { heap += n })
		require.NoError(t, err)
		var x *Index
		parts := map[int32]*Partition{}
		var java []*javaAssigner
		stored := map[int32]map[int32][]int32{} // partition, bucket
		begin := func() {
			for _, p := range parts {
				p.Release()
			}
			clear(parts)
			x = New(s, Settings{Target: int64(target), Assigners: int(assigners), Initial: int(share), Max: int(limit)})
			java = nil
			for a := range assigners {
				java = append(java, &javaAssigner{share: share, id: a, target: target, max: limit, parts: map[int32]*javaPartition{}})
			}
		}
		begin()
		next := int32(1)
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			partition := rapid.Int32Range(-2, 2).Draw(t, "partition") * 7
			assigner := func(hash int32) int32 {
				return (magnitude(partition%assigners) + magnitude(hash%share)) % assigners
			}
			p := parts[partition]
			if p == nil {
				var files []File
				for b, h := range stored[partition] {
					files = append(files, fileOf(b, h))
				}
				p, err = x.Load(ctx, partition, files)
				require.NoError(t, err)
				parts[partition] = p
				for a, j := range java {
					j.load(partition, stored[partition], func(h int32) bool { return assigner(h) == int32(a) })
				}
			}
			for range rapid.SampledFrom([]int{1, 20, 1000}).Draw(t, "rows") {
				next = next*1103515245 + 12345
				hash := next >> 7 % 20000 * 214748
				got, err := p.Assign(ctx, hash)
				if err != nil {
					t.Fatal(err)
				}
				j := java[assigner(hash)]
				want := j.assign(partition, hash)
				if want < 0 { // any that it has
					require.Contains(t, j.parts[partition].all, got)
					j.parts[partition].buckets[hash] = got
					j.maxID = max(j.maxID, got)
					want = got
				}
				if want != got {
					t.Fatalf("hash %d of partition %d went to bucket %d, not %d", hash, partition, got, want)
				}
			}
			switch rapid.IntRange(0, 3).Draw(t, "end") {
			case 0, 1: // a checkpoint
				for id, p := range parts {
					require.NoError(t, p.Changed(func(b int32, c *Content) {
						var buf bytes.Buffer
						_, err := c.WriteTo(&buf)
						require.NoError(t, err)
						require.EqualValues(t, buf.Len(), 4*c.Rows())
						hashes := make([]int32, c.Rows())
						require.NoError(t, binary.Read(&buf, binary.BigEndian, hashes))
						if stored[id] == nil {
							stored[id] = map[int32][]int32{}
						}
						stored[id][b] = hashes
					}))
				}
				for id, p := range parts { // each hash is in the one bucket's file, and no other hash is
					n := 0
					for b, hashes := range stored[id] {
						for _, h := range hashes {
							got, _, ok := p.table.find(h)
							require.True(t, ok)
							require.Equal(t, b, got)
						}
						n += len(hashes)
						require.EqualValues(t, len(hashes), p.Buckets()[b])
					}
					require.EqualValues(t, p.Keys(), n)
				}
			case 2: // a crash
				begin()
			}
		}
		for _, p := range parts {
			p.Release()
		}
		require.NoError(t, s.Close())
		require.Zero(t, heap)
		require.Zero(t, s.Mapped())
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAnIndexFileThatCannotBeRead(t *testing.T) {
	s, err := NewStore([]string{t.TempDir()}, nil)
	require.NoError(t, err)
	x := New(s, Settings{Target: 10, Assigners: 1, Max: -1})
	ctx := context.Background()
	short := fileOf(0, []int32{1, 2, 3})
	short.Rows = 4
	odd := File{Rows: 1, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader([]byte{1, 2, 3, 4, 5})), nil
	}}
	gone := File{Rows: 1, Open: func(context.Context) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }}
	for _, f := range []File{short, odd, gone, fileOf(-1, nil), fileOf(32767, nil)} {
		_, err := x.Load(ctx, 0, []File{f})
		require.Error(t, err)
		require.Zero(t, s.Heap()-4*int64(cap(s.free)))
		require.Zero(t, s.Mapped())
	}
	require.NoError(t, s.Close())
}

func TestPaimonCountsNoMoreBuckets(t *testing.T) {
	s, err := NewStore([]string{t.TempDir()}, nil)
	require.NoError(t, err)
	x := New(s, Settings{Target: 1, Assigners: 1, Max: -1})
	ctx := context.Background()
	p, err := x.Load(ctx, 0, []File{fileOf(32766, []int32{-1})})
	require.NoError(t, err)
	_, err = p.Assign(ctx, 1)
	require.NoError(t, err)
	got, err := p.Assign(ctx, -1)
	require.NoError(t, err)
	require.EqualValues(t, 32766, got)
	_, err = p.Assign(ctx, 2)
	require.ErrorIs(t, err, ErrTooMany)
	p.Release()
	require.NoError(t, s.Close())
}

func BenchmarkAssign(b *testing.B) {
	s, err := NewStore([]string{b.TempDir()}, nil)
	require.NoError(b, err)
	x := New(s, Settings{Target: 2_000_000, Assigners: 2, Max: -1})
	p, err := x.Load(context.Background(), 0, nil)
	require.NoError(b, err)
	h := uint32(1)
	b.ReportAllocs()
	for b.Loop() {
		h = h*2654435761 + 1
		if _, err := p.Assign(context.Background(), int32(h%5_000_000*858)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.Mapped())/float64(p.Keys()), "mapped-B/key")
	b.ReportMetric(float64(s.Heap())*1e6/float64(p.Keys()), "heap-B/1M-keys")
	p.Release()
	require.NoError(b, s.Close())
}
