package maintenance

import (
	"fmt"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// tagPeriod is the time that one automatic tag stands for, and how such tags are named: by the start of their period.
type tagPeriod struct {
	length time.Duration
	layout string // of Go's time package
	daily  bool
}

func newTagPeriod(o table.Options) (tagPeriod, error) {
	p := tagPeriod{length: o.Duration(table.KeyTagCreationPeriodDuration), layout: "200601021504"}
	formatter := strings.ToLower(o.Get(table.KeyTagPeriodFormatter))
	dashes := map[string]int{"with_dashes": 0, "without_dashes": 1, "without_dashes_and_spaces": 2}
	style, known := dashes[formatter]
	switch period := o.Enum(table.KeyTagCreationPeriod); {
	case o.Has(table.KeyTagCreationPeriodDuration):
		if p.length < time.Millisecond {
			return p, fmt.Errorf("%w: %s is %v", table.ErrOption, table.KeyTagCreationPeriodDuration.Name, p.length)
		}
	case period == "two-hours":
		p.length, p.layout = 2*time.Hour, "2006-01-02 15"
	case !known:
		return p, fmt.Errorf("%w: %s is %q", table.ErrOption, table.KeyTagPeriodFormatter.Name, formatter)
	case period == "hourly":
		p.length, p.layout = time.Hour, [...]string{"2006-01-02 15", "20060102 15", "2006010215"}[style]
	default:
		p.length, p.layout, p.daily = 24*time.Hour, [...]string{"2006-01-02", "20060102", "20060102"}[style], true
	}
	if delay := o.Duration(table.KeyTagCreationDelay); delay >= p.length {
		return p, fmt.Errorf("%w: %s is %v, not less than the period of %v", table.ErrOption, table.KeyTagCreationDelay.Name, delay, p.length)
	}
	return p, nil
}

// start returns the start of the period of an automatic tag, false when the name is not one of those.
func (p tagPeriod) start(name string) (time.Time, bool) {
	if p.daily {
		name, _, _ = strings.Cut(name, " ")
	}
	if len(name) != len(p.layout) { // Go would take a fraction of a second, too
		return time.Time{}, false
	}
	at, err := time.Parse(p.layout, name)
	return at, err == nil
}

func (p tagPeriod) name(start time.Time) string { return start.Format(p.layout) }

// previous returns the start of the last period that is over at a time.
func (p tagPeriod) previous(at time.Time) time.Time {
	length := p.length.Milliseconds()
	return time.UnixMilli(at.UnixMilli() / length * length).UTC().Add(-p.length)
}
