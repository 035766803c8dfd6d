package main

import (
	"context"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// oneTable is the table at a path.
type oneTable string

func (p oneTable) List(context.Context) ([]string, error) { return []string{"bench.t"}, nil }

func (p oneTable) Open(ctx context.Context, _ string) (*table.Table, error) {
	return open(ctx, string(p))
}

// compactOnce is paimon-go-compact --once, without maintenance: the table keeps all its snapshots in any case.
func compactOnce(ctx context.Context, path string, full bool, workers int) (err error) {
	spill, err := lsm.NewSpillStore(nil, "", 0, 0)
	if err != nil {
		return err
	}
	defer func() {
		if e := spill.Close(); err == nil {
			err = e
		}
	}()
	cfg := compactor.Config{Strategy: compactor.Minor, Workers: workers, StrictTables: true, Spill: spill}
	if full {
		cfg.Strategy = compactor.Full
	}
	s, err := compactor.New(cfg, oneTable(path))
	if err != nil {
		return err
	}
	_, err = s.Once(ctx)
	return err
}
