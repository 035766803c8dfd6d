package mysql

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

// capture is what a real server sent for one table: its columns, the log's events about it and the packets of a
// prepared SELECT of all columns in key order, each in the raw. Text form, one thing a line:
//
//	column NAME NULLABLE CHARSET TYPE
//	map HEX, rows EVENTTYPE HEX, packet HEX
//	want JSON     a row as both ways decode it
type capture struct {
	mariaDB bool
	cols    []Column
	events  []rawEvent
	packets [][]byte
	want    []string
}

type rawEvent struct {
	kind byte // 19 is a table map
	body []byte
}

const tableMapEvent = 19

func (c *capture) write(t *testing.T, path string) {
	var b bytes.Buffer
	if c.mariaDB {
		b.WriteString("mariadb\n")
	}
	for _, col := range c.cols {
		cs := col.Charset
		if cs == "" {
			cs = "-"
		}
		fmt.Fprintf(&b, "column %s %v %s %s\n", col.Name, col.Nullable, cs, strconv.Quote(col.ColumnType))
	}
	for _, e := range c.events {
		fmt.Fprintf(&b, "event %d %x\n", e.kind, e.body)
	}
	for _, p := range c.packets {
		fmt.Fprintf(&b, "packet %x\n", p)
	}
	for _, w := range c.want {
		fmt.Fprintf(&b, "want %s\n", w)
	}
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

func readCapture(t testing.TB, path string) *capture {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	c := &capture{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		word, rest, _ := strings.Cut(s.Text(), " ")
		switch word {
		case "mariadb":
			c.mariaDB = true
		case "column":
			p := strings.SplitN(rest, " ", 4)
			typ, err := strconv.Unquote(p[3])
			require.NoError(t, err)
			col, err := ParseColumn(p[0], typ)
			require.NoError(t, err)
			col.Nullable = p[1] == "true"
			if p[2] != "-" {
				col.Charset = p[2]
			}
			c.cols = append(c.cols, col)
		case "event":
			kind, body, _ := strings.Cut(rest, " ")
			k, err := strconv.Atoi(kind)
			require.NoError(t, err)
			c.events = append(c.events, rawEvent{byte(k), unhex(t, body)})
		case "packet":
			c.packets = append(c.packets, unhex(t, rest))
		case "want":
			c.want = append(c.want, rest)
		default:
			t.Fatalf("%s: line starts with %q", path, word)
		}
	}
	require.NoError(t, s.Err())
	return c
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// targetType is the type that the columns get by themselves.
func targetType(t testing.TB, cols []Column, opt TypeOptions) *row.Type {
	fields := make([]row.Field, len(cols))
	for i, c := range cols {
		typ, err := PaimonType(c, opt)
		require.NoError(t, err)
		fields[i] = row.Field{ID: i, Name: c.Name, Type: typ}
	}
	rt := row.NewRow(fields...)
	return &rt
}

// decodeEvents decodes all rows events of the capture into a batch.
func (c *capture) decodeEvents(t testing.TB, d *Decoder, target *row.Type) *row.Batch {
	b := row.NewBatch(target)
	var tm *TableMap
	for _, e := range c.events {
		if e.kind == tableMapEvent {
			var err error
			body := bytes.Clone(e.body)
			tm, err = ParseTableMap(body, c.mariaDB)
			require.NoError(t, err)
			overwrite(body)
			continue
		}
		body := bytes.Clone(e.body)
		re, err := ParseRows(e.kind, body)
		require.NoError(t, err)
		_, err = d.AppendRows(b, tm, &re)
		require.NoError(t, err)
		overwrite(body) // the next event is read into the same memory
	}
	return b
}

func (c *capture) decodePackets(t testing.TB, d *Decoder, target *row.Type) *row.Batch {
	b := row.NewBatch(target)
	for _, p := range c.packets {
		require.NoError(t, d.AppendBinaryRow(b.Cols, p))
		b.EndRow(row.Insert)
	}
	return b
}

func rowsText(b *row.Batch) []string {
	var out []string
	for i := range b.N {
		out = append(out, string(row.AppendJSONRow(nil, b, i, true)))
	}
	return out
}
