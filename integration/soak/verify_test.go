//go:build integration

package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// run runs one of our programs to its end and returns the lines that it printed.
func (s *stage) run(program string, args ...string) (lines []string, err error) {
	cmd := exec.Command(testkit.Program(s.t, program), append(args, confArgs(s.store.directConf)...)...)
	cmd.Env = append(os.Environ(), s.store.directEnv...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		s.t.Logf("%s %s: %v: %s", program, args, err, said.String()[max(0, said.Len()-2000):])
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), err
}

// java runs a verb of the oracle on a table.
func (s *stage) java(version, verb string, x *Table) ([]string, error) {
	words := []string{verb, s.store.directWarehouse, database, x.Name}
	for _, c := range s.store.directConf {
		words = append(words, "--catalog", c)
	}
	return testkit.Java(s.t, version, words...)
}

// at are the arguments that name a table.
func (s *stage) at(name string) []string {
	return []string{"--warehouse", s.store.directWarehouse, "--database", database, "--table", name}
}

// verify compares source and tables.
func (s *stage) verify() {
	s.lap = time.Now()
	for k := range s.work.Tables {
		x := &s.work.Tables[k]
		rows := s.db.Rows(x.Name)
		s.save(x.Name+".source", rows)
		s.verifyRows(x, rows, testkit.JavaVersions...)
		s.timed("rows of " + x.Name)
		s.verifyFiles(x)
		s.timed("files of " + x.Name)
		s.clean(x)
		if x.Changelog {
			s.verifyChanges(x, rows)
		}
		// What is there can be compacted, and then has the same rows.
		_, err := s.run("paimon-go-compact", append([]string{"compact", "--once"}, s.at(x.Name)...)...)
		require.NoError(s.t, err, "compacting %s in full", x.Name)
		s.verifyRows(x, rows, testkit.JavaVersions[0])
		s.timed(fmt.Sprintf("%d rows of %s, compacted", len(rows), x.Name))
	}
}

// timed tells how long a step took.
func (s *stage) timed(what string) {
	s.t.Logf("%s: compared in %.1fs", what, time.Since(s.lap).Seconds())
	s.lap = time.Now()
}

func (s *stage) save(name string, lines []string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.o.dir, name), []byte(strings.Join(lines, "\n")), 0o644))
}

// verifyRows requires that we and Java read the rows.
func (s *stage) verifyRows(x *Table, rows []string, versions ...string) {
	lines, err := s.run("paimon-go", append([]string{"scan", "--json"}, s.at(x.Name)...)...)
	require.NoError(s.t, err)
	lines = testkit.Bare(lines)
	s.save(x.Name+".ours", lines)
	testkit.RequireSameRows(s.t, x.Name+" by paimon-go scan", rows, lines)
	for _, v := range versions {
		lines, err := s.java(v, "read", x)
		require.NoError(s.t, err)
		testkit.RequireSameRows(s.t, x.Name+" by java "+v, rows, testkit.Bare(lines))
	}
}

// verifyFiles requires that no check finds anything but files that a killed process left.
func (s *stage) verifyFiles(x *Table) {
	lines, err := s.run("paimon-go", append([]string{"check", "--json", "--deep"}, s.at(x.Name)...)...)
	require.NoError(s.t, err, strings.Join(lines, "\n"))
	s.requireOnlyOrphans("paimon-go check", x, lines)
	lines, err = s.java(testkit.JavaVersions[0], "check", x)
	require.NoError(s.t, err, strings.Join(lines, "\n"))
	s.requireOnlyOrphans("java's check", x, lines)
}

// clean removes what killed processes left, as if it were old, and requires that nothing at all is found then.
func (s *stage) clean(x *Table) {
	lines, err := s.run("paimon-go", append([]string{"check", "--json", "--fast", "--deep"}, s.at(x.Name)...)...)
	require.NoError(s.t, err)
	left := 0
	for _, l := range lines {
		var p struct{ Severity, At string }
		require.NoError(s.t, json.Unmarshal([]byte(l), &p), l)
		if p.Severity == "orphan" {
			left++
			require.NoError(s.t, s.store.age(fs.Join(table.TablePath(s.store.directWarehouse, database, x.Name), p.At), time.Now().Add(-48*time.Hour)), l)
		}
	}
	_, err = s.run("paimon-go-compact", append([]string{"remove_orphan_files"}, s.at(x.Name)...)...)
	require.NoError(s.t, err)
	lines, err = s.run("paimon-go", append([]string{"check", "--json", "--strict", "--deep"}, s.at(x.Name)...)...)
	require.NoError(s.t, err, strings.Join(lines, "\n"))
	s.timed(fmt.Sprintf("%d files of %s that killed processes left, removed", left, x.Name))
}

// requireOnlyOrphans requires that a check found no error and no warning.
func (s *stage) requireOnlyOrphans(who string, x *Table, lines []string) {
	orphans := 0
	for _, l := range lines {
		var p struct{ Severity, Check, At, Msg string }
		require.NoError(s.t, json.Unmarshal([]byte(l), &p), l)
		switch {
		case strings.HasPrefix(p.At, "paimon-go/"): // the sink's state, which Java does not know
		case p.Severity == "orphan", p.Check == "snapshot-dir" && strings.HasPrefix(p.At, ".") && strings.HasSuffix(p.At, ".tmp"): // what was to be renamed
			orphans++
		case p.Severity == "error", p.Severity == "warn":
			require.Fail(s.t, who+" of "+x.Name, "%s", l)
		}
	}
	if orphans > 0 {
		s.t.Logf("%s of %s: at least %d files that nothing refers to, left by killed processes", who, x.Name, orphans)
	}
}

// addedCells are the cells of columns that the workload added.
var addedCells = regexp.MustCompile(`,"added_\d+":(?:"(?:[^"\\]|\\.)*"|[^,}]*)`)

// verifyChanges requires that the changelog, from the first change on, makes the rows, by our reader and Java's.
func (s *stage) verifyChanges(x *Table, rows []string) {
	lines, err := s.run("paimon-go", append([]string{"schema", "--json"}, s.at(x.Name)...)...)
	require.NoError(s.t, err)
	var schema struct {
		PrimaryKeys []string `json:"primaryKeys"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(strings.Join(lines, "\n")), &schema))
	require.NotEmpty(s.t, schema.PrimaryKeys)
	ours, err := s.run("paimon-go", append([]string{"changelog", "--json"}, s.at(x.Name)...)...)
	require.NoError(s.t, err)
	s.save(x.Name+".changes", ours)
	replayed := testkit.Replayed(s.t, testkit.ParseChanges(s.t, ours, schema.PrimaryKeys))
	testkit.RequireSameRows(s.t, x.Name+"'s changelog by paimon-go", rows, replayed)
	java, err := s.java(testkit.JavaVersions[0], "changelog", x)
	require.NoError(s.t, err)
	if !slices.ContainsFunc(java, func(l string) bool { return strings.Contains(l, `"added_`) }) {
		// As long as the first snapshot is there, Java reads all changes by its schema.
		for i := range ours {
			ours[i] = addedCells.ReplaceAllString(ours[i], "")
		}
	}
	sort.Strings(ours)
	sort.Strings(java)
	testkit.RequireSameRows(s.t, x.Name+"'s changelog by paimon-go, where Java", java, ours)
	s.timed(fmt.Sprintf("%d changes of %s", len(ours), x.Name))
}
