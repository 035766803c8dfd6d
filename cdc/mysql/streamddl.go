package mysql

import "strings"

// mentions reports whether a statement can be about the watched table at all: only then it is parsed.
func (s *stream) mentions(q statement) bool {
	text := strings.ToLower(q.text)
	return strings.Contains(text, strings.ToLower(s.src.cfg.Table)) || strings.Contains(text, strings.ToLower(s.src.cfg.Database))
}

// statement looks at a statement of the log that is not part of a transaction's frame.
func (s *stream) statement(q statement) error {
	if !s.mentions(q) {
		return nil
	}
	if strings.HasPrefix(strings.ToUpper(firstWords(q.text)), "CREATE") {
		return nil
	}
	return s.refuse("the statement %q", q.text)
}
