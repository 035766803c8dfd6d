package hdfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/fs"
)

// Publish writes a hidden file and renames it by the call that fails if the target exists, decided by the NameNode under its lock
// also against Java's rename.
func (f *FS) Publish(ctx context.Context, uri string, data []byte) (bool, error) {
	path, err := f.start(ctx, "publish", uri)
	if err != nil {
		return false, fs.NotPublished(err)
	}
	w, err := f.write(ctx, path, content(data))
	if err != nil {
		return false, fs.NotPublished(err)
	}
	won, err := f.reveal(ctx, w, path)
	if err != nil {
		return false, fmt.Errorf("publishing %s: %w", uri, err)
	}
	return won, nil
}

// reveal gives a written file its name, if that is free, and tells whether it has it. When answers were lost it looks at which
// file has the name: each has a number that only it has. An error wraps ErrNotPublished where it is certain that the file
// does not have its name and won't get it.
func (f *FS) reveal(ctx context.Context, w written, path string) (bool, error) {
	o, err := f.nn.rename(ctx, w.tmp, path, false)
	if err == nil {
		return true, nil
	}
	if !o.maybe && !isEnded(err) && !errors.Is(err, fs.ErrTransient) { // an answer, and to the only call that arrived
		f.discard(ctx, w.tmp)
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return false, fs.NotPublished(err)
	}
	return f.settle(ctx, w, path, err)
}

// settle finds out what became of a rename whose answer was lost. It first removes the temporary name: a call that is still
// on its way then finds nothing to rename.
func (f *FS) settle(ctx context.Context, w written, path string, cause error) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := f.nn.remove(ctx, w.tmp); err != nil {
		return false, fmt.Errorf("the outcome of renaming %s to %s is not known: %w", w.tmp, path, errors.Join(cause, err))
	}
	s, ok, err := f.nn.stat(ctx, path)
	switch {
	case err != nil:
		return false, fmt.Errorf("the outcome of renaming %s to %s is not known: %w", w.tmp, path, errors.Join(cause, err))
	case ok && s.id == w.id && w.id != 0:
		return true, nil
	case ok && w.id != 0:
		return false, nil
	case ok:
		return false, fmt.Errorf("%s exists, but the namenode gives files no numbers, so whose it is can't be told: %w", path, cause)
	}
	return false, fs.NotPublished(cause)
}

// settleTime bounds how long the outcome of a rename is looked for after the call's context has ended or its time was over.
const settleTime = 20 * time.Second

// Replace writes a hidden file and renames it over the old one.
func (f *FS) Replace(ctx context.Context, uri string, data []byte) error {
	path, err := f.start(ctx, "replace", uri)
	if err != nil {
		return err
	}
	w, err := f.write(ctx, path, content(data))
	if err != nil {
		return err
	}
	o, err := f.nn.rename(ctx, w.tmp, path, true)
	if err != nil && o.maybe && errors.Is(err, fs.ErrNotExist) {
		return nil // an earlier try of ours was done; the answer was lost
	}
	if err != nil {
		f.discard(ctx, w.tmp)
	}
	return err
}
