package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// BatchIdentifier is the commit identifier of jobs that commit once only (Java's BatchWriteBuilder.COMMIT_IDENTIFIER). It is
// never taken for one that was committed before.
const BatchIdentifier = math.MaxInt64

// Listener is told what a Commit does. Any of its functions may be nil; they are called on the committing goroutine.
type Listener struct {
	// CommitEnd is called after each snapshot that was made or not: an APPEND and a COMPACT one are two.
	CommitEnd func(CommitInfo)
	// Retry is called before the pause that precedes another attempt.
	Retry func(RetryInfo)
	// HintFailed is called when the hint LATEST could not be written, which only slows readers down.
	HintFailed func(error)
}

// CommitInfo describes the end of one snapshot's commit.
type CommitInfo struct {
	User       string
	Identifier int64
	Kind       CommitKind
	Snapshot   *Snapshot // nil when it failed
	Err        error
	Attempts   int
	Duration   time.Duration
	// Reused: the snapshot was found to exist already.
	Reused                     bool
	Added, Deleted, Changelogs int // files
	MergedManifests            int // manifests written to merge others
}

// RetryInfo describes why a commit tries again.
type RetryInfo struct {
	Identifier int64
	Kind       CommitKind
	Retry      int
	Wait       time.Duration
	Err        error // what kept the last attempt
}

// Commit makes snapshots for one commit user. It is what makes written files part of the table.
//
// One attempt reads the newest snapshot n, writes a list of the manifests that n consists of, a manifest with the new
// entries, and tries to create snapshot-(n+1), which is atomic and fails when somebody else was faster. Then it starts over
// with their snapshot. When the storage doesn't say whether snapshot-(n+1) was created, a look at it tells: every snapshot
// we make has a UUID of its own.
//
// Safe for concurrent use, but it commits one at a time.
type Commit struct {
	t        *Table
	user     string
	listener Listener
	names    fileNames

	mu     sync.Mutex // guards what is below and serializes commits
	own    ownCommit  // the newest snapshot of our user that we know
	fenced bool       // own is all that our user may have done
	// exclusive: our user is this Commit's alone, so that others' snapshots need not be searched for its own.
	exclusive bool
	watch     *cachedSnapshot // all up to this one have been searched for snapshots of our user
	built     int64           // the newest snapshot that we made, 0: none or it is not certain that it is still there
	// pending is what an earlier call published without learning the outcome: it may be there, or still appear.
	pending *publication
}

// ownCommit identifies a snapshot of our commit user; id 0: there is none.
type ownCommit struct {
	id, identifier int64
	kind           CommitKind // "" when not known
	snapshot       *Snapshot  // nil when not known
}

// NewCommit returns a Commit for a commit user: the identity of the writing job, constant over its restarts and different
// from that of any other job.
func (t *Table) NewCommit(user string, l *Listener) *Commit {
	c := &Commit{t: t, user: user, names: fileNames{uuid: uuid.NewString()}}
	if l != nil {
		c.listener = *l
	}
	return c
}

// User returns the commit user.
func (c *Commit) User() string { return c.user }

// Resume tells which snapshot of our user this instance goes on from, as LatestOf found it (0, 0: there was none), and from
// now on guards against a second instance with the same user: when the newest snapshot of the user is another than this one
// or, later, the one that this Commit made last, Commit fails with ErrFenced. That the snapshot has expired meanwhile is no
// offence.
func (c *Commit) Resume(snapshotID, identifier int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = ownCommit{id: snapshotID, identifier: identifier}
	c.fenced = true
	c.watch = nil
}

// Exclusive says that our user is this Commit's alone, whose identifiers are never used again, as with a random name. Then
// others' snapshots are not searched for ours, unless the outcome of a commit is unknown.
func (c *Commit) Exclusive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exclusive = true
}

// FilterCommitted returns those of the identifiers, given in ascending order, that have not been committed by our user: the
// ones above that of its newest snapshot. When that has expired, or there never was one, it is all of them.
func (c *Commit) FilterCommitted(ctx context.Context, ids []int64) ([]int64, error) {
	s, err := c.t.LatestOf(ctx, c.user)
	if err != nil || s == nil {
		return ids, err
	}
	for len(ids) > 0 && ids[0] <= s.CommitIdentifier {
		ids = ids[1:]
	}
	return ids, nil
}

// Commit makes the snapshots of a committable: an APPEND one for what writers flushed (OVERWRITE when that deletes files),
// then a COMPACT one for what compactions replaced, each only if there is something of its kind. When there is nothing at
// all, it makes an empty APPEND snapshot, which still records the identifier, watermark and properties. It returns the last
// snapshot made.
//
// A committable whose identifier our user has committed already isn't committed again: the snapshot that holds it, or the
// user's newest one if that can't be told, is returned. So Commit may be repeated after any error.
//
// On errors.Is(err, ErrConflict), ErrFenced and most others, nothing of the failed part became visible, nor will it, and the
// caller may delete the part's data files. After ErrUnknownOutcome nothing must be deleted; committing the same again finds
// out. If the APPEND snapshot was made and the COMPACT one failed, both are returned: the snapshot and the error.
func (c *Commit) Commit(ctx context.Context, x Committable) (*Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts, err := c.parts(&x)
	if err != nil {
		return nil, fmt.Errorf("committing %d of %s: %w", x.ID, c.user, c.stillUnknown(x.ID, err))
	}
	var last *Snapshot
	for _, p := range parts {
		s, err := c.commitPart(ctx, p)
		err = c.stillUnknown(x.ID, err)
		if err != nil {
			return last, fmt.Errorf("committing %s %d of %s to %s: %w", p.kind, x.ID, c.user, c.t.path, err)
		}
		last = s
	}
	return last, nil
}

// stillUnknown adds to an error that an earlier call for the same identifier left things open.
func (c *Commit) stillUnknown(id int64, err error) error {
	if err != nil && c.pending != nil && c.pending.snapshot.CommitIdentifier == id && !errors.Is(err, ErrUnknownOutcome) {
		return fmt.Errorf("%w: snapshot %d of an earlier attempt: %w", ErrUnknownOutcome, c.pending.snapshot.ID, err)
	}
	return err
}

// commitPart makes one snapshot, with as many attempts as it takes and options allow.
func (c *Commit) commitPart(ctx context.Context, p *part) (*Snapshot, error) {
	start := time.Now()
	o := c.t.Options()
	w, err := newMetaWriter(c.t, &c.names)
	if err != nil {
		return nil, err
	}
	a := &attempts{c: c, part: p, w: w, rules: mergeRulesOf(o)}
	if x := c.pending; x != nil && x.snapshot.CommitIdentifier == p.id && x.snapshot.CommitKind == p.kind {
		a.last, c.pending = x, nil
	}
	s, err := c.retry(ctx, a, start, o)
	if a.last != nil && errors.Is(err, ErrUnknownOutcome) {
		c.pending = a.last
	}
	if err == nil && a.reused {
		a.cleanUp(ctx) // another instance's files made the snapshot
	}
	if err != nil && !errors.Is(err, ErrUnknownOutcome) {
		a.cleanUp(ctx)
	}
	if f := c.listener.CommitEnd; f != nil {
		f(CommitInfo{
			User: c.user, Identifier: p.id, Kind: p.kind, Snapshot: s, Err: err, Attempts: a.count, Duration: time.Since(start),
			Reused: a.reused, Added: p.added, Deleted: p.deleted, Changelogs: len(p.changelog), MergedManifests: a.mergedManifests,
		})
	}
	return s, err
}

func (c *Commit) retry(ctx context.Context, a *attempts, start time.Time, o Options) (*Snapshot, error) {
	timeout := o.Duration(KeyCommitTimeout)
	for retry := 0; ; retry++ {
		s, err := a.try(ctx)
		if err == nil {
			return s, nil
		}
		if !retryable(err) || ctx.Err() != nil {
			return a.giveUp(ctx, err)
		}
		if retry >= o.Int(KeyCommitMaxRetries) || timeout > 0 && time.Since(start) > timeout {
			return a.giveUp(ctx, fmt.Errorf("gave up after %d retries in %v: %w", retry, time.Since(start).Round(time.Millisecond), err))
		}
		wait := backoff.Delay(o.Duration(KeyCommitMinRetryWait), o.Duration(KeyCommitMaxRetryWait), retry)
		if f := c.listener.Retry; f != nil {
			f(RetryInfo{Identifier: a.part.id, Kind: a.part.kind, Retry: retry + 1, Wait: wait, Err: err})
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return a.giveUp(ctx, err)
		}
	}
}

// errLostRace: somebody else's snapshot took the id.
var errLostRace = errors.New("another commit took the snapshot id")

// errUnpublished: the outcome of a publication isn't known yet.
var errUnpublished = errors.New("the storage did not say whether the snapshot was made")

func retryable(err error) bool {
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrFenced) || errors.Is(err, ErrCorrupt) {
		return false
	}
	return errors.Is(err, errLostRace) || errors.Is(err, errUnpublished) || errors.Is(err, fs.ErrTransient)
}
