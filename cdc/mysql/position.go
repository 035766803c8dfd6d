package mysql

import (
	"encoding/json"
	"fmt"

	"github.com/paimon-go/paimon-go/cdc"
)

// Position is a resume point in a MySQL server's log, with the progress of the initial read while that lasts. It is
// immutable. GTID is the set of all transactions before it; File and Pos say the same for a server without GTIDs, and in
// messages.
type Position struct {
	Version    int    `json:"v"`
	Flavor     string `json:"flavor"` // mysql or mariadb
	ServerUUID string `json:"server_uuid,omitempty"`
	GTID       string `json:"gtid,omitempty"`
	File       string `json:"file,omitempty"`
	Pos        uint64 `json:"pos,omitempty"`
	// Since passes over what was logged before, in microseconds of the server's clock; 0: nothing. It goes with a File that is
	// read from its start because the place in it is not known (see chooseStart).
	Since int64 `json:"since,omitempty"`
	// Snapshot is the progress of the initial read, nil once it is over. The log is read from this position after it.
	Snapshot *Progress `json:"snapshot,omitempty"`
	// CatchUp is where the log was when the initial read ended, nil once that is reached: up to there the rows that were read
	// may contain what the log says.
	CatchUp *LogEnd `json:"catch_up,omitempty"`
	// Columns and Key are the source's columns, in the order of row images, and primary key at this point of the log: what
	// later statements change, and what rows are read by where the log doesn't name its columns.
	Columns []SavedColumn `json:"columns,omitempty"`
	Key     []string      `json:"key,omitempty"`

	text func() string // makes GTID late: most positions are never stored
}

// LogEnd is the end of a server's log at some time.
type LogEnd struct {
	ServerUUID string `json:"server_uuid,omitempty"`
	File       string `json:"file"`
	Pos        uint64 `json:"pos"`
	GTID       string `json:"gtid,omitempty"`
}

// SavedColumn is a column of a saved position.
type SavedColumn struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Charset   string `json:"charset,omitempty"`
	NotNull   bool   `json:"not_null,omitempty"`
	Generated bool   `json:"generated,omitempty"`
	Invisible bool   `json:"invisible,omitempty"`
}

// Progress is how far the initial read has come: the ranges of the key that are not read yet.
type Progress struct {
	// Planned is false until the ranges are known.
	Planned bool    `json:"planned,omitempty"`
	Rows    int64   `json:"rows"`
	Ranges  []Range `json:"ranges,omitempty"`
}

// Range is a range of the primary key, as texts of its columns: After is exclusive, To inclusive; nil is open.
type Range struct {
	After []KeyValue `json:"after,omitempty"`
	To    []KeyValue `json:"to,omitempty"`
	Done  bool       `json:"-"`
}

const positionVersion = 1

// Encode implements cdc.Position.
func (p *Position) Encode() (string, error) {
	q := *p
	q.Version = positionVersion
	if p.text != nil {
		q.GTID = p.text()
	}
	b, err := json.Marshal(&q)
	return string(b), err
}

// String implements cdc.Position.
func (p *Position) String() string {
	s := fmt.Sprintf("%s:%d", p.File, p.Pos)
	if p.Snapshot != nil {
		s = fmt.Sprintf("the initial read at %d rows (log from %s)", p.Snapshot.Rows, s)
	}
	return s
}

// parsePosition reads what Encode wrote.
func parsePosition(s string) (*Position, error) {
	p := &Position{}
	if err := json.Unmarshal([]byte(s), p); err != nil {
		return nil, fmt.Errorf("the saved position %q is not one: %w", s, err)
	}
	if p.Version > positionVersion {
		return nil, fmt.Errorf("the saved position was written by a newer version of this program (form %d, known is %d): %w", p.Version, positionVersion, cdc.ErrUsage)
	}
	return p, nil
}
