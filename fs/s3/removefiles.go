package s3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/paimon-go/paimon-go/fs"
)

// mostKeys is how many objects one request may remove.
const mostKeys = 1000

var _ fs.FilesRemover = (*FS)(nil)

// RemoveFiles removes files by a request for each thousand. A store that doesn't know that request is asked for one file after the
// other.
func (f *FS) RemoveFiles(ctx context.Context, paths []string) []error {
	errs := make([]error, len(paths))
	var batch []int // indexes of paths, of one bucket
	var bucket string
	objects := make([]object, len(paths))
	for i, path := range paths {
		o, err := startFile(ctx, "removing", path)
		if err != nil {
			errs[i] = err
			continue
		}
		if len(batch) == mostKeys || len(batch) > 0 && o.bucket != bucket {
			f.removeBatch(ctx, objects, batch, errs)
			batch = batch[:0]
		}
		objects[i], bucket = o, o.bucket
		batch = append(batch, i)
	}
	f.removeBatch(ctx, objects, batch, errs)
	return errs
}

// removeBatch removes the objects of indexes i and puts their errors into errs.
func (f *FS) removeBatch(ctx context.Context, objects []object, batch []int, errs []error) {
	if len(batch) == 0 {
		return
	}
	left := map[string]bool{} // keys that a request of their own is tried for
	if f.oneByOne.Load() || len(batch) == 1 {
		for _, i := range batch {
			left[objects[i].key] = true
		}
	} else if refused, err := f.removeKeys(ctx, objects, batch); err != nil {
		for _, i := range batch {
			errs[i] = err
		}
		return
	} else {
		left = refused
	}
	for _, i := range batch {
		if left[objects[i].key] {
			errs[i] = f.delete(ctx, objects[i], objects[i].key)
		}
	}
}

// removeKeys sends one request, and returns the keys that were not removed by it.
func (f *FS) removeKeys(ctx context.Context, objects []object, batch []int) (map[string]bool, error) {
	in := &s3.DeleteObjectsInput{Bucket: &objects[batch[0]].bucket, Delete: &types.Delete{Quiet: aws.Bool(true)}}
	left := map[string]bool{}
	for _, i := range batch {
		in.Delete.Objects = append(in.Delete.Objects, types.ObjectIdentifier{Key: &objects[i].key})
	}
	var refusal error
	err := f.do(ctx, "removing files with", objects[batch[0]], 0, func(ctx context.Context) error {
		out, err := f.client.DeleteObjects(ctx, in)
		if err != nil {
			if c := classify(err); ctx.Err() == nil && (c == failed || c == unknown || c == missing || c == badRange) {
				refusal = err
				return nil // the request is the store's problem, not the files
			}
			return err
		}
		for _, e := range out.Errors {
			left[aws.ToString(e.Key)] = true
		}
		return nil
	})
	if err != nil || refusal == nil {
		return left, err
	}
	f.oneByOne.Store(true)
	for _, i := range batch {
		left[objects[i].key] = true
	}
	return left, nil
}
