package table

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateDocs = flag.Bool("update", false, "rewrite the generated pages of docs/")

const optionsPage = "../docs/table-options.md"

// TestOptionsPageIsGeneratedFromTheTable keeps docs/table-options.md true; run it with -update to rewrite the page.
func TestOptionsPageIsGeneratedFromTheTable(t *testing.T) {
	want := optionsMarkdown()
	if *updateDocs {
		require.NoError(t, os.WriteFile(optionsPage, []byte(want), 0o644))
	}
	got, err := os.ReadFile(optionsPage)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "go test ./table -run OptionsPage -update rewrites the page")
}

func optionsMarkdown() string {
	var b strings.Builder
	b.WriteString(`# Table options

Paimon's keys, with what this program does with each. The page is generated from the table of keys in package table
(` + "`go test ./table -run OptionsPage -update`" + `).

- *Honoured* options work as in Java Paimon, within the limits that the text names.
- *Stored* options are kept in the table's schema and have no effect here: they matter to Java, to Flink or to readers.
- *Refused* options stop a writer before it writes anything when their value is other than the default, because to neglect
  them could change data or mislead readers. Such tables can still be opened and inspected.

A key that looks like a misspelt one, or like none of Paimon's, is an error that names the nearest. Other keys that are not in
this list are stored with a line in the log. *Fixed* options can't be changed or removed once the table has a snapshot.
`)
	for _, status := range []Status{Honoured, Refused, Stored} {
		name := status.String()
		fmt.Fprintf(&b, "\n## %s%s\n\n| key | default | type | effect |\n| --- | --- | --- | --- |\n", strings.ToUpper(name[:1]), name[1:])
		for _, k := range Keys() {
			if k.Status == status {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, code(k.Default), typeText(k), effectText(k))
			}
		}
		for _, p := range Patterns {
			if p.Status == status {
				effect := p.Doc
				if p.why != "" {
					effect += " Refused: " + p.why + "."
				}
				fmt.Fprintf(&b, "| `%s` | – | string | %s |\n", p.Name(), effect)
			}
		}
	}
	return b.String()
}

func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + s + "`"
}

func typeText(k *Key) string {
	s := k.Kind.String()
	if k.Immutable {
		s += ", fixed"
	}
	if k.Since != "" {
		s += ", Paimon " + k.Since
	}
	return s
}

func effectText(k *Key) string {
	s := strings.ReplaceAll(k.Doc, "|", "\\|")
	if k.Kind == Enum {
		s += " One of " + strings.Join(k.Values, ", ") + "."
	}
	if len(k.Aliases) > 0 {
		s += " Also " + code(strings.Join(k.Aliases, "`, `")) + "."
	}
	switch {
	case k.Status == Refused:
		s += " Refused: " + k.limit + "."
	case k.limit != "":
		s += " Limit: " + k.limit + "."
	}
	if k.compactLimit != "" {
		s += " The compactor's limit: " + k.compactLimit + "."
	}
	return s
}
