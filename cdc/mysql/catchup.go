package mysql

import (
	"context"

	"github.com/paimon-go/paimon-go/cdc"
)

// MarkCatchUp makes the source mark what the log says of the time of the initial read (cdc.Event.CatchUp), for a target that
// keeps every change. Called before the first Next.
func (s *Source) MarkCatchUp() { s.markCatchUp = true }

// catchUpEnd finds the end of the log after the initial read. A row that a page shows is in the log before that: servers write
// a transaction to the log first and let others see it then. (The set of executed transactions may come later still.)
func (s *Source) catchUpEnd(ctx context.Context) (*LogEnd, error) {
	if !s.markCatchUp || s.exact || s.server == nil || s.from.File == "" && s.from.GTID == "" {
		return nil, nil
	}
	end, err := s.end.wait(ctx, s, s.findEnd)
	if err != nil {
		return nil, err
	}
	return &LogEnd{ServerUUID: end.ServerUUID, File: end.File, Pos: end.Pos, GTID: end.GTID}, nil
}

// findEnd asks the server for the end of its log.
func (s *Source) findEnd(ctx context.Context) (*Position, error) {
	c, srv, err := connectAny(ctx, s.cfg, s.server.addr, s.log)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer interruptOn(ctx, c)()
	return logEnd(c, srv)
}

// nextOfLog gives the next event of the log, marked while it catches up with the initial read.
func (s *Source) nextOfLog(ctx context.Context) (*cdc.Event, error) {
	if s.catchUp == nil {
		return s.stream.hand.next(ctx, s.stream.position)
	}
	caughtUp := false
	ev, err := s.stream.hand.next(ctx, func() cdc.Position {
		p := s.stream.position().(*Position)
		if caughtUp = s.catchUp.reached(p, s.stream.gset); !caughtUp {
			p.CatchUp = s.catchUp
		}
		return p
	})
	if ev != nil {
		ev.CatchUp, ev.CaughtUp = true, caughtUp
		if at := s.stream.hand.first; ev.Rows != nil && s.catchUp.reached(&Position{ServerUUID: at.server, File: at.file, Pos: at.pos}, gtidSet{}) {
			ev.CatchUp, caughtUp = false, true // all of it is behind
		}
	}
	if caughtUp {
		s.catchUp = nil
	}
	return ev, err
}

// reached reports whether a position is at or behind the end; set is what it contains. Another server's files are not
// those of the end.
func (e *LogEnd) reached(p *Position, set gtidSet) bool {
	if e.ServerUUID == p.ServerUUID {
		return p.File == e.File && p.Pos >= e.Pos || compareBinlogs(e.File, p.File) < 0
	}
	if set.set == nil || e.GTID == "" {
		return false
	}
	g, err := parseGTIDSet(p.Flavor, e.GTID)
	return err == nil && set.contains(g)
}
