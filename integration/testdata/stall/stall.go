package main

// Tests add this file to a program that writes to the local disk (go build -overlay): its storage then stops for ever at one
// chosen call, so that the test can kill the program there. PAIMON_GO_TEST_STALL is "OP PART N WHEN SCOPE": the N-th call of
// this kind whose path holds PART stops
//
//	before   it has done anything
//	half     a write has written half; a file that appears whole lies there under its temporary name
//	after    all is done, and nobody knows
//
// and with SCOPE "all" so does every later call, with "one" the rest of the program goes on. "stalled" is then printed.

import (
	"context"
	"fmt"
	iofs "io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/local"
)

func init() {
	s := &stall{}
	if _, err := fmt.Sscan(os.Getenv("PAIMON_GO_TEST_STALL"), &s.op, &s.part, &s.n, &s.when, &s.scope); err != nil {
		return // it is not to stop
	}
	open := func(context.Context, string, map[string]string) (fs.FileSystem, error) { return s, nil }
	fs.Register("", open)
	fs.Register("file", open)
}

type stall struct {
	local.FS
	op, part, when, scope string

	mu      sync.Mutex
	n       int
	stopped bool
}

// at does a call, or a half of it, and stops when it is the one.
func (s *stall) at(op, path string, half, do func()) {
	s.mu.Lock()
	hit := !s.stopped && s.op == op && strings.Contains(path, s.part)
	if hit {
		s.n--
		hit = s.n == 0
	}
	if s.stopped = s.stopped || hit; !hit {
		wait := s.stopped && s.scope == "all"
		s.mu.Unlock()
		if wait {
			select {}
		}
		do()
		return
	}
	s.mu.Unlock()
	switch s.when {
	case "half":
		half()
	case "after":
		do()
	}
	fmt.Fprintf(os.Stderr, "\nstalled %s %s %s\n", s.when, op, path)
	select {}
}

func nothing() {}

func (s *stall) Create(ctx context.Context, path string) (w fs.Writer, err error) {
	s.at("create", path, nothing, func() { w, err = s.FS.Create(ctx, path) })
	if err != nil {
		return nil, err
	}
	return &stalledWriter{s, w, path}, nil
}

func (s *stall) Open(ctx context.Context, path string) (r fs.Reader, err error) {
	s.at("open", path, nothing, func() { r, err = s.FS.Open(ctx, path) })
	return r, err
}

func (s *stall) Stat(ctx context.Context, path string) (i fs.Info, err error) {
	s.at("stat", path, nothing, func() { i, err = s.FS.Stat(ctx, path) })
	return i, err
}

func (s *stall) List(ctx context.Context, dir string) (l iter.Seq2[fs.Info, error]) {
	s.at("list", dir, nothing, func() { l = s.FS.List(ctx, dir) })
	return l
}

func (s *stall) Remove(ctx context.Context, path string) (err error) {
	s.at("remove", path, nothing, func() { err = s.FS.Remove(ctx, path) })
	return err
}

func (s *stall) Publish(ctx context.Context, path string, data []byte) (ok bool, err error) {
	s.at("publish", path, func() { temporary(path, data) }, func() { ok, err = s.FS.Publish(ctx, path, data) })
	return ok, err
}

func (s *stall) Replace(ctx context.Context, path string, data []byte) (err error) {
	s.at("replace", path, func() { temporary(path, data) }, func() { err = s.FS.Replace(ctx, path, data) })
	return err
}

// temporary writes what lies there before a file gets its name.
func temporary(path string, data []byte) {
	p, err := local.Path(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+".half.tmp"), data, iofs.ModePerm)
	}
	if err != nil {
		panic(err)
	}
}

type stalledWriter struct {
	s    *stall
	w    fs.Writer
	path string
}

func (w *stalledWriter) Write(b []byte) (n int, err error) {
	w.s.at("write", w.path, func() { n, err = w.w.Write(b[:len(b)/2]) }, func() { n, err = w.w.Write(b) })
	return n, err
}

func (w *stalledWriter) Close() (err error) {
	w.s.at("close", w.path, nothing, func() { err = w.w.Close() })
	return err
}

func (w *stalledWriter) Abort() (err error) {
	w.s.at("abort", w.path, nothing, func() { err = w.w.Abort() })
	return err
}
