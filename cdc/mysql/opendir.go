package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/cdc"
)

// errFound ends a scan early.
var errFound = errors.New("found")

// openDir looks into a directory of binlog files for the first description of the table and for the kind of server.
func (s *Source) openDir(ctx context.Context) error {
	files, err := binlogFiles(s.cfg.BinlogDir)
	if err != nil {
		return err
	}
	s.flavor = flavorMySQL
	var tm *TableMap
	for _, f := range files {
		err := scanBinlog(ctx, f, func(e event) error {
			if e.kind == eventMariaGTID || e.kind == eventMariaGTIDList {
				s.flavor = flavorMariaDB
			}
			return s.findMap(e, &tm)
		})
		if errors.Is(err, errFound) {
			break
		}
		if err != nil {
			return err
		}
	}
	if tm == nil {
		return fmt.Errorf("binlog-dir %s has no rows of %s.%s: %w", s.cfg.BinlogDir, s.cfg.Database, s.cfg.Table, cdc.ErrSource)
	}
	if !tm.HasNames {
		return fmt.Errorf("binlog-dir %s: the log doesn't name its columns: it must be written with binlog_row_metadata=FULL: %w", s.cfg.BinlogDir, cdc.ErrRefused)
	}
	if err := s.fits(); err != nil {
		return err
	}
	zone := &server{vars: map[string]string{"time_zone": "UTC"}}
	if s.opts.ServerZone, err = serverZone(s.cfg, zone); err != nil {
		return err
	}
	cols, err := columnsFor(tm, nil)
	if err != nil {
		return err
	}
	var key []string
	for _, k := range tm.PrimaryKey {
		if k < len(cols) {
			key = append(key, cols[k].Name)
		}
	}
	s.table = newTableInfo(s.cfg.Database, s.cfg.Table, cols, key)
	if err := s.defineFromStart(); err != nil {
		return err
	}
	if s.resume != nil {
		s.from = s.resume
		return nil
	}
	s.from = &Position{Flavor: s.flavor, File: s.cfg.StartFile}
	s.from.Columns, s.from.Key = s.definition()
	if s.cfg.StartFile != "" {
		s.from.Pos = uint64(s.cfg.StartPos)
	}
	return nil
}

// findMap looks for the table's map in an event or in the events of a compressed transaction.
func (s *Source) findMap(e event, found **TableMap) error {
	switch e.kind {
	case eventTableMap:
		schema, table, err := TableMapName(e.body)
		if err != nil || !s.watches(schema, table) {
			return err
		}
		if *found, err = ParseTableMap(e.body, s.flavor == flavorMariaDB); err != nil {
			return err
		}
		return errFound
	case eventPayload:
		var f inflater
		return f.events(e.body, func(in event) error { return s.findMap(in, found) })
	}
	return nil
}

// fileTime reads the time at which a log file of the server began.
func (s *Source) fileTime(ctx context.Context, file string) (time.Time, error) {
	st := &stream{src: s, maps: map[uint64]*watched{}}
	var began time.Time
	st.peek = func(e event) error {
		if e.kind == eventFormat && e.time > 0 {
			began = time.Unix(int64(e.time), 0)
			return errFound
		}
		return nil
	}
	err := st.followOnce(ctx, start{file: file, pos: 4}, s.server.addr)
	if began.IsZero() {
		return began, fmt.Errorf("reading the start of %s: %w: %w", file, err, cdc.ErrSource)
	}
	return began, nil
}
