package maintenance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// remover removes files, some at a time, and counts them.
type remover struct {
	t       *table.Table
	limit   *Limiter
	dryRun  bool
	threads int
	report  *Report
}

func newRemover(t *table.Table, limit *Limiter, dryRun bool, report *Report) *remover {
	threads := t.Options().Int(table.KeyFileOperationThreadNum)
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &remover{t: t, limit: limit, dryRun: dryRun, threads: threads, report: report}
}

// removal is a file to remove.
type removal struct {
	path string
	size int64
	// manifest is the name of a file of the manifest directory, which the table may remember; "" for others.
	manifest string
	// tolerant: a failure doesn't matter to what comes after.
	tolerant bool
}

// all removes the files. It goes on after a failure with what was begun, and returns the first one.
func (r *remover) all(ctx context.Context, files iter.Seq[removal]) error {
	if r.dryRun {
		for f := range files {
			r.done(f)
		}
		return nil
	}
	if b, ok := r.t.FS().(fs.FilesRemover); ok {
		return r.inBatches(ctx, b, files)
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards first and the report
		first error
		queue = make(chan removal)
	)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for range r.threads {
		wg.Go(func() {
			for f := range queue {
				err := r.one(ctx, f)
				mu.Lock()
				switch {
				case err == nil:
					r.done(f)
				case f.tolerant && ctx.Err() == nil:
					r.report.kept(err.Error())
				case first == nil:
					first = err
					cancel(errStopped)
				}
				mu.Unlock()
			}
		})
	}
	for f := range files {
		select {
		case queue <- f:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	wg.Wait()
	if first == nil {
		first = context.Cause(ctx)
	}
	return first
}

// batchSize is how many files are removed at once, where the storage can do that.
const batchSize = 1000

// inBatches removes files by few calls. The limit still counts files.
func (r *remover) inBatches(ctx context.Context, b fs.FilesRemover, files iter.Seq[removal]) error {
	var batch []removal
	var first error
	flush := func() bool {
		paths := make([]string, len(batch))
		for i, f := range batch {
			paths[i] = f.path
			if f.manifest != "" {
				paths[i] = r.t.ForgetManifestFile(f.manifest)
			}
		}
		for i, err := range b.RemoveFiles(ctx, paths) {
			switch f := batch[i]; {
			case err == nil:
				r.done(f)
			case f.tolerant && ctx.Err() == nil:
				r.report.kept(fmt.Sprintf("removing %s: %v", paths[i], err))
			case first == nil:
				first = fmt.Errorf("removing %s: %w", paths[i], err)
			}
		}
		batch = batch[:0]
		return first == nil
	}
	for f := range files {
		if err := r.limit.Wait(ctx); err != nil {
			first = err
			break
		}
		if batch = append(batch, f); len(batch) == batchSize && !flush() {
			break
		}
	}
	if first == nil && len(batch) > 0 {
		flush()
	}
	if first == nil {
		first = context.Cause(ctx)
	}
	return first
}

// errStopped ends the other removals when one has failed.
var errStopped = errors.New("another removal has failed")

func (r *remover) one(ctx context.Context, f removal) error {
	if err := r.limit.Wait(ctx); err != nil {
		return err
	}
	if f.manifest != "" {
		return r.t.RemoveManifestFile(ctx, f.manifest)
	}
	if err := r.t.FS().Remove(ctx, f.path); err != nil {
		return fmt.Errorf("removing %s: %w", f.path, err)
	}
	return nil
}

func (r *remover) done(f removal) {
	r.report.Files++
	r.report.Bytes += max(f.size, 0)
	r.report.name(relative(r.t, f.path), r.dryRun)
}
