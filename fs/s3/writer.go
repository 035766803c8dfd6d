package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
)

// tokenName is the metadata by which a writer knows an object of several parts as its own.
const tokenName = "paimon-go-writer"

// Create starts a file. Nothing is asked of the store before there is a part to send or the file is closed; that the name
// is taken is said then. ctx is for all that the Writer does.
func (f *FS) Create(ctx context.Context, path string) (fs.Writer, error) {
	o, err := startFile(ctx, "creating", path)
	if err != nil {
		return nil, err
	}
	w := &writer{f: f, o: o, parent: ctx}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	return w, nil
}

type writer struct {
	f      *FS
	o      object
	parent context.Context // the caller's
	ctx    context.Context // ends with parent or with the first failure
	cancel context.CancelCauseFunc
	buf    []byte
	next   int32 // number of parts begun
	id     *string
	token  string
	done   bool

	wg    sync.WaitGroup
	mu    sync.Mutex // guards the fields below
	parts []types.CompletedPart
	err   error // the first failure
}

// Write takes bytes into the part at hand and sends it when it is full, waiting for one of those on their way if these are
// many.
func (w *writer) Write(b []byte) (int, error) {
	if w.done {
		return 0, fail(context.Background(), "writing", w.o.path, iofs.ErrClosed)
	}
	if err := w.failure(); err != nil {
		return 0, err
	}
	n := 0
	for len(b) > 0 {
		m := min(len(b), int(w.f.cfg.PartSize)-len(w.buf))
		w.buf = append(w.room(m), b[:m]...)
		b, n = b[m:], n+m
		if len(w.buf) == int(w.f.cfg.PartSize) {
			if err := w.send(); err != nil {
				w.fail(err)
				return n, err
			}
		}
	}
	return n, nil
}

// room returns the part at hand with room for n bytes. Small files keep small buffers; others have one of a whole part,
// which is used again.
func (w *writer) room(n int) []byte {
	need := len(w.buf) + n
	if need <= cap(w.buf) || w.next == 0 && need <= smallBuffer {
		return w.buf
	}
	return append(*w.f.parts.Get().(*[]byte), w.buf...)
}

const smallBuffer = 256 << 10

// free takes back a buffer.
func (f *FS) free(b []byte) {
	if cap(b) == int(f.cfg.PartSize) {
		b = b[:0]
		f.parts.Put(&b)
	}
}

func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// fail keeps the first error and ends what is under way.
func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		w.cancel(err)
	}
}

// send begins to upload the part at hand.
func (w *writer) send() error {
	if w.id == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if w.next == maxParts {
		return fail(w.parent, "writing", w.o.path, fmt.Errorf("the file is larger than %d parts of %d bytes: raise s3.multipart.size", maxParts, w.f.cfg.PartSize))
	}
	select {
	case w.f.uploads <- struct{}{}:
	case <-w.ctx.Done():
		return w.ended()
	}
	w.next++
	num, data := w.next, w.buf
	w.buf = nil
	w.wg.Go(func() {
		defer func() { <-w.f.uploads }()
		if err := w.upload(num, data); err != nil {
			w.fail(err)
		}
		w.f.free(data)
	})
	return nil
}

// ended is the error of a write after the end of its context or a failure.
func (w *writer) ended() error {
	if err := w.failure(); err != nil {
		return err
	}
	return fail(w.parent, "writing", w.o.path, context.Cause(w.ctx))
}

func (w *writer) begin() error {
	w.token = uuid.NewString()
	in := &s3.CreateMultipartUploadInput{Bucket: &w.o.bucket, Key: &w.o.key, Metadata: map[string]string{tokenName: w.token}}
	in.ServerSideEncryption, in.SSEKMSKeyId = w.f.encryption()
	return w.f.do(w.ctx, "starting an upload of", w.o, 0, func(ctx context.Context) error {
		out, err := w.f.client.CreateMultipartUpload(ctx, in)
		if err == nil {
			w.id = out.UploadId
		}
		return err
	})
}

func (w *writer) upload(num int32, data []byte) error {
	return w.f.try(w.ctx, fmt.Sprintf("writing part %d of", num), w.o, func() error {
		return w.f.send(w.ctx, data, func(ctx context.Context, body io.ReadSeeker) error {
			out, err := w.f.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &w.o.bucket, Key: &w.o.key, UploadId: w.id, PartNumber: &num,
				Body: body, ContentLength: aws.Int64(int64(len(data)))})
			if err != nil {
				return err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.parts = append(w.parts, types.CompletedPart{PartNumber: &num, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32, ChecksumCRC64NVME: out.ChecksumCRC64NVME})
			return nil
		})
	})
}

// Close makes the file visible. After an error the upload is aborted.
func (w *writer) Close() error {
	if w.done {
		return fail(context.Background(), "closing", w.o.path, iofs.ErrClosed)
	}
	w.done = true
	defer w.cancel(nil)
	err := w.failure()
	if err == nil && w.id == nil {
		return w.whole()
	}
	if err == nil && len(w.buf) > 0 {
		err = w.send()
	}
	if err != nil {
		w.fail(err)
	}
	w.wg.Wait()
	if err := w.failure(); err != nil {
		return errors.Join(err, w.abort())
	}
	return w.complete()
}

// whole puts a file of less than a part in one request.
func (w *writer) whole() error {
	won, err := w.f.putNew(w.parent, "writing", w.o, w.buf)
	w.f.free(w.buf)
	w.buf = nil
	if err == nil && !won {
		return w.taken()
	}
	return err
}

func (w *writer) taken() error {
	return &callError{call: "writing", path: w.o.path, err: errors.New("the file exists"), class: fs.ErrExist}
}

// complete makes one object of the parts. When an answer is lost, the object's token tells whether it was done.
func (w *writer) complete() error {
	slices.SortFunc(w.parts, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	in := &s3.CompleteMultipartUploadInput{Bucket: &w.o.bucket, Key: &w.o.key, UploadId: w.id, IfNoneMatch: aws.String("*"),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: w.parts}}
	unclear := false
	for r := w.f.retrier(); ; {
		err := w.parent.Err()
		if err == nil {
			err = w.f.attempt(w.parent, int64(w.next)<<20, func(ctx context.Context) error {
				_, err := w.f.client.CompleteMultipartUpload(ctx, in)
				return err
			})
			unclear = unclear || mayBeDone(err)
		}
		c := classify(err)
		if c == fine {
			return nil
		}
		if c == exists || (c == noUpload || c == missing) && unclear {
			ours, herr := w.isOurs()
			switch {
			case ours:
				return nil
			case herr != nil:
				return herr
			case c == exists:
				return errors.Join(w.taken(), w.abort())
			}
		}
		if r.again(w.parent, err) {
			continue
		}
		return errors.Join(fail(w.parent, "completing", w.o.path, err), w.abort())
	}
}

// isOurs tells whether the object under the name was made by this writer.
func (w *writer) isOurs() (bool, error) {
	var out *s3.HeadObjectOutput
	err := w.f.do(w.parent, "looking at", w.o, 0, func(ctx context.Context) (err error) {
		out, err = w.f.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &w.o.bucket, Key: &w.o.key})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && out.Metadata[tokenName] == w.token, err
}

// Abort drops the file. The store forgets its parts.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.f.free(w.buf)
	w.buf = nil
	w.cancel(context.Canceled)
	w.wg.Wait()
	return w.abort()
}

// abort ends the upload on the store. Parts that were on their way may arrive after it, so it is said until the store
// knows the upload no more.
func (w *writer) abort() error {
	if w.id == nil {
		return nil
	}
	ctx, cancel := fs.CleanUp(w.parent)
	defer cancel()
	in := &s3.AbortMultipartUploadInput{Bucket: &w.o.bucket, Key: &w.o.key, UploadId: w.id}
	for range 3 {
		err := w.f.do(ctx, "aborting the upload of", w.o, 0, func(ctx context.Context) error {
			_, err := w.f.client.AbortMultipartUpload(ctx, in)
			return err
		})
		switch classify(err) {
		case fine:
		case noUpload, missing:
			return nil
		default:
			return err
		}
	}
	return nil
}
