package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
)

// Publish puts the object under the condition that there is none. The store decides between all who do so; see the
// package's comment about Java writers, who do not.
func (f *FS) Publish(ctx context.Context, path string, data []byte) (bool, error) {
	o, err := startFile(ctx, "publishing", path)
	if err == nil {
		err = f.checkConditions(ctx, o)
	}
	if err != nil {
		return false, fs.NotPublished(err)
	}
	return f.putNew(ctx, "publishing", o, data)
}

// putNew makes an object that must not exist yet; false if it does with other bytes. An error without fs.ErrNotPublished
// leaves open whether it is there or will be.
func (f *FS) putNew(ctx context.Context, call string, o object, data []byte) (bool, error) {
	unclear := false // a try whose answer is lost may have been done, or may be yet
	for r := f.retrier(); ; {
		err := ctx.Err()
		if err == nil {
			err = f.send(ctx, data, func(ctx context.Context, body io.ReadSeeker) error {
				in := f.put(o, body, len(data))
				in.IfNoneMatch = aws.String("*")
				_, err := f.client.PutObject(ctx, in)
				return err
			})
			unclear = unclear || mayBeDone(err)
		}
		switch classify(err) {
		case fine:
			return true, nil
		case exists:
			return f.ours(ctx, call, o, data, unclear)
		}
		if r.again(ctx, err) {
			continue
		}
		err = fail(ctx, call, o.path, err)
		if !unclear {
			err = fs.NotPublished(err)
		}
		return false, err
	}
}

// mayBeDone tells that the store may have carried out a request in spite of the error.
func mayBeDone(err error) bool {
	switch classify(err) {
	case passing, throttled:
		return !neverSent(err)
	}
	return response(err) == nil && !neverSent(err) && err != nil
}

// ours reads an object that was in the way: it may be our own, of a try whose answer was lost or which something between
// us and the store has sent twice.
func (f *FS) ours(ctx context.Context, call string, o object, data []byte, unclear bool) (bool, error) {
	there, err := f.content(ctx, o, len(data))
	switch {
	case err == nil:
		return bytes.Equal(there, data), nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("s3: %s %s: it exists, and reading whose it is failed: %w", call, o.path, err)
	case unclear:
		return false, fail(ctx, call, o.path, fmt.Errorf("it existed and is gone; whether it was ours is not known: %w", fs.ErrTransient))
	}
	return false, nil
}

// content reads an object whole, or one byte more than most.
func (f *FS) content(ctx context.Context, o object, most int) ([]byte, error) {
	var got []byte
	err := f.do(ctx, "reading", o, int64(most), func(ctx context.Context) error {
		out, err := f.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.bucket, Key: &o.key})
		if err != nil {
			return err
		}
		defer func() { _ = out.Body.Close() }()
		got, err = io.ReadAll(io.LimitReader(out.Body, int64(most)+1))
		if want := aws.ToInt64(out.ContentLength); err == nil && int64(len(got)) < min(want, int64(most)+1) {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	return got, err
}

// Check proves that the store of a directory can be written and honours the conditions that Publish needs. Publish does so
// itself; a program that checks when it starts tells its user earlier.
func (f *FS) Check(ctx context.Context, dir string) error {
	o, err := startFile(ctx, "checking", fs.Join(dir, "snapshot-1"))
	if err != nil {
		return err
	}
	return f.checkConditions(ctx, o)
}

// check is the proof that a bucket's store honours conditions.
type check struct {
	turn   chan struct{} // holds a value while the proof runs, which may take long; guards the others
	passed bool
	err    error // a refusal, which stays
}

// checkConditions proves, once for a bucket, that a conditional put does not replace. It uses an object of its own beside
// the file that is to be published, hidden from readers and known to orphan cleaning, and removes it.
func (f *FS) checkConditions(ctx context.Context, o object) error {
	f.mu.Lock()
	c := f.checks[o.bucket]
	if c == nil {
		c = &check{turn: make(chan struct{}, 1)}
		f.checks[o.bucket] = c
	}
	f.mu.Unlock()
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fail(ctx, "publishing", o.path, ctx.Err())
	}
	defer func() { <-c.turn }()
	if c.passed || c.err != nil {
		return c.err
	}
	probe := o
	probe.path = fs.Join(fs.Dir(o.path), ".condition."+uuid.NewString()+".tmp")
	probe.key = probe.path[len(o.path)-len(o.key):]
	honoured, err := f.honours(ctx, probe)
	if err != nil {
		if !errors.Is(err, fs.ErrTransient) && ctx.Err() == nil {
			err = fmt.Errorf("s3: proving that the store honours If-None-Match, without which commits are not safe: %w", err)
		}
		return err
	}
	if !honoured {
		c.err = fmt.Errorf("s3: the store of bucket %s ignores If-None-Match: a put replaced an object under the condition that there was none, so two "+
			"writers could overwrite each other's snapshots; use a store that has conditional puts (Amazon S3, MinIO, Ceph Squid and others)", o.bucket)
		return c.err
	}
	c.passed = true
	return nil
}

// honours puts two objects of one name.
func (f *FS) honours(ctx context.Context, probe object) (bool, error) {
	defer func() {
		cleanUp, cancel := fs.CleanUp(ctx)
		defer cancel()
		if ctx.Err() != nil { // somebody waits for the end, and the store has perhaps never answered
			cleanUp, cancel = context.WithTimeout(cleanUp, time.Second)
			defer cancel()
		}
		_ = f.delete(cleanUp, probe, probe.key) // hidden, tiny and known to orphan cleaning if it stays
	}()
	for i, want := range []bool{true, false} {
		won, err := f.putNew(ctx, "trying conditional puts with", probe, []byte{byte('1' + i)})
		if err != nil {
			return false, err
		}
		if won != want {
			return false, nil
		}
	}
	return true, nil
}
