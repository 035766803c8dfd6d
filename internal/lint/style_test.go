package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxLines is the longest that a file of code may be; one that is longer holds more than one idea.
const maxLines = 500

type source struct {
	name string // relative to the module
	data []byte
	file *ast.File
	set  *token.FileSet
}

func (s *source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.set.Position(n.Pos()).Line)
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == "testdata" || n == "bin" || len(n) > 2 && n[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, data, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(name), data, file, set})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 10)
	return all
}

func TestFilesAreFormattedAndShort(t *testing.T) {
	for _, s := range sources(t) {
		want, err := format.Source(s.data)
		require.NoError(t, err, s.name)
		if !bytes.Equal(want, s.data) {
			t.Errorf("%s is not formatted", s.name)
		}
		if n := bytes.Count(s.data, []byte("\n")); n > maxLines && !s.test() {
			t.Errorf("%s has %d lines, more than %d", s.name, n, maxLines)
		}
		switch base := strings.TrimSuffix(filepath.Base(s.name), ".go"); base {
		case "util", "utils", "common", "misc", "manager", "impl", "base", "helpers", "types", "constants":
			t.Errorf("%s: a file is named after the idea in it", s.name)
		}
	}
}

func TestNothingIsLeftUndone(t *testing.T) {
	// "to do" marks in comments; put together here so that this file has none
	mark := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			if m := mark.FindString(group.Text()); m != "" {
				t.Errorf("%s: %s", s.at(group), m)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				if strings.HasPrefix(sel.Sel.Name, "Skip") && isIdent(sel.X, "t", "b", "f", "tb") {
					t.Errorf("%s: a test is skipped", s.at(n))
				}
			}
			if isIdent(call.Fun, "panic") && len(call.Args) == 1 && strings.Contains(literal(call.Args[0]), "not implemented") {
				t.Errorf("%s: something isn't there yet", s.at(n))
			}
			return true
		})
	}
}

func TestErrorsAreWrappedAndSayWhatWasDone(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch name := calledName(call); name {
			case "fmt.Errorf":
				checkErrorf(t, &s, call)
			case "errors.New":
				checkErrorText(t, &s, call, literal(call.Args[0]))
			case "os.Exit", "log.Fatal", "log.Fatalf":
				if s.file.Name.Name != "main" && !strings.HasPrefix(s.name, "fs/fstest/") && !strings.HasPrefix(s.name, "integration/") {
					t.Errorf("%s: libraries never exit", s.at(n))
				}
			}
			return true
		})
	}
}

func checkErrorf(t *testing.T, s *source, call *ast.CallExpr) {
	text := literal(call.Args[0])
	checkErrorText(t, s, call, text)
	verbs := regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z%]`).FindAllString(text, -1)
	arg := 1
	for _, v := range verbs {
		if v == "%%" || strings.ContainsAny(v, "*[") {
			if v != "%%" {
				return // widths and indexes from arguments: rare, and not worth following
			}
			continue
		}
		if arg < len(call.Args) && strings.HasSuffix(v, "v") || strings.HasSuffix(v, "s") {
			if arg < len(call.Args) && looksLikeError(call.Args[arg]) {
				t.Errorf("%s: an error is wrapped with %%w, not %s", s.at(call), v)
			}
		}
		arg++
	}
}

func checkErrorText(t *testing.T, s *source, n ast.Node, text string) {
	for _, bad := range []string{"failed to", "unable to", "error while", "an error occurred"} {
		if strings.Contains(strings.ToLower(text), bad) {
			t.Errorf("%s: %q says that it failed; say what was being done", s.at(n), text)
		}
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "\n") {
		t.Errorf("%s: %q ends like a sentence, but errors are joined", s.at(n), text)
	}
}

func TestRowsAreNotBoxed(t *testing.T) {
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.name, "format/row/") || s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			ast.Inspect(fn.Type, func(n ast.Node) bool {
				iface, empty := n.(*ast.InterfaceType)
				if isIdentNode(n, "any") || empty && len(iface.Methods.List) == 0 {
					t.Errorf("%s: %s has any in its signature", s.at(fn), fn.Name.Name)
				}
				return true
			})
		}
	}
}

func TestExportedNamesHaveComments(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil && !obvious(d) {
					t.Errorf("%s: %s has no comment", s.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name, doc := declared(spec); name != "" && d.Doc == nil && doc == nil {
						t.Errorf("%s: %s has no comment", s.at(spec), name)
					}
				}
			}
		}
	}
}

// declared returns the first exported name of a type, variable or constant and its comment.
func declared(spec ast.Spec) (string, *ast.CommentGroup) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			return spec.Name.Name, spec.Doc
		}
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			if n.IsExported() {
				if spec.Doc != nil {
					return n.Name, spec.Doc
				}
				return n.Name, spec.Comment
			}
		}
	}
	return "", nil
}

// obvious: methods of well-known interfaces need no comment.
func obvious(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "String", "Error", "Unwrap", "Is", "As", "Len", "Less", "Swap", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
		"Read", "Write", "Close", "ReadAt", "Seek", "WriteTo":
		return true
	}
	return false
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func looksLikeError(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "err" || strings.HasSuffix(e.Name, "Err") || strings.HasPrefix(e.Name, "err") && len(e.Name) < 5
	case *ast.CallExpr:
		return calledName(e) == "ctx.Err" || calledName(e) == "errors.Join"
	}
	return false
}

func calledName(call *ast.CallExpr) string {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return s
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

func isIdent(e ast.Expr, names ...string) bool {
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	for _, n := range names {
		if id.Name == n {
			return true
		}
	}
	return false
}

func isIdentNode(n ast.Node, name string) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == name
}
