// Package cli is what our programs have in common: arguments in both spellings and from a file, exit codes and the last line on
// stderr, the HTTP endpoint, logging, what a terminal shows, tables of text.
package cli
