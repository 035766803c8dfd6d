package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/hdfs"
	_ "github.com/paimon-go/paimon-go/fs/local" // plain paths
	"github.com/paimon-go/paimon-go/fs/s3"
	"github.com/paimon-go/paimon-go/table"
)

// Storage opens the file system of a path or URI, and returns the path in full and the settings of --catalog_conf. Local disk that
// a storage needs is taken from the first of spillDirs.
func Storage(ctx context.Context, flag, uri string, catalogConf []string, spillDirs ...string) (fs.FileSystem, string, map[string]string, error) {
	conf, err := Pairs("catalog_conf", catalogConf)
	if err != nil {
		return nil, "", nil, err
	}
	if m := conf["metastore"]; m != "" && m != "filesystem" {
		return nil, "", nil, fmt.Errorf("--catalog_conf metastore=%s is not supported, only filesystem: %w", m, ErrUsage)
	}
	if fs.Scheme(uri) == "hdfs" {
		for _, doubt := range hdfs.Doubts(conf) {
			slog.Warn(doubt)
		}
	}
	if len(spillDirs) > 0 && conf["hdfs.spool-dir"] == "" {
		conf["hdfs.spool-dir"] = spillDirs[0]
		if fs.Scheme(uri) == "hdfs" { // it must be there when the storage is opened, which is before anything spills
			if err := os.MkdirAll(spillDirs[0], 0o700); err != nil {
				return nil, "", nil, fmt.Errorf("--spill_dir: %w: %w", err, ErrUsage)
			}
		}
	}
	if fs.Scheme(uri) == "" {
		if uri, err = filepath.Abs(uri); err != nil {
			return nil, "", nil, fmt.Errorf("%s %s: %w", flag, fs.Masked(uri), err)
		}
	}
	defer tellOfWaiting(uri, conf)()
	fsys, err := fs.For(ctx, uri, conf)
	if err != nil && !fs.Unavailable(err) && ctx.Err() == nil { // what is not there is a file of the settings
		err = fmt.Errorf("%w: %w", err, ErrUsage)
	}
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s %s: %w", flag, fs.Masked(uri), err)
	}
	return fsys, strings.TrimRight(uri, "/"), conf, nil
}

// quiet is how long a program may wait for the storage at its start without a word.
var quiet = 3 * time.Second

// tellOfWaiting says in the log what is being waited for, when that takes long, until the function that it returns is called.
func tellOfWaiting(uri string, conf map[string]string) func() {
	settings := []any{"storage", fs.Masked(uri)}
	hint := "does it answer otherwise?"
	switch fs.Scheme(uri) {
	case "hdfs":
		settings = append(settings, "HADOOP_CONF_DIR", os.Getenv("HADOOP_CONF_DIR"), "hadoop-conf-dir", conf["hadoop-conf-dir"])
		hint = "does this host reach the namenodes, and is the name or the configuration in HADOOP_CONF_DIR or hadoop-conf-dir the right one?"
	case "s3", "s3a":
		endpoint := "Amazon's"
		for _, key := range []string{"fs.s3a.endpoint", "s3a.endpoint", "s3.endpoint"} {
			if v := conf[key]; v != "" {
				endpoint = fs.Masked(v)
			}
		}
		settings = append(settings, "s3.endpoint", endpoint)
		hint = "does this host reach it, and is s3.endpoint the right one?"
	}
	slow := time.AfterFunc(quiet, func() {
		slog.Warn("waiting for the storage, which has not answered yet; it is asked again for some minutes: "+hint, settings...)
	})
	return func() { slow.Stop() }
}

// Printable are the settings of --catalog_conf in the order of their names, as they may be shown: without secrets.
func Printable(conf map[string]string) [][2]string {
	var out [][2]string
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		v := fs.Masked(conf[k])
		name := strings.ToLower(k)
		for _, secret := range []string{"secret", "password", "token", "access-key", "access.key", "encryption.key"} {
			if strings.Contains(name, secret) && !strings.HasSuffix(name, "file") && v != "" {
				v = "***"
			}
		}
		out = append(out, [2]string{k, v})
	}
	return out
}

// AboutStorage says in the log what a program that commits to a storage has to tell its user, and has the storage tell there of
// trouble that it deals with itself.
func AboutStorage(fsys fs.FileSystem, uri string, conf map[string]string, log *slog.Logger) {
	if w := s3.JavaWriterWarning(uri, conf); w != "" {
		log.Warn(w)
	}
	if s, ok := fsys.(interface{ LogTo(*slog.Logger) }); ok {
		s.LogTo(log)
	}
	if s, ok := fsys.(interface{ Ignored() []string }); ok {
		for _, key := range s.Ignored() {
			log.Warn("this setting of --catalog_conf has no effect", "key", key)
		}
	}
}

// CheckStorage proves that commits below a directory are safe, where a storage may be one that they are not safe on. conf has the
// settings, as Storage returned them.
func CheckStorage(ctx context.Context, fsys fs.FileSystem, dir string, conf map[string]string) error {
	s, ok := fsys.(interface {
		Check(ctx context.Context, dir string) error
	})
	if !ok {
		return nil
	}
	defer tellOfWaiting(dir, conf)()
	err := s.Check(ctx, dir)
	if err != nil && !StorageFailed(err) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", err, ErrUsage)
	}
	return err
}

// TableOptions reads repeated table options and refuses those that are wrong. The warnings are for the log.
func TableOptions(flag string, list []string) (table.Options, []string, error) {
	pairs, err := Pairs(flag, list)
	if err != nil {
		return nil, nil, err
	}
	warnings, err := table.Options(pairs).Validate()
	return pairs, warnings, err
}

// Required refuses names that are missing, or that can't be those of a database or table.
func Required(warehouse string, names ...Name) error {
	var wrong []error
	if warehouse == "" {
		wrong = append(wrong, fmt.Errorf("--warehouse is required: %w", ErrUsage))
	}
	for _, n := range names {
		if n.Value == "" {
			wrong = append(wrong, fmt.Errorf("--%s is required: %w", n.Flag, ErrUsage))
		} else if why := badName(n.Value); why != "" {
			wrong = append(wrong, fmt.Errorf("--%s %q %s: %w", n.Flag, n.Value, why, ErrUsage))
		}
	}
	return errors.Join(wrong...)
}

// Name is the name of a database or table, and the flag that gives it.
type Name struct{ Flag, Value string }

// badName says why a name can't be that of a database or table: it becomes a directory of the warehouse, and Paimon's engines
// take $ for system tables and branches.
func badName(name string) string {
	switch {
	case strings.ContainsAny(name, "/\\$\x00"):
		return "has one of / \\ $ in it"
	case name == "." || name == "..":
		return "is no name"
	case len(name) > 250:
		return "is longer than 250 bytes"
	}
	return ""
}
