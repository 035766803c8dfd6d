package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// partition is what is known of one partition for as long as the Writer lives: the sequence numbers of its buckets. It
// belongs to the goroutine that calls Write.
type partition struct {
	bytes   []byte    // serialized BinaryRow
	hash    int32     // of the row, which spreads partitions over shards
	next    []int64   // next sequence number of each bucket; grows where the number of buckets is not fixed
	total   int32     // buckets that its files say it has, when that is not the table's number; 0: it is
	buckets []*bucket // those in memory; nil: none
	keyed   *keyed    // of dynamic buckets: where its keys are; nil: not loaded
	live    int
}

// bucket is a bucket that has had rows lately.
type bucket struct {
	part  *partition
	id    int32 // as the table knows it
	slot  int32 // its place in the partition: the id, or 0 for the one of bucket=-2
	shard int32

	// Of the goroutine that calls Write.
	epoch int64  // that it had rows in last
	mark  uint64 // batch that local is of
	local int32  // its number in the batch

	checked bool // the merge engine has seen a retract, of bucket=-2

	tree *lsm.MergeTree // of the shard; nil: no rows since the last barrier
}

// partitions finds partitions by their bytes. It belongs to the goroutine that calls Write, but for
// what mu guards.
type partitions struct {
	table      *table.Table
	user       string
	numBuckets int32
	shards     int32
	m          map[string]*partition
	fresh      bool               // newer snapshots have been looked for in this epoch
	visit      func(*table.Entry) // sees the live files at the start; may be nil
	creations  *creations         // of bucket=-2; else nil

	mu   sync.Mutex
	seen int64          // guarded by mu; snapshots up to this one are in the sequence numbers
	own  map[int64]bool // guarded by mu; snapshots that we made, above seen: their sequence numbers are ours
}

// restore reads the sequence numbers of the latest snapshot.
func (p *partitions) restore(ctx context.Context) error {
	s, err := p.table.Latest(ctx)
	if err != nil {
		return err
	}
	return p.scan(ctx, s)
}

func (p *partitions) scan(ctx context.Context, s *table.Snapshot) error {
	if s == nil {
		return nil
	}
	for e, err := range p.table.Scan(ctx, s, postponeFilter(p.numBuckets)) {
		if err != nil {
			return err
		}
		p.add(&e)
	}
	p.saw(s.ID)
	return nil
}

// add takes the sequence numbers of a live or added file into account.
func (p *partitions) add(e *table.Entry) {
	if p.visit != nil {
		p.visit(e)
	}
	if p.creations != nil {
		p.creations.saw(e) // rows have no sequence numbers, and the number of real buckets is a compaction's business
		return
	}
	part := p.get(e.Partition)
	if e.TotalBuckets != p.numBuckets {
		part.total = e.TotalBuckets
		return
	}
	if e.Bucket >= 0 && (e.Bucket < p.numBuckets || p.numBuckets < 0) {
		part.grow(e.Bucket)
		part.next[e.Bucket] = max(part.next[e.Bucket], e.File.MaxSeq+1)
	}
}

// get returns the partition, a new one if it isn't known.
func (p *partitions) get(bytes []byte) *partition {
	if part := p.m[string(bytes)]; part != nil {
		return part
	}
	part := &partition{bytes: []byte(string(bytes)), hash: row.Hash(bytes[4:]), next: make([]int64, max(p.numBuckets, 0))}
	p.m[string(bytes)] = part
	return part
}

// grow makes room for a bucket. The number of buckets is bounded where it is not fixed too: Paimon has 32767 at most.
func (part *partition) grow(id int32) {
	if n := int(id) + 1 - len(part.next); n > 0 {
		part.next = append(part.next, make([]int64, n)...)
	}
}

// refresh looks, once an epoch, for what others have committed since: their files may have raised sequence numbers.
func (p *partitions) refresh(ctx context.Context) error {
	if p.fresh {
		return nil
	}
	latest, err := p.table.Latest(ctx)
	if err != nil {
		return err
	}
	p.fresh = true
	seen := p.lastSeen()
	if latest == nil || latest.ID <= seen {
		return nil
	}
	for id := seen + 1; id <= latest.ID; id++ {
		if p.isOwn(id) {
			continue
		}
		s := latest
		if id < latest.ID {
			if s, err = p.table.Snapshot(ctx, id); errors.Is(err, fs.ErrNotExist) {
				return p.scan(ctx, latest) // it has expired
			} else if err != nil {
				return err
			}
		}
		// A compaction doesn't raise sequence numbers.
		if s.CommitUser == p.user || s.CommitKind == table.CommitCompact || s.CommitKind == table.CommitAnalyze {
			continue
		}
		for e, err := range p.table.ScanDelta(ctx, s) {
			if err != nil {
				return err
			}
			if e.Kind == table.Add {
				p.add(&e)
			}
		}
	}
	p.saw(latest.ID)
	return nil
}

// committed notes a snapshot of ours. Safe for concurrent use.
func (p *partitions) committed(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own[id] = true
	for p.own[p.seen+1] {
		p.seen++
		delete(p.own, p.seen)
	}
}

func (p *partitions) isOwn(id int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own[id]
}

func (p *partitions) lastSeen() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// saw notes that the snapshots up to id are in the sequence numbers.
func (p *partitions) saw(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = max(p.seen, id)
	for k := range p.own {
		if k <= p.seen {
			delete(p.own, k)
		}
	}
}

// open returns the bucket, which from now on is in memory; of bucket=-2 id is 0.
func (p *partitions) open(ctx context.Context, part *partition, id int32) (*bucket, error) {
	if err := p.refresh(ctx); err != nil {
		return nil, fmt.Errorf("looking for sequence numbers of other writers: %w", err)
	}
	if part.total != 0 {
		return nil, p.rescaled(part)
	}
	part.grow(id)
	if len(part.buckets) < len(part.next) {
		part.buckets = append(part.buckets, make([]*bucket, len(part.next)-len(part.buckets))...)
	}
	b := &bucket{part: part, id: id, slot: id, epoch: -1, shard: shardOf(part.hash, id, p.shards)}
	if p.numBuckets == postponed {
		b.id = table.PostponeBucket
	}
	part.buckets[b.slot] = b
	part.live++
	return b, nil
}

// drop forgets a bucket. Its next sequence number stays with the partition, so it may come back at any time.
func (part *partition) drop(b *bucket) {
	part.buckets[b.slot] = nil
	if part.live--; part.live == 0 {
		part.buckets = nil
	}
}

func (p *partitions) rescaled(part *partition) error {
	return fmt.Errorf("%w: bucket is %d, but the files of %s are in %d buckets; set bucket back, or rescale it by an overwrite",
		table.ErrOption, p.numBuckets, cmp.Or(p.describe(part), "the table"), part.total)
}

// describe names a partition; "" in a table without partitions.
func (p *partitions) describe(part *partition) string {
	name, err := p.table.PartitionPath(part.bytes)
	if err != nil || name == "" {
		return ""
	}
	return "partition " + strings.Trim(name, "/")
}

// shardOf spreads buckets as Java's ChannelComputer does.
func shardOf(partitionHash, bucket, shards int32) int32 {
	h := partitionHash
	if h == -1<<31 {
		h = 1<<31 - 1
	}
	if h < 0 {
		h = -h
	}
	return (h%shards + bucket) % shards
}
