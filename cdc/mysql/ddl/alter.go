package ddl

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"
)

// alter goes through the specs of an ALTER TABLE. What is not listed changes neither columns nor rows: indexes, foreign
// keys, checks, engine and other options, defaults, and the partition work that keeps rows.
func (s *Statement) alter(n *ast.AlterTableStmt, t Name) Effect {
	mine := s.is(n.Table, t)
	var e Effect
	for _, spec := range n.Specs {
		switch spec.Tp {
		case ast.AlterTableRenameTable:
			if mine {
				return refused("the table is renamed to %s", spec.NewTable.Name.O)
			}
			if s.is(s.inherit(spec.NewTable, n.Table), t) {
				return refused("table %s takes its name", n.Table.Name.O)
			}
		case ast.AlterTableExchangePartition:
			if mine || s.is(spec.NewTable, t) {
				return refused("a partition is exchanged with a table, which moves rows without row events")
			}
		}
		if !mine {
			continue
		}
		if reason := refusal(spec); reason != "" {
			return Effect{Kind: Refused, Reason: reason}
		}
		changes, reason := changesOf(spec)
		if reason != "" {
			return Effect{Kind: Refused, Reason: reason}
		}
		e.Changes = append(e.Changes, changes...)
	}
	if len(e.Changes) > 0 {
		e.Kind = ColumnsChange
	}
	return e
}

// inherit gives a new name without a database that of the old one.
func (s *Statement) inherit(n, from *ast.TableName) *ast.TableName {
	if n.Schema.O != "" || from.Schema.O == "" {
		return n
	}
	c := *n
	c.Schema = from.Schema
	return &c
}

func refusal(spec *ast.AlterTableSpec) string {
	switch spec.Tp {
	case ast.AlterTableDropPrimaryKey:
		return "the primary key is dropped"
	case ast.AlterTableAddConstraint:
		if spec.Constraint != nil && spec.Constraint.Tp == ast.ConstraintPrimaryKey {
			return "a primary key is added"
		}
	case ast.AlterTableDropPartition, ast.AlterTableDropFirstPartition:
		return "a partition is dropped, which deletes rows without row events"
	case ast.AlterTableTruncatePartition:
		return "a partition is truncated, which deletes rows without row events"
	case ast.AlterTableDiscardTablespace, ast.AlterTableImportTablespace,
		ast.AlterTableDiscardPartitionTablespace, ast.AlterTableImportPartitionTablespace:
		return "a tablespace is discarded or imported, which changes rows without row events"
	}
	return ""
}

func changesOf(spec *ast.AlterTableSpec) (list []Change, reason string) {
	switch spec.Tp {
	case ast.AlterTableAddColumns:
		for _, c := range spec.NewConstraints {
			if c.Tp == ast.ConstraintPrimaryKey {
				return nil, "a primary key is added"
			}
		}
		for _, def := range spec.NewColumns {
			col, key := columnOf(def)
			if key {
				return nil, "a primary key is added"
			}
			list = append(list, placed(Change{Kind: AddColumn, Column: col, IfExists: spec.IfNotExists}, spec.Position))
		}
	case ast.AlterTableModifyColumn, ast.AlterTableChangeColumn:
		for _, def := range spec.NewColumns {
			col, key := columnOf(def)
			if key {
				return nil, "a primary key is added"
			}
			ch := Change{Kind: ModifyColumn, Old: col.Name, Column: col, IfExists: spec.IfExists}
			if spec.OldColumnName != nil {
				ch.Old = spec.OldColumnName.Name.O
			}
			list = append(list, placed(ch, spec.Position))
		}
	case ast.AlterTableDropColumn:
		list = append(list, Change{Kind: DropColumn, Old: spec.OldColumnName.Name.O, IfExists: spec.IfExists})
	case ast.AlterTableRenameColumn:
		list = append(list, Change{Kind: RenameColumn, Old: spec.OldColumnName.Name.O, Column: Column{Name: spec.NewColumnName.Name.O}})
	case ast.AlterTableOption:
		list = charsetChange(spec.Options)
	}
	return list, ""
}

func charsetChange(options []*ast.TableOption) []Change {
	ch := Change{Kind: TableCharset}
	for _, o := range options {
		switch o.Tp {
		case ast.TableOptionCharset:
			if ch.Column.Charset = strings.ToLower(o.StrValue); o.UintValue == ast.TableOptionCharsetWithConvertTo {
				ch.Kind = ConvertCharset
			}
		case ast.TableOptionCollate:
			ch.Column.Collation = strings.ToLower(o.StrValue)
		}
	}
	if ch.Column.Charset == "" && ch.Column.Collation != "" {
		ch.Column.Charset, _, _ = strings.Cut(ch.Column.Collation, "_")
	}
	if ch.Column.Charset == "" {
		return nil
	}
	return []Change{ch}
}

func placed(c Change, p *ast.ColumnPosition) Change {
	if p != nil {
		switch p.Tp {
		case ast.ColumnPositionFirst:
			c.First = true
		case ast.ColumnPositionAfter:
			c.After = p.RelativeColumn.Name.O
		}
	}
	return c
}

// columnOf reads a definition; key reports a PRIMARY KEY in it.
func columnOf(def *ast.ColumnDef) (c Column, key bool) {
	c = Column{Name: def.Name.Name.O, Nullable: true}
	if def.Tp != nil {
		c.Type = originalType(def.Tp.CompactStr())
		if mysql.HasUnsignedFlag(def.Tp.GetFlag()) {
			c.Type += " unsigned"
		}
		if mysql.HasZerofillFlag(def.Tp.GetFlag()) {
			c.Type += " zerofill"
		}
		switch def.Tp.GetType() {
		case mysql.TypeEnum, mysql.TypeSet:
			c.Elements = append(c.Elements, def.Tp.GetElems()...)
			c.Type = listType(c.Type, c.Elements)
		case mysql.TypeYear:
			c.Type = "year"
		}
		if cs := strings.ToLower(def.Tp.GetCharset()); cs != "binary" {
			c.Charset = cs
		}
		c.Collation = strings.ToLower(def.Tp.GetCollate())
		if c.Collation == "binary" {
			c.Collation = ""
		}
	}
	for _, o := range def.Options {
		switch o.Tp {
		case ast.ColumnOptionNotNull:
			c.Nullable = false
		case ast.ColumnOptionNull:
			c.Nullable = true
		case ast.ColumnOptionPrimaryKey:
			key = true
		case ast.ColumnOptionGenerated:
			c.Generated = true
		case ast.ColumnOptionCollate:
			c.Collation = strings.ToLower(o.StrValue)
			if c.Charset == "" {
				c.Charset, _, _ = strings.Cut(c.Collation, "_")
			}
		case ast.ColumnOptionDefaultValue:
			if text, ok := restore(o.Expr); ok {
				c.Default = &text
			}
		case ast.ColumnOptionComment:
			switch text, _ := restore(o.Expr); {
			case text == invisibleMark:
				c.Invisible = true
			default:
				c.Comment = text
			}
		}
	}
	return c, key
}

// listType writes the type of an ENUM or SET as the server's information_schema does.
func listType(s string, elements []string) string {
	word, _, _ := strings.Cut(s, "(")
	quote := strings.NewReplacer("\\", "\\\\", "'", "''", "\x00", "\\0", "\n", "\\n", "\r", "\\r")
	list := make([]string, len(elements))
	for i, e := range elements {
		list[i] = "'" + quote.Replace(e) + "'"
	}
	return word + "(" + strings.Join(list, ",") + ")"
}

// restore writes an expression: a literal as its plain value, NULL as false.
func restore(n ast.Node) (string, bool) {
	if n == nil {
		return "", false
	}
	if v, ok := n.(ast.ValueExpr); ok {
		if text, ok := v.GetValue().(string); ok {
			return text, true
		}
		if v.GetValue() == nil {
			return "", false
		}
	}
	var b strings.Builder
	if err := n.Restore(format.NewRestoreCtx(format.DefaultRestoreFlags, &b)); err != nil {
		return "", false
	}
	return b.String(), true
}
