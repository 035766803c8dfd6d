// Package lint has tests that keep the code as docs/style.md says: which package may import which, and the rules of style
// that a program can check.
package lint
