package mysql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/paimon-go/paimon-go/cdc"
)

// TableInfo is a MySQL table as information_schema shows it now.
type TableInfo struct {
	Database, Name string
	Columns        []Column // visible ones, in order
	PrimaryKey     []string
	Comment        string
	Engine         string
	// RowsEstimate is the server's guess. It can be far off: for progress only.
	RowsEstimate int64
	charset      string // of columns that are added without one
	// image are the columns in the order of row images: invisible ones too.
	image []Column
}

var errNoTable = errors.New("there is no table")

// newTableInfo describes a table by its columns, invisible ones too, in the order of row images.
func newTableInfo(database, name string, image []Column, key []string) *TableInfo {
	t := &TableInfo{Database: database, Name: name, PrimaryKey: key, image: image}
	for i := range image {
		if !image[i].Invisible {
			t.Columns = append(t.Columns, image[i])
		}
	}
	return t
}

// readTable reads a table's definition.
func readTable(c *client.Conn, database, name string) (*TableInfo, error) {
	t := &TableInfo{Database: database, Name: name}
	r, err := c.Execute(`SELECT TABLE_COMMENT, ENGINE, COALESCE(TABLE_ROWS, 0), TABLE_TYPE, TABLE_COLLATION FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, database, name)
	if err != nil {
		return nil, fmt.Errorf("reading the definition of %s.%s: %w: %w", database, name, err, cdc.ErrSource)
	}
	if len(r.Values) == 0 {
		return nil, fmt.Errorf("%w %s.%s, or no SELECT privilege on it: %w", errNoTable, database, name, cdc.ErrSource)
	}
	t.Comment, _ = r.GetString(0, 0)
	t.Engine, _ = r.GetString(0, 1)
	t.RowsEstimate, _ = r.GetInt(0, 2)
	collation, _ := r.GetString(0, 4)
	t.charset, _, _ = strings.Cut(collation, "_")
	if kind, _ := r.GetString(0, 3); !strings.Contains(kind, "TABLE") {
		return nil, fmt.Errorf("%s.%s is a %s, not a table: %w", database, name, kind, cdc.ErrUsage)
	}
	// information_schema leaves out the columns that the account may not read.
	if _, err := c.Execute("SELECT * FROM " + quoteName(database) + "." + quoteName(name) + " LIMIT 0"); err != nil {
		return nil, fmt.Errorf("reading %s.%s (grant SELECT on the whole table): %w: %w", database, name, err, cdc.ErrSource)
	}
	r, err = c.Execute(`SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, COLUMN_COMMENT, COLUMN_DEFAULT
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, database, name)
	if err != nil {
		return nil, fmt.Errorf("reading the columns of %s.%s: %w: %w", database, name, err, cdc.ErrSource)
	}
	for i := range r.Values {
		var f [8]string
		for k := range f {
			f[k], _ = r.GetString(i, k)
		}
		col, err := ParseColumn(f[0], f[1])
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w: %w", database, name, err, cdc.ErrRefused)
		}
		extra := strings.ToUpper(f[5])
		col.Nullable = strings.EqualFold(f[2], "YES")
		col.Charset, col.Collation, col.Comment = f[3], f[4], f[6]
		col.Invisible = strings.Contains(extra, "INVISIBLE")
		col.Generated = strings.Contains(extra, "VIRTUAL GENERATED") || strings.Contains(extra, "STORED GENERATED") || strings.Contains(extra, "PERSISTENT")
		if null, _ := r.IsNull(i, 7); !null {
			d := f[7]
			col.Default = &d
		}
		t.image = append(t.image, col)
		if !col.Invisible {
			t.Columns = append(t.Columns, col)
		}
	}
	r, err = c.Execute(`SELECT COLUMN_NAME FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX`, database, name)
	if err != nil {
		return nil, fmt.Errorf("reading the primary key of %s.%s: %w: %w", database, name, err, cdc.ErrSource)
	}
	for i := range r.Values {
		k, _ := r.GetString(i, 0)
		t.PrimaryKey = append(t.PrimaryKey, k)
	}
	return t, nil
}

// column finds a column by name as MySQL does, without regard to case.
func (t *TableInfo) column(name string) *Column {
	for i := range t.image {
		if strings.EqualFold(t.image[i].Name, name) {
			return &t.image[i]
		}
	}
	return nil
}

// quoteName quotes an identifier.
func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
