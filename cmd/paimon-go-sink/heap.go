package main

import (
	"runtime"
	"runtime/debug"
	goruntime "runtime/metrics"
	"sync"
)

const (
	// heapHeadroom is how much may be allocated between two collections. A collection takes a millisecond or two, as the rows in buffers have no
	// pointers; memory that is touched for the first time costs more than that.
	heapHeadroom = 32 << 20
	// leastGCPercent bounds how often a large heap is collected, mostGCPercent how far a small one may grow.
	leastGCPercent, mostGCPercent = 12, 400
)

// keepHeadroom, of which the first call counts, sets the collector's target after each collection, so that the heap grows by about heapHeadroom whatever is in it. A percentage alone
// lets a heap with full buffers grow by several times as much.
var keepHeadroom = sync.OnceFunc(func() {
	live := []goruntime.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := mostGCPercent
	debug.SetGCPercent(percent)
	type sentinel struct{ _ [16]byte } // with nothing else in its memory, or it might live on
	var collected func(*sentinel)
	collected = func(s *sentinel) {
		goruntime.Read(live)
		if p := gcPercent(live[0].Value.Uint64()); p != percent {
			percent = p
			debug.SetGCPercent(p)
		}
		runtime.SetFinalizer(s, collected)
	}
	runtime.SetFinalizer(&sentinel{}, collected)
})

// gcPercent is GOGC for a heap with so many live bytes.
func gcPercent(live uint64) int {
	return int(min(max(100*heapHeadroom/max(live, 1), leastGCPercent), mostGCPercent))
}
