package lsm

import (
	"sync"
	"sync/atomic"
)

// Budget bounds the memory of write buffers: one of the process with one of each table beneath it. It counts bytes and
// holds none. Safe for concurrent use.
//
// Who asks and is refused presses the budget, so that the owner of the largest buffers seals some for the flush pool, and
// waits on Freed. Memory counts until the rows in it are on disk, so a flush that is slower than its source ends in that
// wait, and in nothing else.
type Budget struct {
	limit  int64
	used   atomic.Int64
	fixed  atomic.Int64 // of used, reserved
	sealed atomic.Int64 // of used, on its way out
	parent *Budget

	waiting atomic.Bool // somebody may be waiting on freed; only the root's is used
	mu      sync.Mutex
	freed   chan struct{}       // guarded by mu; closed and dropped by the next Free
	owners  map[*owner]struct{} // guarded by mu
}

// owner holds buffers under a budget.
type owner struct {
	active func() int64 // bytes that seal could free
	seal   func()       // asks for sealing; returns at once
}

// NewBudget returns the budget of a process, of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Child returns a budget beneath b, of at most limit bytes. What it takes counts in b too.
func (b *Budget) Child(limit int64) *Budget { return &Budget{limit: limit, parent: b} }

// Limit returns the bytes that may be taken: the least limit from b to the root.
func (b *Budget) Limit() int64 {
	if b.parent != nil {
		return min(b.limit, b.parent.Limit())
	}
	return b.limit
}

// Used returns the bytes taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Sealed returns the bytes that are on their way out: sealed, and not written yet.
func (b *Budget) Sealed() int64 { return b.sealed.Load() }

// Seal says that n of the bytes taken are on their way out; -n, before they are freed, ends it.
func (b *Budget) Seal(n int64) {
	for ; b != nil; b = b.parent {
		b.sealed.Add(n)
	}
}

// TryTake takes n bytes, or nothing and reports false.
func (b *Budget) TryTake(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	if b.parent != nil && !b.parent.TryTake(n) {
		b.used.Add(-n)
		return false
	}
	return true
}

// Take takes n bytes even beyond the limit: small change that goes with a TryTake, or what keeps a row going that is
// larger than the whole budget.
func (b *Budget) Take(n int64) {
	for ; b != nil; b = b.parent {
		b.used.Add(n)
	}
}

// Reserve takes n bytes for something that is no buffer, and so gives nothing back when memory is short. All that is reserved is half
// of the limit at most, here and above, so that buffers always find room; else Reserve takes nothing and reports false.
func (b *Budget) Reserve(n int64) bool {
	if b.fixed.Add(n) > b.limit/2 || b.parent != nil && !b.parent.Reserve(n) {
		b.fixed.Add(-n)
		return false
	}
	b.used.Add(n)
	return true
}

// Release gives back what Reserve took.
func (b *Budget) Release(n int64) {
	for p := b; p != nil; p = p.parent {
		p.fixed.Add(-n)
	}
	b.Free(n)
}

// Free gives n bytes back and wakes all who wait on Freed.
func (b *Budget) Free(n int64) {
	for {
		b.used.Add(-n)
		if b.parent == nil {
			break
		}
		b = b.parent
	}
	b.Wake()
}

// Wake makes all who wait on Freed look again, because what an owner could seal has changed.
func (b *Budget) Wake() {
	for b.parent != nil {
		b = b.parent
	}
	if b.waiting.Load() {
		b.mu.Lock()
		if b.freed != nil {
			close(b.freed)
			b.freed = nil
		}
		b.waiting.Store(false)
		b.mu.Unlock()
	}
}

// Freed returns a channel that is closed by the next Free or Wake anywhere in the process. Get it before the TryTake that it
// follows, or what happens in between is missed.
func (b *Budget) Freed() <-chan struct{} {
	for b.parent != nil {
		b = b.parent
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	b.waiting.Store(true)
	return b.freed
}

// Attach makes an owner of buffers known, whom Press may ask to seal: active says how many bytes that could free, seal
// must return at once. The returned function ends it.
func (b *Budget) Attach(active func() int64, seal func()) (detach func()) {
	o := &owner{active, seal}
	for p := b; p != nil; p = p.parent {
		p.mu.Lock()
		if p.owners == nil {
			p.owners = map[*owner]struct{}{}
		}
		p.owners[o] = struct{}{}
		p.mu.Unlock()
	}
	return func() {
		for p := b; p != nil; p = p.parent {
			p.mu.Lock()
			delete(p.owners, o)
			p.mu.Unlock()
		}
	}
}

// Relieve asks the owner of the most unsealed bytes to seal when less than a quarter is left, here or above, and not a
// quarter is on its way out: early enough that nobody has to wait.
func (b *Budget) Relieve() {
	for ; b != nil; b = b.parent {
		if b.used.Load() > b.limit-b.limit/4 && b.sealed.Load() < b.limit/4 {
			b.press()
			return
		}
	}
}

// Press asks the owner of the most unsealed bytes to seal because n bytes can't be had: of this table when its share is
// what is short, else of the process. When half of that is on its way out already, sealing more would only spill what
// could stay, and keep the pool from writing the rest; then it does nothing.
func (b *Budget) Press(n int64) {
	for b.parent != nil && b.used.Load()+n <= b.limit {
		b = b.parent
	}
	if b.sealed.Load() < max(b.limit/2, 1) {
		b.press()
	}
}

func (b *Budget) press() {
	var (
		most int64
		best *owner
	)
	b.mu.Lock()
	for o := range b.owners {
		if a := o.active(); a > most {
			most, best = a, o
		}
	}
	b.mu.Unlock()
	if best != nil {
		best.seal()
	}
}
