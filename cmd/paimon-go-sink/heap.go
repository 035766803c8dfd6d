package main

import (
	"runtime"
	"runtime/debug"
	goruntime "runtime/metrics"
	"sync"
)

const (
	// heapHeadroom is how much may be allocated between two collections at least. A collection takes a millisecond or two, as the rows in buffers
	// have no pointers; memory that is touched for the first time costs more than that.
	heapHeadroom = 32 << 20
	// mostGCPercent bounds how far a small heap may grow.
	mostGCPercent = 400
)

// keepHeadroom, of which the first call counts, sets the collector's target after each collection, so that the heap grows by about heapHeadroom
// whatever rows are in it. A percentage alone lets a heap with full buffers grow by several times as much.
var keepHeadroom = sync.OnceFunc(func() {
	heap := []goruntime.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	percent := mostGCPercent
	debug.SetGCPercent(percent)
	type sentinel struct{ _ [16]byte } // with nothing else in its memory, or it might live on
	var collected func(*sentinel)
	collected = func(s *sentinel) {
		goruntime.Read(heap)
		if p := gcPercent(heap[0].Value.Uint64(), heap[1].Value.Uint64()); p != percent {
			percent = p
			debug.SetGCPercent(p)
		}
		runtime.SetFinalizer(s, collected)
	}
	runtime.SetFinalizer(&sentinel{}, collected)
})

// gcPercent is GOGC for a heap of so many live bytes, of which some have pointers: those are what a collection takes its time for, so the heap may
// grow by as much again.
func gcPercent(live, scanned uint64) int {
	return int(min(max(100*(heapHeadroom+scanned)/max(live, 1), 1), mostGCPercent))
}
