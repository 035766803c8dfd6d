package mysql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// endAt makes the source end at a position.
func (s *Source) endAt(end *Position) error {
	s.endFile, s.endPos = end.File, end.Pos
	var err error
	if s.server.gtidOn() {
		s.endGTID, err = parseGTIDSet(s.flavor, end.GTID)
	}
	return err
}

// endAfterRead moves the end of a bounded source behind its initial read: what changed while the table was read brings
// rows that were read at different times to one state.
func (s *Source) endAfterRead(ctx context.Context) error {
	if !s.cfg.StopAtLatest || s.server == nil {
		return nil
	}
	if s.from.File == "" && s.from.GTID == "" { // only with StartSnapshot
		s.log.Warn("the server has no binary log, or doesn't tell where it ends (REPLICATION CLIENT): rows that changed while the table was read may be of different times")
		return s.endAt(s.from)
	}
	end, err := s.end.wait(ctx, s, s.findEnd)
	if err != nil {
		return err
	}
	return s.endAt(end)
}

// chooseStart sets where reading begins: the saved position, or what scan.startup.mode says.
func (s *Source) chooseStart(ctx context.Context, c *client.Conn, end *Position) error {
	if s.resume != nil {
		s.from = s.resume
		if s.resume.Snapshot != nil {
			p := *s.resume.Snapshot
			p.Ranges = slices.Clone(p.Ranges)
			s.progress = &p
			for _, r := range p.Ranges {
				for _, v := range slices.Concat(r.After, r.To) {
					if err := v.check(); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	from := &Position{Flavor: s.flavor}
	if s.server != nil {
		from.ServerUUID = s.server.uuid
	}
	switch s.cfg.Startup {
	case StartInitial, StartSnapshot:
		s.progress = &Progress{}
		if end != nil {
			var err error
			if from, err = beforeRead(c, s.server, end); err != nil {
				return err
			}
		}
	case StartLatest:
		*from = *end
	case StartEarliest:
		files, err := binaryLogs(c)
		if err != nil {
			return err
		}
		from.File, from.Pos = files[0], 4
	case StartSpecific:
		if s.cfg.StartGTID != "" {
			if !s.server.gtidOn() {
				return fmt.Errorf("scan.startup.specific-offset.gtid-set needs a server with gtid_mode=ON: %w", cdc.ErrUsage)
			}
			g, err := parseGTIDSet(s.flavor, s.cfg.StartGTID)
			if err != nil {
				return err
			}
			from.GTID = g.String()
			break
		}
		files, err := binaryLogs(c)
		if err != nil {
			return err
		}
		if !slices.Contains(files, s.cfg.StartFile) {
			return fmt.Errorf("the server has no log file %s, its oldest is %s: %w", s.cfg.StartFile, files[0], cdc.ErrPositionLost)
		}
		from.File, from.Pos = s.cfg.StartFile, uint64(s.cfg.StartPos)
	case StartTimestamp:
		file, err := s.fileAt(ctx, c, time.UnixMilli(s.cfg.StartMillis))
		if err != nil {
			return err
		}
		from.File, from.Pos = file, 4
	}
	from.Columns, from.Key = s.definition()
	s.from = from
	return nil
}

// beforeRead is a place of the log at or before what a SELECT sees from now on, which is shortly after end.
func beforeRead(c *client.Conn, s *server, end *Position) (*Position, error) {
	if s.flavor == flavorMariaDB {
		return snapshotStart(c, s)
	}
	from := *end
	if s.gtidOn() {
		return &from, nil
	}
	// The end of the log may be ahead of what a SELECT sees: transactions are written to it before they commit in the engine.
	// All in earlier files have committed, and what was logged long ago.
	from.Pos = 4
	r, err := c.Execute("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)")
	if err != nil {
		return nil, fmt.Errorf("reading the server's time: %w: %w", err, cdc.ErrSource)
	}
	now, _ := r.GetInt(0, 0)
	from.Since = max(0, now-longestCommit.Microseconds())
	return &from, nil
}

// checkOwn refuses a server that lacks transactions of its own that come before the start.
func (s *Source) checkOwn(ctx context.Context, c *client.Conn, end *Position) error {
	if s.flavor != flavorMySQL || s.from.GTID == "" || end == nil || !s.server.gtidOn() {
		return nil
	}
	from, err := parseGTIDSet(s.flavor, s.from.GTID)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		executed, err := parseGTIDSet(s.flavor, end.GTID)
		if err != nil {
			return err
		}
		missing := from.ownMissing(s.server.uuid, executed)
		switch {
		case missing == "":
			return nil
		case try == ownTries:
			return lostOwn(s.server.addr, executed, missing)
		}
		if err := backoff.Sleep(ctx, retryDelay(try)); err != nil {
			return err
		}
		if end, err = logEnd(c, s.server); err != nil {
			return err
		}
	}
}

// ownTries is how often a server is asked again for its own transactions: it sends one a moment before it counts it as
// executed.
const ownTries = 4

func lostOwn(addr string, executed gtidSet, missing string) error {
	return fmt.Errorf("%s has lost transactions that were read from it, up to %s (it has %s): its log was reset, or it was restored to an older state; read the table anew into an empty table: %w",
		addr, missing, executed, cdc.ErrPositionLost)
}

// longestCommit is the most that a transaction is in the log of a server without GTIDs before others see its rows: it may
// wait for a replica (semi-synchronous replication). Rows from before are not replayed over what was read, nor do old
// statements about the table stop the job.
const longestCommit = 10 * time.Minute

// Start is the position that reading begins at.
func (s *Source) Start() cdc.Position { return s.from }

// binaryLogs lists the server's log files, oldest first.
func binaryLogs(c *client.Conn) ([]string, error) {
	r, err := c.Execute("SHOW BINARY LOGS")
	if err != nil {
		return nil, fmt.Errorf("SHOW BINARY LOGS: %w: %w", err, cdc.ErrSource)
	}
	var files []string
	for i := range r.Values {
		f, _ := r.GetString(i, 0)
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the server has no binary log: %w", cdc.ErrSource)
	}
	return files, nil
}

// fileAt finds the newest log file that began before t, by the time of each file's first event.
func (s *Source) fileAt(ctx context.Context, c *client.Conn, t time.Time) (string, error) {
	files, err := binaryLogs(c)
	if err != nil {
		return "", err
	}
	for i := len(files) - 1; i > 0; i-- {
		began, err := s.fileTime(ctx, files[i])
		if err != nil {
			return "", err
		}
		if !began.After(t) {
			return files[i], nil
		}
	}
	return files[0], nil
}

// nothingToRead reports whether the end that StopAtLatest asks for is reached before the log was opened.
func (s *Source) nothingToRead() bool {
	if !s.cfg.StopAtLatest || s.server == nil {
		return false
	}
	if s.endGTID.set != nil && s.from.GTID != "" {
		g, err := parseGTIDSet(s.flavor, s.from.GTID)
		return err == nil && g.contains(s.endGTID)
	}
	return s.from.File == s.endFile && s.from.Pos >= s.endPos
}

// atEnd reports whether the stream has reached the end that StopAtLatest asks for. h.mu is held.
func (s *Source) atEnd(st *stream) bool {
	if !s.cfg.StopAtLatest || s.server == nil {
		return false
	}
	if st.gset.set != nil && s.endGTID.set != nil {
		if st.awaited.is {
			return false
		}
		if st.gset.contains(s.endGTID) {
			return true
		}
		st.awaited, _ = st.gset.missing(s.endGTID)
		return false
	}
	return st.doneFile == s.endFile && st.donePos >= s.endPos || compareBinlogs(s.endFile, st.doneFile) < 0
}
