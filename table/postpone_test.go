package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPostponePrefixTellsTheWriter(t *testing.T) {
	for _, user := range []string{"u", "paimon-go-sink-0123", "a-s", "x-u-y-s"} {
		p, err := PostponePrefix(Options{}, user, 17)
		if user == "a-s" || user == "x-u-y-s" { // the name has "-s-s-"
			require.ErrorIs(t, err, ErrOption)
			require.ErrorContains(t, err, "commit user "+user)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "data--u-"+user+"-s-17-w-", p)
		n, ok := PostponeWriter(p + "c0ffee-s-0-1.avro")
		require.True(t, ok)
		require.Equal(t, 17, n)
	}
	_, err := PostponePrefix(Options{}, "my-s-user", 0)
	require.ErrorContains(t, err, `the commit user my-s-user (commit.user-prefix) can't have "-s-" in it`)
	for _, prefix := range []string{"x-s-y", "x-s"} {
		_, err = PostponePrefix(Options{"data-file.prefix": prefix}, "u", 0)
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, "data-file.prefix="+prefix)
	}
	for _, name := range []string{"", "data-0.avro", "data--u-x-s-", "data--u-x-s-7", "data--u-x-s-y-w-0.avro", "data--u-x-s-99999999999-w-0.avro"} {
		_, ok := PostponeWriter(name)
		require.False(t, ok, name)
	}
}
