package table

import "errors"

// Errors that callers act on; each is wrapped by errors that say what was being done and where.
var (
	// ErrConflict: another writer's commit contradicts this one. Read again and plan again, or replay.
	ErrConflict = errors.New("conflict with another writer's commit")
	// ErrUnknownOutcome: it is not known whether a commit happened. Look for (user, identifier) in newer snapshots; delete
	// nothing until that is proven.
	ErrUnknownOutcome = errors.New("it is not known whether the commit happened")
	// ErrCorrupt: a metadata file is not what the format says. Stop this table and keep every file.
	ErrCorrupt = errors.New("table is corrupt")
	// ErrSchema: a schema or a schema change that is not possible.
	ErrSchema = errors.New("schema is not valid")
	// ErrOption: an option that is unknown, malformed, not changeable or not supported (usage).
	ErrOption = errors.New("option is not valid")
	// ErrNoTable: there is no table at the path.
	ErrNoTable = errors.New("table does not exist")
	// ErrTableExists: there is a table at the path already.
	ErrTableExists = errors.New("table exists already")
	// ErrNewerFormat: the table was written in a version of the format that this program does not know.
	ErrNewerFormat = errors.New("table is of a newer format")
	// ErrForeignWriter: somebody else assigns the buckets of a partition of a dynamic-bucket table. Keys may be in two of them
	// if both go on.
	ErrForeignWriter = errors.New("another writer assigns buckets of the same partition")
	// ErrPartitionGone: a partition of a dynamic-bucket table has expired or was dropped, and with it the index that the writer assigned
	// buckets by; nothing else was done to it. Nothing of the APPEND snapshot becomes visible. A writer that is opened anew knows
	// the partition as it is now and can be given the same rows again.
	ErrPartitionGone = errors.New("a partition was dropped under its writer")
	// ErrFenced: another instance with our commit user has committed.
	ErrFenced = errors.New("another instance writes this table")
)
