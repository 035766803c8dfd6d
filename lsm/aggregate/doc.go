// Package aggregate has the functions that merge the values of one column over the records of a key: those of
// merge-engine=aggregation, which partial-update's sequence groups use too.
//
// A Column is a function bound to a column of a table. Its state is a cell, row 0 of a row.Column that has exactly one row,
// which belongs to the caller. A key begins with Reset and a NULL cell; the key's records then come one by one:
//
//	Add          a record that counts, newer than all before
//	AddReversed  one that is older than what the cell has (sequence groups only)
//	Retract      a record that takes back what an earlier one added
//
// What the functions do is Java Paimon's matter to the letter, since a table is read and merged by both: integers wrap, a
// DECIMAL that can't hold a result becomes NULL if Java makes it so, and a function that can't take something back is an
// error, unless fields.<column>.ignore-retract is set.
package aggregate
