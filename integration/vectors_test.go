//go:build integration

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

// TestVectorsAreKeptByTurns writes tables with deletion vectors and compacts them by turns with Java, in full at times: after each
// compaction level 0 is empty, and both read the rows of the model.
func TestVectorsAreKeptByTurns(t *testing.T) {
	for _, version := range testkit.JavaVersions {
		for _, m := range []matrixCase{
			{engine: "deduplicate", producer: "none"}, {engine: "deduplicate", producer: "lookup"}, {engine: "deduplicate", producer: "none", sequence: true},
			{engine: "partial", producer: "lookup"}, {engine: "aggregation", producer: "none"},
		} {
			m.buckets, m.vectors = matrixBuckets[0].name, true
			t.Run(fmt.Sprint(version, "/", m.String()), func(t *testing.T) {
				r := newMatrixRun(t, m, seed(t))
				r.java = version
				r.open()
				for i := range 12 {
					r.tick()
					full := r.rng.IntN(4) == 0
					switch {
					case i%2 == 0 && full:
						r.compact(compactor.Full)
					case i%2 == 0:
						r.compact(compactor.Minor)
					case full:
						r.x.JavaCompacts(version, "--full")
					default:
						r.x.JavaCompacts(version)
					}
					rows := r.x.JavaRows(version)
					testkit.RequireSameRows(t, fmt.Sprintf("step %d, we", i), rows, scanned(t, r.x))
					if r.model.sound {
						testkit.RequireSameRows(t, fmt.Sprintf("step %d, the model", i), r.model.rows(), rows)
					}
				}
				r.close()
				// Java's full compaction rewrites files of the last level and leaves the vectors of the old ones behind.
				require.Empty(t, slices.DeleteFunc(r.x.CheckErrors(), func(s string) bool {
					return strings.Contains(s, `"check":"dv"`) && strings.Contains(s, "which is not live")
				}))
			})
		}
	}
}
