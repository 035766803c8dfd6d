// Bench compares the writer package with Java Paimon's StreamTableWrite on the same generated rows, and the compactor
// package with Java Paimon's dedicated compaction on the same table.
//
// Each run is a process of its own: this program again for ours, `oracle bench-write` or `bench-compact` (integration/java)
// for Java. It tells the processor time (user and system, of all threads) between the opening of the table and the end of
// the last commit, the time on the clock, and its peak resident set. The sides alternate, so that a neighbour's load meets
// both. Every table is read back and compared with what the generator says must be in it.
//
// Writers generate the rows of the guide's table inside the measured loop and commit at the same intervals. What the
// generator takes is measured alone, in the same round, and subtracted.
//
// Compactions get copies of one table, which our writer makes before: full ones 20 overlapping files in level 0 of each
// bucket, minor ones the same beside larger files in the max level.
//
// paimon-rust writes too, by its Python wheel, from an Arrow stream of the same rows. Curves (growth-…) and ticks are of our writer alone:
// what a row and a file cost while one thing grows, and how long the commit of a tick takes.
//
// Figures of each run go into a file as soon as it has ended. Runs that are there are not made again, and all are reported together.
package main
