package hdfs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// namenode sends calls and tries again what may work the next time. It is safe for concurrent use.
type namenode struct {
	pool     *pool
	retryFor time.Duration
	uri      string // prefix for messages: hdfs://authority
	trouble  *trouble
	tell     time.Duration // tellAfter, but for tests

	reached atomic.Bool // a call has worked

	mu    sync.Mutex
	calls map[string]int64
}

// outcome tells what is known of the tries before the one whose result is returned.
type outcome struct {
	maybe bool // one of them may have been done
}

// call sends a request until there is an answer other than "not now", or retryFor is over. The caller of a changing call
// looks at outcome: an answer like "exists" may come from an earlier try of ours.
func (n *namenode) call(ctx context.Context, method, path string, req []byte) ([]byte, outcome, error) {
	a := n.trouble.ask(n.tell)
	b, o, err := n.callUntil(ctx, method, path, req, a)
	a.end(n.uri, err == nil || !errors.Is(err, fs.ErrTransient) && !isEnded(err))
	return b, o, err
}

func (n *namenode) callUntil(ctx context.Context, method, path string, req []byte, a *asking) ([]byte, outcome, error) {
	var o outcome
	more, answered := retryUntil(n.retryFor), time.Now()
	for {
		b, sent, err := n.try(ctx, method, req)
		if err == nil {
			n.reached.Store(true)
			return b, o, nil
		}
		c := classify(err)
		if c == unknown {
			o.maybe = o.maybe || sent
			n.pool.forget()
		}
		if !hungUp(err) {
			answered = time.Now()
		}
		switch {
		case ctx.Err() != nil:
		case c != busy && c != unknown, c == unknown && n.turnedAway(answered, more.tries):
			return nil, o, wrap(method, n.uri+path, err)
		case more.again(ctx):
			a.again(n.uri, method, err)
			continue
		case ctx.Err() == nil:
			return nil, o, wrap(method, n.uri+path, err)
		}
		return nil, o, wrap(method, n.uri+path, endedBy(ctx, err))
	}
}

// hangsUp is for how long a NameNode may end each connection at once, before that is taken for its last word.
const hangsUp = 20 * time.Second

// turnedAway tells whether a NameNode with which no call has worked yet has done nothing since some time but to hang up, as secured
// ones do with those who don't know Kerberos. One that starts or ends does so too, but among other failures, and a proxy in front
// of one that is away, but not for so long.
func (n *namenode) turnedAway(since time.Time, tries int) bool {
	return tries >= 5 && time.Since(since) > min(hangsUp, n.retryFor/2) && !n.reached.Load()
}

// try sends a request once. sent tells whether it may have reached the NameNode.
func (n *namenode) try(ctx context.Context, method string, req []byte) (b []byte, sent bool, err error) {
	c, err := n.pool.get(ctx)
	if err != nil {
		return nil, false, err
	}
	n.count(method)
	b, err = c.call(ctx, method, req)
	if err == nil {
		n.pool.put(c)
		return b, true, nil
	}
	var r remote
	if errors.As(err, &r) {
		n.pool.put(c)
	} else {
		n.pool.drop(c)
	}
	return nil, true, err
}

func (n *namenode) count(method string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls == nil {
		n.calls = map[string]int64{}
	}
	n.calls[method]++
}

// retry waits between tries until a time.
type retry struct {
	deadline time.Time
	tries    int
}

func retryUntil(d time.Duration) *retry { return &retry{deadline: time.Now().Add(d)} }

// again waits and tells whether there is time for another try. It is also over when the context ends.
func (r *retry) again(ctx context.Context) bool {
	d := backoff.Delay(50*time.Millisecond, 3*time.Second, r.tries)
	r.tries++
	return time.Now().Add(d).Before(r.deadline) && backoff.Sleep(ctx, d) == nil
}

// The calls, each with the fields that we use.

// create makes an empty file that is open for writing by holder, with its parents. It never replaces: of tries whose answers were
// lost one may be carried out late, when the file has been written. So it may find what it has made itself, which errTaken tells,
// and another name is to be used. Replication is asked for in spite of an erasure coding policy
// of the directory, whose files only Java's client can write.
func (n *namenode) create(ctx context.Context, path, holder string, replication int, blockSize int64, mode uint32) (status, error) {
	const createReplicate = 1 | 0x80
	var perm, all, e enc
	perm.num(1, uint64(mode))
	all.num(1, 0o666) // for directories whose access control list has a default
	e.str(1, path).bytes(2, perm).str(3, holder).num(4, createReplicate).flag(5, true)
	e.num(6, uint64(replication)).num(7, uint64(blockSize)).bytes(9, all)
	b, _, err := n.call(ctx, "create", path, e)
	if err != nil && !isEnded(err) && classify(err) == exists {
		return status{}, fmt.Errorf("%w: %s", errTaken, path)
	}
	if err != nil {
		return status{}, err
	}
	s, ok, err := child(b, 1)
	if err != nil || !ok {
		return status{}, wrap("create", n.uri+path, errors.Join(err, errWire))
	}
	return parseStatus(s)
}

var errTaken = errors.New("the hidden name is taken")

// addBlock asks for a file's next block, after previous.
func (n *namenode) addBlock(ctx context.Context, path, holder string, id uint64, previous *extendedBlock, exclude [][]byte) (block, error) {
	var e enc
	e.str(1, path).str(2, holder)
	if previous != nil {
		e.bytes(3, previous.encode())
	}
	for _, x := range exclude {
		e.bytes(4, x)
	}
	e.num(5, id)
	b, _, err := n.call(ctx, "addBlock", path, e)
	if err != nil {
		return block{}, err
	}
	raw, ok, err := child(b, 1)
	if err != nil || !ok {
		return block{}, wrap("addBlock", n.uri+path, errors.Join(err, errWire))
	}
	k, err := parseBlock(raw)
	if err == nil && len(k.nodes) == 0 {
		err = fmt.Errorf("%w: block without datanodes", errWire)
	}
	return k, wrap("addBlock", n.uri+path, err)
}

// complete closes a file; false means that no DataNode has reported the last block yet.
func (n *namenode) complete(ctx context.Context, path, holder string, id uint64, last *extendedBlock) (bool, error) {
	var e enc
	e.str(1, path).str(2, holder)
	if last != nil {
		e.bytes(3, last.encode())
	}
	e.num(4, id)
	b, _, err := n.call(ctx, "complete", path, e)
	if err != nil {
		return false, err
	}
	ok, err := truth(b)
	return ok, wrap("complete", n.uri+path, err)
}

// rename moves a file to a name that must be free unless replace is set.
func (n *namenode) rename(ctx context.Context, from, to string, replace bool) (outcome, error) {
	var e enc
	e.str(1, from).str(2, to).flag(3, replace)
	_, o, err := n.call(ctx, "rename2", to, e)
	return o, err
}

// remove deletes a file or an empty directory. A missing one is no error.
func (n *namenode) remove(ctx context.Context, path string) error {
	var e enc
	e.str(1, path).flag(2, false)
	_, _, err := n.call(ctx, "delete", path, e)
	return err
}

// stat describes a file or directory; false if there is none.
func (n *namenode) stat(ctx context.Context, path string) (status, bool, error) {
	var e enc
	e.str(1, path)
	b, _, err := n.call(ctx, "getFileInfo", path, e)
	if err != nil {
		return status{}, false, err
	}
	raw, ok, err := child(b, 1)
	if err != nil || !ok {
		return status{}, false, wrap("getFileInfo", n.uri+path, err)
	}
	s, err := parseStatus(raw)
	return s, true, wrap("getFileInfo", n.uri+path, err)
}

// list gives the names of a directory that come after a name, and how many more there are. found is false for a directory that
// doesn't exist.
func (n *namenode) list(ctx context.Context, path, after string) (page []status, more uint64, found bool, err error) {
	var e enc
	e.str(1, path).bytes(2, []byte(after)).flag(3, false)
	b, _, err := n.call(ctx, "getListing", path, e)
	if err != nil {
		return nil, 0, false, err
	}
	raw, ok, err := child(b, 1)
	if err != nil || !ok {
		return nil, 0, false, wrap("getListing", n.uri+path, err)
	}
	err = fields(raw, func(f field) error {
		switch f.id {
		case 1:
			s, err := parseStatus(f.raw)
			page = append(page, s)
			return err
		case 2:
			more = f.num
		}
		return nil
	})
	return page, more, true, wrap("getListing", n.uri+path, err)
}

// locate gives a file's length and blocks.
func (n *namenode) locate(ctx context.Context, path string) (located, error) {
	var e enc
	e.str(1, path).num(2, 0).num(3, 1<<62)
	b, _, err := n.call(ctx, "getBlockLocations", path, e)
	if err != nil {
		return located{}, err
	}
	raw, ok, err := child(b, 1)
	if err != nil || !ok {
		return located{}, wrap("getBlockLocations", n.uri+path, errors.Join(err, errWire))
	}
	l, err := parseLocated(raw)
	return l, wrap("getBlockLocations", n.uri+path, err)
}

// renewLease keeps the files that holder is writing from being given up.
func (n *namenode) renewLease(ctx context.Context, holder string) error {
	var e enc
	e.str(1, holder)
	_, _, err := n.call(ctx, "renewLease", "/", e)
	return err
}

// defaults are the NameNode's settings for files.
type defaults struct {
	blockSize   int64
	replication int
	encrypt     bool
}

func (n *namenode) defaults(ctx context.Context) (defaults, error) {
	var d defaults
	b, _, err := n.call(ctx, "getServerDefaults", "/", nil)
	if err != nil {
		return d, err
	}
	raw, _, err := child(b, 1)
	if err != nil {
		return d, wrap("getServerDefaults", n.uri+"/", err)
	}
	err = fields(raw, func(f field) error {
		switch f.id {
		case 1:
			d.blockSize = int64(f.num)
		case 4:
			d.replication = int(f.num)
		case 6:
			d.encrypt = f.num != 0
		}
		return nil
	})
	if err == nil && (d.blockSize <= 0 || d.replication <= 0) {
		err = fmt.Errorf("%w: no block size or replication", errWire)
	}
	return d, wrap("getServerDefaults", n.uri+"/", err)
}

// encryptionKey fetches the key that DataNodes want where dfs.encrypt.data.transfer is set.
func (n *namenode) encryptionKey(ctx context.Context) (*encryptionKey, error) {
	b, _, err := n.call(ctx, "getDataEncryptionKey", "/", nil)
	if err != nil {
		return nil, err
	}
	raw, ok, err := child(b, 1)
	if err == nil && !ok {
		err = fmt.Errorf("%w: no key", errWire)
	}
	if err != nil {
		return nil, wrap("getDataEncryptionKey", n.uri+"/", err)
	}
	k, err := parseKey(raw, time.Now())
	return k, wrap("getDataEncryptionKey", n.uri+"/", err)
}
