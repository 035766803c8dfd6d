package mysql

import (
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// rows decodes the rows of the watched table into the chunk that is being filled.
func (s *stream) rows(e event) error {
	if len(e.body) < 6 {
		return s.refuse("a rows event of %d bytes", len(e.body))
	}
	w := s.maps[uintLE(e.body[:6])]
	if w == nil || s.txn.skip {
		return nil
	}
	if s.txn.xa {
		return s.refuse("rows of the table in an XA transaction, which may still be rolled back")
	}
	re, err := ParseRows(e.kind, e.body)
	if err != nil {
		return s.refuse("a rows event that can't be read (%v)", err)
	}
	return s.appendRows(w, &re)
}

// appendRows adds the rows of an event to the chunk that is being filled.
func (s *stream) appendRows(w *watched, re *RowsEvent) (err error) {
	h := s.hand
	h.mu.Lock()
	f, from, whole := h.fill, 0, true
	defer func() {
		if !whole { // also after a panic, which ends the stream
			f.batch.Truncate(from)
		}
		h.mu.Unlock()
	}()
	if err := h.waitBelow(s.ctx, hardRows, hardBytes); err != nil {
		return err
	}
	f = h.fill
	from, whole = f.batch.N, false
	n, err := w.dec.AppendRows(f.batch, w.tm, re)
	if err != nil {
		if !errors.Is(err, cdc.ErrRefused) {
			err = fmt.Errorf("%w: %w", err, cdc.ErrRefused)
		}
		return fmt.Errorf("%w (at %s)", err, s.where())
	}
	whole = true
	if n == 0 {
		return nil
	}
	f.uncounted += len(re.Images)
	was := s.txn.applied
	s.txn.applied += n
	if s.replaying() && was < s.replay.applied {
		taken := min(n, s.replay.applied-was) // before the connection was lost
		dropRows(f.batch, from, taken*(f.batch.N-from)/n)
	}
	if f.batch.N == from {
		return nil
	}
	if from == 0 {
		f.first = logPlace{s.uuid, s.file, s.txn.start}
	}
	s.src.count(w.dec, &w.n)
	f.boundary = false
	if re.Kind == row.UpdateAfter {
		splitKeyChanges(f.batch, from, w.key)
	}
	return nil
}

// dropRows removes n rows of a batch from row from on.
func dropRows(b *row.Batch, from, n int) {
	if from+n < b.N {
		rest := row.NewBatch(b.Type)
		rest.AppendRange(b, from+n, b.N)
		b.Truncate(from)
		b.AppendRange(rest, 0, rest.N)
		return
	}
	b.Truncate(from)
}

// splitKeyChanges turns updates that change the key, pairs from row from on, into a delete and an insert.
func splitKeyChanges(b *row.Batch, from int, key []int) {
	for i := from; i+1 < b.N; i += 2 {
		for _, k := range key {
			c := &b.Cols[k]
			if c.IsNull(i) != c.IsNull(i+1) || row.CompareValues(c, i, c, i+1) != 0 {
				b.Kinds[i], b.Kinds[i+1] = row.Delete, row.Insert
				break
			}
		}
	}
}
