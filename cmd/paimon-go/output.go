package main

import (
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
)

// outputArgs choose between text for people and JSON lines for programs.
type outputArgs struct {
	JSON bool `help:"Print JSON, one object a line."`
}

// unquote leaves quotation marks as they are: nothing around a cell needs them escaped.
var unquote = strings.NewReplacer(`\\`, `\\`, `\"`, `"`)

// cell returns a value as text on one line.
func cell(c *row.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	s := string(row.AppendJSONValue(nil, c, i))
	if len(s) > 1 && s[0] == '"' {
		s = unquote.Replace(s[1 : len(s)-1])
	}
	return s
}
