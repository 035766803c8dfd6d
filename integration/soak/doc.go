// Package soak lets real programs work on a real table for a long time while everything around them fails: MySQL with a random
// workload, one paimon-go-sink per table, paimon-go-compact over all of them, and the storage below, each a process of its own.
// Every few seconds a fault drawn from the seed hits one of them. At the end source and tables must be equal, row by row, by our
// own programs and by Java, and every check clean.
//
//	make soak DURATION=30m SEED=1 FAULT_EVERY=10s WAREHOUSE=hdfs
//
// The seed alone decides what the n-th transaction does and which fault comes when, so a seed replays; what falls between two
// transactions is up to the machine. Programs that die are started again at once, as a supervisor would. A run fails
//
//   - when a program ends by itself with an exit code other than 3 (source unreachable) and 7 (storage unreachable),
//   - when what was in MySQL at the end of a fault is not in the tables after the patience given,
//   - when the tables are not equal to the source in the end, or a changelog does not replay to its table, or a check complains.
//
// Then the directory with all logs is kept and printed.
//
// schedule.go draws the faults, workload.go the transactions: both are pure. program.go is the supervisor. The other files need
// the tag integration: stage_test.go sets everything up, strike_test.go makes the faults, observe_test.go measures the recovery,
// verify_test.go compares.
package soak
