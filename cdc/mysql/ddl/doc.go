// Package ddl tells what a statement of the binlog does to a table.
//
// Parse turns the text of a QUERY event into Statements; Statement.Effect answers for one table: nothing, a list of
// column changes, or a change that cannot be followed, with the reason.
package ddl
