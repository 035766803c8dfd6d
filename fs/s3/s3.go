package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/paimon-go/paimon-go/fs"
)

func init() {
	fs.Register("s3", Open)
	fs.Register("s3a", Open)
}

// FS is one store. It serves all buckets that its settings reach.
type FS struct {
	cfg    Config
	client *s3.Client
	// renewable forgets credentials that the store calls expired and gets new ones; nil if there can be none.
	renewable *aws.CredentialsCache
	clock     clock
	slowest   int64           // the constant, but for tests
	own       *http.Transport // nil: the transport is the caller's

	uploads chan struct{} // a token for each part on its way
	parts   sync.Pool     // *[]byte of PartSize
	cache   *cache

	oneByOne atomic.Bool // the store does not remove many files at once

	mu     sync.Mutex // guards checks
	checks map[string]*check
}

var _ fs.FileSystem = (*FS)(nil)

// Open makes the file system of a URI from catalog options (see ConfigOf).
func Open(ctx context.Context, uri string, conf map[string]string) (fs.FileSystem, error) {
	o, err := parse(uri)
	if err != nil {
		return nil, err
	}
	if why := badBucket(o.bucket); why != "" {
		return nil, fmt.Errorf("s3: %q can't be the name of a bucket: %s: %w", o.bucket, why, fs.ErrConfig)
	}
	c, err := ConfigOf(o.bucket, conf)
	if err != nil {
		return nil, err
	}
	return New(ctx, c)
}

// badBucket says why no store has a bucket of a name. Old buckets of Amazon's and other stores have names with capitals,
// underscores and up to 255 characters; what a store doesn't like beside this it says itself.
func badBucket(name string) string {
	if len(name) > 255 {
		return "it is longer than 255 characters"
	}
	for _, c := range name {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && !strings.ContainsRune("0123456789.-_", c) {
			return fmt.Sprintf("%q is neither a letter, a digit nor one of . - _", c)
		}
	}
	return ""
}

// Ignored has the settings that ConfigOf found and that mean nothing here.
func (f *FS) Ignored() []string { return f.cfg.Ignored }

// Close ends idle connections.
func (f *FS) Close() error {
	if f.own != nil {
		f.own.CloseIdleConnections()
	}
	return nil
}

// object is a parsed path. key is empty for the bucket itself, and never begins or ends with a slash.
type object struct {
	path, bucket, key string
	dir               bool // the path ends with a slash
}

// parse takes a path apart. Nothing is unescaped: Paimon's partition directories hold per cent signs that are part of the
// name. Slashes that follow each other are one, as Hadoop has it.
func parse(path string) (object, error) {
	scheme := fs.Scheme(path)
	rest, ok := strings.CutPrefix(path[len(scheme):], "://")
	if !ok || scheme != "s3" && scheme != "s3a" {
		return object{}, fmt.Errorf("s3: %q is no path like s3://bucket/name: %w", path, iofs.ErrInvalid)
	}
	bucket, key, _ := strings.Cut(rest, "/")
	if masked := fs.Masked(path); masked != path {
		return object{}, fmt.Errorf("s3: %q: keys are not taken from a path: set s3.access-key and s3.secret-key: %w", masked, iofs.ErrInvalid)
	}
	if bucket == "" || strings.ContainsAny(bucket, "@:\x00") || strings.IndexByte(key, 0) >= 0 {
		return object{}, fmt.Errorf("s3: %q names no bucket or has characters that none can have: %w", path, iofs.ErrInvalid)
	}
	for strings.Contains(key, "//") {
		key = strings.ReplaceAll(key, "//", "/")
	}
	o := object{path: path, bucket: bucket, dir: strings.HasSuffix(key, "/") || key == ""}
	o.key = strings.Trim(key, "/")
	o.dir = o.dir || o.key == ""
	return o, nil
}

func start(ctx context.Context, path string) (object, error) {
	o, err := parse(path)
	if err == nil && ctx.Err() != nil {
		err = fail(ctx, "opening", path, ctx.Err())
	}
	return o, err
}

// prefix of what lies in a directory.
func (o object) prefix() string {
	if o.key == "" {
		return ""
	}
	return o.key + "/"
}

// Stat describes a file or directory. A directory is there when something lies in it, be it Hadoop's marker.
func (f *FS) Stat(ctx context.Context, path string) (fs.Info, error) {
	o, err := start(ctx, path)
	if err != nil {
		return fs.Info{}, err
	}
	if !o.dir {
		info, err := f.head(ctx, o)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return info, err
		}
	}
	names, marker, err := f.look(ctx, o)
	if err != nil {
		return fs.Info{}, err
	}
	if !names && !marker && o.key != "" {
		return fs.Info{}, &callError{call: "looking at", path: path, err: errors.New("neither a file nor a directory is there"), class: fs.ErrNotExist}
	}
	return fs.Info{Path: path, Name: fs.Base(o.key), Dir: true}, nil
}

// head describes a file.
func (f *FS) head(ctx context.Context, o object) (fs.Info, error) {
	var out *s3.HeadObjectOutput
	err := f.do(ctx, "looking at", o, 0, func(ctx context.Context) (err error) {
		out, err = f.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &o.bucket, Key: &o.key})
		return err
	})
	if err != nil {
		return fs.Info{}, err
	}
	return fs.Info{Path: o.path, Name: fs.Base(o.key), Size: aws.ToInt64(out.ContentLength), ModTime: aws.ToTime(out.LastModified)}, nil
}

// look tells whether anything lies in a directory, and whether it has a marker.
func (f *FS) look(ctx context.Context, o object) (names, marker bool, err error) {
	prefix := o.prefix()
	page, err := f.page(ctx, o, &s3.ListObjectsV2Input{Bucket: &o.bucket, Prefix: &prefix, MaxKeys: aws.Int32(2)})
	if err != nil {
		return false, false, err
	}
	for _, c := range page.Contents {
		if key := aws.ToString(c.Key); key == prefix {
			marker = true
		} else if strings.HasPrefix(key, prefix) {
			names = true
		}
	}
	return names, marker, nil
}

func (f *FS) page(ctx context.Context, o object, in *s3.ListObjectsV2Input) (page *s3.ListObjectsV2Output, err error) {
	err = f.do(ctx, "listing", o, 0, func(ctx context.Context) (err error) {
		page, err = f.client.ListObjectsV2(ctx, in)
		return err
	})
	return page, err
}

// List gives the children of a directory, page by page.
func (f *FS) List(ctx context.Context, dir string) iter.Seq2[fs.Info, error] {
	return func(yield func(fs.Info, error) bool) {
		o, err := start(ctx, dir)
		if err != nil {
			yield(fs.Info{}, err)
			return
		}
		prefix := o.prefix()
		in := &s3.ListObjectsV2Input{Bucket: &o.bucket, Prefix: &prefix, Delimiter: aws.String("/")}
		for {
			page, err := f.page(ctx, o, in)
			if err != nil {
				yield(fs.Info{}, err)
				return
			}
			for info := range children(page, dir, prefix) {
				if !yield(info, nil) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) || aws.ToString(page.NextContinuationToken) == "" {
				return
			}
			in.ContinuationToken = page.NextContinuationToken
		}
	}
}

// children are the files and directories of a page, without the markers of directories, today's ("name/") and those of
// Hadoop's first ("name_$folder$").
func children(page *s3.ListObjectsV2Output, parent, prefix string) iter.Seq[fs.Info] {
	return func(yield func(fs.Info) bool) {
		for _, p := range page.CommonPrefixes {
			name := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(p.Prefix), prefix), "/")
			if name != "" && !yield(fs.Info{Path: fs.Join(parent, name), Name: name, Dir: true}) {
				return
			}
		}
		for _, c := range page.Contents {
			name := strings.TrimPrefix(aws.ToString(c.Key), prefix)
			if name == "" || strings.HasSuffix(name, "_$folder$") {
				continue
			}
			if dir, marker := strings.CutSuffix(name, "/"); marker { // some stores do not give it as a common prefix
				same := func(p types.CommonPrefix) bool { return aws.ToString(p.Prefix) == prefix+name }
				if !slices.ContainsFunc(page.CommonPrefixes, same) && !yield(fs.Info{Path: fs.Join(parent, dir), Name: dir, Dir: true}) {
					return
				}
				continue
			}
			if !yield(fs.Info{Path: fs.Join(parent, name), Name: name, Size: aws.ToInt64(c.Size), ModTime: aws.ToTime(c.LastModified)}) {
				return
			}
		}
	}
}

// Remove deletes a file, or the marker of a directory with nothing else in it. The store would not say whether there was
// a file, hence the look before.
func (f *FS) Remove(ctx context.Context, path string) error {
	o, err := start(ctx, path)
	if err != nil {
		return err
	}
	if o.key == "" {
		return fail(ctx, "removing", path, errors.New("a bucket is not removed"))
	}
	if !o.dir {
		_, err := f.head(ctx, o)
		if err == nil {
			return f.delete(ctx, o, o.key)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	names, marker, err := f.look(ctx, o)
	switch {
	case err != nil:
		return err
	case names:
		return fail(ctx, "removing", path, errors.New("the directory is not empty"))
	case marker:
		return f.delete(ctx, o, o.prefix())
	}
	return nil
}

func (f *FS) delete(ctx context.Context, o object, key string) error {
	err := f.do(ctx, "removing", o, 0, func(ctx context.Context) error {
		_, err := f.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &o.bucket, Key: &key})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Replace overwrites a file in one request.
func (f *FS) Replace(ctx context.Context, path string, data []byte) error {
	o, err := startFile(ctx, "replacing", path)
	if err != nil {
		return err
	}
	return f.try(ctx, "replacing", o, func() error {
		return f.send(ctx, data, func(ctx context.Context, body io.ReadSeeker) error {
			_, err := f.client.PutObject(ctx, f.put(o, body, len(data)))
			return err
		})
	})
}

// startFile is start for what must be a file.
func startFile(ctx context.Context, call, path string) (object, error) {
	o, err := start(ctx, path)
	if err == nil && o.dir {
		err = fail(ctx, call, path, fmt.Errorf("the path is a directory's: %w", iofs.ErrInvalid))
	}
	return o, err
}
