package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// prettyJSON lays JSON out as Java's metadata files are (Jackson's DefaultPrettyPrinter: objects one member a line, arrays
// in line, a blank around the colon), so that our files differ from Java's only where their content does.
func prettyJSON(compact []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(compact))
	dec.UseNumber()
	p := prettyPrinter{dec: dec}
	if err := p.value(0); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("JSON goes on after its end")
	}
	return p.out.Bytes(), nil
}

type prettyPrinter struct {
	dec *json.Decoder
	out bytes.Buffer
}

func (p *prettyPrinter) value(depth int) error {
	tok, err := p.dec.Token()
	if err != nil {
		return err
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case string:
		p.string(v)
	case nil:
		p.out.WriteString("null")
	default:
		fmt.Fprint(&p.out, v)
	}
	return nil
}

func (p *prettyPrinter) object(depth int) error {
	p.out.WriteString("{")
	for n := 0; p.dec.More(); n++ {
		if n > 0 {
			p.out.WriteByte(',')
		}
		p.newline(depth + 1)
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		p.string(key.(string))
		p.out.WriteString(" : ")
		if err := p.value(depth + 1); err != nil {
			return err
		}
	}
	if p.out.Bytes()[p.out.Len()-1] == '{' {
		p.out.WriteByte(' ')
	} else {
		p.newline(depth)
	}
	p.out.WriteByte('}')
	_, err := p.dec.Token()
	return err
}

func (p *prettyPrinter) array(depth int) error {
	p.out.WriteString("[")
	for n := 0; p.dec.More(); n++ {
		if n > 0 {
			p.out.WriteByte(',')
		}
		p.out.WriteByte(' ')
		if err := p.value(depth); err != nil {
			return err
		}
	}
	p.out.WriteString(" ]")
	_, err := p.dec.Token()
	return err
}

func (p *prettyPrinter) newline(depth int) {
	p.out.WriteByte('\n')
	p.out.WriteString(strings.Repeat("  ", depth))
}

func (p *prettyPrinter) string(s string) { p.out.Write(appendJSONString(p.out.AvailableBuffer(), s)) }

// appendJSONString quotes as Jackson does: only the quote, the backslash and control characters are escaped.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		case c >= '\b' && c <= '\r' && c != '\v':
			dst = append(dst, '\\', "btn.fr"[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}
