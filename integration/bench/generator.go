package main

import (
	"time"

	"github.com/paimon-go/paimon-go/format/row"
)

// generator makes the rows of integration/java/README.md, "bench rows": upserts of the guide's table, of which row i depends
// on i alone.
type generator struct {
	seed    uint64
	keys    uint64
	length  int // bytes of data
	words   bool
	mixed   bool
	columns bool
	dts     [][]byte // of the partitions
	scratch []byte
}

const gamma = 0x9E3779B97F4A7C15

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

var words = [16]string{
	"order ", "paid ", "shipped ", "customer ", "address ", "warehouse ", "pending ", "invoice ",
	"refund ", "note ", "gift ", "express ", "standard ", "returned ", "partial ", "complete ",
}

func newGenerator(w workload) *generator {
	g := &generator{seed: uint64(w.Seed), keys: uint64(w.Keys), length: w.DataLen, words: w.Data == "words", mixed: w.Data == "mixed", columns: w.Data == "columns", scratch: make([]byte, max(w.DataLen, 64)+16)}
	for p := range w.Partitions {
		g.dts = append(g.dts, time.Date(2024, 1, 1+p, 0, 0, 0, 0, time.UTC).AppendFormat(nil, time.DateOnly))
	}
	return g
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// nth is the j-th number drawn from a row's hash, from 1.
func nth(h, j uint64) uint64 { return mix(h + j*gamma) }

func (g *generator) hash(i int) uint64 { return mix(g.seed + uint64(i+1)*gamma) }

// text returns n bytes, valid until the next call.
func (g *generator) text(h uint64, n int, ofWords bool) []byte {
	out := g.scratch[:0]
	for j := uint64(1); len(out) < n; j++ {
		w := nth(h, j)
		if !ofWords {
			for range 10 {
				out = append(out, alphabet[w&63])
				w >>= 6
			}
			continue
		}
		for k := 0; k < 16 && len(out) < n; k++ {
			out = append(out, words[w&15]...)
			w >>= 4
		}
	}
	return out[:n]
}

// appendRow appends row i to a batch of the table.
func (g *generator) appendRow(b *row.Batch, i int) {
	h := g.hash(i)
	id := h % g.keys
	b.Cols[0].AppendI64(int64(id))
	switch {
	case g.mixed:
		g.appendMixed(b, h)
	case g.columns:
		g.appendColumns(b, h)
	default:
		b.Cols[1].AppendBytes(g.text(h, g.length, g.words))
	}
	b.Cols[len(b.Cols)-1].AppendBytes(g.dts[id%uint64(len(g.dts))])
	b.Kinds = append(b.Kinds, row.Insert)
	b.N++
}
