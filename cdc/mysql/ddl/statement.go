package ddl

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // values of literals; the parser needs a driver for them
)

// Name is a table with its database.
type Name struct{ Database, Table string }

// String returns database.table.
func (n Name) String() string { return n.Database + "." + n.Table }

// EffectKind says what a statement does to one table.
type EffectKind uint8

// The effects, in the order of how much they need.
const (
	// NoEffect: neither the columns nor the rows change, or the statement is about other tables.
	NoEffect EffectKind = iota
	// ColumnsChange: Effect.Changes, in order, make the new columns from the old ones.
	ColumnsChange
	// Created: the table comes into being; whoever reads it has seen its end before, or started before its beginning.
	Created
	// Refused: rows or columns change in a way that row events do not tell.
	Refused
)

// Effect is what a statement does to one table.
type Effect struct {
	Kind    EffectKind
	Changes []Change
	// Reason says why a change is refused, in a few words.
	Reason string
}

// ChangeKind is the kind of a Change.
type ChangeKind uint8

// The kinds of column changes. Whether a changed type can be followed is for the caller to say, who knows the old one.
const (
	AddColumn      ChangeKind = iota + 1
	ModifyColumn              // Old is the column, Column its new definition, which has the new name too
	DropColumn                // Old
	RenameColumn              // Old, Column.Name
	ConvertCharset            // Column.Charset is that of every text column, and of columns added later
	TableCharset              // Column.Charset is that of columns added later
)

// Change is one change to the columns of a table.
type Change struct {
	Kind   ChangeKind
	Old    string
	Column Column
	// First and After place the column; none of them: at the end, or where it was.
	First bool
	After string
	// IfExists: there is no such column, or with AddColumn there is one, and that is fine (MariaDB).
	IfExists bool
}

// Column is a column definition in a statement.
type Column struct {
	Name string
	// Type is the type as information_schema.columns.column_type writes it, without charset and options.
	Type string
	// Elements are the members of ENUM and SET.
	Elements             []string
	Nullable             bool
	Generated, Invisible bool
	// Charset and Collation are as written, "" when the table's apply.
	Charset, Collation string
	Default            *string
	Comment            string
}

// Statement is one statement of a QUERY event.
type Statement struct {
	Text      string
	defaultDB string
	node      ast.StmtNode // nil when it could not be parsed
	err       error
	words     []token
}

// Parse parses the text of a QUERY event. defaultDB is the event's database, sqlMode the mode in its status variables
// (0 when unknown). It never fails: what the grammar does not have is judged by its words.
func Parse(sql, defaultDB string, sqlMode uint64) []Statement {
	p := parser.New()
	p.SetSQLMode(mysql.SQLMode(sqlMode) & (mysql.ModeANSIQuotes | mysql.ModeNoBackslashEscapes | mysql.ModePipesAsConcat | mysql.ModeIgnoreSpace))
	nodes, err := parse(p, sql)
	if err != nil {
		words := tokenize(sql, sqlMode)
		st := Statement{Text: sql, defaultDB: defaultDB, err: err, words: words}
		if text, ok := simplify(words); ok {
			if nodes, again := parse(p, text); again == nil && len(nodes) == 1 {
				st.node, st.err = nodes[0], nil
			}
		}
		return []Statement{st}
	}
	out := make([]Statement, len(nodes))
	for i, n := range nodes {
		text := n.Text()
		if text == "" || len(nodes) == 1 {
			text = sql
		}
		out[i] = Statement{Text: text, defaultDB: defaultDB, node: n}
	}
	return out
}

// parse turns a panic of the parser into an error: statements come from outside.
func parse(p *parser.Parser, sql string) (nodes []ast.StmtNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	nodes, _, err = p.Parse(sql, "", "")
	return nodes, err
}

// Err returns why the statement could not be parsed, nil when it could.
func (s *Statement) Err() error { return s.err }

// is reports whether a name in the statement is the table. MySQL compares table names with or without case by a setting
// of the server; without case is the careful way: a table that differs in case only is treated as the same.
func (s *Statement) is(n *ast.TableName, t Name) bool {
	if n == nil {
		return false
	}
	db := n.Schema.O
	if db == "" {
		db = s.defaultDB
	}
	return strings.EqualFold(n.Name.O, t.Table) && strings.EqualFold(db, t.Database)
}

func (s *Statement) any(list []*ast.TableName, t Name) bool {
	for _, n := range list {
		if s.is(n, t) {
			return true
		}
	}
	return false
}

func refused(format string, args ...any) Effect {
	return Effect{Kind: Refused, Reason: fmt.Sprintf(format, args...)}
}

// Effect returns what the statement does to a table.
func (s *Statement) Effect(t Name) Effect {
	switch n := s.node.(type) {
	case nil:
		return s.unparsed(t)
	case *ast.AlterTableStmt:
		return s.alter(n, t)
	case *ast.CreateTableStmt:
		if s.is(n.Table, t) && !n.IfNotExists && n.TemporaryKeyword == ast.TemporaryNone {
			return Effect{Kind: Created}
		}
	case *ast.DropTableStmt:
		if !n.IsView && n.TemporaryKeyword == ast.TemporaryNone && s.any(n.Tables, t) {
			return refused("the table is dropped")
		}
	case *ast.TruncateTableStmt:
		if s.is(n.Table, t) {
			return refused("the table is truncated")
		}
	case *ast.RenameTableStmt:
		for _, r := range n.TableToTables {
			if s.is(r.OldTable, t) {
				return refused("the table is renamed to %s", r.NewTable.Name.O)
			}
			if s.is(r.NewTable, t) {
				return refused("table %s takes its name", r.OldTable.Name.O)
			}
		}
	case *ast.DropDatabaseStmt:
		if strings.EqualFold(n.Name.O, t.Database) {
			return refused("the database is dropped")
		}
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.LoadDataStmt:
		return s.statementDML(n, t)
	}
	return Effect{}
}

// statementDML refuses row changes that were logged as a statement.
func (s *Statement) statementDML(n ast.StmtNode, t Name) Effect {
	v := tableFinder{s: s, t: t}
	n.Accept(&v)
	if v.found {
		return refused("rows change by a statement, not by row events (binlog_format of that session is not ROW)")
	}
	return Effect{}
}

// IsDML reports whether the statement changes rows of some table: it was logged in statement format.
func (s *Statement) IsDML() bool {
	switch s.node.(type) {
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.LoadDataStmt:
		return true
	case nil:
		return len(s.words) > 0 && dmlWords[s.words[0].upper()]
	}
	return false
}

type tableFinder struct {
	s     *Statement
	t     Name
	found bool
}

func (v *tableFinder) Enter(n ast.Node) (ast.Node, bool) {
	if name, ok := n.(*ast.TableName); ok && v.s.is(name, v.t) {
		v.found = true
	}
	return n, v.found
}

func (v *tableFinder) Leave(n ast.Node) (ast.Node, bool) { return n, !v.found }
