package cdc

import (
	"context"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// Event is one step of a change stream, in the order of the source.
type Event struct {
	// Rows are changed rows in the columns of the target type (see Source.Retarget), nil when there are none. They are
	// valid until the next call of Next.
	Rows *row.Batch
	// Snapshot says that Rows come from the initial read of the table, not from the log.
	Snapshot bool
	// CatchUp says that Rows come from a part of the log that the initial read has met too: a row that was read later may
	// contain them. CaughtUp says that this is the last such event; it has a position.
	CatchUp, CaughtUp bool
	// Changes are schema changes to make before any later row; the source gives no further event until Retarget.
	Changes []table.SchemaChange
	// Statement is the DDL behind Changes, for logs.
	Statement string
	// Pos is the resume point after this event when it may be one (the end of a transaction or of a snapshot page), else nil.
	Pos Position
	// At is the commit time at the source of the newest row, zero when unknown. For lag only.
	At time.Time
}

// Position is a resume point. It is immutable.
type Position interface {
	// Encode returns the text that is stored with the table and given to the source at a restart.
	Encode() (string, error)
	// String is short, for logs and errors.
	String() string
}

// Source is a change stream of one table. Next is called by one goroutine; Close may be called from another and ends it.
type Source interface {
	// Next returns the next event; io.EOF when the stream is bounded and ended. It returns an event without rows but with
	// a position from time to time when nothing changes, so that the saved position advances. It waits at most until ctx
	// ends. The event is valid until the next call.
	Next(ctx context.Context) (*Event, error)
	// Retarget tells the type that rows have from now on: the fields of the Paimon table, found by name among the
	// source's columns; a field that the source lacks is null. Called once before the first Next and after each event
	// with Changes, never otherwise. It fails with ErrSchema when a source column cannot be held by its field.
	Retarget(t *row.Type) error
	Close() error
}
