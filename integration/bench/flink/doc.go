// Flink runs paimon-go-sink and Flink's jobs (Flink 1.20, Flink CDC 3.5, Paimon 1.3.1: mysql_sync_table, and a mysql-cdc source with
// INSERT INTO) on the same changes of the guide's table in MySQL, and counts processor time, memory, files, bytes and latency of each.
//
// Two phases:
//
//   - catchup: an initial read of -rows rows, then, after a restart, -events changes that were made meanwhile;
//   - paced: after an initial read, -rate changes a second for -seconds, with a tick (a checkpoint) each -tick.
//
// A run has a warehouse of its own, and is compared with MySQL row by row at the end; the changes of all runs are the same, as they
// come from one seed. Sides alternate and never run at the same time. The tables of both sides are looked at by the same code, our
// own reader's.
//
// With a warehouse on HDFS the name node's own counters tell the calls of the paced phase.
package main
