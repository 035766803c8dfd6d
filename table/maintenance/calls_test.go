package maintenance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/table"
)

// TestCallsOfExpiry counts all calls of the maintenance of a table whose past has a fixed length. Each costs the namenode of HDFS
// an operation or more: a greater number wants a reason.
func TestCallsOfExpiry(t *testing.T) {
	w := newWorld(t, 7, table.Options{"snapshot.num-retained.max": "5", "snapshot.num-retained.min": "5", "manifest.merge-min-count": "30"})
	f := faultfs.New(w.fs, nil)
	m := NewMaintainer(w.on(f), "x", nil)
	calls := func() (map[string]int, Report) {
		f.Set(nil)
		r, err := m.Run(w.ctx, nil)
		require.NoError(t, err)
		n := map[string]int{}
		for _, c := range f.Calls() {
			if c.Op != faultfs.OpReadAt {
				dir, _, _ := strings.Cut(strings.TrimPrefix(c.Path, testPath+"/"), "/")
				n[fmt.Sprint(c.Op, " ", dir)]++
			}
		}
		return n, r
	}
	for range 8 {
		w.append()
	}
	_, r := calls()
	require.Equal(t, 3, r.Snapshots)

	n, r := calls()
	require.Zero(t, r.Files)
	require.Equal(t, map[string]int{"list tag": 1, "list snapshot": 1, "list consumer": 1}, n)

	for range 4 {
		w.append()
	}
	n, r = calls()
	require.Equal(t, 4, r.Snapshots)
	require.Equal(t, map[string]int{
		"list snapshot": 1, "list consumer": 1, "list changelog": 1, "list branch": 1,
		"list tag":      2, // for those whose time is over, and for what the others need when the rest is known
		"open snapshot": 5, // what goes and what then is the earliest
		"open manifest": 5 * 2, "remove manifest": 4 * 2, "remove snapshot": 4, "replace snapshot": 1,
	}, n)
}
