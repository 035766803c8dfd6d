//go:build integration

package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	_ "github.com/paimon-go/paimon-go/fs/hdfs" // hdfs://
	_ "github.com/paimon-go/paimon-go/fs/local"
	_ "github.com/paimon-go/paimon-go/fs/s3" // s3://
)

// Storage makes a warehouse of a test's own.
type Storage func(t testing.TB) (warehouse string)

// OnDisk makes a warehouse on the local disk.
func OnDisk(t testing.TB) string { return t.TempDir() }

// OnHDFS makes a warehouse on the HDFS of PAIMON_GO_HDFS.
func OnHDFS(t testing.TB) string { return HDFS(t).Warehouse(t) }

// OnS3 makes a warehouse in the bucket "test" of the server of PAIMON_GO_S3.
func OnS3(t testing.TB) string {
	return newWarehouse(t, "s3://test", map[string]string{"s3.endpoint": env(t, "PAIMON_GO_S3"), "s3.access-key": "test", "s3.secret-key": "testsecret",
		"s3.path.style.access": "true",
		// For Java: its newer client takes no other region, and a server that keeps files in folders doesn't let it delete one that
		// isn't empty, which it tries after each write.
		"fs.s3a.endpoint.region": "us-east-1", "fs.s3a.directory.marker.retention": "keep"})
}

// Slowness is how much longer than on the disk a commit takes, roughly.
func Slowness(warehouse string) time.Duration {
	if fs.Scheme(warehouse) == "" {
		return 1
	}
	return 3
}

// Slowness is that of the job's table.
func (j *Job) Slowness() time.Duration { return Slowness(j.Warehouse) }

var (
	warehouses atomic.Int64
	catalogs   sync.Map // of a warehouse's URI to map[string]string, the settings that its storage needs
	opened     = struct {
		sync.Mutex // guards m
		m          map[string]fs.FileSystem
	}{m: map[string]fs.FileSystem{}}
)

func newWarehouse(t testing.TB, root string, conf map[string]string) string {
	w := fmt.Sprintf("%s/%s-%d-%d", root, strings.NewReplacer("/", "_", "#", "_").Replace(t.Name()), os.Getpid(), warehouses.Add(1))
	catalogs.Store(w, conf)
	return w
}

// Catalog has the settings that the storage of a path needs, nil if none.
func Catalog(path string) (conf map[string]string) {
	if fs.Scheme(path) == "" {
		return nil
	}
	catalogs.Range(func(w, c any) bool {
		if strings.HasPrefix(path+"/", w.(string)+"/") {
			conf = c.(map[string]string)
		}
		return conf == nil
	})
	return conf
}

// CatalogArgs are the settings of a path's storage as arguments with this flag.
func CatalogArgs(flag, path string) (args []string) {
	conf := Catalog(path)
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		args = append(args, flag, k+"="+conf[k])
	}
	return args
}

// Files is the file system of a path, the same one for all tests.
func Files(t testing.TB, path string) fs.FileSystem {
	key := ""
	if s := fs.Scheme(path); s != "" {
		rest := path[len(s)+3:]
		authority, _, _ := strings.Cut(rest, "/")
		key = s + "://" + authority
	}
	opened.Lock()
	defer opened.Unlock()
	if f := opened.m[key]; f != nil {
		return f
	}
	f, err := fs.For(context.Background(), path, Catalog(path))
	require.NoError(t, err)
	opened.m[key] = f
	return f
}

func closeFiles() {
	for _, f := range opened.m {
		if c, ok := f.(io.Closer); ok {
			_ = c.Close()
		}
	}
}

// names are the names in a directory, in no order; none if it isn't there.
func names(t testing.TB, dir string) (list []string, err error) {
	if fs.Scheme(dir) == "" {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return list, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for info, err := range Files(t, dir).List(ctx, dir) {
		if err != nil {
			return nil, err
		}
		list = append(list, info.Name)
	}
	return list, nil
}

// Read is a file's content.
func Read(t testing.TB, path string) ([]byte, error) {
	if fs.Scheme(path) == "" {
		return os.ReadFile(filepath.Clean(path))
	}
	r, err := Files(t, path).Open(t.Context(), path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, r.Size())
	_, err = r.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}
