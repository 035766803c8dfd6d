package maintenance

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// holders are the consumers of a table: what they have not read is not to expire.
type holders struct {
	all  []table.Consumer
	next int64 // the least snapshot that one of them has not read, the greatest number when there are none
}

func holdersOf(ctx context.Context, t *table.Table) (holders, error) {
	all, err := t.Consumers(ctx)
	h := holders{all: all, next: math.MaxInt64}
	for _, c := range all {
		h.next = min(h.next, c.Next)
	}
	return h, err
}

// report tells of the consumers without which more would expire: of ids those below end go, and latest is the table's newest.
func (h *holders) report(report *Report, r retention, ids []int64, earliest, latest, end int64, read func(int64) (*table.Snapshot, error)) error {
	n, _ := slices.BinarySearch(ids, max(h.next, earliest))
	if n == len(ids) || ids[n] > end || ids[n] > latest-r.least {
		return nil // something else keeps them
	}
	first := ids[n]
	if first >= latest-r.most+1 {
		s, err := read(first)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case s.TimeMillis >= r.olderThan:
			return nil
		}
	}
	report.Held = latest - first + 1
	for _, c := range h.all {
		if c.Next <= first {
			report.HeldBy = append(report.HeldBy, c)
		}
	}
	slices.SortFunc(report.HeldBy, func(a, b table.Consumer) int { return strings.Compare(a.ID, b.ID) })
	return nil
}
