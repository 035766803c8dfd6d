package hashindex

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"
)

// Settings are the options dynamic-bucket.*.
type Settings struct {
	// Target is how many hashes a bucket takes before another one is begun.
	Target int64
	// Assigners is how many assigners there are: tasks in Flink, all in this process here. At least 1.
	Assigners int
	// Initial is how many of them share a partition, and so the buckets that it begins with; 0: all.
	Initial int
	// Max bounds the buckets of a partition; -1: Paimon's 32767.
	Max int
}

// ErrTooMany is wrapped when a partition has as many buckets as Paimon can count, ErrNotRead when an index file can't be read.
var (
	ErrTooMany = errors.New("too many buckets")
	ErrNotRead = errors.New("reading the index of keys")
)

const paimonBuckets = math.MaxInt16

// Index assigns keys of all partitions to buckets.
//
// As in Paimon, each assigner fills buckets of its own: b belongs to assigner a when they leave the same remainder by Initial. Where two
// assigners share buckets, as Paimon lets them, they share the count too.
type Index struct {
	store  *Store
	target int64
	assign int32
	share  int32
	max    int32   // greatest id
	bound  bool    // Max is set
	maxID  []int32 // the greatest id that an assigner has given out so far
}

// New returns an index in a store.
func New(s *Store, o Settings) *Index {
	x := &Index{store: s, target: o.Target, assign: int32(max(o.Assigners, 1)), max: paimonBuckets - 1}
	x.share = x.assign
	if o.Initial > 0 {
		x.share = min(x.assign, int32(o.Initial))
	}
	if o.Max > 0 {
		// Assigners without a bucket to assign make Paimon fail.
		x.bound, x.max = true, min(x.max, int32(o.Max)-1)
		x.share = min(x.share, x.max+1)
	}
	x.maxID = make([]int32, x.assign)
	return x
}

// Partition is the index of one partition.
type Partition struct {
	x       *Index
	start   int32 // its first assigner
	table   hashTable
	buckets []bucket
	groups  []group // by the remainder of their buckets
	changed []int32 // buckets with hashes that no Content has
}

// bucket is what is known of a bucket.
type bucket struct {
	known   bool // it is in the index
	listed  bool // list is whole
	changed bool
	hashes  int64 // that it has
	full    *File // where the list is when it is not here
	list    list
}

// group is the buckets that belong to an assigner.
type group struct {
	open  []int32 // not full as far as is known, ascending
	all   []int32
	fresh int32 // no id below it that belongs to the group is free
}

// File is the index file of a bucket.
type File struct {
	Bucket int32
	Rows   int64
	Open   func(ctx context.Context) (io.ReadCloser, error)
}

// Load reads a partition from its index files. partitionHash is that of its BinaryRow.
func (x *Index) Load(ctx context.Context, partitionHash int32, files []File) (*Partition, error) {
	p := &Partition{x: x, start: magnitude(partitionHash % x.assign), groups: make([]group, x.share)}
	for i := range p.groups {
		p.groups[i].fresh = int32(i)
	}
	x.store.grew(p.fixedHeap())
	if err := p.loadAll(ctx, files); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

func (p *Partition) loadAll(ctx context.Context, files []File) (err error) {
	rows := int64(0)
	for i := range files {
		rows += files[i].Rows
	}
	if p.table, err = newTable(p.x.store, slotsFor(rows+rows/16)); err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b File) int { return int(a.Bucket - b.Bucket) })
	for i := range files {
		if err := p.load(ctx, &files[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Partition) fixedHeap() int64 {
	return int64(unsafe.Sizeof(*p)) + int64(len(p.groups))*int64(unsafe.Sizeof(group{}))
}

// load reads one file into the table, and into the bucket's list unless it is full.
func (p *Partition) load(ctx context.Context, f *File) error {
	if f.Bucket < 0 || f.Bucket >= paimonBuckets {
		return fmt.Errorf("an index file of bucket %d", f.Bucket)
	}
	b := p.add(f.Bucket)
	if b.listed = f.Rows < p.x.target; !b.listed && p.x.bound {
		b.full = f
	}
	err := each(ctx, f, func(hash int32) error {
		b.hashes++
		if b.listed {
			if err := b.list.append(p.x.store, hash); err != nil {
				return err
			}
		}
		if p.table.full() {
			if err := p.table.grow(p.x.store); err != nil {
				return err
			}
		}
		if _, slot, ok := p.table.find(hash); !ok {
			p.table.put(slot, hash, f.Bucket)
		}
		return nil
	})
	if err == nil {
		err = b.list.settle(p.x.store)
	}
	if err == nil && b.hashes != f.Rows {
		err = fmt.Errorf("the index file of bucket %d has %d hashes, not %d", f.Bucket, b.hashes, f.Rows)
	}
	if g := &p.groups[f.Bucket%p.x.share]; b.hashes < p.x.target {
		g.open = append(g.open, f.Bucket)
		p.x.store.grew(4)
	}
	return err
}

// each calls f with the hashes of a file.
func each(ctx context.Context, f *File, fn func(hash int32) error) error {
	r, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // read only
	buf := make([]byte, min(256<<10, max(4, int(f.Rows*4))))
	for {
		n, err := io.ReadFull(r, buf)
		if n%4 != 0 {
			return fmt.Errorf("the index file of bucket %d ends in the middle of a hash", f.Bucket)
		}
		for at := 0; at < n; at += 4 {
			if err := fn(int32(binary.BigEndian.Uint32(buf[at:]))); err != nil {
				return err
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return err
		}
	}
}

// add makes a bucket known.
func (p *Partition) add(id int32) *bucket {
	if n := int(id) + 1 - len(p.buckets); n > 0 {
		before := cap(p.buckets)
		p.buckets = append(p.buckets, make([]bucket, n)...)
		p.x.store.grew(int64(cap(p.buckets)-before) * int64(unsafe.Sizeof(bucket{})))
	}
	b := &p.buckets[id]
	if !b.known {
		b.known = true
		g := &p.groups[id%p.x.share]
		g.all = append(g.all, id)
		p.x.store.grew(4)
	}
	return b
}

// Keys returns the number of different hashes.
func (p *Partition) Keys() int64 { return int64(p.table.n) }

// Count returns the number of buckets.
func (p *Partition) Count() (n int64) {
	for i := range p.groups {
		n += int64(len(p.groups[i].all))
	}
	return n
}

// Buckets returns the hashes of each bucket, 0 for one that isn't there.
func (p *Partition) Buckets() []int64 {
	out := make([]int64, len(p.buckets))
	for i := range p.buckets {
		out[i] = p.buckets[i].hashes
	}
	return out
}

func magnitude(v int32) int32 {
	if v < 0 {
		return -v
	}
	return v
}

// Assign returns the bucket of a key. After an error the partition is as it was if that wraps ErrTooMany or ErrNotRead, and else useless.
func (p *Partition) Assign(ctx context.Context, hash int32) (int32, error) {
	x := p.x
	assigner := (p.start + magnitude(hash%x.share)) % x.assign
	id, slot, ok := p.table.find(hash)
	if ok {
		x.maxID[assigner] = max(x.maxID[assigner], id)
		return id, nil
	}
	id, err := p.choose(assigner)
	if err != nil {
		return 0, err
	}
	b := p.add(id)
	if b.hashes == 0 {
		b.listed = true
	}
	if !b.listed {
		if err := p.readList(ctx, id); err != nil {
			return 0, err
		}
		b = &p.buckets[id]
	}
	if err := b.list.append(x.store, hash); err != nil {
		return 0, err
	}
	b.hashes++
	if !b.changed {
		b.changed = true
		p.changed = append(p.changed, id)
	}
	x.maxID[assigner] = max(x.maxID[assigner], id)
	p.table.put(slot, hash, id)
	if p.table.full() {
		err = p.table.grow(x.store)
	}
	return id, err
}

// choose returns the bucket of a key that is new.
func (p *Partition) choose(assigner int32) (int32, error) {
	x := p.x
	own := assigner % x.share
	g := &p.groups[own]
	for len(g.open) > 0 {
		id := g.open[0]
		if p.buckets[id].hashes < x.target {
			return id, nil
		}
		g.open = g.open[1:]
		x.store.grew(-4)
	}
	if len(g.all) == 0 || x.maxID[assigner] < x.max {
		for ; g.fresh <= x.max; g.fresh += x.share {
			if int(g.fresh) >= len(p.buckets) || !p.buckets[g.fresh].known {
				g.open = append(g.open, g.fresh)
				x.store.grew(4)
				return g.fresh, nil
			}
		}
	}
	if !x.bound {
		return 0, fmt.Errorf("%w: a partition has %d; raise dynamic-bucket.target-row-num above %d", ErrTooMany, x.max+1, x.target)
	}
	return g.all[rand.IntN(len(g.all))], nil
}

// readList reads the list of a bucket that was full when it was loaded, which gets a key only where Max is set.
func (p *Partition) readList(ctx context.Context, id int32) error {
	b := &p.buckets[id]
	err := each(ctx, b.full, func(hash int32) error { return b.list.append(p.x.store, hash) })
	if err == nil && b.list.n != b.hashes {
		err = fmt.Errorf("the index file of bucket %d has %d hashes, not %d", id, b.list.n, b.hashes)
	}
	if err != nil {
		b.list.drop(p.x.store)
		return fmt.Errorf("%w: %w", ErrNotRead, err)
	}
	b.full, b.listed = nil, true
	return nil
}

// Changed calls f with the content of each bucket that has got hashes since the last call.
func (p *Partition) Changed(f func(bucket int32, c *Content)) error {
	for _, id := range p.changed {
		b := &p.buckets[id]
		if err := b.list.settle(p.x.store); err != nil {
			return err
		}
		b.changed = false
		f(id, &Content{store: p.x.store, chunks: b.list.chunks[:len(b.list.chunks):len(b.list.chunks)], n: b.list.n})
	}
	p.changed = p.changed[:0]
	return nil
}

// Release gives all of it up. Contents must not be read any more.
func (p *Partition) Release() {
	s := p.x.store
	p.table.close(s)
	for i := range p.buckets {
		p.buckets[i].list.drop(s)
	}
	for i := range p.groups {
		s.grew(-4 * int64(len(p.groups[i].open)+len(p.groups[i].all)))
	}
	s.grew(-int64(cap(p.buckets))*int64(unsafe.Sizeof(bucket{})) - p.fixedHeap())
	p.buckets, p.groups, p.changed = nil, nil, nil
}
