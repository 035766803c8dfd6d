package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// source gives a file's bytes, from any offset and again. See spool.next.
type source interface {
	next(ctx context.Context, off int64, n int, patience time.Duration) ([]byte, error)
}

// content is a source whose bytes are all there.
type content []byte

func (c content) next(_ context.Context, off int64, n int, _ time.Duration) ([]byte, error) {
	c = c[min(off, int64(len(c))):]
	if len(c) < n {
		return c, io.EOF
	}
	return c[:n], nil
}

// written is a complete file under its temporary name.
type written struct {
	tmp string
	id  uint64
}

// write brings a source's bytes into a new hidden file beside path. When a DataNode fails it begins again under a new name and
// leaves that node out.
func (f *FS) write(ctx context.Context, path string, src source) (written, error) {
	release := f.leases.hold()
	defer release()
	more := retryUntil(f.retryFor)
	patience := f.dn.timeout
	for try := 0; ; try++ {
		tmp := hiddenName(path)
		id, err := f.upload(ctx, tmp, src, patience)
		if err == nil {
			return written{tmp, id}, nil
		}
		f.discard(ctx, tmp)
		if ctx.Err() != nil {
			return written{}, wrap("create", f.uri+path, endedBy(ctx, err))
		}
		if !f.learn(ctx, err) {
			return written{}, wrap("create", f.uri+path, err)
		}
		if errors.As(err, new(*stallError)) {
			patience = min(2*patience, max(time.Minute, patience)) // all may be slow, and none dead
		}
		if try > 0 && !more.again(ctx) {
			return written{}, &opError{"create", f.uri + path, fs.ErrTransient, err, f.writeHint()}
		}
		if try == 0 {
			f.trouble.log().Warn("a file is written again", "file", f.uri+path, "error", message(err))
		}
	}
}

func (f *FS) writeHint() string {
	hint := "no set of datanodes has taken the file; look at their logs, and whether this host reaches their data ports"
	if f.security.kerberos && !f.security.encrypt && len(f.security.protection) == 0 {
		hint += "; if the cluster sets dfs.data.transfer.protection, the configuration here must too"
	}
	return hint
}

// learn draws conclusions from a failed upload and tells whether another try may work.
func (f *FS) learn(ctx context.Context, err error) bool {
	var bad *nodeError
	var stalled *stallError
	switch {
	case errors.Is(err, errConfig):
		return false
	case errors.Is(err, errToken) || errors.Is(err, errUnknownKey):
		return true // no fault of the node's: the next try has a new one
	case errors.As(err, &bad):
		f.nodes.mark(bad.node, bad.err)
		return true
	case errors.As(err, &stalled):
		if !f.nodes.suspects(ctx, stalled.nodes) {
			f.nodes.mark(stalled.nodes[0], stalled) // it answers, but doesn't get on: try without it
		}
		return true
	case errors.Is(err, errLostLease), errors.Is(err, errTaken):
		return true
	}
	return classify(err) == noNodes
}

// errLostLease means that somebody else has ended or removed the file that we were writing.
var errLostLease = errors.New("the file was taken from its writer")

// stallError is errStalled with the nodes that it may be about.
type stallError struct{ nodes []node }

func (e *stallError) Error() string { return errStalled.Error() }

// upload writes a source to a new file, block after block, and closes it.
func (f *FS) upload(ctx context.Context, tmp string, src source, patience time.Duration) (uint64, error) {
	st, err := f.nn.create(ctx, tmp, f.holder, f.replication, f.blockSize, f.mode)
	if err != nil {
		return 0, err
	}
	u := &uploading{f: f, path: tmp, id: st.id, src: src, blockSize: f.blockSize, patience: patience}
	for !u.end {
		if err := u.nextBlock(ctx); err != nil {
			return 0, lostLease(err)
		}
	}
	return st.id, lostLease(u.complete(ctx))
}

// lostLease recognises the answers to a writer whose file is gone or closed.
func lostLease(err error) error {
	var r remote
	if err != nil && errors.As(err, &r) && (classify(err) == missing || isLeaseError(r)) {
		return fmt.Errorf("%w: %w", errLostLease, err)
	}
	return err
}

// uploading is the state of one upload.
type uploading struct {
	f         *FS
	path      string
	id        uint64
	src       source
	blockSize int64
	patience  time.Duration

	off  int64 // in the file
	last *extendedBlock
	end  bool
}

// nextBlock writes a block, or sets end if there are no bytes for one.
func (u *uploading) nextBlock(ctx context.Context) error {
	data, err := u.take(ctx, nil, u.blockSize)
	if err != nil || len(data) == 0 {
		return err
	}
	b, err := u.f.allocate(ctx, u.path, u.id, u.last)
	if err != nil {
		return err
	}
	p, err := u.f.dn.openPipeline(ctx, b, u.f.holder, u.patience)
	if err != nil {
		return stallOf(b, err)
	}
	err = u.fill(ctx, p, data)
	if err != nil {
		p.abort()
	} else {
		err = p.finish(u.f.sync)
	}
	if ctx.Err() != nil {
		err = endedBy(ctx, err)
	}
	if err != nil {
		return stallOf(b, err)
	}
	b.id.numBytes = p.offset
	u.last = &b.id
	return nil
}

func stallOf(b block, err error) error {
	if errors.Is(err, errStalled) {
		return &stallError{b.nodes}
	}
	return err
}

// fill sends bytes until the block is full or the source at its end.
func (u *uploading) fill(ctx context.Context, p *pipeline, data []byte) error {
	for {
		if err := p.send(data); err != nil {
			return err
		}
		room := u.blockSize - p.offset
		if u.end || room <= 0 {
			return nil
		}
		var err error
		if data, err = u.take(ctx, p, room); err != nil {
			return err
		}
		if len(data) == 0 {
			return nil
		}
	}
}

// take returns the bytes of the next packet, at most room, good until the next call. While there are none yet it keeps the
// pipeline alive.
func (u *uploading) take(ctx context.Context, p *pipeline, room int64) ([]byte, error) {
	for {
		b, err := u.src.next(ctx, u.off, int(min(packetData, room)), heartbeatEvery)
		switch {
		case errors.Is(err, errIdle):
			if p != nil {
				if err := p.heartbeat(); err != nil {
					return nil, err
				}
			}
			continue
		case err == io.EOF:
			u.end = true
		case err != nil:
			return nil, err
		}
		u.off += int64(len(b))
		return b, nil
	}
}

// allocate asks for a block on nodes that aren't known to be bad.
func (f *FS) allocate(ctx context.Context, path string, id uint64, previous *extendedBlock) (block, error) {
	exclude := f.nodes.exclude()
	b, err := f.nn.addBlock(ctx, path, f.holder, id, previous, exclude)
	if err != nil && classify(err) == noNodes && len(exclude) > 0 {
		f.nodes.forgive()
		b, err = f.nn.addBlock(ctx, path, f.holder, id, previous, nil)
	}
	return b, err
}

// complete closes the file. The NameNode refuses until a DataNode has reported the last block, which takes some milliseconds, or
// as long as the DataNodes collect reports.
func (u *uploading) complete(ctx context.Context) error {
	begin := time.Now()
	if u.last != nil {
		if err := backoff.Sleep(ctx, u.f.reports.wait()); err != nil {
			return endedBy(ctx, nil)
		}
	}
	var vain time.Duration // when it was asked too early
	for {
		ok, err := u.f.nn.complete(ctx, u.path, u.f.holder, u.id, u.last)
		if ok && u.last != nil {
			u.f.reports.took(vain)
		}
		if ok || err != nil {
			return err
		}
		if vain = time.Since(begin); vain > u.f.retryFor {
			return &opError{"complete", u.f.uri + u.path, fs.ErrTransient, errors.New("no datanode has reported the last block"), ""}
		}
		if err := backoff.Sleep(ctx, pause(vain)); err != nil {
			return endedBy(ctx, nil)
		}
	}
}

// discard removes what a failed upload has left, if that is possible. Orphan cleaning knows the name otherwise.
func (f *FS) discard(ctx context.Context, tmp string) {
	limit := 5 * time.Second
	if ctx.Err() != nil { // somebody wants to end
		limit = time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	_ = f.nn.remove(ctx, tmp)
}
