// Package fstest is the suite that every fs.FileSystem passes. What the product relies on is written here as tests.
package fstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

// ParentsThatAreFiles is a test that storages without directories leave out: nothing there hinders a file named like the
// parent of another.
const ParentsThatAreFiles = "ParentsThatAreFiles"

// Run runs the suite, without the tests named at the end. open returns a file system and the path of an empty directory
// in it.
func Run(t *testing.T, open func(t *testing.T) (fsys fs.FileSystem, root string), without ...string) {
	for name, test := range map[string]func(*testing.T, fs.FileSystem, string){
		"CreateWritesAndOpenReads":         createAndOpen,
		"CreateRefusesAnExistingFile":      createExisting,
		"AbortLeavesNothing":               abort,
		"CloseTwiceIsAnErrorAbortIsNot":    closeTwice,
		"ReadersWorkConcurrently":          concurrentReads,
		"MissingFiles":                     missing,
		"StatAndListAgree":                 list,
		"ListOfNothing":                    listNothing,
		"ListCanStop":                      listStops,
		"RemoveFilesAndEmptyDirectories":   remove,
		"PublishOnce":                      publishOnce,
		"PublishHasOneWinner":              publishRace,
		"PublishIsNeverSeenInPart":         publishWhole,
		"ReplaceOverwrites":                replace,
		"NamesOfPartitionDirectories":      names,
		"EndedContextsDoNothing":           ended,
		"EmptyFiles":                       empty,
		ParentsThatAreFiles:                parentIsFile,
		"TrailingSlashesOfDirectories":     slashes,
		"RemovedDirectoriesCanComeBack":    dirsComeBack,
		"PublishLeavesNoOtherFilesBehind":  publishClean,
		"ErrorsNameThePath":                errorsNamePath,
		"LargeFilesKeepTheirBytes":         large,
		"ConcurrentCreatesInANewDirectory": concurrentCreates,
	} {
		if slices.Contains(without, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			fsys, root := open(t)
			test(t, fsys, root)
		})
	}
}

// Write makes a file.
func Write(t testing.TB, fsys fs.FileSystem, path string, data []byte) {
	t.Helper()
	w, err := fsys.Create(t.Context(), path)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

// Read returns the bytes of a file.
func Read(t testing.TB, fsys fs.FileSystem, path string) []byte {
	t.Helper()
	r, err := fsys.Open(t.Context(), path)
	require.NoError(t, err)
	b := make([]byte, r.Size())
	_, err = io.ReadFull(io.NewSectionReader(r, 0, r.Size()), b)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return b
}

// Names returns the names in a directory, sorted.
func Names(t testing.TB, fsys fs.FileSystem, dir string) []string {
	t.Helper()
	names := []string{}
	for info, err := range fsys.List(t.Context(), dir) {
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	slices.Sort(names)
	return names
}

func createAndOpen(t *testing.T, fsys fs.FileSystem, root string) {
	path := fs.Join(root, "a", "b", "f")
	w, err := fsys.Create(t.Context(), path)
	require.NoError(t, err)
	for _, part := range []string{"one ", "", "two"} {
		n, err := w.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	require.NoError(t, w.Close())
	require.Equal(t, "one two", string(Read(t, fsys, path)))

	r, err := fsys.Open(t.Context(), path)
	require.NoError(t, err)
	require.EqualValues(t, 7, r.Size())
	b := make([]byte, 3)
	n, err := r.ReadAt(b, 4)
	require.Equal(t, 3, n)
	if err != nil {
		require.ErrorIs(t, err, io.EOF) // io.ReaderAt allows either at the very end
	}
	require.Equal(t, "two", string(b))
	n, err = r.ReadAt(b, 6)
	require.Equal(t, 1, n)
	require.ErrorIs(t, err, io.EOF)
	n, err = r.ReadAt(b, 100)
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())
}

func createExisting(t *testing.T, fsys fs.FileSystem, root string) {
	path := fs.Join(root, "f")
	Write(t, fsys, path, []byte("first"))
	require.ErrorIs(t, tryWrite(t, fsys, path, "second"), fs.ErrExist)
	require.Equal(t, "first", string(Read(t, fsys, path)))
}

// tryWrite makes a file and returns the first error. That a file exists may be said by Create or, where a name is taken only
// when the file becomes visible, by Close.
func tryWrite(t *testing.T, fsys fs.FileSystem, path, data string) error {
	w, err := fsys.Create(t.Context(), path)
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(data))
	require.NoError(t, err)
	return w.Close()
}

func abort(t *testing.T, fsys fs.FileSystem, root string) {
	path := fs.Join(root, "d", "f")
	w, err := fsys.Create(t.Context(), path)
	require.NoError(t, err)
	_, err = w.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	_, err = fsys.Stat(t.Context(), path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Empty(t, Names(t, fsys, fs.Join(root, "d")))
	Write(t, fsys, path, []byte("again"))
	require.Equal(t, "again", string(Read(t, fsys, path)))
}

func closeTwice(t *testing.T, fsys fs.FileSystem, root string) {
	path := fs.Join(root, "f")
	w, err := fsys.Create(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Error(t, w.Close())
	require.NoError(t, w.Abort(), "Abort after Close does nothing, so that it can be deferred")
	_, err = fsys.Stat(t.Context(), path)
	require.NoError(t, err)
}

func concurrentReads(t *testing.T, fsys fs.FileSystem, root string) {
	data := make([]byte, 1<<16)
	for i := range data {
		data[i] = byte(i * 7)
	}
	Write(t, fsys, fs.Join(root, "f"), data)
	r, err := fsys.Open(t.Context(), fs.Join(root, "f"))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			b := make([]byte, 100)
			for i := range 50 {
				off := (g*50 + i) * 100
				if _, err := r.ReadAt(b, int64(off)); err != nil || !bytes.Equal(b, data[off:off+100]) {
					t.Errorf("read at %d: %v", off, err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, r.Close())
}

func missing(t *testing.T, fsys fs.FileSystem, root string) {
	for _, path := range []string{fs.Join(root, "none"), fs.Join(root, "no", "such", "dir")} {
		_, err := fsys.Open(t.Context(), path)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = fsys.Stat(t.Context(), path)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, fsys.Remove(t.Context(), path))
	}
}

func list(t *testing.T, fsys fs.FileSystem, root string) {
	dir := fs.Join(root, "d")
	Write(t, fsys, fs.Join(dir, "f1"), []byte("12345"))
	Write(t, fsys, fs.Join(dir, "sub", "deep", "f2"), nil)
	found := map[string]fs.Info{}
	for info, err := range fsys.List(t.Context(), dir) {
		require.NoError(t, err)
		found[info.Name] = info
	}
	require.Len(t, found, 2)
	require.False(t, found["f1"].Dir)
	require.True(t, found["sub"].Dir)
	require.EqualValues(t, 5, found["f1"].Size)
	require.Equal(t, fs.Join(dir, "f1"), found["f1"].Path)
	require.False(t, found["f1"].ModTime.IsZero())
	for name, info := range found {
		st, err := fsys.Stat(t.Context(), info.Path)
		require.NoError(t, err)
		require.Equal(t, name, st.Name)
		require.Equal(t, info.Dir, st.Dir)
		if !st.Dir {
			require.Equal(t, info.Size, st.Size)
		}
	}
	_, err := fsys.Open(t.Context(), fs.Join(dir, "sub"))
	require.Error(t, err, "a directory is no file")
}

func listNothing(t *testing.T, fsys fs.FileSystem, root string) {
	require.Empty(t, Names(t, fsys, fs.Join(root, "none")))
	Write(t, fsys, fs.Join(root, "d", "f"), nil)
	require.NoError(t, fsys.Remove(t.Context(), fs.Join(root, "d", "f")))
	require.Empty(t, Names(t, fsys, fs.Join(root, "d")))
}

func listStops(t *testing.T, fsys fs.FileSystem, root string) {
	for i := range 5 {
		Write(t, fsys, fs.Join(root, fmt.Sprint("f", i)), nil)
	}
	n := 0
	for _, err := range fsys.List(t.Context(), root) {
		require.NoError(t, err)
		if n++; n == 2 {
			break
		}
	}
	require.Equal(t, 2, n)
}

func remove(t *testing.T, fsys fs.FileSystem, root string) {
	path := fs.Join(root, "d", "f")
	Write(t, fsys, path, []byte("x"))
	require.Error(t, fsys.Remove(t.Context(), fs.Join(root, "d")), "the directory isn't empty")
	require.Equal(t, "x", string(Read(t, fsys, path)))
	require.NoError(t, fsys.Remove(t.Context(), path))
	require.NoError(t, fsys.Remove(t.Context(), fs.Join(root, "d")))
	require.NotContains(t, Names(t, fsys, root), "d")
}

func publishOnce(t *testing.T, fsys fs.FileSystem, root string) {
	path := fs.Join(root, "snapshot", "snapshot-1")
	ok, err := fsys.Publish(t.Context(), path, []byte("mine"))
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = fsys.Publish(t.Context(), path, []byte("other"))
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, "mine", string(Read(t, fsys, path)))
	require.ErrorIs(t, tryWrite(t, fsys, path, "other"), fs.ErrExist)
	require.Equal(t, "mine", string(Read(t, fsys, path)))

	// neither does it replace what Create has made; of two that are under way at once one wins
	Write(t, fsys, fs.Join(root, "f"), []byte("mine"))
	ok, err = fsys.Publish(t.Context(), fs.Join(root, "f"), []byte("other"))
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, "mine", string(Read(t, fsys, fs.Join(root, "f"))))
	w, err := fsys.Create(t.Context(), fs.Join(root, "g"))
	require.NoError(t, err)
	_, err = w.Write([]byte("mine"))
	require.NoError(t, err)
	ok, err = fsys.Publish(t.Context(), fs.Join(root, "g"), []byte("other"))
	require.NoError(t, err)
	if err = w.Close(); ok {
		require.ErrorIs(t, err, fs.ErrExist)
		require.Equal(t, "other", string(Read(t, fsys, fs.Join(root, "g"))))
		return
	}
	require.NoError(t, err)
	require.Equal(t, "mine", string(Read(t, fsys, fs.Join(root, "g"))))
}

func publishRace(t *testing.T, fsys fs.FileSystem, root string) {
	for round := range 50 {
		path := fs.Join(root, fmt.Sprint("snapshot-", round))
		var mu sync.Mutex
		var winners []string
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				me := fmt.Sprint("writer ", g)
				ok, err := fsys.Publish(context.Background(), path, []byte(me))
				if err != nil {
					t.Errorf("publish: %v", err)
				}
				if ok {
					mu.Lock()
					winners = append(winners, me)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.Len(t, winners, 1)
		require.Equal(t, winners[0], string(Read(t, fsys, path)))
	}
}

func publishWhole(t *testing.T, fsys fs.FileSystem, root string) {
	data := bytes.Repeat([]byte("whole "), 5000)
	for round := range 20 {
		path := fs.Join(root, fmt.Sprint("snapshot-", round))
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if info, err := fsys.Stat(context.Background(), path); err == nil && info.Size != int64(len(data)) {
					t.Errorf("a reader saw %d of %d bytes", info.Size, len(data))
				}
			}
		})
		ok, err := fsys.Publish(t.Context(), path, data)
		close(done)
		wg.Wait()
		require.NoError(t, err)
		require.True(t, ok)
	}
}

func replace(t *testing.T, fsys fs.FileSystem, root string) {
	path := fs.Join(root, "snapshot", "LATEST")
	for _, v := range []string{"1", "23", "4"} {
		require.NoError(t, fsys.Replace(t.Context(), path, []byte(v)))
		require.Equal(t, v, string(Read(t, fsys, path)))
	}
	require.Equal(t, []string{"LATEST"}, Names(t, fsys, fs.Join(root, "snapshot")))
}

func names(t *testing.T, fsys fs.FileSystem, root string) {
	for _, name := range []string{"dt=2024-01-01", "k=a%25b%3Dc%2Fd你", "s= with blank ", "p=+&<>|", "__DEFAULT_PARTITION__", ".hidden"} {
		path := fs.Join(root, name, "bucket-0", "f")
		Write(t, fsys, path, []byte(name))
		require.Equal(t, name, string(Read(t, fsys, path)))
		require.Contains(t, Names(t, fsys, root), name)
	}
}

func ended(t *testing.T, fsys fs.FileSystem, root string) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := fs.Join(root, "f")
	_, err := fsys.Create(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	_, err = fsys.Publish(ctx, path, []byte("x"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, fs.ErrNotPublished)
	require.ErrorIs(t, fsys.Replace(ctx, path, []byte("x")), context.Canceled)
	_, err = fsys.Open(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, Names(t, fsys, root))
}

func empty(t *testing.T, fsys fs.FileSystem, root string) {
	Write(t, fsys, fs.Join(root, "f"), nil)
	require.Empty(t, Read(t, fsys, fs.Join(root, "f")))
	ok, err := fsys.Publish(t.Context(), fs.Join(root, "g"), nil)
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, Read(t, fsys, fs.Join(root, "g")))
}

func parentIsFile(t *testing.T, fsys fs.FileSystem, root string) {
	Write(t, fsys, fs.Join(root, "f"), nil)
	require.ErrorIs(t, tryWrite(t, fsys, fs.Join(root, "f", "g"), "x"), fs.ErrInTheWay)
	_, err := fsys.Publish(t.Context(), fs.Join(root, "f", "g"), nil)
	require.ErrorIs(t, err, fs.ErrNotPublished)
	require.ErrorIs(t, err, fs.ErrInTheWay)
	for _, err := range fsys.List(t.Context(), fs.Join(root, "f")) {
		require.ErrorIs(t, err, fs.ErrInTheWay)
	}
	Write(t, fsys, fs.Join(root, "d", "f"), nil)
	_, err = fsys.Open(t.Context(), fs.Join(root, "d"))
	require.ErrorIs(t, err, fs.ErrInTheWay)
	require.ErrorContains(t, err, "d")
}

func slashes(t *testing.T, fsys fs.FileSystem, root string) {
	Write(t, fsys, fs.Join(root, "d", "f"), nil)
	require.Equal(t, []string{"f"}, Names(t, fsys, root+"/d/"))
	st, err := fsys.Stat(t.Context(), root+"/d/")
	require.NoError(t, err)
	require.True(t, st.Dir)
	for info, err := range fsys.List(t.Context(), root+"/d/") {
		require.NoError(t, err)
		require.Equal(t, root+"/d/f", info.Path)
	}
}

func dirsComeBack(t *testing.T, fsys fs.FileSystem, root string) {
	for range 3 {
		Write(t, fsys, fs.Join(root, "p", "bucket-0", "f"), nil)
		for _, path := range []string{"p/bucket-0/f", "p/bucket-0", "p"} {
			require.NoError(t, fsys.Remove(t.Context(), fs.Join(root, path)))
		}
	}
	require.Empty(t, Names(t, fsys, root))
}

func publishClean(t *testing.T, fsys fs.FileSystem, root string) {
	for range 2 {
		_, err := fsys.Publish(t.Context(), fs.Join(root, "f"), []byte("x"))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"f"}, Names(t, fsys, root))
}

func errorsNamePath(t *testing.T, fsys fs.FileSystem, root string) {
	_, err := fsys.Open(t.Context(), fs.Join(root, "the-file"))
	require.ErrorContains(t, err, "the-file")
	_, err = fsys.Stat(t.Context(), fs.Join(root, "the-file"))
	require.ErrorContains(t, err, "the-file")
}

func large(t *testing.T, fsys fs.FileSystem, root string) {
	w, err := fsys.Create(t.Context(), fs.Join(root, "f"))
	require.NoError(t, err)
	chunk := make([]byte, 100_003)
	for i := range 30 {
		for j := range chunk {
			chunk[j] = byte(i + j)
		}
		_, err := w.Write(chunk)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	got := Read(t, fsys, fs.Join(root, "f"))
	require.Len(t, got, 30*len(chunk))
	for i := range 30 {
		for j := range chunk {
			chunk[j] = byte(i + j)
		}
		require.True(t, bytes.Equal(chunk, got[i*len(chunk):(i+1)*len(chunk)]), "chunk %d", i)
	}
}

func concurrentCreates(t *testing.T, fsys fs.FileSystem, root string) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			w, err := fsys.Create(context.Background(), fs.Join(root, "a", "b", "c", fmt.Sprint(g)))
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Errorf("create: %v", err)
			}
		})
	}
	wg.Wait()
	require.Len(t, Names(t, fsys, fs.Join(root, "a", "b", "c")), 8)
}
