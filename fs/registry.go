package fs

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Opener makes the file system that a URI lives in. conf has the settings of catalog and storage, such as
// fs.defaultFS or s3.endpoint.
type Opener func(ctx context.Context, uri string, conf map[string]string) (FileSystem, error)

var openers = struct {
	sync.RWMutex // guards m
	m            map[string]Opener
}{m: map[string]Opener{}}

// Register makes a scheme known ("" is a path without one). Implementations call it from their init functions, so a
// program links the storages that it imports, as with database drivers.
func Register(scheme string, open Opener) {
	openers.Lock()
	defer openers.Unlock()
	openers.m[scheme] = open
}

// For returns the file system of a URI, or an error that tells which schemes are linked in.
func For(ctx context.Context, uri string, conf map[string]string) (FileSystem, error) {
	scheme := Scheme(uri)
	openers.RLock()
	open := openers.m[scheme]
	var known []string
	for s := range openers.m {
		if s == "viewfs" {
			continue // it is only there to be refused with advice
		}
		if s == "" {
			known = append(known, "plain paths")
		} else {
			known = append(known, s+":")
		}
	}
	openers.RUnlock()
	if open == nil {
		sort.Strings(known)
		return nil, fmt.Errorf("no file system for %q in this program, only for %s", scheme+":", strings.Join(known, ", "))
	}
	fsys, err := open(ctx, uri, conf)
	if err != nil {
		return nil, fmt.Errorf("opening storage of %s: %w", Masked(uri), err)
	}
	return fsys, nil
}

// Scheme returns the scheme of a URI in lower case, "" for a plain path.
func Scheme(uri string) string {
	i := strings.IndexAny(uri, ":/")
	if i <= 0 || uri[i] != ':' {
		return ""
	}
	for j, c := range []byte(uri[:i]) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (j == 0 || !strings.ContainsRune("0123456789+.-", rune(c))) {
			return ""
		}
	}
	return strings.ToLower(uri[:i])
}

// Masked is a URI as it may be printed: without the user, keys or password that somebody has put before its host or bucket. A
// secret may have a slash in it, so what is no port after a colon is taken for one.
func Masked(uri string) string {
	scheme := Scheme(uri)
	rest, ok := strings.CutPrefix(uri[len(scheme):], "://")
	if scheme == "" || !ok {
		return uri
	}
	authority, _, _ := strings.Cut(rest, "/")
	end := strings.LastIndexByte(authority, '@')
	if _, port, found := strings.Cut(authority, ":"); end < 0 && found && strings.Trim(port, "0123456789") != "" {
		end = strings.IndexByte(rest, '@')
		if end < 0 {
			return uri[:len(uri)-len(rest)] + "***"
		}
	}
	if end < 0 {
		return uri
	}
	return uri[:len(uri)-len(rest)] + "***" + rest[end:]
}

// Join puts a name below a directory, whatever the form of the path. It does not clean.
func Join(dir string, names ...string) string {
	for _, n := range names {
		dir = strings.TrimRight(dir, "/") + "/" + n
	}
	return dir
}

// Base returns the last element of a path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Dir returns all but the last element of a path, without the slash; "" when there is no slash.
func Dir(path string) string {
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0:
		return ""
	case i == 0:
		return "/"
	}
	return path[:i]
}
