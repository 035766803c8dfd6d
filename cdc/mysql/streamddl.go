package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cdc/mysql/ddl"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// mentions reports whether a statement can be about the watched table at all: only then it is parsed. A name without a
// database is of the session's database.
func (s *stream) mentions(q statement) bool {
	return strings.EqualFold(q.db, s.src.cfg.Database) || strings.Contains(strings.ToLower(q.text), strings.ToLower(s.src.cfg.Database))
}

// statement looks at a statement of the log that is not part of a transaction's frame: it is without effect on the table, or
// changes its columns in a way that is followed, or it is refused.
func (s *stream) statement(q statement) error {
	if !s.mentions(q) {
		return nil
	}
	for _, st := range ddl.Parse(q.text, q.db, q.sqlMode) {
		e := st.Effect(ddl.Name{Database: s.src.cfg.Database, Table: s.src.cfg.Table})
		if e.Kind == ddl.NoEffect && st.IsDML() {
			s.src.log.Warn("passing over a change that was logged as a statement and doesn't name the table; if it changes the table by a trigger, view or function, that is lost", "statement", st.Text, "position", s.where())
		}
		switch e.Kind {
		case ddl.Refused:
			return s.refuse("the statement %q can't be applied (%s)", st.Text, e.Reason)
		case ddl.ColumnsChange:
			if err := s.columnsChange(st.Text, e.Changes); err != nil {
				return err
			}
		}
	}
	return nil
}

// columnsChange follows a statement: it hands the changes over and waits until the table has them.
func (s *stream) columnsChange(text string, changes []ddl.Change) error {
	src := s.src
	src.tableMu.Lock()
	cols, charset, target := src.logColumns, src.table.charset, src.target
	src.tableMu.Unlock()
	// cols may be newer than the statement: those of the table now at a first start, or those after it when the position before
	// it was saved with them. A column that it adds may be there already, one that it drops may be gone.
	has := func(name string) bool {
		return slices.ContainsFunc(cols, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	}
	changes = slices.DeleteFunc(slices.Clone(changes), func(c ddl.Change) bool {
		return c.Kind == ddl.AddColumn && has(c.Column.Name) && !dropsFirst(changes, c.Column.Name) || c.Kind == ddl.DropColumn && !has(c.Old)
	})
	e, err := Evolve(alteredByHand(cols, charset, changes, target, src.cfg.Types), charset, changes, src.cfg.Types)
	if err != nil {
		return fmt.Errorf("the statement %q at %s can't be applied: %w", text, s.where(), err)
	}
	for _, c := range e.Dropped {
		if err := s.dropped(c.Name, text); err != nil {
			return err
		}
	}
	var out []table.SchemaChange
	for _, c := range e.Added {
		if c.Invisible {
			continue
		}
		t, err := PaimonType(c, src.cfg.Types)
		if err != nil {
			return fmt.Errorf("the statement %q at %s can't be applied: %w: %w", text, s.where(), err, cdc.ErrRefused)
		}
		t.Nullable = true // rows that are there already have no value
		name := c.Name
		if src.cfg.LowerNames {
			name = strings.ToLower(name)
		}
		out = append(out, table.SchemaChange{Kind: table.AddColumn, Column: name, Type: t, Comment: c.Comment, IfNotExists: true})
		if !c.Nullable {
			src.log.Warn("a NOT NULL column is added as nullable: rows that are there already read NULL", "column", c.Name, "statement", text)
		}
	}
	src.define(e.Columns, e.Charset)
	clear(s.maps)
	if len(out) == 0 {
		return nil
	}
	return s.handChanges(text, out)
}

// alteredByHand returns cols with the types that changes give them where the table has just that type already, other than the
// old one: someone has altered the table so that the job can go on, and nothing is left to apply.
func alteredByHand(cols []Column, charset string, changes []ddl.Change, target *row.Type, opt TypeOptions) []Column {
	e := Evolution{Columns: slices.Clone(cols), Charset: charset}
	for i := range changes {
		at := e.index(changes[i].Old)
		if changes[i].Kind != ddl.ModifyColumn || at < 0 {
			continue
		}
		old := &e.Columns[at]
		c, err := e.define(&changes[i].Column)
		if err != nil {
			continue // Evolve says why
		}
		was, err := PaimonType(*old, opt)
		if err != nil {
			continue
		}
		is, err := PaimonType(c, opt)
		if err != nil || sameRowType(&was, &is) {
			continue
		}
		for f := range target.Fields {
			if strings.EqualFold(target.Fields[f].Name, old.Name) && sameRowType(&target.Fields[f].Type, &is) {
				c.Name = old.Name
				e.Columns[at] = c
				break
			}
		}
	}
	return e.Columns
}

// dropsFirst reports whether a statement that adds a column also drops one of that name.
func dropsFirst(changes []ddl.Change, name string) bool {
	return slices.ContainsFunc(changes, func(c ddl.Change) bool { return c.Kind == ddl.DropColumn && strings.EqualFold(c.Old, name) })
}

// dropped follows a dropped column as Paimon's action does: the table keeps it, and later rows have NULL there.
func (s *stream) dropped(name, text string) error {
	s.src.tableMu.Lock()
	target := s.src.target
	s.src.tableMu.Unlock()
	for i := range target.Fields {
		f := &target.Fields[i]
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		if !f.Type.Nullable {
			return s.refuse("the statement %q can't be applied: column %s is dropped, which is NOT NULL in the Paimon table; make it nullable there with another engine, then start again", text, name)
		}
		s.src.log.Warn("a column is dropped: the table keeps it, and later rows have NULL there", "column", name, "statement", text)
	}
	return nil
}

// handChanges hands schema changes over behind all rows that came before, and waits for Retarget.
func (s *stream) handChanges(text string, changes []table.SchemaChange) error {
	h := s.hand
	h.mu.Lock()
	err := h.waitEmpty(s.ctx)
	if err == nil {
		h.fill.changes, h.fill.statement = changes, text
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	signal(h.ready)
	select {
	case <-s.retargeted:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}
