package row

import (
	"encoding/json"
	"errors"
)

var errJSON = errors.New("bad JSON")

// jsonReader walks over a JSON text.
type jsonReader struct {
	b     []byte
	pos   int
	depth int
}

func (r *jsonReader) ws() {
	for r.pos < len(r.b) {
		switch r.b[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is no blank, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.ws(); r.pos < len(r.b) {
		return r.b[r.pos]
	}
	return 0
}

// accept consumes c when it comes next.
func (r *jsonReader) accept(c byte) bool {
	if r.peek() != c || c == 0 {
		return false
	}
	r.pos++
	return true
}

// literal consumes a word when it comes next.
func (r *jsonReader) literal(word string) bool {
	if len(r.b)-r.pos < len(word) || string(r.b[r.pos:r.pos+len(word)]) != word {
		return false
	}
	r.pos += len(word)
	return true
}

// object calls member with each key; member has to read the value.
func (r *jsonReader) object(member func(key []byte) error) error {
	return r.sequence('{', '}', func() error {
		key, err := r.str()
		if err != nil {
			return err
		}
		if !r.accept(':') {
			return errJSON
		}
		return member(key)
	})
}

// list calls element for each element; it has to read the value.
func (r *jsonReader) list(element func() error) error { return r.sequence('[', ']', element) }

func (r *jsonReader) sequence(begin, end byte, element func() error) error {
	if r.depth++; r.depth > maxTypeDepth {
		return errors.New("JSON is nested too deep")
	}
	defer func() { r.depth-- }()
	if !r.accept(begin) {
		return errJSON
	}
	if r.accept(end) {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if r.accept(end) {
			return nil
		}
		if !r.accept(',') {
			return errJSON
		}
	}
}

// str reads a string. The result is valid as long as the text.
func (r *jsonReader) str() ([]byte, error) {
	if r.peek() != '"' {
		return nil, errJSON
	}
	start, escaped := r.pos+1, false
	for i := start; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c == '"':
			text := r.b[start-1 : i+1]
			r.pos = i + 1
			if !escaped {
				return text[1 : len(text)-1], nil
			}
			var s string
			err := json.Unmarshal(text, &s)
			return []byte(s), err
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			return nil, errJSON
		}
	}
	return nil, errJSON
}

// text reads a string, or a number or boolean as its text.
func (r *jsonReader) text() ([]byte, error) {
	if r.peek() == '"' {
		return r.str()
	}
	start := r.pos
	for r.pos < len(r.b) {
		c := r.b[r.pos]
		if c == '+' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E' {
			r.pos++
			continue
		}
		break
	}
	s := r.b[start:r.pos]
	if len(s) == 0 || !json.Valid(s) || string(s) == "null" {
		r.pos = start
		return nil, errJSON
	}
	return s, nil
}

// skip reads any value.
func (r *jsonReader) skip() (err error) {
	switch r.peek() {
	case '{':
		return r.object(func([]byte) error { return r.skip() })
	case '[':
		return r.list(r.skip)
	}
	if !r.literal("null") {
		_, err = r.text()
	}
	return err
}
