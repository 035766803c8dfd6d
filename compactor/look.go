package compactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// look brings what is known of the table up to date. Trouble is waited out; the error is errGone, or that of a table that
// may not be left alone.
func (l *tableLoop) look(ctx context.Context) error {
	if l.gone.Load() && l.once == nil {
		return errGone
	}
	var f followed
	err := l.x.reading(ctx, func() (err error) {
		f, err = l.read(ctx)
		return err
	})
	now := time.Now()
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		l.looked(f, now)
		return nil
	case errors.Is(err, table.ErrNoTable):
		if l.x.cfg.StrictTables && !l.x.wasOpened(l.name) {
			return err
		}
		return errGone
	case errors.Is(err, errRefused):
		return l.refuse(err, now)
	}
	l.pollAt = now.Add(l.backoff(l.x.cfg.MinInterval, l.troubles))
	l.stats.failed(err)
	if l.troubles++; l.troubles == 1 {
		l.log.Warn("looking at the table goes wrong, trying on", "error", err)
	}
	if l.once != nil {
		return l.once.lookFailed(l, err)
	}
	return nil
}

// read opens the table if need be and follows its snapshots.
func (l *tableLoop) read(ctx context.Context) (followed, error) {
	l.polls++
	switch {
	case l.t == nil:
		t, err := l.open(ctx)
		if err != nil {
			return followed{}, err
		}
		if err := l.adopt(t); err != nil {
			return followed{}, err
		}
	case l.polls%reopenEvery == 0:
		if err := l.reopen(ctx); err != nil {
			return followed{}, err
		}
	}
	l.t.LimitCache(l.cacheShare.Load())
	before := l.st.snapshot
	f, err := l.st.follow(ctx, l.t, l.polls%reopenEvery == 0)
	if err != nil {
		return f, err
	}
	if f.listed && before != nil { // something has happened to the table
		if err := l.reopen(ctx); err != nil {
			return f, err
		}
	}
	if s := l.st.snapshot; s != nil && s.SchemaID > l.schema.ID {
		return f, l.refresh(ctx)
	}
	return f, nil
}

func (l *tableLoop) open(ctx context.Context) (*table.Table, error) {
	t, err := l.x.tables.Open(ctx, l.name)
	if err != nil {
		return nil, fmt.Errorf("opening table %s: %w", l.name, err)
	}
	if l.x.ops != nil {
		t = t.On(&limitedFS{t.FS(), l.x.ops})
	}
	return t, nil
}

// reopen looks whether the table has a new schema, which brings its options along, or is another one under the same name.
func (l *tableLoop) reopen(ctx context.Context) error {
	t, err := l.open(ctx)
	if err != nil {
		return err
	}
	known, err := t.SchemaByID(ctx, l.schema.ID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !equalSchemas(known, l.schema) {
		l.log.Info("the table was made anew")
		l.st = nil
		return l.adopt(t)
	}
	if t.Schema().ID > l.schema.ID {
		return l.refresh(ctx)
	}
	return nil
}

func equalSchemas(a, b *table.Schema) bool {
	x, err := a.Encode()
	y, err2 := b.Encode()
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// refresh goes over to the newest schema.
func (l *tableLoop) refresh(ctx context.Context) error {
	if err := l.t.Refresh(ctx); err != nil {
		return err
	}
	if l.t.Schema().ID > l.schema.ID {
		return l.adopt(l.t)
	}
	return nil
}

// errRefused is wrapped by errors about tables that are not for us.
var errRefused = errors.New("the table can't be compacted")

// adopt works with this table and its schema from now on.
func (l *tableLoop) adopt(t *table.Table) error {
	schema, o := t.Schema(), t.Options()
	refused := func(err error) error { return fmt.Errorf("%w: %s: %w", errRefused, l.name, err) }
	if err := errors.Join(schema.CheckDedicated(o), l.checkPostpone(o)); err != nil {
		return refused(err)
	}
	strategy, err := lsm.NewStrategy(o)
	if err != nil {
		return refused(err)
	}
	cfg := lsm.RewriterConfig{Memory: l.x.cfg.Memory / int64(l.x.cfg.Workers), Spill: l.x.cfg.Spill, Throttle: l.x.throttle,
		Now: func(ctx context.Context) (time.Time, error) { return l.x.clock.Now(ctx, t) }}
	rw, err := lsm.NewRewriter(t, schema, cfg)
	if err != nil {
		return refused(err)
	}
	if on := o.Bool(table.KeyDeletionVectorsEnabled); on != l.vectors {
		l.x.dispatch.forget(l)
		l.dropWork() // jobs that are under way take rows for deleted, or don't
		l.vectors, l.st = on, nil
	}
	if l.t != t || l.st == nil {
		l.t = t
		l.commit = t.NewCommit(l.x.user, &l.x.cfg.Listener.Commit)
		l.commit.Exclusive() // useID sees to the identifiers
		l.maintainer = nil
		l.st = newTableState()
		l.st.keep, l.st.newPart = l.keep(), l.newPartition
	}
	l.schema, l.strategy, l.rw = schema, strategy, rw
	for _, b := range l.st.buckets {
		b.changed = true
	}
	l.mended()
	l.replan = true
	return nil
}

// keep says which buckets are this process's.
func (l *tableLoop) keep() func([]byte, int32) bool {
	if l.x.cfg.Shards <= 1 {
		return nil
	}
	return func(partition []byte, bucket int32) bool {
		return shardOf(l.name, partition, bucket, l.x.cfg.Shards) == l.x.cfg.Shard
	}
}

// shardOf spreads buckets over processes: FNV-1a of the table's name, the partition's bytes and the bucket's number.
func shardOf(name string, partition []byte, bucket int32, shards int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	_, _ = h.Write(partition)
	_, _ = h.Write([]byte{byte(bucket), byte(bucket >> 8), byte(bucket >> 16), byte(bucket >> 24)})
	x := h.Sum64() // its low bits depend on little of the last bytes
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return int((x ^ x>>33) % uint64(shards))
}

// newPartition makes a partition that came up.
func (l *tableLoop) newPartition(raw []byte) (*partition, error) {
	p := &partition{bytes: bytes.Clone(raw)}
	var err error
	if p.path, err = l.t.PartitionPath(raw); err != nil {
		return nil, fmt.Errorf("partition %x: %w", raw, err)
	}
	if filter := l.x.cfg.PartitionFilter; filter != nil {
		values, err := l.t.PartitionValues(raw)
		if err != nil {
			return nil, fmt.Errorf("partition %x: %w", raw, err)
		}
		spec := make(map[string]string, len(values))
		for i, key := range l.t.Schema().PartitionKeys {
			spec[key] = values[i]
		}
		p.excluded = !filter(l.name, spec)
	}
	return p, nil
}

// looked goes on after a look that went well.
func (l *tableLoop) looked(f followed, now time.Time) {
	if l.troubles > 0 {
		l.log.Info("looking at the table goes well again")
	}
	l.troubles = 0
	if l.refused != "" {
		l.log.Info("the table can be compacted now")
		l.refused = ""
		l.stats.update(func(v *TableStats) { v.Refused = "" })
	}
	l.opened = true
	l.x.markOpened(l.name)
	l.pace(f, now)
	l.absorb(f)
	l.askMaintenance(now)
}

// absorb makes use of snapshots that were followed.
func (l *tableLoop) absorb(f followed) {
	if f.snapshots == 0 && !f.listed {
		return
	}
	l.appends += f.appends
	if f.appendedBytes > 0 {
		l.stats.update(func(v *TableStats) { v.AppendedBytes += f.appendedBytes })
	}
	l.st.prune()
	l.settleCommitted(f.listed)
	l.replan = true
}

// pace sets the time of the next look: a table is looked at about as often as it gets snapshots.
func (l *tableLoop) pace(f followed, now time.Time) {
	c := &l.x.cfg
	if f.snapshots > 0 && !f.listed {
		l.pollEvery /= time.Duration(f.snapshots)
	} else if f.snapshots == 0 {
		l.pollEvery += l.pollEvery / 2
	}
	l.pollEvery = min(max(l.pollEvery, c.MinInterval), c.Interval)
	l.pollAt = now.Add(l.pollEvery)
	if l.once != nil {
		l.pollAt = now.Add(1000 * time.Hour) // it works on what it saw
	}
}

// refuse leaves the table alone, looks again now and then, and says so once. What jobs bring back of it is dropped: it was made
// for a table of another kind.
func (l *tableLoop) refuse(err error, now time.Time) error {
	l.x.dispatch.forget(l)
	l.dropWork()
	l.t = nil
	l.pollAt = now.Add(reopenEvery * l.x.cfg.Interval)
	if text := err.Error(); text != l.refused {
		l.refused = text
		l.stats.update(func(v *TableStats) { v.Refused = text })
		if !l.x.cfg.StrictTables {
			l.log.Warn("the table is left alone", "error", err)
		}
	}
	if l.x.cfg.StrictTables {
		return err
	}
	if l.once != nil {
		return errGone
	}
	return nil
}
