//go:build integration

package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every row must be in exactly one range, whatever the key is made of; and a key that begins with the same value in every row
// must be split all the same.
func TestRangesHoldEveryRowOnce(t *testing.T) {
	c := connectServer(t)
	db := fmt.Sprintf("splitkeys_%d", time.Now().UnixNano())
	exec := func(q string, args ...any) {
		_, err := c.Execute(fmt.Sprintf(q, args...))
		require.NoError(t, err, q)
	}
	exec("CREATE DATABASE %s", db)
	t.Cleanup(func() { _, _ = c.Execute("DROP DATABASE " + db) })
	exec("USE %s", db)
	exec("SET SESSION cte_max_recursion_depth = 100000")
	const rows = 4000
	for name, k := range map[string]struct {
		key, columns, values string
		least                int // ranges
	}{
		"int":         {"id", "id INT", "i * 7 - 9000", 8},
		"constant":    {"dt, id", "dt VARCHAR(10), id BIGINT", "'2026-01-01', i", 8},
		"few":         {"tenant, region, id", "tenant INT, region CHAR(2), id INT UNSIGNED", "i % 3, IF(i % 2, 'eu', 'US'), i", 8},
		"unsigned":    {"id", "id BIGINT UNSIGNED", "18446744073709551615 - i * 1000003", 8},
		"ci strings":  {"s", "s VARCHAR(70) COLLATE utf8mb4_0900_ai_ci", "CONCAT(ELT(i % 4 + 1, 'a', 'B', 'ç', 'Z'), SHA2(i, 224) COLLATE utf8mb4_0900_ai_ci)", 4},
		"pad strings": {"s, n", "s CHAR(8) COLLATE utf8mb4_general_ci, n SMALLINT", "LPAD(i DIV 20, 4, ' '), i % 20", 4},
		"binary":      {"b", "b VARBINARY(16)", "UNHEX(LEFT(SHA2(i, 256), 16))", 8},
		"date":        {"d, id", "d DATE, id INT", "'2026-01-01' + INTERVAL i % 5 DAY, i", 1},
		"decimal":     {"n", "n DECIMAL(20,3)", "i * 1.5", 1},
	} {
		t.Run(name, func(t *testing.T) {
			exec("DROP TABLE IF EXISTS t")
			exec("CREATE TABLE t (%s, PRIMARY KEY (%s))", k.columns, k.key)
			exec("INSERT INTO t WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < %d) SELECT %s FROM r", rows, k.values)
			exec("ANALYZE TABLE t")
			info, err := readTable(c, db, "t")
			require.NoError(t, err)
			info.RowsEstimate = rows
			ranges, err := planRanges(c, &Config{Readers: 2, ChunkRows: 50}, info, info.PrimaryKey)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(ranges), k.least, "%v", ranges)
			total := int64(0)
			for _, r := range ranges {
				q := "SELECT COUNT(*) FROM t"
				if w := r.where(info.PrimaryKey); w != "" {
					q += " WHERE " + w
				}
				res, err := c.Execute(q)
				require.NoError(t, err, q)
				n, err := res.GetInt(0, 0)
				require.NoError(t, err)
				total += n
				for _, v := range append(append([]KeyValue(nil), r.After...), r.To...) {
					require.NoError(t, v.check())
				}
			}
			require.EqualValues(t, rows, total, "%v", ranges)
		})
	}
}
