package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/paimon-go/paimon-go/fs"
)

// SinkState is what a streaming job keeps beside a table: how far its source is read. The same stands in the properties of
// the job's snapshots; this file outlives their expiry by any engine, and follows a source that gives no rows. It lies in
// <table>/paimon-go/<user>.json, where no engine looks for files of its own or cleans up.
type SinkState struct {
	User string `json:"user"`
	// Identifier is the commit identifier up to which everything is in the table; Position is at or after that commit.
	Identifier int64  `json:"identifier"`
	SnapshotID int64  `json:"snapshot"`
	Position   string `json:"position"`
	TimeMillis int64  `json:"timeMillis"`
}

func (t *Table) sinkStatePath(user string) string { return fs.Join(t.path, "paimon-go", user+".json") }

// maxSinkState bounds what is read of a state file.
const maxSinkState = 64 << 20

// ReadSinkState returns the job's state, nil when there is none. A damaged file is an ErrCorrupt.
func (t *Table) ReadSinkState(ctx context.Context, user string) (*SinkState, error) {
	path := t.sinkStatePath(user)
	r, err := t.fs.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of job %s: %w", user, err)
	}
	defer r.Close()
	if r.Size() > maxSinkState {
		return nil, fmt.Errorf("%s has %d bytes: %w", path, r.Size(), ErrCorrupt)
	}
	b := make([]byte, r.Size())
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	s := &SinkState{}
	err = json.Unmarshal(b, s)
	if err == nil && s.User != user {
		err = fmt.Errorf("it is of job %q", s.User)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a state of job %s; the job's newest snapshot has the position too, so the file may be moved away: %w: %w", path, user, err, ErrCorrupt)
	}
	return s, nil
}

// WriteSinkState replaces the job's state.
func (t *Table) WriteSinkState(ctx context.Context, s SinkState) error {
	s.TimeMillis = time.Now().UnixMilli()
	b, err := json.Marshal(&s)
	if err != nil {
		return err
	}
	if err := t.fs.Replace(ctx, t.sinkStatePath(s.User), b); err != nil {
		return fmt.Errorf("writing the state of job %s: %w", s.User, err)
	}
	return nil
}
