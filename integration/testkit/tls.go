//go:build integration

package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ServerCA is a file with the certificate authority that a server made for itself.
func ServerCA(t testing.TB, db *DB) string {
	pem := db.Value("SELECT COALESCE(LOAD_FILE(CONCAT(IF(LEFT(@@ssl_ca, 1) = '/', '', @@datadir), @@ssl_ca)), '')")
	require.Contains(t, pem, "BEGIN CERTIFICATE", "the server's ssl_ca can't be read (secure_file_priv must be empty)")
	return write(t, []byte(pem))
}

// OtherCA is a file with a certificate authority that signed nothing.
func OtherCA(t testing.TB) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nobody"}, NotBefore: time.Now(),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	require.NoError(t, err)
	return write(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func write(t testing.TB, b []byte) string {
	path := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}
