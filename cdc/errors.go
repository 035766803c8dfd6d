package cdc

import "errors"

// Errors that a program acts on: each has an exit code of its own in the sink.
var (
	// ErrSource is wrapped when the source cannot be reached or refuses us, after retries (exit 3).
	ErrSource = errors.New("the source is unreachable or refuses")
	// ErrRefused is wrapped when a schema change, a value or an event is one that policy refuses (exit 5).
	ErrRefused = errors.New("the change cannot be applied")
	// ErrPositionLost is wrapped when the source no longer has the log after the saved position (exit 6).
	ErrPositionLost = errors.New("the saved position is no longer in the source's log")
	// ErrUsage is wrapped by errors about settings (exit 2).
	ErrUsage = errors.New("wrong setting")
)
