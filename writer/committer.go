package writer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// checkpoint is one call of Checkpoint on its way to a snapshot.
type checkpoint struct {
	id     int64
	props  map[string]string
	epoch  *Pending
	waiter chan struct{} // of Wait: closed when all before it are done; the rest is unset
}

// commitAll commits checkpoints in order until the queue is closed. After the first failure it only cleans up.
func (w *Writer) commitAll() {
	for c := range w.checkpoints {
		if c.waiter != nil {
			close(c.waiter)
			continue
		}
		w.commit(c)
		<-w.slots
	}
}

func (w *Writer) commit(c *checkpoint) {
	messages, err := c.epoch.finish()
	info := CommitInfo{ID: c.id, Messages: len(messages), Flush: time.Since(c.epoch.start)}
	info.count(messages)
	start := time.Now()
	if err == nil {
		err = w.Err()
	}
	if err != nil {
		w.remove(messages) // this checkpoint's commit was never tried
	} else {
		if f := w.cfg.Listener.CommitStart; f != nil {
			f(info)
		}
		x := table.Committable{ID: c.id, Properties: c.props, Messages: messages, AloneSince: w.cross.since()}
		x.Hashes, x.Indexed = w.dynamic.base(messages)
		if w.inline != nil {
			var compacted []table.CommitMessage
			compacted, info.Waited = w.inline.ride(c.id, messages)
			x.Messages, info.Compactions = append(messages[:len(messages):len(messages)], compacted...), len(compacted)
			start = time.Now()
		}
		if f := w.cfg.BeforeCommit; f != nil {
			f(w.ctx, &x)
		}
		info.Snapshot, err = w.committer.Commit(w.ctx, x)
		if w.inline != nil {
			err = w.settle(&info, x, messages, err)
		}
		switch {
		case err == nil:
			w.parts.committed(info.Snapshot.ID)
			w.dynamic.committed(c.epoch.number, messages)
			w.cross.committed(info.Snapshot.ID)
			w.upkeep.ask()
			w.counters.commits.Add(1)
			w.counters.lastCommit.Store(time.Now().UnixNano())
		case provablyUncommitted(err) && info.Snapshot == nil:
			w.remove(messages)
		}
	}
	info.Duration, info.Err = time.Since(start), err
	if err != nil {
		w.fail(fmt.Errorf("checkpoint %d: %w", c.id, err))
	}
	if f := w.cfg.Listener.CommitEnd; f != nil {
		f(info)
	}
}

// count counts the files of messages, which are in the order of partitions and buckets.
func (c *CommitInfo) count(messages []table.CommitMessage) {
	var last *table.CommitMessage
	for i := range messages {
		m := &messages[i]
		n := len(m.Data.New) + len(m.Data.Changelog)
		if n == 0 {
			continue
		}
		c.Files += n
		same := last != nil && string(last.Partition) == string(m.Partition)
		if !same {
			c.Partitions++
		}
		if !same || last.Bucket != m.Bucket {
			c.Buckets++
		}
		last = m
	}
}

// settle deals with what a commit with compactions has come to. A conflict is about them only, as somebody else has compacted the
// same files: the rows are committed all the same.
func (w *Writer) settle(info *CommitInfo, x table.Committable, messages []table.CommitMessage, err error) error {
	c := w.inline
	switch {
	case err == nil:
		c.committed(info.Snapshot)
	case errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrUnknownOutcome) && info.Compactions > 0:
		err = nil
		if info.Snapshot == nil { // there was nothing but compactions, or rows that options drop
			x.Messages = messages
			info.Snapshot, err = w.committer.Commit(w.ctx, x)
		}
		info.Compactions = 0
		if err == nil {
			c.conflicted(info.Snapshot)
			return nil
		}
		c.abandoned()
	case provablyUncommitted(err):
		c.abandoned()
	}
	if info.Snapshot != nil {
		for _, id := range c.news() {
			w.parts.committed(id)
		}
	}
	return err
}

// provablyUncommitted tells whether an error of a commit proves that no snapshot refers to its files. A commit that was
// cancelled may have been on the wire.
func provablyUncommitted(err error) bool {
	return !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
