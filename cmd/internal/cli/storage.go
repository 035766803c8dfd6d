package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// Storage opens the file system of a path or URI, and returns the path in full and the settings of --catalog_conf.
func Storage(ctx context.Context, flag, uri string, catalogConf []string) (fs.FileSystem, string, map[string]string, error) {
	conf, err := Pairs("catalog_conf", catalogConf)
	if err != nil {
		return nil, "", nil, err
	}
	if m := conf["metastore"]; m != "" && m != "filesystem" {
		return nil, "", nil, fmt.Errorf("--catalog_conf metastore=%s is not supported, only filesystem: %w", m, ErrUsage)
	}
	if fs.Scheme(uri) == "" {
		if uri, err = filepath.Abs(uri); err != nil {
			return nil, "", nil, fmt.Errorf("%s %s: %w", flag, uri, err)
		}
	}
	fsys, err := fs.For(ctx, uri, conf)
	if errors.Is(err, fs.ErrTransient) {
		return nil, "", nil, fmt.Errorf("%s %s: %w", flag, uri, err)
	}
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s %s: %w: %w", flag, uri, err, ErrUsage)
	}
	return fsys, strings.TrimRight(uri, "/"), conf, nil
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
