package mysql

import (
	"fmt"
	"strconv"
	"strings"
)

// Column is one column of a MySQL table as information_schema.columns or a table map with full metadata tells it.
type Column struct {
	Name string
	// DataType is the lower-case type name without arguments, such as "bigint" or "enum"; synonyms are resolved.
	DataType string
	// ColumnType is the whole type text, such as "decimal(10,2) unsigned".
	ColumnType string
	Nullable   bool
	Unsigned   bool
	// Length is the declared length: characters of CHAR and VARCHAR, bytes of BINARY and VARBINARY, bits of BIT,
	// dimensions of VECTOR, the display width of TINYINT (only 1 has a meaning). 0 when there is none.
	Length int
	// Precision and Scale are those of DECIMAL.
	Precision, Scale int
	// Fsp is the number of fraction digits of TIME, DATETIME and TIMESTAMP.
	Fsp int
	// Charset is the character set of a character column, "" or "binary" for the others.
	Charset, Collation string
	// Elements are the members of ENUM and SET in their order, in UTF-8.
	Elements []string
	// Invisible columns are in row images but not in SELECT *. Generated columns are in both.
	Invisible, Generated bool
	Default              *string
	Comment              string
	SRID                 *uint32
}

// synonyms maps the spellings that column_type or DDL may have to the name that this package uses.
var synonyms = map[string]string{
	"integer": "int", "bool": "tinyint", "boolean": "tinyint", "dec": "decimal", "numeric": "decimal", "fixed": "decimal",
	"real": "double", "double precision": "double", "geomcollection": "geometrycollection", "character": "char",
	"nchar": "char", "nvarchar": "varchar", "int1": "tinyint", "int2": "smallint", "int3": "mediumint",
	"int4": "int", "int8": "bigint", "middleint": "mediumint", "float4": "float", "float8": "double", "serial": "bigint",
}

// ParseColumn returns the column of this name with what its type text tells: information_schema.columns.column_type, or
// the type in a DDL statement. The caller adds what the text does not have: nullability, character set, flags.
func ParseColumn(name, columnType string) (Column, error) {
	c := Column{Name: name, ColumnType: columnType}
	word, args, rest, err := splitType(columnType)
	if err != nil {
		return Column{}, fmt.Errorf("column %s: type %q: %w", name, columnType, err)
	}
	c.DataType = word
	switch word {
	case "serial":
		c.Unsigned = true
	case "bool", "boolean":
		c.Length = 1
	}
	if s, ok := synonyms[word]; ok {
		c.DataType = s
	}
	for _, w := range strings.Fields(rest) {
		switch w {
		case "unsigned", "zerofill": // ZEROFILL implies UNSIGNED even where the text leaves it out
			c.Unsigned = true
		}
	}
	if c.DataType == "enum" || c.DataType == "set" {
		if c.Elements, err = splitElements(args); err != nil {
			return Column{}, fmt.Errorf("column %s: type %q: %w", name, columnType, err)
		}
		return c, nil
	}
	nums, err := typeArguments(args)
	if err != nil {
		return Column{}, fmt.Errorf("column %s: type %q: %w", name, columnType, err)
	}
	first := func(deflt int) int {
		if len(nums) > 0 {
			return nums[0]
		}
		return deflt
	}
	switch c.DataType {
	case "decimal":
		if c.Precision = first(10); c.Precision == 0 {
			c.Precision = 10
		}
		if len(nums) > 1 {
			c.Scale = nums[1]
		}
		if c.Precision > 65 || c.Scale > 38 || c.Scale > c.Precision {
			return Column{}, fmt.Errorf("column %s: type %q is out of range", name, columnType)
		}
	case "time", "datetime", "timestamp":
		if c.Fsp = first(0); c.Fsp > 6 {
			return Column{}, fmt.Errorf("column %s: type %q is out of range", name, columnType)
		}
	case "bit", "char", "binary":
		c.Length = first(1)
	case "vector":
		c.Length = first(2048)
	case "float": // FLOAT(p) with p > 24 is a DOUBLE in disguise; only DDL can spell it so
		if len(nums) == 1 && nums[0] > 24 {
			c.DataType = "double"
		}
	case "varchar", "varbinary", "tinyint":
		c.Length = max(c.Length, first(0))
	}
	return c, nil
}

// splitType cuts "decimal(10,2) unsigned" into its word, the text between the parentheses and the rest, lower case
// except for the arguments.
func splitType(s string) (word, args, rest string, err error) {
	s = strings.TrimSpace(s)
	end := strings.IndexByte(s, '(')
	if end < 0 {
		word, rest, _ = strings.Cut(strings.ToLower(s), " ")
		if p, ok := strings.CutPrefix(rest, "precision"); ok && word == "double" {
			rest = p
		}
		if word == "" {
			return "", "", "", fmt.Errorf("there is no type")
		}
		return word, "", rest, nil
	}
	word = strings.TrimSpace(strings.ToLower(s[:end]))
	if word == "double precision" {
		word = "double"
	}
	inQuote := false
	for i := end + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && inQuote:
			i++
		case s[i] == '\'':
			inQuote = !inQuote // a doubled quote leaves and enters again
		case s[i] == ')' && !inQuote:
			return word, s[end+1 : i], strings.ToLower(s[i+1:]), nil
		}
	}
	return "", "", "", fmt.Errorf("a parenthesis is not closed")
}

func typeArguments(args string) ([]int, error) {
	if strings.TrimSpace(args) == "" {
		return nil, nil
	}
	var nums []int
	for _, a := range strings.Split(args, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(a))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("argument %q is not a length", a)
		}
		nums = append(nums, n)
	}
	return nums, nil
}

// splitElements reads the quoted list of an ENUM or SET. Quotes are doubled; backslash, NUL, line feed and carriage
// return are written with a backslash, as the server's append_unescaped does.
func splitElements(args string) ([]string, error) {
	var list []string
	for i := 0; ; {
		for i < len(args) && args[i] == ' ' {
			i++
		}
		if i >= len(args) || args[i] != '\'' {
			return nil, fmt.Errorf("member %d does not start with a quote", len(list)+1)
		}
		i++
		var b []byte
		for {
			if i >= len(args) {
				return nil, fmt.Errorf("the quote of member %d is not closed", len(list)+1)
			}
			ch := args[i]
			i++
			if ch == '\'' {
				if i < len(args) && args[i] == '\'' {
					i++
				} else {
					break
				}
			} else if ch == '\\' && i < len(args) {
				ch = args[i]
				i++
				switch ch {
				case '0':
					ch = 0
				case 'n':
					ch = '\n'
				case 'r':
					ch = '\r'
				}
			}
			b = append(b, ch)
		}
		list = append(list, string(b))
		for i < len(args) && args[i] == ' ' {
			i++
		}
		if i >= len(args) {
			return list, nil
		}
		if args[i] != ',' {
			return nil, fmt.Errorf("there is no comma after member %d", len(list))
		}
		i++
	}
}

// isCharacter reports whether values are text in a character set.
func (c *Column) isCharacter() bool {
	switch c.DataType {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return true
	}
	return false
}

// intRange returns the number of bytes that an integer column takes in a row image, 0 for other types.
func (c *Column) intBytes() int {
	switch c.DataType {
	case "tinyint", "year":
		return 1
	case "smallint":
		return 2
	case "mediumint":
		return 3
	case "int":
		return 4
	case "bigint":
		return 8
	}
	return 0
}

// textLength returns the most characters that a text column can have.
func (c *Column) textLength() int64 {
	switch c.DataType {
	case "char", "varchar":
		return int64(c.Length)
	case "tinytext", "tinyblob":
		return 255
	case "text", "blob":
		return 65535
	case "mediumtext", "mediumblob":
		return 1<<24 - 1
	}
	return 1<<32 - 1
}
