package lsm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// nullSink takes records and keeps nothing.
type nullSink struct{ rows int }

func (s *nullSink) Write(kv *KeyValues) error        { s.rows += kv.Len(); return nil }
func (s *nullSink) Close() ([]table.DataFile, error) { return nil, nil }
func (s *nullSink) Abort()                           {}

// benchBatches makes rows of the guide's table: id BIGINT, data STRING of 100 bytes, dt STRING.
func benchBatches(order string, rows, per int) (*row.Type, []*row.Batch) {
	str := row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}
	key := str
	key.Nullable = false
	t := row.NewRow(
		row.Field{ID: 0, Name: "id", Type: row.Type{Root: row.BigInt}},
		row.Field{ID: 1, Name: "data", Type: str},
		row.Field{ID: 2, Name: "dt", Type: key},
	)
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 100)
	var out []*row.Batch
	for i := 0; i < rows; i += per {
		b := row.NewBatch(&t)
		for j := range per {
			id := int64(i + j)
			if order == "random" {
				id = rng.Int64N(1 << 40)
			}
			for k := range data {
				data[k] = byte('a' + rng.IntN(16))
			}
			b.Cols[0].AppendI64(id)
			b.Cols[1].AppendBytes(data)
			b.Cols[2].AppendString("2024-01-01")
			b.EndRow(row.Insert)
		}
		out = append(out, b)
	}
	return &t, out
}

// cpu returns the processor time that the process has used: on a busy machine it says more than the clock.
func cpu() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkBucket takes one bucket's rows through memory: appended, sorted and merged, handed on in batches.
func BenchmarkBucket(b *testing.B) {
	const rows, per = 100_000, 4096
	for _, bc := range []struct {
		order string
		keys  []int
	}{{"sorted", []int{0}}, {"random", []int{0}}, {"random", []int{2, 0}}, {"random", nil}} { // nil: they stay in the order of arrival
		t, batches := benchBatches(bc.order, rows, per)
		idx := make([]int32, per)
		for i := range idx {
			idx[i] = int32(i)
		}
		rec := NewRecords(BufferSpec{Type: t, Keys: bc.keys, PageSize: 64 << 10, Arrival: bc.keys == nil})
		for _, stage := range []string{"append", "append+sort", "append+sort+gather", "append+spill+merge"} {
			b.Run(fmt.Sprintf("%s/keys=%d/%s", bc.order, len(bc.keys), stage), func(b *testing.B) {
				budget := NewBudget(1 << 30)
				bufs := NewBuffers(rec, budget)
				store, err := NewSpillStore([]string{b.TempDir()}, "", 1, 0)
				if err != nil {
					b.Fatal(err)
				}
				defer store.Close()
				var f Flusher
				sink := &nullSink{}
				out := Output{Data: func(*format.TwinSide) FileSink { return sink }, FanIn: 128, Spill: store}
				b.ReportAllocs()
				start, n := cpu(), 0
				for b.Loop() {
					tree := bufs.NewMergeTree()
					seq := int64(0)
					for i, batch := range batches {
						took, err := tree.Append(batch, idx, seq)
						if err != nil || took != per {
							b.Fatal(took, err)
						}
						seq += int64(took)
						n += took
						if stage == "append+spill+merge" && i%6 == 5 {
							p := tree.SealPart()
							p.Queue()
							if _, err := p.Spill(context.Background(), &f, out); err != nil {
								b.Fatal(err)
							}
						}
					}
					s := tree.Seal()
					switch stage {
					case "append":
						s.Discard()
					case "append+sort":
						f.use(rec.codec)
						f.addPart(s.parts[0])
						f.release()
						s.Discard()
					default:
						if _, err := s.Flush(context.Background(), &f, out); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
				b.ReportMetric(float64(cpu()-start)/float64(n), "cpu-ns/row")
			})
		}
	}
}
