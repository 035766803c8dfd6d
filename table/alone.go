package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/fs"
)

// checkAlone refuses to go on from rows of others that the writer doesn't know of. Compactions move no keys, and what is only
// removed is no harm.
func (c *Commit) checkAlone(ctx context.Context, prev *Snapshot, p *part) error {
	if p.aloneSince == nil || prev == nil {
		return nil
	}
	for id := *p.aloneSince + 1; id <= prev.ID; id++ {
		s := prev
		if id < prev.ID {
			var err error
			if s, err = c.t.Snapshot(ctx, id); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w: snapshot %d has expired before this writer saw whose it was", ErrForeignWriter, id)
			} else if err != nil {
				return err
			}
		}
		if s.CommitUser == c.user || s.CommitKind == CommitCompact || s.CommitKind == CommitAnalyze {
			continue
		}
		for e, err := range c.t.ScanDelta(ctx, s) {
			if err != nil {
				return err
			}
			if e.Kind == Add {
				return fmt.Errorf("%w: snapshot %d of job %s has rows that this writer doesn't know", ErrForeignWriter, id, s.CommitUser)
			}
		}
	}
	return nil
}
