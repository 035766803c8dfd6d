package mysql

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
)

func TestPaceIsEvenAndCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer{perSecond: 20_000}
		start := time.Now()
		behind := func(rows int64) time.Duration {
			require.NoError(t, p.wait(t.Context(), rows))
			return time.Since(start) - time.Duration(rows)*time.Second/20_000
		}
		rows := int64(0)
		for range 1000 { // small and large transactions
			rows += 1 + rows*7%93
			late := behind(rows)
			require.Greater(t, late, -time.Millisecond, "never more than a timer's grain early")
			require.LessOrEqual(t, late, time.Duration(0))
		}
		time.Sleep(3 * time.Second) // the table was held up
		held := rows
		for rows < held+20_000 {
			rows += 50
			require.Greater(t, behind(rows), time.Second, "what was due comes at once")
		}
		for behind(rows) > 0 {
			rows += 50
		}
		require.InDelta(t, time.Duration(rows)*time.Second/20_000, time.Since(start), float64(3*time.Millisecond))
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, p.wait(stopped, rows+100_000), context.Canceled)
	})
}

func TestPaceIsOneOfAReplayOnly(t *testing.T) {
	dir := map[string]string{"binlog-dir": "/x", "database-name": "d", "table-name": "t", "binlog-dir.rows-per-second": "20000"}
	cfg, _, err := ParseConf(dir)
	require.NoError(t, err)
	require.Equal(t, int64(20000), cfg.RowsPerSecond)
	for _, wrong := range []string{"0", "-1", "fast", "1.5"} {
		dir["binlog-dir.rows-per-second"] = wrong
		_, _, err = ParseConf(dir)
		require.ErrorIs(t, err, cdc.ErrUsage, wrong)
	}
	_, _, err = ParseConf(map[string]string{"hostname": "h", "username": "u", "database-name": "d", "table-name": "t", "binlog-dir.rows-per-second": "5"})
	require.ErrorContains(t, err, "binlog-dir.rows-per-second")
}
