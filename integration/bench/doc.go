// Bench compares the writer package with Java Paimon's StreamTableWrite on the same generated rows.
//
// Each run is a process of its own: this program again for ours, `oracle bench-write` (integration/java) for Java. Both
// generate the rows of the guide's table inside the measured loop, hand them to the writer, commit at the same intervals,
// and tell the processor time (user and system, of all threads) between the opening of the table and the end of the last
// commit, the time on the clock, and their peak resident set. What the generator takes is measured alone, in the same
// round, and subtracted. The sides alternate, so that a neighbour's load meets both. Every table is read back and compared
// with what the generator says must be in it.
package main
