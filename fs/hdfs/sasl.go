package hdfs

import (
	"bufio"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// DataNodes of secured clusters want a SASL handshake (DIGEST-MD5, RFC 2831) whose password comes with the block's token or is the
// cluster's encryption key. Depending on dfs.data.transfer.protection all that follows is then signed or encrypted.

// security decides what a connection to a DataNode needs.
type security struct {
	kerberos   bool
	protection []string // SASL's names, in the order of preference
	encrypt    bool
	key        func(ctx context.Context) (*encryptionKey, error)

	turn    chan struct{} // holds a value while current is used or fetched, which may take long
	current *encryptionKey
}

func newSecurity(kerberos bool, protection []string, key func(context.Context) (*encryptionKey, error)) *security {
	return &security{kerberos: kerberos, protection: protection, key: key, turn: make(chan struct{}, 1)}
}

const (
	qopAuth      = "auth"
	qopIntegrity = "auth-int"
	qopPrivacy   = "auth-conf"
)

// parseProtection translates dfs.data.transfer.protection.
func parseProtection(v string) ([]string, error) {
	var out []string
	for _, p := range list(strings.ToLower(v)) {
		q, ok := map[string]string{"authentication": qopAuth, "integrity": qopIntegrity, "privacy": qopPrivacy}[p]
		if !ok {
			return nil, fmt.Errorf("%w: dfs.data.transfer.protection is %q, known are authentication, integrity and privacy", errConfig, v)
		}
		out = append(out, q)
	}
	return out, nil
}

// secure does the handshake if one is needed. Ports below 1024 are trusted on clusters that don't encrypt.
func (s *security) secure(ctx context.Context, c net.Conn, t token) (net.Conn, error) {
	if s.encrypt {
		return s.encrypted(ctx, c)
	}
	addr, ok := c.RemoteAddr().(*net.TCPAddr)
	if !s.kerberos || len(s.protection) == 0 || (ok && addr.Port < 1024) {
		return c, nil
	}
	return handshake(c, credentials{base64.StdEncoding.EncodeToString(t.identifier), base64.StdEncoding.EncodeToString(t.password)}, s.protection)
}

func (s *security) encrypted(ctx context.Context, c net.Conn) (net.Conn, error) {
	k, err := s.currentKey(ctx)
	if err != nil {
		return nil, err
	}
	out, err := handshake(c, k.credentials(), []string{qopPrivacy})
	if errors.Is(err, errUnknownKey) && s.take(ctx) == nil {
		if s.current == k {
			s.current = nil // the next try fetches another one
		}
		<-s.turn
	}
	return out, err
}

func (s *security) currentKey(ctx context.Context) (*encryptionKey, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.turn }()
	if s.current == nil || s.current.stale(time.Now()) {
		k, err := s.key(ctx)
		if err != nil {
			return nil, err
		}
		s.current = k
	}
	return s.current, nil
}

// take waits for the turn, no longer than the context.
func (s *security) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return endedBy(ctx, nil)
	}
}

// encryptionKey is the key that all DataNodes know for a time.
type encryptionKey struct {
	id      uint32
	pool    string
	nonce   []byte
	key     []byte
	fetched time.Time
	expires time.Time
}

func parseKey(b []byte, now time.Time) (*encryptionKey, error) {
	k := &encryptionKey{fetched: now}
	err := fields(b, func(f field) error {
		switch f.id {
		case 1:
			k.id = uint32(f.num)
		case 2:
			k.pool = string(f.raw)
		case 3:
			k.nonce = f.raw
		case 4:
			k.key = f.raw
		case 5:
			k.expires = time.UnixMilli(int64(f.num))
		}
		return nil
	})
	return k, err
}

// stale tells whether a key is in the last fifth of its life.
func (k *encryptionKey) stale(now time.Time) bool {
	return now.After(k.expires.Add(-k.expires.Sub(k.fetched) / 5))
}

func (k *encryptionKey) credentials() credentials {
	return credentials{fmt.Sprintf("%d %s %s", int32(k.id), k.pool, base64.StdEncoding.EncodeToString(k.nonce)), base64.StdEncoding.EncodeToString(k.key)}
}

type credentials struct{ user, password string }

var errUnknownKey = errors.New("the datanode does not know the encryption key")

// handshake agrees on credentials and protection. qops are what we accept, the one we like best first.
func handshake(c net.Conn, cr credentials, qops []string) (net.Conn, error) {
	r := bufio.NewReader(c)
	if err := sendSASL(c, []byte{0xde, 0xad, 0xbe, 0xef}, nil, false); err != nil {
		return nil, err
	}
	m, err := receiveSASL(r)
	if err != nil {
		return nil, err
	}
	d, err := newDigest(m.payload, cr, qops, nonce())
	if err != nil {
		return nil, err
	}
	if err := sendSASL(c, nil, []byte(d.response()), d.qop == qopPrivacy); err != nil {
		return nil, err
	}
	if m, err = receiveSASL(r); err != nil {
		return nil, err
	}
	if err := d.verify(string(m.payload)); err != nil {
		return nil, err
	}
	return d.protect(c, r, m.cipher)
}

func nonce() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}

// sendSASL sends a message, with an offer to encrypt by AES if the server can do that.
func sendSASL(c net.Conn, prefix, payload []byte, offerAES bool) error {
	var e enc
	e.num(1, 0).bytes(2, payload)
	if offerAES {
		var o enc
		o.num(1, 2) // AES/CTR/NoPadding
		e.bytes(4, o)
	}
	_, err := c.Write(append(prefix, e.delimited()...))
	return err
}

type saslMessage struct {
	payload []byte
	cipher  *cipherOption
}

// cipherOption has keys that are themselves encrypted by what the handshake agreed on.
type cipherOption struct{ inKey, inIV, outKey, outIV []byte }

func receiveSASL(r *bufio.Reader) (saslMessage, error) {
	b, err := readMessage(r)
	if err != nil {
		return saslMessage{}, err
	}
	return parseSASL(b)
}

func parseSASL(b []byte) (saslMessage, error) {
	var m saslMessage
	var state uint64
	var text string
	err := fields(b, func(f field) error {
		switch f.id {
		case 1:
			state = f.num
		case 2:
			m.payload = f.raw
		case 3:
			text = string(f.raw)
		case 4:
			m.cipher = &cipherOption{}
			return fields(f.raw, func(f field) error {
				switch f.id {
				case 2:
					m.cipher.inKey = f.raw
				case 3:
					m.cipher.inIV = f.raw
				case 4:
					m.cipher.outKey = f.raw
				case 5:
					m.cipher.outIV = f.raw
				}
				return nil
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return m, err
	case state == 1:
		return m, fmt.Errorf("%w: %s", errUnknownKey, text)
	case state != 0:
		return m, fmt.Errorf("the datanode refuses the handshake: %s", text)
	}
	return m, nil
}

// digest is one DIGEST-MD5 authentication.
type digest struct {
	credentials
	realm, nonce, cnonce, qop, cipher, uri string
}

const digestURI = "hdfs/0"

func newDigest(challenge []byte, cr credentials, qops []string, cnonce string) (*digest, error) {
	c, err := parseChallenge(string(challenge))
	if err != nil {
		return nil, err
	}
	d := &digest{credentials: cr, uri: digestURI, realm: c["realm"], nonce: c["nonce"], cnonce: cnonce}
	offered := list(c["qop"])
	if len(offered) == 0 {
		offered = []string{qopAuth}
	}
	for _, q := range qops {
		if slices.Contains(offered, q) {
			d.qop = q
			break
		}
	}
	if d.qop == "" {
		return nil, fmt.Errorf("%w: the datanode offers the protection %q, dfs.data.transfer.protection here asks for %q", errConfig, strings.Join(offered, ","), strings.Join(qops, ","))
	}
	if d.qop == qopPrivacy {
		ciphers := list(c["cipher"])
		for _, x := range []string{"rc4", "rc4-56", "rc4-40"} {
			if slices.Contains(ciphers, x) {
				d.cipher = x
				break
			}
		}
		if d.cipher == "" {
			return nil, fmt.Errorf("%w: the datanode offers the ciphers %q for the handshake, known here are rc4, rc4-56 and rc4-40", errConfig, strings.Join(ciphers, ","))
		}
	}
	return d, nil
}

// parseChallenge reads key=value and key="value", separated by commas.
func parseChallenge(s string) (map[string]string, error) {
	out := map[string]string{}
	for s != "" {
		k, rest, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("%w: challenge %q", errWire, s)
		}
		k = strings.ToLower(strings.Trim(k, ", \t"))
		var v string
		if strings.HasPrefix(rest, `"`) {
			var b strings.Builder
			i := 1
			for ; i < len(rest) && rest[i] != '"'; i++ {
				if rest[i] == '\\' && i+1 < len(rest) {
					i++
				}
				b.WriteByte(rest[i])
			}
			if i >= len(rest) {
				return nil, fmt.Errorf("%w: challenge without end", errWire)
			}
			v, s = b.String(), rest[i+1:]
		} else {
			v, s, _ = strings.Cut(rest, ",")
			v = strings.TrimSpace(v)
		}
		s = strings.TrimLeft(s, ", \t")
		if _, ok := out[k]; !ok {
			out[k] = v
		}
	}
	return out, nil
}

func (d *digest) response() string {
	s := fmt.Sprintf(`charset=utf-8,username="%s",realm="%s",nonce="%s",nc=00000001,cnonce="%s",digest-uri="%s",maxbuf=65536,response=%s,qop=%s`,
		d.user, d.realm, d.nonce, d.cnonce, d.uri, d.hash("AUTHENTICATE"), d.qop)
	if d.cipher != "" {
		s += `,cipher="` + d.cipher + `"`
	}
	return s
}

func (d *digest) verify(rspauth string) error {
	if v, ok := strings.CutPrefix(rspauth, "rspauth="); !ok || strings.Trim(v, `"`) != d.hash("") {
		return errors.New("the datanode does not know the secret of the block token")
	}
	return nil
}

// hash is the proof of the password, of the client with "AUTHENTICATE", of the server with "".
func (d *digest) hash(who string) string {
	a2 := who + ":" + d.uri
	if d.qop != qopAuth {
		a2 += ":00000000000000000000000000000000"
	}
	return hexMD5(strings.Join([]string{hex.EncodeToString(d.secret()), d.nonce, "00000001", d.cnonce, d.qop, hexMD5(a2)}, ":"))
}

// secret is H(A1).
func (d *digest) secret() []byte {
	h := md5.Sum([]byte(d.user + ":" + d.realm + ":" + d.password))
	a1 := md5.Sum([]byte(string(h[:]) + ":" + d.nonce + ":" + d.cnonce))
	return a1[:]
}

func hexMD5(s string) string {
	h := md5.Sum([]byte(s))
	return hex.EncodeToString(h[:])
}
