//go:build integration

package mysql

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/stretchr/testify/require"
)

var rewriteCharsets = flag.Bool("rewrite-charsets", false, "write charset_tables.gz from the server's answers")

// serverAddr is the server that integration tests talk to.
func serverAddr(t testing.TB) string {
	addr := os.Getenv("PAIMON_GO_MYSQL_ADDR")
	require.NotEmpty(t, addr, "PAIMON_GO_MYSQL_ADDR must name the server, such as 127.0.0.1:3306")
	return addr
}

func connectServer(t testing.TB) *client.Conn {
	c, err := client.Connect(serverAddr(t), "cdc", "cdc", "", func(c *client.Conn) error {
		c.UnsetCapability(gomysql.CLIENT_DEPRECATE_EOF) // selectAll reads result sets in one form only
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// serverDecode asks the server for the characters of many byte sequences: 0 where it has none.
func serverDecode(t *testing.T, c *client.Conn, charset string, codes [][]byte) []uint16 {
	out := make([]uint16, 0, len(codes))
	for from := 0; from < len(codes); from += 4096 {
		part := codes[from:min(from+4096, len(codes))]
		var q strings.Builder
		for i, code := range part {
			if i > 0 {
				q.WriteString(" UNION ALL ")
			}
			fmt.Fprintf(&q, "SELECT %d k, X'%x' b", i, code)
		}
		// CONVERT of a binary string gives NULL for what is malformed, '?' for what is unassigned.
		r, err := c.Execute("SELECT k, HEX(CONVERT(CONVERT(b USING " + charset + ") USING utf32)) FROM (" + q.String() + ") x")
		require.NoError(t, err, charset)
		got := make([]uint16, len(part))
		for i := range r.Values {
			k, _ := r.GetInt(i, 0)
			text, _ := r.GetString(i, 1)
			if len(text) != 8 {
				continue
			}
			u, err := strconv.ParseUint(text, 16, 32)
			require.NoError(t, err)
			if u == '?' && !bytes.Equal(part[k], []byte{'?'}) || u > 0xffff {
				continue
			}
			got[k] = uint16(u)
		}
		out = append(out, got...)
	}
	return out
}

func serverTable(t *testing.T, c *client.Conn, name string, mbmax int) *charsetTable {
	tab := &charsetTable{}
	var codes [][]byte
	for b := range 256 {
		codes = append(codes, []byte{byte(b)})
	}
	copy(tab.single[:], serverDecode(t, c, name, codes))
	if mbmax >= 2 {
		tab.double = serverPairs(t, c, name, nil, &tab.single)
	}
	if mbmax == 3 {
		tab.triple = serverPairs(t, c, name, []byte{0x8f}, nil)
	}
	if mbmax == 4 {
		codes = nil
		for i := range 39420 {
			codes = append(codes, []byte{0x81 + byte(i/12600), 0x30 + byte(i/1260%10), 0x81 + byte(i/10%126), 0x30 + byte(i%10)})
		}
		tab.quad = serverDecode(t, c, name, codes)
	}
	return tab
}

func serverPairs(t *testing.T, c *client.Conn, name string, prefix []byte, single *[256]uint16) []uint16 {
	var codes [][]byte
	var at []int
	for lead := 0x81; lead < 0xff; lead++ {
		if single != nil && single[lead] != 0 {
			continue
		}
		for trail := 0x30; trail < 0xff; trail++ {
			codes = append(codes, append(bytes.Clone(prefix), byte(lead), byte(trail)))
			at = append(at, lead<<8|trail)
		}
	}
	table := make([]uint16, 65536)
	for i, u := range serverDecode(t, c, name, codes) {
		table[at[i]] = u
	}
	return table
}

func appendDeltas(b []byte, list []uint16) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := int64(-1)
	for _, u := range list {
		b = binary.AppendVarint(b, int64(u)-last-1)
		last = int64(u)
	}
	return b
}

// TestCharsetTablesAreTheServers compares every entry of the embedded tables with what the server converts.
func TestCharsetTablesAreTheServers(t *testing.T) {
	c := connectServer(t)
	names := make([]string, 0, len(tableCharsets))
	for n := range tableCharsets {
		names = append(names, n)
	}
	sort.Strings(names)
	var file []byte
	for _, name := range names {
		want := serverTable(t, c, name, tableCharsets[name])
		if *rewriteCharsets {
			file = append(file, byte(len(name)))
			file = append(file, name...)
			for _, list := range [][]uint16{want.single[:], want.double, want.triple, want.quad} {
				file = appendDeltas(file, list)
			}
			continue
		}
		got := charsetByName(name).table()
		require.Equal(t, hex.EncodeToString(appendDeltas(nil, want.single[:])), hex.EncodeToString(appendDeltas(nil, got.single[:])), name)
		require.True(t, bytes.Equal(appendDeltas(nil, want.double), appendDeltas(nil, got.double)), name)
		require.True(t, bytes.Equal(appendDeltas(nil, want.triple), appendDeltas(nil, got.triple)), name)
		require.True(t, bytes.Equal(appendDeltas(nil, want.quad), appendDeltas(nil, got.quad)), name)
	}
	if !*rewriteCharsets {
		return
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	require.NoError(t, err)
	_, err = z.Write(file)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile("charset_tables.gz", out.Bytes(), 0o644))
}
