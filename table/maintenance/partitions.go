package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// PartitionOptions say which partitions are dropped. What is zero is as the table's options have it.
type PartitionOptions struct {
	ExpirationTime time.Duration
	Formatter      string // partition.timestamp-formatter
	Pattern        string // partition.timestamp-pattern
	Strategy       string // partition.expiration-strategy
	MaxNum         int
	DryRun         bool
	Now            time.Time // the present when zero

	clock *Clock // nil: one of its own
}

// ExpirePartitions drops the partitions that are older than partition.expiration-time, by a commit of kind OVERWRITE of the
// given commit user with table.BatchIdentifier. The user must be of its own: no job that counts identifiers may share it. The
// files go when the snapshots before the drop expire. A table without partitions or expiration time has none.
func ExpirePartitions(ctx context.Context, t *table.Table, user string, o PartitionOptions) (Report, error) {
	var report Report
	err := expirePartitions(ctx, t, user, o, &report)
	return report, wrap(err, "expiring partitions of", t)
}

func expirePartitions(ctx context.Context, t *table.Table, user string, o PartitionOptions, report *Report) error {
	x, err := newPartitionExpiry(ctx, t, o)
	if x == nil || err != nil {
		return err
	}
	x.report = report
	expired, err := x.find(ctx)
	if err != nil || len(expired) == 0 {
		return err
	}
	if n := x.max; n > 0 && len(expired) > n {
		expired = expired[:n]
	}
	batch := t.Options().Int(table.KeyPartitionExpirationBatchSize)
	if batch <= 0 {
		batch = len(expired)
	}
	for some := range slices.Chunk(expired, batch) {
		if !o.DryRun {
			if err := x.drop(ctx, user, some); err != nil {
				return err
			}
		}
		for _, p := range some {
			report.Partitions++
			report.name(p.path, o.DryRun)
		}
	}
	return nil
}

type partitionExpiry struct {
	t          *table.Table
	report     *Report
	before     time.Time // partitions of before this are expired; wall clock, as if it were UTC
	updateTime bool
	pattern    string
	times      *timePattern // nil: the default
	max        int
}

// newPartitionExpiry returns nil when nothing expires.
func newPartitionExpiry(ctx context.Context, t *table.Table, o PartitionOptions) (*partitionExpiry, error) {
	opt := t.Options()
	age := o.ExpirationTime
	if age == 0 {
		age = opt.Duration(table.KeyPartitionExpirationTime)
	}
	if len(t.Schema().PartitionKeys) == 0 || age == 0 && !opt.Has(table.KeyPartitionExpirationTime) {
		return nil, nil
	}
	now := o.Now
	if now.IsZero() {
		if o.clock == nil {
			o.clock = NewClock(nil)
		}
		var err error
		if now, err = o.clock.now(ctx, t, o.DryRun); err != nil {
			return nil, err
		}
	}
	x := &partitionExpiry{t: t, before: wallClock(now, time.Local).Add(-age), pattern: o.Pattern, max: o.MaxNum}
	if x.pattern == "" {
		x.pattern = opt.Get(table.KeyPartitionTimestampPattern)
	}
	if x.max == 0 {
		x.max = opt.Int(table.KeyPartitionExpirationMaxNum)
	}
	strategy, formatter := o.Strategy, o.Formatter
	if strategy == "" {
		strategy = opt.Get(table.KeyPartitionExpirationStrategy)
	}
	if formatter == "" {
		formatter = opt.Get(table.KeyPartitionTimestampFormatter)
	}
	switch strategy {
	case "values-time":
	case "update-time":
		x.updateTime = true
	default:
		return nil, fmt.Errorf("%w: %s is %q; values-time and update-time are supported", table.ErrOption, table.KeyPartitionExpirationStrategy.Name, strategy)
	}
	if formatter != "" && !x.updateTime {
		var err error
		if x.times, err = newTimePattern(formatter); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// wallClock returns what clocks of a zone show, as if it were UTC, so that times compare as Java's LocalDateTime.
func wallClock(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
}

type expiredPartition struct {
	key  string // serialized BinaryRow
	text string // values in a row, which gives the order
	path string
}

// find returns the expired partitions in order.
func (x *partitionExpiry) find(ctx context.Context) ([]expiredPartition, error) {
	s, err := x.t.Latest(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	updated := map[string]int64{}
	for e, err := range x.t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return nil, err
		}
		last, there := updated[string(e.Partition)]
		if !there || e.File.CreationMillis > last {
			updated[string(e.Partition)] = e.File.CreationMillis
		}
	}
	var expired []expiredPartition
	for key, last := range updated {
		p, old, err := x.look(key, last)
		if err != nil {
			return nil, err
		}
		if old {
			expired = append(expired, p)
		}
	}
	slices.SortFunc(expired, func(a, b expiredPartition) int { return strings.Compare(a.text, b.text) })
	return expired, nil
}

// look tells whether a partition is expired.
func (x *partitionExpiry) look(key string, updated int64) (p expiredPartition, expired bool, err error) {
	path, err := x.t.PartitionPath([]byte(key))
	if err != nil {
		return p, false, err
	}
	schema := x.t.Schema()
	b, err := schema.DecodePartition([]byte(key))
	if err != nil {
		return p, false, err
	}
	values := make([]string, len(b.Cols))
	null := make([]bool, len(b.Cols))
	for i := range b.Cols {
		if null[i] = b.Cols[i].IsNull(0); null[i] {
			values[i] = x.t.Options().Get(table.KeyPartitionDefaultName)
		} else {
			values[i] = string(row.AppendPartitionText(nil, &b.Cols[i], 0, true))
		}
	}
	p = expiredPartition{key: key, text: strings.Join(values, ","), path: path}
	if x.updateTime {
		return p, updated >= 0 && time.UnixMilli(updated).UTC().Before(x.before), nil
	}
	at, err := x.time(schema.PartitionKeys, values, null)
	if err != nil {
		x.report.kept(fmt.Sprintf("partition %s: %v", path, err))
		return p, false, nil
	}
	return p, at.Before(x.before), nil
}

// time reads the time of a partition from its values: the first of them or, by the pattern, several ("$dt $hour:00:00").
func (x *partitionExpiry) time(keys, values []string, null []bool) (time.Time, error) {
	text := x.pattern
	if text == "" {
		keys, text = keys[:1], "$"+keys[0]
	}
	for i, key := range keys {
		if null[i] {
			return time.Time{}, fmt.Errorf("%s is null", key)
		}
		text = strings.ReplaceAll(text, "$"+key, values[i])
	}
	if x.times != nil {
		return x.times.parse(text)
	}
	return defaultTime(text)
}

// dropTries is how often a drop starts over because others commit to the partitions meanwhile.
const dropTries = 5

// drop deletes all files of the partitions.
func (x *partitionExpiry) drop(ctx context.Context, user string, partitions []expiredPartition) error {
	keys := map[string]bool{}
	for _, p := range partitions {
		keys[p.key] = true
	}
	commit := x.t.NewCommit(user, nil)
	for try := 1; ; try++ {
		messages, err := x.deletions(ctx, keys)
		if err != nil || len(messages) == 0 {
			return err
		}
		_, err = commit.Commit(ctx, table.Committable{ID: table.BatchIdentifier, Messages: messages, DropIndexes: keys})
		if !errors.Is(err, table.ErrConflict) || try == dropTries {
			return err
		}
	}
}

// deletions returns the commit messages that delete all live files of these partitions.
func (x *partitionExpiry) deletions(ctx context.Context, partitions map[string]bool) ([]table.CommitMessage, error) {
	s, err := x.t.Latest(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	type place struct {
		partition     string
		bucket, total int32
	}
	files := map[place][]table.DataFile{}
	var order []place
	for e, err := range x.t.Scan(ctx, s, table.Filter{}.InPartitions(partitions)) {
		if err != nil {
			return nil, err
		}
		at := place{string(e.Partition), e.Bucket, e.TotalBuckets}
		if files[at] == nil {
			order = append(order, at)
		}
		files[at] = append(files[at], e.File)
	}
	messages := make([]table.CommitMessage, len(order))
	for i, at := range order {
		messages[i] = table.CommitMessage{
			Partition: []byte(at.partition), Bucket: at.bucket, TotalBuckets: at.total, Data: table.DataIncrement{Deleted: files[at]},
		}
	}
	return messages, nil
}
