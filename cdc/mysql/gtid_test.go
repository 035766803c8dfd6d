package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServerThatLostItsOwnTransactions(t *testing.T) {
	const own, other = "fe501230-ec2d-11f1-a3ef-02fc00000001", "0e501230-ec2d-11f1-a3ef-02fc00000002"
	for _, c := range []struct{ read, executed, missing string }{
		{"", "", ""},
		{"", own + ":1-9", ""},
		{own + ":1-9", own + ":1-9", ""},
		{own + ":1-9", own + ":1-12", ""},
		{own + ":3-9", own + ":1-9", ""},
		{other + ":1-99", own + ":1-9", ""}, // a replica that lags, or another origin
		{own + ":1-9," + other + ":1-99", own + ":1-9," + other + ":1-98", ""},
		{own + ":1-9", "", own + ":9"},
		{own + ":1-9", own + ":1-8", own + ":9"},
		{own + ":1-9:20-30", own + ":1-19", own + ":9:30"},
		{own + ":1-9:tag:1-3", own + ":1-9", own + ":9:tag:3"},
		{own + ":1-9:tag:1-3", own + ":1-9:tag:1-4", ""},
	} {
		read, err := parseGTIDSet(flavorMySQL, c.read)
		require.NoError(t, err)
		executed, err := parseGTIDSet(flavorMySQL, c.executed)
		require.NoError(t, err)
		require.Equal(t, c.missing, read.ownMissing(own, executed), "%+v", c)
	}
	require.Empty(t, gtidSet{}.ownMissing(own, gtidSet{}))
}
