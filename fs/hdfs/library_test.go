package hdfs

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLibraryVersion fails when the client library changes: conn.go reaches into it. What to look at then: the field "namenode" of
// Client, with Execute; the field "done" of that, which ends the renewal of leases; that Execute gives an answer's unknown fields;
// and that nothing else of a Client runs by itself.
func TestLibraryVersion(t *testing.T) {
	b, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	m := regexp.MustCompile(`github.com/colinmarc/hdfs/v2 (\S+)`).FindSubmatch(b)
	require.NotNil(t, m)
	require.Equal(t, "v2.4.0", string(m[1]))
	require.NotContains(t, string(b), "=> github.com/colinmarc/hdfs")
}
