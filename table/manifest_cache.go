package table

import (
	"container/list"
	"sync"
)

// metaCacheBytes bounds what a Table keeps of manifests and lists in memory. A table of a hundred thousand files has about
// 60 MB of entries.
const metaCacheBytes = 96 << 20

// meta is what a Table remembers of its immutable metadata files. The zero value is ready. Safe for concurrent use.
type meta struct {
	mu    sync.Mutex // guards all fields
	seen  *cachedSnapshot
	items map[string]*list.Element // by file name, which is unique for ever
	order list.List                // of *metaItem, the most recently used first
	bytes int64
	limit int64 // 0: metaCacheBytes
}

// metaItem is a decoded manifest (*manifestData) or manifest list ([]Manifest); both are never changed.
type metaItem struct {
	name  string
	value any
	bytes int64
}

// lastSeen returns the newest snapshot that was seen, nil at first.
func (m *meta) lastSeen() *cachedSnapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

func (m *meta) setLastSeen(c *cachedSnapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = c
}

func (m *meta) get(name string) (any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.items[name]
	if e == nil {
		return nil, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*metaItem).value, true
}

// put keeps a value, and drops those unused for the longest time to make room. What is larger than a quarter of the room is
// not kept: it would push out all the rest.
func (m *meta) put(name string, value any, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes > m.limitLocked()/4 {
		return
	}
	if m.items == nil {
		m.items = map[string]*list.Element{}
	}
	if m.items[name] != nil {
		return
	}
	m.items[name] = m.order.PushFront(&metaItem{name, value, bytes})
	m.bytes += bytes
	m.trimLocked()
}

func (m *meta) limitLocked() int64 {
	if m.limit > 0 {
		return m.limit
	}
	return metaCacheBytes
}

func (m *meta) trimLocked() {
	for m.bytes > m.limitLocked() {
		m.removeLocked(m.order.Back())
	}
}

func (m *meta) setLimit(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = bytes
	m.trimLocked()
}

// drop forgets a file that was removed.
func (m *meta) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.items[name]; e != nil {
		m.removeLocked(e)
	}
}

func (m *meta) removeLocked(e *list.Element) {
	item := m.order.Remove(e).(*metaItem)
	delete(m.items, item.name)
	m.bytes -= item.bytes
}
