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
	// Pending is a commit that was about to be made, nil when its outcome is known.
	Pending *PendingCommit `json:"pending,omitempty"`
}

// PendingCommit is a commit that was about to be made, with what tells later whether it was: sequence numbers of a bucket only
// grow, so that after the commit the greatest one of the bucket is from MaxSeq to LastSeq, until somebody writes to it again.
// Another writer's rows may have such numbers too when ours were not committed, as it goes on from what it finds.
type PendingCommit struct {
	Identifier int64  `json:"identifier"`
	Position   string `json:"position"`
	Partition  []byte `json:"partition"`
	Bucket     int32  `json:"bucket"`
	MaxSeq     int64  `json:"maxSeq"`
	// LastSeq is the greatest number of the commit in the bucket, that of a delete that a compaction drops, say. 0: not known.
	LastSeq int64 `json:"lastSeq,omitempty"`
	// File is a file of the commit in place of these numbers, as rows in PostponeBucket have none. It is there until a compaction.
	File string `json:"file,omitempty"`
}

// NewPendingCommit describes c, whose position is the property of that name. It is nil for a commit without rows. lasting says
// that what tells of the commit stays in the table as long as the bucket's files do: then the state file need not be written
// again after the commit, but with the next one.
func (t *Table) NewPendingCommit(c *Committable, property string) (p *PendingCommit, lasting bool) {
	o := t.Options()
	// In other tables the row with the greatest sequence number may go without a newer one: it loses to another by a sequence
	// field or by coming later, or gets old.
	keeps := o.Enum(KeyMergeEngine) == "deduplicate" && !o.Has(KeySequenceField) && !o.Has(KeyRecordLevelExpireTime) && !o.Has(KeyPartitionExpirationTime)
	for i := range c.Messages {
		m := &c.Messages[i]
		if m.Bucket == PostponeBucket {
			if p == nil && len(m.Data.New) > 0 {
				p = &PendingCommit{Identifier: c.ID, Position: c.Properties[property], Partition: m.Partition, Bucket: m.Bucket, File: m.Data.New[0].Name}
			}
			continue
		}
		last := int64(0)
		for k := range m.Data.New {
			last = max(last, m.Data.New[k].MaxSeq)
		}
		for k := range m.Data.New {
			f := &m.Data.New[k]
			seq := f.MaxSeq
			if lasting = keeps && f.KeptSeq > 0; lasting {
				seq = f.KeptSeq // a compaction drops deletes
			}
			if p == nil || lasting {
				p = &PendingCommit{Identifier: c.ID, Position: c.Properties[property], Partition: m.Partition, Bucket: m.Bucket, MaxSeq: seq, LastSeq: last}
			}
			if lasting {
				return p, true
			}
		}
	}
	return p, false
}

// FindSinkState returns how far a job has come, nil when it never committed: from its newest snapshot, whose property of the
// given name is the position, and from its state file, whichever is newer.
func (t *Table) FindSinkState(ctx context.Context, user, property string) (*SinkState, error) {
	file, err := t.ReadSinkState(ctx, user)
	if err != nil {
		return nil, err
	}
	s, err := t.LatestOf(ctx, user)
	if err != nil {
		return nil, err
	}
	if s != nil {
		// A snapshot of the file's commit would be newer than s: when the file is ahead, the table was rolled back since.
		if file == nil || file.Identifier != s.CommitIdentifier {
			return &SinkState{User: user, Identifier: s.CommitIdentifier, SnapshotID: s.ID, Position: s.Properties[property]}, nil
		}
		file.Pending = nil
		return file, nil
	}
	if file == nil {
		return nil, nil
	}
	latest, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if file.SnapshotID > 0 && (latest == nil || latest.ID < file.SnapshotID) {
		return nil, fmt.Errorf("%w: the table was rolled back to before the commits of job %s; remove %s to read its source anew", ErrOption, user, t.sinkStatePath(user))
	}
	if file.Pending == nil {
		return file, nil
	}
	done, err := t.wasCommitted(ctx, latest, file)
	if err != nil {
		return nil, err
	}
	if done {
		file.Identifier, file.Position = file.Pending.Identifier, file.Pending.Position
	}
	file.Pending = nil
	return file, nil
}

// wasCommitted tells whether the pending commit was made, whose snapshot has expired if it was. In doubt it was not: then its rows
// are written again, which ends the same, while rows that are taken for written are lost. The only sign of another writer whose
// snapshots have all expired is that the bucket doesn't end where the commit did.
func (t *Table) wasCommitted(ctx context.Context, latest *Snapshot, s *SinkState) (bool, error) {
	p := s.Pending
	if latest == nil {
		return false, nil
	}
	if p.File != "" {
		return t.hasFile(ctx, latest, p)
	}
	unsure, err := t.notOurs(ctx, latest, s.SnapshotID)
	if unsure || err != nil {
		return false, err
	}
	newest := int64(-1)
	for e, err := range t.Scan(ctx, latest, Filter{Partition: p.Partition, Bucket: &p.Bucket}) {
		if err != nil {
			return false, err
		}
		newest = max(newest, e.File.MaxSeq)
	}
	return newest >= p.MaxSeq && (p.LastSeq == 0 || newest <= p.LastSeq), nil
}

// hasFile tells whether the file of a pending commit is live.
func (t *Table) hasFile(ctx context.Context, s *Snapshot, p *PendingCommit) (bool, error) {
	for e, err := range t.Scan(ctx, s, Filter{Partition: p.Partition, Bucket: &p.Bucket}) {
		if err != nil {
			return false, err
		}
		if e.File.Name == p.File {
			return true, nil
		}
	}
	return false, nil
}

// notOurs tells whether the snapshots after one of ours have rows of others, as far as they are kept, or are all kept, and then none is
// ours.
func (t *Table) notOurs(ctx context.Context, s *Snapshot, after int64) (bool, error) {
	for s.ID > after {
		if s.CommitKind == CommitAppend || s.CommitKind == CommitOverwrite || s.ID == after+1 {
			return true, nil
		}
		var err error
		s, err = t.Snapshot(ctx, s.ID-1)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// stateDir is where the positions of jobs lie, below the table's directory.
const stateDir = "paimon-go"

func (t *Table) sinkStatePath(user string) string { return fs.Join(t.path, stateDir, user+".json") }

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
