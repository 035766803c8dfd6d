package maintenance

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// Maintainer does for one table all that Paimon does after a commit, and remembers between the calls when it last looked for
// expired partitions and which snapshots may still want a tag. Safe for concurrent use, but it does one thing at a time.
type Maintainer struct {
	t     *table.Table
	user  string
	limit *Limiter
	clock *Clock

	mu             sync.Mutex // guards what is below and serializes runs
	partitionCheck time.Time  // the last look
	tags           *autoTags
	tagOptions     table.Options // under which tags was made
}

// NewMaintainer returns a Maintainer. The commit user is that of the commits that drop partitions, see ExpirePartitions; the
// limiter may be nil.
func NewMaintainer(t *table.Table, user string, limit *Limiter) *Maintainer {
	m := &Maintainer{t: t, user: user, limit: limit, clock: NewClock(nil), partitionCheck: time.Now()}
	// Jobs that are restarted often get to a look at partitions too.
	if seconds := int64(t.Options().Duration(table.KeyPartitionExpirationCheckInterval) / time.Second); seconds > 0 {
		m.partitionCheck = m.partitionCheck.Add(-time.Duration(rand.Int64N(seconds)) * time.Second)
	}
	return m
}

// Run does what the table's options say: makes tags, expires tags, then partitions, consumers, snapshots and changelogs. When
// tags can't be made nothing expires, as they might want it; another failure doesn't keep the rest from being done. The
// snapshot that gives the occasion doesn't matter: the table is read anew.
func (m *Maintainer) Run(ctx context.Context, _ *table.Snapshot) (Report, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var report Report
	var errs []error
	for i, step := range []func(context.Context) (Report, error){
		m.createTags,
		func(ctx context.Context) (Report, error) { return expireTags(ctx, m.t, false, m.limit, m.clock) },
		m.expirePartitions,
		func(ctx context.Context) (Report, error) { return expireConsumers(ctx, m.t, false, m.clock) },
		func(ctx context.Context) (Report, error) {
			return ExpireSnapshots(ctx, m.t, ExpireOptions{Limit: m.limit, clock: m.clock})
		},
		m.expireChangelogs,
	} {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		r, err := step(ctx)
		report.Add(r)
		errs = append(errs, err)
		if i == 0 && err != nil {
			break
		}
	}
	return report, errors.Join(errs...)
}

// createTags makes the tags of periods; the one tag of a batch job is the job's own matter, see CreateTags.
func (m *Maintainer) createTags(ctx context.Context) (Report, error) {
	o := m.t.Options()
	if m.tags == nil || !sameOptions(m.tagOptions, o) {
		a, err := newAutoTags(ctx, m.t)
		if err != nil || a == nil {
			return Report{}, wrap(err, "creating tags of", m.t)
		}
		m.tags, m.tagOptions = a, o
	}
	return m.tags.run(ctx, m.limit)
}

// sameOptions compares by value those that tags depend on.
func sameOptions(a, b table.Options) bool {
	for _, k := range []*table.Key{
		table.KeyTagAutomaticCreation, table.KeyTagCreationPeriod, table.KeyTagCreationPeriodDuration, table.KeyTagPeriodFormatter,
		table.KeyTagCreationDelay, table.KeySinkProcessTimeZone, table.KeySinkWatermarkTimeZone,
	} {
		if a.Get(k) != b.Get(k) {
			return false
		}
	}
	return true
}

func (m *Maintainer) expirePartitions(ctx context.Context) (Report, error) {
	now := time.Now()
	if interval := m.t.Options().Duration(table.KeyPartitionExpirationCheckInterval); interval > 0 && now.Sub(m.partitionCheck) <= interval {
		return Report{}, nil
	}
	r, err := ExpirePartitions(ctx, m.t, m.user, PartitionOptions{clock: m.clock})
	if err == nil {
		m.partitionCheck = now
	}
	return r, err
}

func (m *Maintainer) expireChangelogs(ctx context.Context) (Report, error) {
	if !decoupled(m.t.Options()) {
		return Report{}, nil
	}
	return ExpireChangelogs(ctx, m.t, ExpireOptions{Limit: m.limit, clock: m.clock}, false)
}
