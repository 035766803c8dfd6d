// Package compactor keeps tables healthy as a separate service: it finds the buckets that have too many files, compacts them
// beside writers of any engine, and runs the maintenance that write-only writers leave undone. In order of use:
//
//	s, err := compactor.New(compactor.Config{}, tables)
//	jobs, err := s.Plan(ctx)     // what it would do and why
//	report, err := s.Once(ctx)   // do it and come back
//	err = s.Run(ctx)             // go on for ever
//
// Each table has a goroutine that knows its live files and follows its snapshots. It asks the table's strategy about buckets
// that have changed, and offers what is wanted to the dispatcher, from which workers take the most urgent job of all tables.
// What they bring back is committed by the table's goroutine, the jobs of a round together:
//
//	table a ── follow, pick ──┐                ┌── worker 1 ──┐
//	table b ── follow, pick ──┼── dispatcher ──┼── worker 2 ──┼── back to the table: commit
//	table c ── follow, pick ──┘                └── worker 3 ──┘
//
// Beside a writer nothing can be lost: it adds files of level 0, we replace files that we have seen. Beside another
// compactor the commit that comes first wins, and the other job's files are deleted.
package compactor
