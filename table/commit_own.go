package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/fs"
)

// inspect searches the snapshots that are new since the last look for ones of our user, so that each is read once. It
// returns the one that the attempts want to make if it is there: by its UUID, or, when nobody guards, as Java does by user,
// identifier and kind. walked are snapshots that end with the latest and have been read just now. A guarding Commit that meets
// another snapshot of its user is fenced. An exclusive one has nothing to look for, except for what it offered without learning
// the outcome; it only makes sure that what it knows of the table is still so.
func (c *Commit) inspect(ctx context.Context, latest *cachedSnapshot, walked []*cachedSnapshot, a *attempts) (*Snapshot, error) {
	if c.exclusive && a.last == nil && c.pending == nil {
		if c.watch != nil && c.built > 0 {
			same, err := c.stillThere(ctx, c.watch, latest)
			if err != nil {
				return nil, err
			}
			if !same {
				c.built = 0 // the table was rolled back or made anew
			}
		}
		c.watch = latest
		return nil, nil
	}
	if err := c.checkHistory(ctx, latest); err != nil {
		return nil, err
	}
	first := c.watch == nil
	known := c.own.id
	if !first {
		known = max(known, c.watch.ID)
	}
	var newest *Snapshot
	for s := latest; s != nil && s.ID > known; {
		if s.CommitUser == c.user {
			if a.made(s.Snapshot) || !c.fenced && a.equals(s.Snapshot) {
				c.watch = latest
				return s.Snapshot, nil
			}
			if c.pending != nil && c.pending.snapshot.UUID == s.UUID {
				c.own = ownCommit{s.ID, s.CommitIdentifier, s.CommitKind, s.Snapshot}
				c.pending = nil
				break // nothing before it can be another's, as it was checked when it was made
			}
			if c.fenced {
				return nil, fmt.Errorf("%w: snapshot %d with identifier %d is of our commit user, but made by somebody else",
					ErrFenced, s.ID, s.CommitIdentifier)
			}
			if newest == nil {
				newest = s.Snapshot
			}
			if first {
				break
			}
		}
		if s.ID == 1 {
			break
		}
		if n := len(walked); n > 1 && walked[n-1] == s {
			walked = walked[:n-1]
			s = walked[n-2]
			continue
		}
		var err error
		s, err = c.t.readSnapshot(ctx, s.ID-1)
		if errors.Is(err, fs.ErrNotExist) {
			break // expired, as all before it
		}
		if err != nil {
			return nil, err
		}
	}
	if newest != nil {
		c.own = ownCommit{newest.ID, newest.CommitIdentifier, newest.CommitKind, newest}
	}
	c.watch = latest
	return nil, nil
}

// made reports whether a snapshot is the one that was offered last.
func (a *attempts) made(s *Snapshot) bool { return a.last != nil && s.UUID == a.last.snapshot.UUID }

// equals reports whether a snapshot of our user is what the attempts want, made by somebody.
func (a *attempts) equals(s *Snapshot) bool {
	return s.CommitIdentifier == a.part.id && s.CommitKind == a.part.kind && a.part.id != BatchIdentifier
}

// checkHistory makes sure that the snapshots we built on are still those we know: a rollback removes the newest ones and lets
// others take their ids.
func (c *Commit) checkHistory(ctx context.Context, latest *cachedSnapshot) error {
	if c.watch != nil {
		same, err := c.stillThere(ctx, c.watch, latest)
		if err != nil {
			return err
		}
		if same {
			return nil
		}
		c.watch, c.built = nil, 0
		if !c.fenced {
			c.own = ownCommit{}
		}
	}
	if c.own.id == 0 || c.own.snapshot == nil && !c.fenced {
		return nil
	}
	return c.findOwn(ctx, latest)
}

// stillThere reports whether a snapshot seen before has not been replaced; that it expired is no harm.
func (c *Commit) stillThere(ctx context.Context, seen, latest *cachedSnapshot) (bool, error) {
	switch {
	case latest == nil || latest.ID < seen.ID:
		return false, nil
	case latest.ID == seen.ID:
		return bytes.Equal(latest.raw, seen.raw), nil
	}
	now, err := c.t.readSnapshot(ctx, seen.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return bytes.Equal(now.raw, seen.raw), nil
}

// findOwn reads the snapshot that a guarding Commit goes on from. Its having expired is fine.
func (c *Commit) findOwn(ctx context.Context, latest *cachedSnapshot) error {
	if latest == nil && c.own.id > 0 {
		return fmt.Errorf("%w: all snapshots of %s are gone, ours (%d) among them: the table was removed while it was written", ErrCorrupt, c.t.path, c.own.id)
	}
	if latest == nil || latest.ID < c.own.id {
		return fmt.Errorf("%w: our snapshot %d has been rolled back", ErrFenced, c.own.id)
	}
	s := latest
	if latest.ID > c.own.id {
		var err error
		s, err = c.t.readSnapshot(ctx, c.own.id)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if s.CommitUser != c.user || s.CommitIdentifier != c.own.identifier || c.own.snapshot != nil && c.own.snapshot.UUID != s.UUID {
		return fmt.Errorf("%w: snapshot %d is not ours with identifier %d, but of %s with %d", ErrFenced, s.ID,
			c.own.identifier, s.CommitUser, s.CommitIdentifier)
	}
	c.own.kind, c.own.snapshot = s.CommitKind, s.Snapshot
	return nil
}

// committedBefore returns the newest snapshot of our user if that tells that the part was committed before this call.
func (c *Commit) committedBefore(p *part) *Snapshot {
	own := &c.own
	if own.id == 0 || p.id == BatchIdentifier || own.identifier < p.id {
		return nil
	}
	if own.identifier == p.id && p.kind == CommitCompact && (own.kind == CommitAppend || own.kind == CommitOverwrite) {
		return nil // the first half is there, this is the second
	}
	if own.snapshot == nil { // it has expired
		return &Snapshot{ID: own.id, CommitUser: c.user, CommitIdentifier: own.identifier}
	}
	return own.snapshot
}
