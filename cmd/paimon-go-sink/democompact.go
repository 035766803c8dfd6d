package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/table"
)

// demoTable is the demo's table for its compactor, from the time on when the sink has made it.
type demoTable struct {
	name string
	open func(context.Context) (*table.Table, error)
}

// List implements compactor.Tables.
func (d demoTable) List(ctx context.Context) ([]string, error) {
	_, err := d.open(ctx)
	if errors.Is(err, table.ErrNoTable) {
		return nil, nil
	}
	return []string{d.name}, err
}

// Open implements compactor.Tables.
func (d demoTable) Open(ctx context.Context, _ string) (*table.Table, error) { return d.open(ctx) }

// syncBesideCompactor runs mysql_sync_table with what paimon-go-compact does beside it.
func (e *environment) syncBesideCompactor(ctx context.Context, args *syncArgs) error {
	tables := demoTable{args.Database + "." + args.Table, func(ctx context.Context) (*table.Table, error) { return e.openDemo(ctx, args) }}
	cfg := compactor.Config{Strategy: compactor.Minor, Workers: 1, Interval: 300 * time.Millisecond, Log: e.args.Logger(e.stderr)}
	beside, err := compactor.New(cfg, tables)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	var compactErr error
	var wg sync.WaitGroup
	wg.Go(func() { compactErr = beside.Run(running) })
	err = e.syncTable(ctx, args)
	stop()
	wg.Wait()
	if err = errors.Join(err, compactErr); err != nil {
		return err
	}
	last, err := compactor.New(cfg, tables) // what came at the very end
	if err != nil {
		return err
	}
	_, err = last.Once(ctx)
	return err
}

// showBuckets prints how many sorted runs each bucket has, which is what readers have to merge.
func (e *environment) showBuckets(ctx context.Context, t *table.Table, s *table.Snapshot) error {
	type bucket struct {
		partition string
		id        int32
	}
	type content struct {
		files, runs int
		rows, bytes int64
		levels      map[int]bool
	}
	var order []bucket
	all := map[bucket]*content{}
	for f, err := range t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return err
		}
		p, err := t.PartitionPath(f.Partition)
		if err != nil {
			return err
		}
		k := bucket{p, f.Bucket}
		c := all[k]
		if c == nil {
			c = &content{levels: map[int]bool{}}
			all[k] = c
			order = append(order, k)
		}
		c.files++
		c.rows += f.File.RowCount
		c.bytes += f.File.Size
		if f.File.Level == 0 || !c.levels[f.File.Level] {
			c.runs++
		}
		c.levels[f.File.Level] = true
	}
	slices.SortFunc(order, func(a, b bucket) int { return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.id, b.id)) })
	g := cli.NewGrid(e.stdout, "partition", "bucket", "sorted runs", "files", "records", "size")
	for _, k := range order {
		c := all[k]
		if err := g.Row(k.partition, k.id, c.runs, c.files, c.rows, cli.Size(c.bytes)); err != nil {
			return err
		}
	}
	fmt.Fprintln(e.stdout, "Without a compaction each commit would have left one more sorted run in each bucket that it wrote; with one they stay at or under the trigger, 3 here:")
	return g.End()
}
