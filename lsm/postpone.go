package lsm

import (
	"cmp"
	"context"
	"io"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// unknownSeq is the sequence number of rows that have none yet, in files of table.PostponeBucket.
const unknownSeq = -1

// NewPostponeFiles is NewFiles for table.PostponeBucket: Avro without statistics, where the table's columns have a form in Avro, under
// names that tell the writer (table.PostponePrefix). The range of keys is the true one: Java's compaction keeps in order only files whose
// ranges overlap, when there are many, and its own writers give the first key and the last. Formats of single levels and statistics of single columns hold here too.
func NewPostponeFiles(t *table.Table, s *table.Schema, user string, writer int) (*Files, error) {
	o := t.Options()
	prefix, err := table.PostponePrefix(o, user, writer)
	if err != nil {
		return nil, err
	}
	with := table.Options{table.KeyDataFilePrefix.Name: prefix, table.KeyChangelogProducer.Name: "none"}
	if holdsRows("avro", s.RowType()) {
		with[table.KeyFileFormat.Name], with[table.KeyMetadataStatsMode.Name] = "avro", "none"
	}
	f, err := newFilesOf(t, s, o.With(with), 0)
	if err == nil {
		f.unsorted = true
	}
	return f, err
}

// holdsRows tells whether a format has a form for rows of a type.
func holdsRows(id string, t *row.Type) bool {
	f, err := format.Get(id)
	if err != nil {
		return false
	}
	w, err := f.NewWriter(io.Discard, format.WriteSpec{Type: t, Compression: "none"})
	if err == nil {
		w.Abort()
	}
	return err == nil
}

// flushInOrder is Flush of rows in the order of their arrival. Parts that have become files already for want of memory and disk divide
// the others, so the increment's files are in that order too.
func (s *Sealed) flushInOrder(ctx context.Context, f *Flusher, out Output) (inc table.DataIncrement, err error) {
	codec := s.parts[0].codec
	f.use(codec)
	write := func() {
		if err != nil || len(f.cursors) == 0 {
			return
		}
		var more table.DataIncrement
		more, err = f.writeFiles(ctx, codec, out, false)
		inc.New = append(inc.New, more.New...)
	}
	for _, p := range s.parts {
		if p.claim() {
			defer p.free()
			f.addPart(p)
			continue
		}
		<-p.state.done
		err = cmp.Or(err, p.state.err)
		if r := p.state.run; r != nil {
			defer r.free()
			f.addRun(r)
		}
		if len(p.state.inc.New) > 0 {
			write()
			inc.New = append(inc.New, p.state.inc.New...)
		}
	}
	write()
	f.release()
	return inc, err
}

// merge hands the records of the sources to e, merged or, where they stay as they came, one source after the other.
func (f *Flusher) merge(codec *recordCodec, all bool, e emitter) error {
	if !codec.arrival {
		return f.merger.run(codec, f.cursors, all, e)
	}
	for _, c := range f.cursors {
		for {
			more, err := c.next()
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if err := e.add(c.rec, c.seq, true); err != nil {
				return err
			}
			if c.recycles() {
				if err := e.settle(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// CheckRetract tells whether a merge function takes a retract, row i of b, as the first record of its key. The error says which row and
// wraps ErrRefusedRecord. keys are the columns of the key.
func CheckRetract(f MergeFunc, b *row.Batch, i int, kind row.Kind, keys []int) error {
	kv := NewKeyValues(b.Type)
	kv.Rows.AppendGather(b, []int32{int32(i)})
	kv.Rows.Kinds[0] = kind
	kv.Seq = append(kv.Seq, unknownSeq)
	f.Reset()
	err := f.Add(kv, 0)
	if err == nil {
		err = f.Result(NewKeyValues(b.Type))
	}
	if err != nil {
		return refused(err, kv, 0, keys)
	}
	return nil
}
