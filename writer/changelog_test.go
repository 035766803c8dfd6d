package writer

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// source is a table of keys and values as a log of changes sees it, with what the changes were by key.
type source struct {
	rows map[string]string   // by "id/dt"
	log  map[string][]string // changes since the last checkpoint, as "+I value"
}

func newSource() *source { return &source{rows: map[string]string{}, log: map[string][]string{}} }

func (s *source) note(key string, changes ...string) { s.log[key] = append(s.log[key], changes...) }

// change makes key hold data, or nothing when data is empty, and appends the row images to b.
func (s *source) change(b *row.Batch, id int64, dt, data string) {
	key := fmt.Sprintf("%d/%s", id, dt)
	old, has := s.rows[key]
	switch {
	case has && data != "":
		appendRow(b, row.UpdateBefore, id, old, dt)
		appendRow(b, row.UpdateAfter, id, data, dt)
		s.note(key, "-U "+old, "+U "+data)
	case has:
		appendRow(b, row.Delete, id, old, dt)
		s.note(key, "-D "+old)
	case data != "":
		appendRow(b, row.Insert, id, data, dt)
		s.note(key, "+I "+data)
	}
	if s.rows[key] = data; data == "" {
		delete(s.rows, key)
	}
}

// changesOf reads the changelog of one snapshot by key, in its order.
func changesOf(t require.TestingT, tbl *table.Table, id int64) map[string][]string {
	out := map[string][]string{}
	for c, err := range lsm.ReadChangelog(context.Background(), tbl, id, id, lsm.ScanOptions{}) {
		require.NoError(t, err)
		for i, k := range c.Rows.Kinds {
			key := fmt.Sprintf("%d/%s", c.Rows.Cols[0].I64[i], c.Rows.Cols[2].Value(i))
			out[key] = append(out[key], k.String()+" "+string(c.Rows.Cols[1].Value(i)))
		}
	}
	return out
}

// replay applies changes to rows and requires that each is true of them.
func replay(t require.TestingT, rows map[string]string, changes map[string][]string) {
	for key, list := range changes {
		for _, c := range list {
			kind, data, _ := strings.Cut(c, " ")
			old, has := rows[key]
			switch kind {
			case "+I":
				require.False(t, has, "%s: %v comes to a key that has a row", key, list)
				rows[key] = data
			case "-U", "-D":
				require.True(t, has, "%s: %v", key, list)
				require.Equal(t, old, data, "%s: %v", key, list)
				delete(rows, key)
			case "+U":
				require.False(t, has)
				rows[key] = data
			}
		}
	}
}

// TestInputChangelog writes random changes and finds each of them once, in its order, in the changelog of the snapshot
// that it belongs to; the changelog makes the table.
func TestInputChangelog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		fsys := mem.New()
		opts := table.Options{
			"bucket": rapid.SampledFrom([]string{"1", "4"}).Draw(t, "buckets"), "write-only": "true", "changelog-producer": "input",
			"page-size":                       "1 kb",
			"write-buffer-size":               rapid.SampledFrom([]string{"2 kb", "20 kb", "256 mb"}).Draw(t, "memory"),
			"write-buffer-spillable":          rapid.SampledFrom([]string{"true", "true", "false"}).Draw(t, "spillable"),
			"file.format":                     rapid.SampledFrom([]string{"avro", "parquet"}).Draw(t, "format"),
			"sink.parallelism":                rapid.SampledFrom([]string{"1", "2"}).Draw(t, "shards"),
			"local-sort.max-num-file-handles": "3",
		}
		if f := rapid.SampledFrom([]string{"", "avro", "parquet"}).Draw(t, "changelogFormat"); f != "" {
			opts["changelog-file.format"], opts["changelog-file.prefix"] = f, "c-"
			opts["changelog-file.stats-mode"] = "none"
		}
		dedup := rapid.Bool().Draw(t, "deduplicate")
		if dedup {
			opts["write-buffer-spillable"] = "true" // else a pair may be in two files, and stays
			opts["changelog-producer.row-deduplicate"] = "true"
		}
		spec := table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, Options: opts}
		if rapid.Bool().Draw(t, "partitioned") {
			spec.PartitionKeys = []string{"dt"}
		}
		tbl := createTable(t, fsys, spec)
		w, err := Open(ctx, tbl, Config{CommitUser: "c", PairedUpdates: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, w.Close(ctx)) }()
		src, replayed := newSource(), map[string]string{}
		var id int64
		checkpoint := func() {
			id++
			want := src.log
			src.log = map[string][]string{}
			if dedup {
				want = withoutEqual(want)
			}
			require.NoError(t, w.Checkpoint(ctx, id, nil))
			require.NoError(t, w.Wait(ctx))
			s, err := tbl.Latest(ctx)
			require.NoError(t, err)
			if s == nil || s.CommitIdentifier != id {
				require.Empty(t, want)
				return
			}
			got := changesOf(t, tbl, s.ID)
			require.Equal(t, want, got)
			rows := int64(0)
			for _, l := range got {
				rows += int64(len(l))
			}
			if s.ChangelogRecordCount != nil {
				require.Equal(t, rows, *s.ChangelogRecordCount)
			} else {
				require.Zero(t, rows)
			}
			replay(t, replayed, got)
			require.Equal(t, src.rows, replayed)
			require.Equal(t, src.rows, contents(t, tbl))
		}
		seq := 0
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			keys := int64(rapid.SampledFrom([]int{1, 5, 500}).Draw(t, "keys"))
			values := rapid.SampledFrom([]int{2, 1000}).Draw(t, "values")
			b := row.NewBatch(w.Type())
			for range rapid.SampledFrom([]int{1, 20, 700}).Draw(t, "changes") {
				seq = (seq*1103515245 + 12345) & 0x7fffffff
				data := fmt.Sprintf("v%d", seq>>8%values)
				if seq>>4%5 == 0 {
					data = ""
				}
				src.change(b, int64(seq>>6)%keys, fmt.Sprintf("d%d", seq>>3%3), data)
			}
			require.NoError(t, w.Write(ctx, b))
			if rapid.Bool().Draw(t, "checkpoint") {
				checkpoint()
			}
		}
		checkpoint()
		for p := range tbl.Check(ctx, nil, true, lsm.CheckFile) {
			require.Fail(t, p.String())
		}
	})
}

// withoutEqual drops the updates that change nothing.
func withoutEqual(log map[string][]string) map[string][]string {
	out := maps.Clone(log)
	for key, list := range log {
		var kept []string
		for i := 0; i < len(list); i++ {
			if before, ok := strings.CutPrefix(list[i], "-U "); ok && list[i+1] == "+U "+before {
				i++
				continue
			}
			kept = append(kept, list[i])
		}
		if out[key] = kept; len(kept) == 0 {
			delete(out, key)
		}
	}
	return out
}

// A -U of nobody's pair is a retract, unless the caller says that updates come in pairs.
func TestLoneUpdateBefore(t *testing.T) {
	for _, paired := range []bool{false, true} {
		_, tbl := guideTable(t, "changelog-producer", "input")
		w := openWriter(t, tbl, Config{PairedUpdates: paired})
		require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 2, "d")))
		b := batchOf(tbl, 1, 2, "d")
		b.Kinds[0] = row.UpdateBefore
		require.NoError(t, w.Write(t.Context(), b))
		require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
		require.NoError(t, w.Wait(t.Context()))
		want := map[string]string{"0/d": "v0"}
		if paired {
			want["1/d"] = "v1"
		}
		require.Equal(t, want, contents(t, tbl))
		require.Equal(t, map[string][]string{"0/d": {"+I v0"}, "1/d": {"+I v1", "-U v1"}}, changesOf(t, tbl, 1))
	}
}

// Rows of two keys are no pair that changes nothing, though all that differs is ignored: with a sequence field, a -U may come
// after its own +U.
func TestRowDeduplicateKeepsKeysApart(t *testing.T) {
	_, tbl := guideTable(t, "changelog-producer", "input", "bucket", "1", "changelog-producer.row-deduplicate", "true",
		"changelog-producer.row-deduplicate-ignore-fields", "id,data,dt")
	w := openWriter(t, tbl, Config{})
	b := row.NewBatch(w.Type())
	appendRow(b, row.UpdateBefore, 1, "a", "d")
	appendRow(b, row.UpdateAfter, 2, "b", "d")
	appendRow(b, row.UpdateBefore, 3, "a", "d")
	appendRow(b, row.UpdateAfter, 3, "b", "d")
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Wait(t.Context()))
	require.Equal(t, map[string][]string{"1/d": {"-U a"}, "2/d": {"+U b"}}, changesOf(t, tbl, 1))
}

func TestChangelogOptionsThatCannotBeAreRefused(t *testing.T) {
	for _, o := range [][2]string{
		{"changelog-file.format", "orc"}, {"changelog-file.compression", "zstdd"},
		{"changelog-producer.row-deduplicate-ignore-fields", "nothing"},
	} {
		_, tbl := guideTable(t, "changelog-producer", "input", "changelog-producer.row-deduplicate", "true", o[0], o[1])
		_, err := Open(t.Context(), tbl, Config{})
		require.ErrorIs(t, err, table.ErrOption, o[0])
		require.ErrorContains(t, err, o[1])
	}
}
