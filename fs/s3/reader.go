package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/paimon-go/paimon-go/fs"
)

// headBytes are read when a file is opened: many files of a table are not larger, and cost no second request.
const headBytes = 64 << 10

// reader reads one object. Its context is that of Open.
type reader struct {
	f      *FS
	ctx    context.Context
	o      object
	size   int64
	etag   string
	head   []byte
	closed atomic.Bool

	segments []*segment     // guarded by the cache's mutex
	marks    map[int64]mark // likewise
}

// Open asks for the first bytes and learns the size from the answer. The Reader may be used concurrently; ctx is for all
// its reads. A file that is replaced meanwhile is an error, not a mixture.
func (f *FS) Open(ctx context.Context, path string) (fs.Reader, error) {
	o, err := startFile(ctx, "opening", path)
	if err != nil {
		return nil, err
	}
	r := &reader{f: f, ctx: ctx, o: o}
	err = f.do(ctx, "opening", o, headBytes, r.open)
	if err != nil && classify(err) == badRange { // an empty object has no first byte
		var info fs.Info
		if info, err = f.head(ctx, o); err == nil {
			r.size, r.head = info.Size, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *reader) open(ctx context.Context) error {
	out, err := r.f.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &r.o.bucket, Key: &r.o.key, Range: aws.String("bytes=0-" + strconv.Itoa(headBytes-1))})
	if err != nil {
		return err
	}
	defer func() { _ = out.Body.Close() }()
	r.size, r.etag = aws.ToInt64(out.ContentLength), aws.ToString(out.ETag)
	if out.ContentRange != nil {
		_, total, ok := strings.Cut(*out.ContentRange, "/")
		if r.size, err = strconv.ParseInt(total, 10, 64); !ok || err != nil {
			return fmt.Errorf("the store answers with Content-Range %q, which has no size", *out.ContentRange)
		}
	}
	r.head = make([]byte, min(r.size, headBytes))
	_, err = io.ReadFull(out.Body, r.head)
	return err
}

func (r *reader) Size() int64 { return r.size }

func (r *reader) Close() error {
	if r.closed.Swap(true) {
		return iofs.ErrClosed
	}
	r.f.cache.forget(r)
	return nil
}

// ReadAt serves what was read ahead and asks for the rest.
func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	if r.closed.Load() {
		return 0, fail(context.Background(), "reading", r.o.path, iofs.ErrClosed)
	}
	if off < 0 {
		return 0, fail(context.Background(), "reading", r.o.path, fmt.Errorf("at offset %d: %w", off, iofs.ErrInvalid))
	}
	want := int(max(min(int64(len(b)), r.size-off), 0))
	n := 0
	if off < int64(len(r.head)) {
		n = copy(b[:want], r.head[off:])
	}
	for n < want {
		m, err := r.f.cache.read(r, b[n:want], off+int64(n))
		if n += m; err != nil {
			return n, err
		}
	}
	if want < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// fetch reads len(b) bytes at off from the store. A body that ends early is asked for again from there.
func (r *reader) fetch(b []byte, off int64) error {
	t := r.f.retrier()
	for len(b) > 0 {
		n, err := r.get(b, off)
		b, off = b[n:], off+int64(n)
		if n > 0 {
			t.progress()
		}
		if err != nil && !t.again(r.ctx, err) {
			return fail(r.ctx, "reading", r.o.path, err)
		}
	}
	return nil
}

// get is one try: it gives the bytes that came. It ends when none comes for the time of a call.
func (r *reader) get(b []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	watch := time.AfterFunc(r.f.cfg.CallTime, func() { cancel(errStalled) })
	defer watch.Stop()
	in := &s3.GetObjectInput{Bucket: &r.o.bucket, Key: &r.o.key, Range: aws.String(fmt.Sprintf("bytes=%d-%d", off, off+int64(len(b))-1))}
	if r.etag != "" {
		in.IfMatch = &r.etag
	}
	out, err := r.f.client.GetObject(ctx, in)
	if err != nil {
		if c := classify(err); c == exists || c == badRange {
			err = errReplaced
		}
		return 0, stalled(ctx, err)
	}
	defer func() { _ = out.Body.Close() }()
	if tag := aws.ToString(out.ETag); tag != r.etag && tag != "" && r.etag != "" { // not all stores look at the condition
		return 0, errReplaced
	}
	if out.ContentRange == nil && off > 0 {
		if _, err := io.CopyN(io.Discard, out.Body, off); err != nil { // a store without ranges
			return 0, stalled(ctx, err)
		}
	}
	n := 0
	for n < len(b) {
		m, err := out.Body.Read(b[n:])
		n += m
		watch.Reset(r.f.cfg.CallTime)
		if err != nil && n < len(b) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return n, stalled(ctx, err)
		}
	}
	return n, nil
}

func stalled(ctx context.Context, err error) error {
	if context.Cause(ctx) == errStalled {
		return errStalled
	}
	return err
}
