package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

// Severity tells how bad a Problem is.
type Severity string

// The severities.
const (
	// SeverityError: readers fail, or read wrong rows.
	SeverityError Severity = "error"
	// SeverityWarn: readers cope, but it isn't as it should be.
	SeverityWarn Severity = "warn"
	// SeverityOrphan: a file that nothing refers to. A file that is being written looks the same.
	SeverityOrphan Severity = "orphan"
)

// Problem is something that Check found.
type Problem struct {
	Severity Severity
	Check    string // which check, such as "manifest-size"
	At       string // where: a path, relative to the table where it is below it, or a snapshot
	Msg      string
}

// String returns the problem as a line of text.
func (p Problem) String() string {
	return fmt.Sprintf("%s %s %s: %s", p.Severity, p.Check, p.At, p.Msg)
}

// FileChecker reads a data or changelog file and compares it with its entry: rows, order, bounds and so on.
type FileChecker func(ctx context.Context, t *Table, e *Entry, changelog bool) iter.Seq[Problem]

// Check looks for damage in a table (fsck). It compares the metadata of all snapshots with each other, and the files that are
// live at s (nil: the latest snapshot), or with deep at any snapshot, with what is stored: existence, exact size and, by
// open unless that is nil, content. It goes on after each problem and stops when the caller does.
//
// On a table that others write meanwhile, a snapshot may expire under its eyes and new files look like orphans.
func (t *Table) Check(ctx context.Context, s *Snapshot, deep bool, open FileChecker) iter.Seq[Problem] {
	return t.check(ctx, s, checkScope{deep: deep, open: open, files: true})
}

type checkScope struct {
	deep  bool
	open  FileChecker
	files bool // look at data files and for orphans at all
}

func (t *Table) check(ctx context.Context, s *Snapshot, scope checkScope) iter.Seq[Problem] {
	return func(yield func(Problem) bool) {
		c := &checker{
			t: t, ctx: ctx, checkScope: scope, yield: yield, schema: t.Schema(), target: s,
			manifestsSeen: map[string]bool{}, stored: map[string]fs.Info{}, used: map[string]bool{}, filesSeen: map[string]bool{},
		}
		c.run()
	}
}

type checker struct {
	checkScope
	t      *Table
	ctx    context.Context // of the one call of Check that this checker lives for
	yield  func(Problem) bool
	enough bool // the caller wants no more problems
	schema *Schema
	target *Snapshot

	manifestsSeen map[string]bool
	lastNames     []string           // the manifests of the snapshot before
	stored        map[string]fs.Info // all files of the table, by path
	used          map[string]bool    // paths of files that something refers to
	filesSeen     map[string]bool    // paths of data files compared
}

func (c *checker) report(severity Severity, check, at, format string, args ...any) {
	at = strings.TrimPrefix(at, c.t.path+"/")
	if !c.enough && !c.yield(Problem{severity, check, at, fmt.Sprintf(format, args...)}) {
		c.enough = true
	}
}

func (c *checker) errorf(check, at, format string, args ...any) {
	c.report(SeverityError, check, at, format, args...)
}

func (c *checker) warnf(check, at, format string, args ...any) {
	c.report(SeverityWarn, check, at, format, args...)
}

// fail reports an error that ends a check.
func (c *checker) fail(check, at string, err error) {
	if c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	}
	c.errorf(check, at, "%v", err)
}

func (c *checker) run() {
	if c.files {
		c.walk(c.t.path)
	}
	c.checkSnapshots()
	if c.files && !c.enough {
		c.checkOrphans()
	}
}

// walk lists all files of the table.
func (c *checker) walk(dir string) {
	var dirs []string
	for info, err := range c.t.fs.List(c.ctx, dir) {
		if err != nil {
			c.fail("list", dir, err)
			return
		}
		if info.Dir {
			dirs = append(dirs, fs.Join(dir, info.Name))
		} else {
			c.stored[fs.Join(dir, info.Name)] = info
		}
	}
	for _, d := range dirs {
		c.walk(d)
	}
}

// size returns the size of a file, wherever it lies. One that was not listed may have been written meanwhile.
func (c *checker) size(path string) (int64, error) {
	if info, ok := c.stored[path]; ok {
		return info.Size, nil
	}
	info, err := c.t.fs.Stat(c.ctx, path)
	return info.Size, err
}

// checkFile compares the file of an entry with what is stored.
func (c *checker) checkFile(at string, e *Entry, changelog bool) {
	path, err := c.t.DataFilePath(e.Partition, e.Bucket, &e.File)
	if err != nil {
		c.errorf("partition", at, "%s: %v", e.describe(), err)
		return
	}
	c.used[path] = true
	for _, x := range e.File.ExtraFiles {
		extra := extraFilePath(path, x)
		c.used[extra] = true
		if _, err := c.size(extra); err != nil && !c.filesSeen[extra] {
			c.errorf("file-missing", extra, "extra file of %s: %v", e.File.Name, err)
		}
		c.filesSeen[extra] = true
	}
	if c.filesSeen[path] {
		return
	}
	c.filesSeen[path] = true
	if part, ok, err := c.t.MergedPart(e.Partition, e.Bucket, &e.File); ok || err != nil {
		c.checkMerged(at, e, part, err)
		return
	}
	size, err := c.size(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.errorf("file-missing", path, "%s refers to it", at)
	case err != nil:
		c.fail("file-missing", path, err)
	case size != e.File.Size:
		c.errorf("file-size", path, "%d bytes, %s says %d", size, at, e.File.Size)
	case c.open != nil && !c.enough:
		for p := range c.open(c.ctx, c.t, e, changelog) {
			c.report(p.Severity, p.Check, p.At, "%s", p.Msg)
		}
	}
}

// checkOrphans reports the files that nothing refers to.
func (c *checker) checkOrphans() {
	for path := range c.stored {
		rel := strings.TrimPrefix(path, c.t.path+"/")
		top, _, below := strings.Cut(rel, "/")
		switch name := fs.Base(path); {
		case c.used[path]:
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"):
			c.report(SeverityOrphan, "orphan", path, "temporary file")
		case below && keptDirs[top]:
		default:
			c.report(SeverityOrphan, "orphan", path, "nothing refers to it")
		}
	}
}

// keptDirs hold files that nothing needs to refer to.
var keptDirs = map[string]bool{"snapshot": true, "schema": true, "tag": true, "branch": true, "consumer": true, "service": true, "changelog": true, stateDir: true}
