package writer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// noFiles takes records and keeps nothing.
type noFiles struct{}

func (noFiles) open(context.Context, []byte, int32, *format.TwinSide) lsm.FileSink { return noFiles{} }
func (noFiles) openChangelog(context.Context, []byte, int32, *format.TwinSide, lsm.FileStore, bool) lsm.FileSink {
	return noFiles{}
}
func (noFiles) Write(*lsm.KeyValues) error       { return nil }
func (noFiles) Close() ([]table.DataFile, error) { return nil, nil }
func (noFiles) Abort()                           {}

// cpu returns the processor time that the process has used: on a busy machine it says more than the clock.
func cpu() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkWrite writes rows of the guide's table (id BIGINT, data STRING of 100 bytes, dt STRING, primary key (dt, id), 4
// buckets) in batches, with a checkpoint every million rows. Without files everything but the encoding is measured.
func BenchmarkWrite(b *testing.B) {
	const per = 4096
	for _, bc := range []struct {
		name        string
		partitioned bool
		partitions  int
		files       string
		shards      int
		engine      string
		keys        int64
	}{
		{"none/partitioned/shards=1", true, 1, "", 1, "deduplicate", 1 << 40},
		{"none/partitioned/shards=2", true, 1, "", 2, "deduplicate", 1 << 40},
		{"none/unpartitioned/shards=2", false, 1, "", 2, "deduplicate", 1 << 40},
		{"none/mixed100/shards=2", true, 100, "", 2, "deduplicate", 1 << 40},
		{"avro/partitioned/shards=2", true, 1, "avro", 2, "deduplicate", 1 << 40},
		{"parquet/partitioned/shards=2", true, 1, "parquet", 2, "deduplicate", 1 << 40},
		{"none/deduplicate few keys", true, 1, "", 1, "deduplicate", 100_000},
		{"none/partial-update", true, 1, "", 1, "partial-update", 1 << 40},
		{"none/partial-update few keys", true, 1, "", 1, "partial-update", 100_000},
		{"none/aggregation", true, 1, "", 1, "aggregation", 1 << 40},
		{"none/first-row", true, 1, "", 1, "first-row", 1 << 40},
	} {
		b.Run(bc.name, func(b *testing.B) {
			ctx := context.Background()
			spec := table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, Options: table.Options{"bucket": "4", "write-only": "true", "write-buffer-size": "1 gb", "merge-engine": bc.engine}}
			if bc.files != "" {
				spec.Options["file.format"] = bc.files
			}
			if bc.partitioned {
				spec.PartitionKeys = []string{"dt"}
			}
			tbl := createTable(b, mem.New(), spec)
			gen, err := newGeneration(tbl, tbl.Schema(), false)
			require.NoError(b, err)
			if bc.files == "" {
				gen.files = noFiles{}
			}
			w, err := open(ctx, tbl, Config{CommitUser: "bench", Shards: bc.shards}, gen, tbl.NewCommit("bench", nil))
			require.NoError(b, err)
			rng := rand.New(rand.NewPCG(1, 2))
			batches := make([]*row.Batch, 64)
			data := make([]byte, 100)
			for i := range batches {
				batches[i] = row.NewBatch(gen.typ)
				for range per {
					for k := range data {
						data[k] = byte('a' + rng.IntN(16))
					}
					dt := fmt.Sprintf("2024-01-%02d", rng.IntN(bc.partitions))
					appendRow(batches[i], row.Insert, rng.Int64N(bc.keys), string(data), dt)
				}
			}
			b.ReportAllocs()
			start, n, id := cpu(), 0, int64(0)
			for b.Loop() {
				require.NoError(b, w.Write(ctx, batches[n%len(batches)]))
				n++
				if n*per>>20 != (n-1)*per>>20 {
					id++
					require.NoError(b, w.Checkpoint(ctx, id, nil))
				}
			}
			require.NoError(b, w.Checkpoint(ctx, id+1, nil))
			require.NoError(b, w.Wait(ctx))
			rows := float64(n) * per
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/rows, "ns/row")
			b.ReportMetric(float64(cpu()-start)/rows, "cpu-ns/row")
			b.ReportMetric(float64(w.Stats().StallTime.Milliseconds()), "stall-ms")
			require.NoError(b, w.Close(ctx))
		})
	}
}

// BenchmarkChangelog writes changes with and without changelog-producer=input. A change is an insert, or an update: a pair of
// images, of which one value differs.
func BenchmarkChangelog(b *testing.B) {
	const per = 4096
	for _, format := range []string{"avro", "parquet"} {
		for _, what := range []string{"insert", "update"} {
			for _, producer := range []string{"none", "input", "input merged"} {
				b.Run(format+"/"+what+"/"+producer, func(b *testing.B) {
					ctx := context.Background()
					o := table.Options{"bucket": "4", "write-only": "true", "write-buffer-size": "1 gb", "file.format": format}
					if producer != "none" {
						o["changelog-producer"] = "input"
						o["precommit-compact"] = fmt.Sprint(producer == "input merged")
					}
					tbl := createTable(b, mem.New(), table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"}, Options: o})
					w, err := Open(ctx, tbl, Config{CommitUser: "bench", Shards: 2, PairedUpdates: true})
					require.NoError(b, err)
					rng := rand.New(rand.NewPCG(1, 2))
					batches := make([]*row.Batch, 64)
					data := make([]byte, 100)
					for i := range batches {
						batches[i] = row.NewBatch(w.Type())
						for range per {
							for k := range data {
								data[k] = byte('a' + rng.IntN(16))
							}
							id := rng.Int64N(1 << 40)
							if what == "insert" {
								appendRow(batches[i], row.Insert, id, string(data), "2024-01-01")
								continue
							}
							appendRow(batches[i], row.UpdateBefore, id, string(data), "2024-01-01")
							for k := range 10 { // a value in the middle of it
								data[45+k] = byte('a' + rng.IntN(16))
							}
							appendRow(batches[i], row.UpdateAfter, id, string(data), "2024-01-01")
						}
					}
					start, n, id := cpu(), 0, int64(0)
					for b.Loop() {
						require.NoError(b, w.Write(ctx, batches[n%len(batches)]))
						if n++; n%64 == 0 {
							id++
							require.NoError(b, w.Checkpoint(ctx, id, nil))
						}
					}
					require.NoError(b, w.Checkpoint(ctx, id+1, nil))
					require.NoError(b, w.Wait(ctx))
					b.ReportMetric(float64(cpu()-start)/float64(n*per), "cpu-ns/change")
					b.ReportMetric(float64(w.Stats().FileBytes)/float64(n*per), "B/change")
					require.NoError(b, w.Close(ctx))
				})
			}
		}
	}
}
