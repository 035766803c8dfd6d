package hdfs

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/stretchr/testify/require"
)

// ticketCache is a file as kinit makes it, of version 4, with one ticket.
func ticketCache(t *testing.T, expires time.Time) []byte {
	ticket, err := (&messages.Ticket{TktVNO: 5, Realm: "R", SName: types.NewPrincipalName(2, "krbtgt/R"),
		EncPart: types.EncryptedData{EType: 18, Cipher: []byte("x")}}).Marshal()
	require.NoError(t, err)
	b := []byte{5, 4, 0, 12, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}
	num := func(v uint32) { b = binary.BigEndian.AppendUint32(b, v) }
	data := func(v []byte) { num(uint32(len(v))); b = append(b, v...) }
	principal := func(names ...string) {
		num(1)
		num(uint32(len(names)))
		data([]byte("R"))
		for _, n := range names {
			data([]byte(n))
		}
	}
	principal("u")
	principal("u")
	principal("krbtgt", "R")
	b = append(b, 0, 18)
	data(make([]byte, 32))
	for _, v := range []int64{0, 0, expires.Unix(), expires.Unix()} {
		num(uint32(v))
	}
	b = append(b, 0)
	num(0) // flags
	num(0) // addresses
	num(0) // authorization data
	data(ticket)
	data(nil)
	return b
}

// TestTicketCacheThatIsMadeAnew is away or not whole for a moment; who has tickets goes on with them as long as they are good.
func TestTicketCacheThatIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	conf, path := filepath.Join(dir, "krb5.conf"), filepath.Join(dir, "cc")
	require.NoError(t, os.WriteFile(conf, []byte("[libdefaults]\n default_realm = R\n"), 0o644))
	whole := ticketCache(t, time.Now().Add(time.Hour))
	mod := time.Now().Add(-time.Hour)
	write := func(b []byte) {
		require.NoError(t, os.WriteFile(path, b, 0o600))
		mod = mod.Add(time.Second)
		require.NoError(t, os.Chtimes(path, mod, mod))
	}
	k := &kerberos{krb5conf: conf, cache: path}
	t.Cleanup(k.close)
	_, err := k.login()
	require.ErrorIs(t, err, errConfig, "nobody has run kinit")
	for n := range len(whole) {
		write(whole[:n])
		_, err := (&kerberos{krb5conf: conf, cache: path}).login()
		require.Error(t, err, "the first %d bytes", n)
		require.NotErrorIs(t, err, errConfig, "kinit may be writing it")
	}
	write(whole)
	first, err := k.login()
	require.NoError(t, err)

	require.NoError(t, os.Remove(path))
	again, err := k.login()
	require.NoError(t, err)
	require.Same(t, first, again)
	for n := range len(whole) {
		write(whole[:n])
		again, err := k.login()
		require.NoError(t, err)
		require.Same(t, first, again)
	}
	write(whole)
	again, err = k.login()
	require.NoError(t, err)
	require.NotSame(t, first, again, "read anew")

	k.expires = time.Now().Add(-time.Second)
	require.NoError(t, os.Remove(path))
	_, err = k.login()
	require.ErrorContains(t, err, "expired")
	require.NotErrorIs(t, err, errConfig, "it may be renewed")
	write(whole[:len(whole)/2])
	_, err = k.login()
	require.ErrorContains(t, err, "not whole")
	require.NotErrorIs(t, err, errConfig)
	write(ticketCache(t, time.Now().Add(-time.Second)))
	_, err = k.login()
	require.ErrorContains(t, err, "expired")
}
