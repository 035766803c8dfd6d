package lsm

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

// BenchmarkRewrite merges runs of rows of 140 bytes whose keys alternate, the hardest case for copying ranges, and runs of
// which each has a stretch of keys with a fifth of them in the next run too.
func BenchmarkRewrite(b *testing.B) {
	for _, formatID := range []string{"parquet", "avro"} {
		for _, shape := range []string{"alternating", "stretches"} {
			for _, runs := range []int{2, 8} {
				b.Run(fmt.Sprintf("%s/%s/%d runs", formatID, shape, runs), func(b *testing.B) {
					tab := benchTable(b, formatID)
					f := mustFiles(b, tab)
					var all []table.DataFile
					for i := range runs {
						rows := benchRows(tab.Schema(), 400/runs, i, runs)
						if shape == "stretches" {
							rows = benchRows(tab.Schema(), 400/runs, i*400/runs*checkRows*4/5, 1)
						}
						all = append(all, benchWrite(b, f, rows)...)
					}
					levels := mustLevels(b, tab, all)
					u := Unit{Files: all, OutputLevel: levels.MaxLevel(), DropDelete: true}
					r := mustRewriter(b, tab, RewriterConfig{})
					b.ReportAllocs()
					var rows int64
					cpu := cpuNanos()
					for b.Loop() {
						inc, stats, err := r.Rewrite(b.Context(), noPartition, 0, levels, u)
						require.NoError(b, err)
						r.Remove(b.Context(), noPartition, 0, inc)
						rows += stats.RowsRead
					}
					b.ReportMetric(float64(cpuNanos()-cpu)/float64(rows), "cpu-ns/row")
				})
			}
		}
	}
}

// cpuNanos is the CPU time of the process so far.
func cpuNanos() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkRewriteChangelog has 80,000 rows of level 0, each of which updates one of 400,000 of the last level. With lookup
// they move to level 4; otherwise all are merged.
func BenchmarkRewriteChangelog(b *testing.B) {
	for _, formatID := range []string{"parquet", "avro"} {
		for _, producer := range []string{"none", "lookup", "full-compaction"} {
			b.Run(formatID+"/"+producer, func(b *testing.B) {
				tab := benchTable(b, formatID)
				tab, err := table.Open(b.Context(), tab.FS(), tab.Path(), table.Options{"changelog-producer": producer})
				require.NoError(b, err)
				old := benchWrite(b, mustFiles(b, tab), benchRows(tab.Schema(), 400, 0, 1))
				for i := range old {
					old[i].Level = 5
				}
				all := append(old, benchWrite(b, mustFiles(b, tab), benchRows(tab.Schema(), 80, 0, 5))...)
				levels := mustLevels(b, tab, all)
				u := Unit{Files: all, OutputLevel: 5, DropDelete: true}
				if producer == "lookup" {
					u = Unit{Files: all[len(old):], OutputLevel: 4}
				}
				r := mustRewriter(b, tab, RewriterConfig{})
				b.ReportAllocs()
				var rows int64
				cpu := cpuNanos()
				for b.Loop() {
					inc, stats, err := r.Rewrite(b.Context(), noPartition, 0, levels, u)
					require.NoError(b, err)
					r.Remove(b.Context(), noPartition, 0, inc)
					rows += stats.RowsRead
				}
				b.ReportMetric(float64(cpuNanos()-cpu)/float64(rows), "cpu-ns/row")
			})
		}
	}
}
