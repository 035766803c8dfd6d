package mysql

import (
	"context"
	"time"

	"github.com/paimon-go/paimon-go/internal/backoff"
)

// pacer makes the replay of a directory as slow as a server with so many changed rows a second would be. Row n is due n/perSecond
// seconds after the first look, whenever the rows before it were taken: a table that falls behind finds them waiting, as it would
// with a server, and has to catch up.
type pacer struct {
	perSecond int64 // 0: as fast as it goes
	start     time.Time
}

// wait returns when the next transaction is due after so many rows. It is called between transactions, so that a commit never
// waits for the end of one because of the pace.
func (p *pacer) wait(ctx context.Context, rows int64) error {
	if p.perSecond == 0 {
		return nil
	}
	if p.start.IsZero() {
		p.start = time.Now()
	}
	due := time.Duration(rows/p.perSecond)*time.Second + time.Duration(rows%p.perSecond)*time.Second/time.Duration(p.perSecond)
	if ahead := due - time.Since(p.start); ahead >= time.Millisecond { // timers are not finer
		return backoff.Sleep(ctx, ahead)
	}
	return nil
}
