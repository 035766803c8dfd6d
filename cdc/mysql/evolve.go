package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cdc/mysql/ddl"
	"github.com/paimon-go/paimon-go/format/row"
)

// Evolution is what a list of column changes makes of a table.
type Evolution struct {
	// Columns are all columns of the table after the change, in the order of row images.
	Columns []Column
	// Added are those of them that are new.
	Added []Column
	// Charset is the character set that later columns get.
	Charset string
}

// Evolve applies the changes of a statement to the columns of a table, whose default character set is charset. Added
// columns, and changes that leave the Paimon type as it is (defaults, NOT NULL, comments, members appended to ENUM and
// SET, character sets), are followed; a column that is dropped, renamed or gets another type is refused, but for
// decimal-no-change.
func Evolve(cols []Column, charset string, changes []ddl.Change, opt TypeOptions) (Evolution, error) {
	e := Evolution{Columns: slices.Clone(cols), Charset: charset}
	var added []string
	for i := range changes {
		ch := &changes[i]
		switch ch.Kind {
		case ddl.AddColumn:
			if e.index(ch.Column.Name) >= 0 {
				if ch.IfExists {
					continue
				}
				return Evolution{}, fmt.Errorf("column %s is added, which exists: %w", ch.Column.Name, cdc.ErrRefused)
			}
			c, err := e.define(&ch.Column)
			if err != nil {
				return Evolution{}, err
			}
			if err := e.insert(c, ch, len(e.Columns)); err != nil {
				return Evolution{}, err
			}
			added = append(added, c.Name)
		case ddl.ModifyColumn:
			if err := e.modify(ch, opt); err != nil {
				return Evolution{}, err
			}
		case ddl.DropColumn:
			if ch.IfExists && e.index(ch.Old) < 0 {
				continue
			}
			return Evolution{}, fmt.Errorf("column %s is dropped: %w", ch.Old, cdc.ErrRefused)
		case ddl.RenameColumn:
			if ch.Old != ch.Column.Name {
				return Evolution{}, fmt.Errorf("column %s is renamed to %s: %w", ch.Old, ch.Column.Name, cdc.ErrRefused)
			}
		case ddl.ConvertCharset:
			e.Charset = ch.Column.Charset
			for k := range e.Columns {
				if c := &e.Columns[k]; c.Charset != "" && c.Charset != "binary" {
					c.Charset, c.Collation = ch.Column.Charset, ch.Column.Collation
				}
			}
		case ddl.TableCharset:
			e.Charset = ch.Column.Charset
		}
	}
	for _, name := range added {
		e.Added = append(e.Added, e.Columns[e.index(name)])
	}
	return e, nil
}

func (e *Evolution) index(name string) int {
	return slices.IndexFunc(e.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
}

// define makes a Column of a definition in a statement.
func (e *Evolution) define(def *ddl.Column) (Column, error) {
	c, err := ParseColumn(def.Name, def.Type)
	if err != nil {
		return Column{}, fmt.Errorf("%w: %w", err, cdc.ErrRefused)
	}
	c.Nullable, c.Generated, c.Invisible = def.Nullable, def.Generated, def.Invisible
	c.Default, c.Comment = def.Default, def.Comment
	if c.isCharacter() || c.DataType == "enum" || c.DataType == "set" {
		c.Charset, c.Collation = def.Charset, def.Collation
		if c.Charset == "" {
			c.Charset = e.Charset
		}
	}
	return c, nil
}

func (e *Evolution) insert(c Column, ch *ddl.Change, at int) error {
	switch {
	case ch.First:
		at = 0
	case ch.After != "":
		i := e.index(ch.After)
		if i < 0 {
			return fmt.Errorf("column %s is placed after %s, which does not exist: %w", c.Name, ch.After, cdc.ErrRefused)
		}
		at = i + 1
	}
	e.Columns = slices.Insert(e.Columns, at, c)
	return nil
}

func (e *Evolution) modify(ch *ddl.Change, opt TypeOptions) error {
	i := e.index(ch.Old)
	if i < 0 {
		if ch.IfExists {
			return nil
		}
		return fmt.Errorf("column %s is changed, which does not exist: %w", ch.Old, cdc.ErrRefused)
	}
	old := e.Columns[i]
	if !strings.EqualFold(old.Name, ch.Column.Name) {
		return fmt.Errorf("column %s is renamed to %s: %w", old.Name, ch.Column.Name, cdc.ErrRefused)
	}
	c, err := e.define(&ch.Column)
	if err != nil {
		return err
	}
	if err := sameType(&old, &c, opt); err != nil {
		return err
	}
	c.Name = old.Name
	e.Columns = slices.Delete(e.Columns, i, i+1)
	return e.insert(c, ch, i)
}

// sameType refuses a changed definition that gives rows another meaning: another Paimon type, another MySQL type, or
// ENUM and SET lists in which the old members are no longer at the front, since rewritten rows are not in the log.
func sameType(old, c *Column, opt TypeOptions) error {
	if opt.DecimalNoChange && old.DataType == "decimal" && c.DataType == "decimal" {
		return nil // the field stays; NewDecoder refuses what it cannot hold
	}
	a, err := PaimonType(*old, opt)
	if err != nil {
		return err
	}
	b, err := PaimonType(*c, opt)
	if err != nil {
		return err
	}
	a.Nullable = b.Nullable
	if !sameRowType(&a, &b) || old.DataType != c.DataType || old.Unsigned != c.Unsigned {
		return fmt.Errorf("column %s changes from %s to %s: %w", old.Name, old.ColumnType, c.ColumnType, cdc.ErrRefused)
	}
	if len(c.Elements) < len(old.Elements) || !slices.Equal(old.Elements, c.Elements[:len(old.Elements)]) {
		return fmt.Errorf("column %s changes from %s to %s, which changes or moves members: %w", old.Name, old.ColumnType, c.ColumnType, cdc.ErrRefused)
	}
	return nil
}

func sameRowType(a, b *row.Type) bool { return a.Equal(b, true) }
