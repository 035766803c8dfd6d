package hdfs

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDigestAnswersAChallenge(t *testing.T) {
	for _, qop := range []string{qopAuth, qopIntegrity, qopPrivacy} {
		d, err := newDigest([]byte(`realm="0",nonce="OA6MG9tEQGm2hh",qop="auth-conf,auth-int,auth",charset=utf-8,cipher="3des,rc4,des,rc4-56",algorithm=md5-sess`),
			credentials{"chris", "secret"}, []string{qop}, "OA6MHXh6VqTrRk")
		require.NoError(t, err)
		r, err := parseChallenge(d.response())
		require.NoError(t, err)
		require.Equal(t, map[string]string{"charset": "utf-8", "username": "chris", "realm": "0", "nonce": "OA6MG9tEQGm2hh", "nc": "00000001",
			"cnonce": "OA6MHXh6VqTrRk", "digest-uri": "hdfs/0", "maxbuf": "65536", "response": d.hash("AUTHENTICATE"), "qop": qop}, without(r, "cipher"))
		require.Equal(t, qop == qopPrivacy, r["cipher"] == "rc4")
		require.NoError(t, d.verify("rspauth="+d.hash("")))
		require.Error(t, d.verify("rspauth="+d.hash("AUTHENTICATE")))
	}
}

func without(m map[string]string, k string) map[string]string {
	out := map[string]string{}
	for x, v := range m {
		if x != k {
			out[x] = v
		}
	}
	return out
}

// TestDigestHash is the example of RFC 2831, section 4.
func TestDigestHash(t *testing.T) {
	d := digest{credentials: credentials{"chris", "secret"}, realm: "elwood.innosoft.com", nonce: "OA6MG9tEQGm2hh", cnonce: "OA6MHXh6VqTrRk", qop: qopAuth, uri: "imap/elwood.innosoft.com"}
	require.Equal(t, "d388dad90d4bbd760a152321f2143af7", d.hash("AUTHENTICATE"))
	require.Equal(t, "ea40f60335c427b5527b84dbabcdfffd", d.hash(""))
}

func TestDigestRefuses(t *testing.T) {
	for challenge, want := range map[string]string{
		`qop="auth"`:                    "dfs.data.transfer.protection",
		`qop="auth-conf",cipher="3des"`: "3des",
		`qop`:                           "challenge",
		`qop="auth`:                     "challenge",
	} {
		_, err := newDigest([]byte(challenge), credentials{}, []string{qopPrivacy}, "c")
		require.ErrorContains(t, err, want)
	}
	_, err := parseProtection("authentication,secret")
	require.ErrorIs(t, err, errConfig)
	p, err := parseProtection("Privacy, authentication")
	require.NoError(t, err)
	require.Equal(t, []string{qopPrivacy, qopAuth}, p)
}

// swapped is the other side's view of what was agreed on.
func swapped(t require.TestingT, d *digest, c net.Conn) *framedConn {
	f, err := d.framed(c, bufio.NewReader(c))
	require.NoError(t, err)
	f.in, f.out = f.out, f.in
	return f
}

// TestFrames carries any bytes in both directions, and nothing that was changed.
func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		d := &digest{credentials: credentials{"u", "p"}, nonce: "n", cnonce: "c", qop: rapid.SampledFrom([]string{qopIntegrity, qopPrivacy}).Draw(t, "qop"),
			cipher: rapid.SampledFrom([]string{"rc4", "rc4-56", "rc4-40"}).Draw(t, "cipher")}
		x, err := d.framed(a, bufio.NewReader(a))
		require.NoError(t, err)
		y := swapped(t, d, b)
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			data := pattern(rapid.IntRange(1, 3*frameData).Draw(t, "size"))
			done := make(chan error, 1)
			go func() { _, err := x.Write(data); done <- err }()
			got := make([]byte, len(data))
			_, err := io.ReadFull(y, got)
			require.NoError(t, err)
			require.NoError(t, <-done)
			require.True(t, bytes.Equal(data, got))
			x, y = y, x
		}
	})
}

func TestChangedFrames(t *testing.T) {
	for at := range 40 {
		s, r := seal{key: []byte("k")}, seal{key: []byte("k")}
		f := s.append(nil, pattern(24))
		f[at] ^= 4
		_, err := r.open(f)
		require.Error(t, err, "byte %d", at)
	}
	s, r := seal{key: []byte("k")}, seal{key: []byte("k")}
	first, second := s.append(nil, []byte("a")), s.append(nil, []byte("b"))
	_, err := r.open(second)
	require.Error(t, err, "out of order")
	_, err = r.open(first[:5])
	require.ErrorIs(t, err, errWire)
}

// TestWhenNoHandshakeIsMade: without encryption no handshake is made at ports that only root can open.
func TestWhenNoHandshakeIsMade(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for _, s := range []*security{{}, {kerberos: true}, {protection: []string{qopAuth}}} {
		c, err := s.secure(t.Context(), a, token{})
		require.NoError(t, err)
		require.Equal(t, a, c)
	}
	s := &security{kerberos: true, protection: []string{qopAuth}}
	c, err := s.secure(t.Context(), portConn{a}, token{})
	require.NoError(t, err)
	require.Equal(t, portConn{a}, c)
}

type portConn struct{ net.Conn }

func (portConn) RemoteAddr() net.Addr { return &net.TCPAddr{Port: 1004} }

func TestKerberosSettings(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	k, err := newKerberos(map[string]string{"security.keytab": "/k", "security.kerberos.login.principal": "u"}, env(nil))
	require.NoError(t, err)
	require.Equal(t, "/etc/krb5.conf", k.krb5conf)
	k, err = newKerberos(nil, env(map[string]string{"KRB5CCNAME": "FILE:/c", "KRB5_CONFIG": "/x"}))
	require.NoError(t, err)
	require.Equal(t, "/c", k.cache)
	require.Equal(t, "/x", k.krb5conf)
	_, err = k.login()
	require.ErrorIs(t, err, errConfig)
	require.ErrorContains(t, err, "kinit")
	for want, conf := range map[string]map[string]string{
		"belong together": {"security.keytab": "/k"},
		"ticket-cache":    {"security.kerberos.login.use-ticket-cache": "false"},
	} {
		_, err := newKerberos(conf, env(nil))
		require.ErrorContains(t, err, want)
	}
	_, err = newKerberos(nil, env(map[string]string{"KRB5CCNAME": "KEYRING:x"}))
	require.ErrorContains(t, err, "KEYRING")
	token := env(map[string]string{"HADOOP_TOKEN_FILE_LOCATION": "/container_tokens"})
	_, err = newKerberos(nil, token)
	require.ErrorIs(t, err, errConfig)
	require.ErrorContains(t, err, "HADOOP_TOKEN_FILE_LOCATION")
	_, err = newKerberos(map[string]string{"security.keytab": "/k", "security.principal": "u"}, token)
	require.NoError(t, err)
	_, err = New(t.Context(), Config{URI: "hdfs://h", Settings: map[string]string{"hadoop.security.authentication": "kerberos"}})
	require.ErrorContains(t, err, "dfs.namenode.kerberos.principal")
	_, err = New(t.Context(), Config{URI: "hdfs://h", Settings: map[string]string{"hadoop.security.authentication": "ldap"}})
	require.ErrorContains(t, err, "ldap")
	_, err = New(t.Context(), Config{URI: "hdfs://h", Settings: map[string]string{"dfs.data.transfer.protection": "x"}})
	require.ErrorContains(t, err, "dfs.data.transfer.protection")
}
