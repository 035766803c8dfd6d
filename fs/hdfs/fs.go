// Package hdfs is the Hadoop distributed file system. Importing it registers the scheme "hdfs".
//
// A file is written under a hidden name and renamed by one call that never replaces, so a reader sees it whole or not at all, and the
// NameNode decides who is first. Its bytes are kept until it is complete; when a DataNode fails they are written again without that
// node. Every call has a time limit, follows its context, and is tried again for as long as a fail-over may take.
package hdfs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
)

func init() {
	fs.Register("hdfs", func(ctx context.Context, uri string, conf map[string]string) (fs.FileSystem, error) {
		return Open(ctx, uri, conf)
	})
	fs.Register("viewfs", func(_ context.Context, uri string, _ map[string]string) (fs.FileSystem, error) {
		return nil, fmt.Errorf("%w: %s is a view over several file systems, which is not supported: give the hdfs:// URI of the file system behind it", errConfig, fs.Masked(uri))
	})
}

// FS is one HDFS. It is safe for concurrent use.
type FS struct {
	cluster     cluster
	uri         string // hdfs://authority
	nn          *namenode
	dn          *connector
	nodes       *nodes
	security    *security
	login       *kerberos // nil without Kerberos
	web         *webhdfs
	leases      *leases
	reports     reports
	trouble     trouble
	holder      string // of all leases
	retryFor    time.Duration
	sync        bool
	blockSize   int64
	replication int
	mode        uint32 // of new files
	spoolMemory int64
	spoolDir    string
	chunks      chunks // memory of spools

	closing context.CancelFunc
	closed  atomic.Bool
}

var _ fs.FileSystem = (*FS)(nil)

// Calls returns how often each call was sent to the NameNode so far, by its name in Hadoop's protocol.
func (f *FS) Calls() map[string]int64 {
	f.nn.mu.Lock()
	defer f.nn.mu.Unlock()
	return maps.Clone(f.nn.calls)
}

// Close ends all connections. Writers and readers in use fail.
func (f *FS) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	f.closing()
	f.leases.close()
	f.nn.pool.close()
	f.dn.close()
	f.web.client.CloseIdleConnections()
	f.nodes.wg.Wait()
	f.chunks.close()
	if f.login != nil {
		f.login.close()
	}
	return nil
}

// start checks a call's context and path.
func (f *FS) start(ctx context.Context, op, uri string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", &opError{op: op, path: uri, cause: err}
	}
	authority, path, err := splitURI(uri)
	if err != nil {
		return "", &opError{op: op, path: uri, cause: err}
	}
	if authority != "" && !f.sameAuthority(authority) {
		return "", &opError{op: op, path: uri, cause: fmt.Errorf("this file system is %s", f.uri)}
	}
	return path, nil
}

func (f *FS) sameAuthority(a string) bool {
	return a == f.cluster.authority || f.cluster.service == "" && withPort(a) == withPort(f.cluster.authority)
}

// hiddenName is the name of a file that is being written: hidden from readers, and known to Paimon's orphan cleaning.
func hiddenName(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:i+1] + "." + path[i+1:] + "." + uuid.NewString() + ".tmp"
}

// Stat describes a file or directory.
func (f *FS) Stat(ctx context.Context, uri string) (fs.Info, error) {
	path, err := f.start(ctx, "stat", uri)
	if err != nil {
		return fs.Info{}, err
	}
	s, ok, err := f.nn.stat(ctx, path)
	if err != nil {
		return fs.Info{}, err
	}
	if !ok {
		return fs.Info{}, &opError{op: "stat", path: uri, cause: fs.ErrNotExist}
	}
	return info(uri, fs.Base(path), s), nil
}

func info(uri, name string, s status) fs.Info {
	return fs.Info{Path: uri, Name: name, Size: s.size, Dir: s.kind == kindDir, ModTime: time.UnixMilli(s.modTime)}
}

// List gives the children of a directory, a page of them at a time.
func (f *FS) List(ctx context.Context, dir string) iter.Seq2[fs.Info, error] {
	return func(yield func(fs.Info, error) bool) {
		path, err := f.start(ctx, "list", dir)
		if err != nil {
			yield(fs.Info{}, err)
			return
		}
		after := ""
		for {
			page, more, found, err := f.nn.list(ctx, path, after)
			if err == nil && len(page) == 1 && page[0].name == "" {
				err = &opError{"list", dir, fs.ErrInTheWay, errors.New("is not a directory"), "a file lies there, where a directory belongs: remove or rename it"}
			}
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
			if err != nil {
				yield(fs.Info{}, err)
				return
			}
			for _, s := range page {
				if !yield(info(fs.Join(dir, s.name), s.name, s), nil) {
					return
				}
				after = s.name
			}
			if !found || more == 0 || len(page) == 0 {
				return
			}
		}
	}
}

// Remove deletes a file or an empty directory, past the trash.
func (f *FS) Remove(ctx context.Context, uri string) error {
	path, err := f.start(ctx, "remove", uri)
	if err != nil {
		return err
	}
	err = f.nn.remove(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
