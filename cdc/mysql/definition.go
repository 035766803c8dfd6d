package mysql

import (
	"fmt"
)

// define sets what the table is at the point of the log that is read: its columns in the order of row images, and the
// character set of columns that are added without one.
func (s *Source) define(cols []Column, charset string) {
	saved := savedColumns(cols)
	s.tableMu.Lock()
	defer s.tableMu.Unlock()
	s.logColumns, s.table.charset, s.saved = cols, charset, saved
}

// defineFromStart sets the definition that belongs to where reading begins: the saved one, else that of the table now.
func (s *Source) defineFromStart() error {
	cols := s.table.image
	if s.resume != nil && len(s.resume.Columns) > 0 {
		var err error
		if cols, err = restoreColumns(s.resume.Columns); err != nil {
			return err
		}
	}
	s.define(cols, s.table.charset)
	return nil
}

// definition is what positions carry of the table's definition. The slices are never changed.
func (s *Source) definition() ([]SavedColumn, []string) {
	s.tableMu.Lock()
	defer s.tableMu.Unlock()
	return s.saved, s.table.PrimaryKey
}

// lastDefinition is the table as the saved position knows it, nil when that doesn't, or when the table is still to be read.
func (s *Source) lastDefinition() *TableInfo {
	if s.resume == nil || len(s.resume.Columns) == 0 || len(s.resume.Key) == 0 || s.resume.Snapshot != nil {
		return nil
	}
	cols, err := restoreColumns(s.resume.Columns)
	if err != nil {
		return nil
	}
	return newTableInfo(s.cfg.Database, s.cfg.Table, cols, s.resume.Key)
}

// savedColumns is the form of columns in a saved position.
func savedColumns(cols []Column) []SavedColumn {
	out := make([]SavedColumn, len(cols))
	for i := range cols {
		out[i] = SavedColumn{Name: cols[i].Name, Type: cols[i].ColumnType, Charset: cols[i].Charset, NotNull: !cols[i].Nullable, Generated: cols[i].Generated, Invisible: cols[i].Invisible}
	}
	return out
}

func restoreColumns(saved []SavedColumn) ([]Column, error) {
	cols := make([]Column, len(saved))
	for i, s := range saved {
		c, err := ParseColumn(s.Name, s.Type)
		if err != nil {
			return nil, fmt.Errorf("the saved position: %w", err)
		}
		c.Charset, c.Nullable, c.Generated, c.Invisible = s.Charset, !s.NotNull, s.Generated, s.Invisible
		cols[i] = c
	}
	return cols, nil
}
