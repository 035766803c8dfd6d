package ddl

import (
	"strings"
)

// token is a word, quoted name, string or sign of a statement that the grammar does not have.
type token struct {
	text   string
	quoted bool // a name in backticks, or in double quotes with ANSI_QUOTES
	str    bool
}

func (t token) upper() string {
	if t.quoted || t.str {
		return ""
	}
	return strings.ToUpper(t.text)
}

// name returns the token as an identifier, "" when it is none.
func (t token) name() string {
	if t.str || t.text == "" {
		return ""
	}
	if t.quoted {
		q := t.text[:1]
		return strings.ReplaceAll(strings.Trim(t.text, q), q+q, q)
	}
	if wordByte(t.text[0]) {
		return t.text
	}
	return ""
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// tokenize cuts a statement into tokens without comments; the inside of /*! */ comments is kept, as servers run it.
func tokenize(s string, sqlMode uint64) []token {
	const ansiQuotes, noBackslash = 1 << 2, 1 << 20
	var out []token
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c <= ' ':
			i++
		case c == '#', strings.HasPrefix(s[i:], "-- "), s[i:] == "--":
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return out
			}
			i += n + 1
		case strings.HasPrefix(s[i:], "/*!"), strings.HasPrefix(s[i:], "/*M!"):
			i += strings.IndexByte(s[i:], '!') + 1
			for i < len(s) && s[i] >= '0' && s[i] <= '9' {
				i++
			}
		case strings.HasPrefix(s[i:], "/*"):
			n := strings.Index(s[i+2:], "*/")
			if n < 0 {
				return out
			}
			i += n + 4
		case strings.HasPrefix(s[i:], "*/"):
			i += 2
		case c == '\'' || c == '"' || c == '`':
			j := i + 1
			for j < len(s) {
				if s[j] == '\\' && c != '`' && sqlMode&noBackslash == 0 {
					j++
				} else if s[j] == c {
					if j+1 >= len(s) || s[j+1] != c {
						break
					}
					j++
				}
				j++
			}
			j = min(j+1, len(s))
			name := c == '`' || c == '"' && sqlMode&ansiQuotes != 0
			out = append(out, token{text: s[i:j], quoted: name, str: !name})
			i = j
		case wordByte(c):
			j := i
			for j < len(s) && wordByte(s[j]) {
				j++
			}
			out = append(out, token{text: s[i:j]})
			i = j
		default:
			out = append(out, token{text: s[i : i+1]})
			i++
		}
	}
	return out
}

var dmlWords = map[string]bool{"INSERT": true, "UPDATE": true, "DELETE": true, "REPLACE": true, "LOAD": true}

// harmless are first words whose statements change neither columns nor rows of a table.
var harmless = wordSet("BEGIN COMMIT ROLLBACK SAVEPOINT RELEASE XA SET GRANT REVOKE FLUSH ANALYZE OPTIMIZE REPAIR CHECK " +
	"CHECKSUM START STOP CHANGE RESET KILL LOCK UNLOCK INSTALL UNINSTALL BINLOG CACHE SHOW USE PURGE CLONE RESTART SHUTDOWN")

// harmlessObjects are what CREATE, ALTER and DROP can be about besides tables and databases.
var harmlessObjects = wordSet("TRIGGER PROCEDURE FUNCTION EVENT VIEW USER ROLE SERVER TABLESPACE UNDO RESOURCE LOGFILE " +
	"SPATIAL LIBRARY INDEX UNIQUE FULLTEXT SEQUENCE PACKAGE AGGREGATE INSTANCE")

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// unparsed judges a statement by its words: harmless by its first ones, or refused when it names the table.
func (s *Statement) unparsed(t Name) Effect {
	if len(s.words) == 0 || harmless[s.words[0].upper()] {
		return Effect{}
	}
	switch s.words[0].upper() {
	case "CREATE", "ALTER", "DROP":
		for i := 1; i < len(s.words) && i < 16; i++ {
			w := s.words[i].upper()
			if harmlessObjects[w] {
				return Effect{}
			}
			if w == "TABLE" || w == "DATABASE" || w == "SCHEMA" {
				break
			}
		}
	case "RENAME":
		if len(s.words) > 1 && s.words[1].upper() == "USER" {
			return Effect{}
		}
	}
	for i := range s.words {
		if strings.EqualFold(s.words[i].name(), t.Table) {
			return refused("the statement cannot be parsed (%s) and names the table", firstLine(s.err.Error()))
		}
	}
	if w := s.words[0].upper(); w == "DROP" || w == "ALTER" {
		for i := range s.words {
			if strings.EqualFold(s.words[i].name(), t.Database) && len(s.words) > 1 && (s.words[1].upper() == "DATABASE" || s.words[1].upper() == "SCHEMA") && w == "DROP" {
				return refused("the database is dropped")
			}
		}
	}
	return Effect{}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimSpace(s)
}

// invisibleMark stands for INVISIBLE, which the grammar does not have on columns.
const invisibleMark = "paimon-go: invisible"

// standIns are types that the grammar does not have and types that stand for them while it reads the rest.
var standIns = map[string]string{
	"GEOMETRY": "varbinary(64001)", "POINT": "varbinary(64002)", "LINESTRING": "varbinary(64003)", "POLYGON": "varbinary(64004)",
	"MULTIPOINT": "varbinary(64005)", "MULTILINESTRING": "varbinary(64006)", "MULTIPOLYGON": "varbinary(64007)",
	"GEOMETRYCOLLECTION": "varbinary(64008)", "GEOMCOLLECTION": "varbinary(64008)",
	"UUID": "varbinary(64009)", "INET4": "varbinary(64010)", "INET6": "varbinary(64011)",
}

var standsFor = func() map[string]string {
	m := map[string]string{}
	for w, t := range standIns {
		if w != "GEOMCOLLECTION" {
			m[t] = strings.ToLower(w)
		}
	}
	return m
}()

// originalType undoes a stand-in, and gives back the arguments of VECTOR.
func originalType(s string) string {
	if t, ok := standsFor[strings.ToLower(s)]; ok {
		return t
	}
	return s
}

// simplify writes a statement again without what the grammar lacks. It reports false when there was nothing of it.
func simplify(words []token) (string, bool) {
	var b strings.Builder
	changed := false
	for i := 0; i < len(words); i++ {
		w := words[i].upper()
		text := words[i].text
		switch {
		case standIns[w] != "" && i > 0 && isColumnName(words, i-1):
			text, changed = standIns[w], true
		case w == "INVISIBLE":
			text, changed = "COMMENT '"+invisibleMark+"'", true
		case w == "VISIBLE", w == "COMPRESSED" && i > 0 && words[i-1].text == ")":
			text, changed = "", true
		case w == "SRID" && i+1 < len(words):
			i, text, changed = i+1, "", true
		case (w == "ENGINE_ATTRIBUTE" || w == "SECONDARY_ENGINE_ATTRIBUTE") && i+1 < len(words):
			if words[i+1].text == "=" {
				i++
			}
			i, text, changed = i+1, "", true
		case w == "START" && i+1 < len(words) && words[i+1].upper() == "TRANSACTION" && i+2 == len(words) && i > 0:
			i, text, changed = i+1, "", true
		}
		b.WriteString(text)
		b.WriteByte(' ')
	}
	return b.String(), changed
}

// isColumnName reports whether a type can follow token i: it is a name, not a word of the clause before a name.
func isColumnName(words []token, i int) bool {
	if words[i].quoted {
		return true
	}
	switch words[i].upper() {
	case "", "ADD", "COLUMN", "MODIFY", "CHANGE", "DROP", "AFTER", "BY", "KEY", "INDEX", "TO", "EXISTS", "TABLE":
		return false
	}
	return words[i].name() != ""
}
