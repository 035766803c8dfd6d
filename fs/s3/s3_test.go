package s3

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

func TestConformance(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) { return newFake(t).open(t), "s3://wh/a/table" }, fstest.ParentsThatAreFiles)
}

func TestRegistered(t *testing.T) {
	f := newFake(t)
	conf := map[string]string{"s3.endpoint": f.URL, "s3.access-key": "test", "s3.secret-key": "testsecret", "s3.path.style.access": "true"}
	for _, scheme := range []string{"s3", "s3a"} {
		fsys, err := fs.For(t.Context(), scheme+"://wh/t", conf)
		require.NoError(t, err)
		fstest.Write(t, fsys, scheme+"://wh/"+scheme, []byte(scheme))
		require.Equal(t, scheme, string(fstest.Read(t, fsys, "s3a://wh/"+scheme)))
		require.NoError(t, fsys.(*FS).Close())
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]object{
		"s3://b/k":           {bucket: "b", key: "k"},
		"S3A://b/a/b=%2F/k":  {bucket: "b", key: "a/b=%2F/k"},
		"s3://b":             {bucket: "b", dir: true},
		"s3://b/":            {bucket: "b", dir: true},
		"s3://b//a///b/":     {bucket: "b", key: "a/b", dir: true},
		"s3://b.c-d/a?b#c+d": {bucket: "b.c-d", key: "a?b#c+d"},
	} {
		want.path = path
		got, err := parse(path)
		require.NoError(t, err, path)
		require.Equal(t, want, got)
	}
	for _, path := range []string{"", "/a", "s3:/b/a", "s3:///a", "hdfs://b/a", "s3://key:secret@b/a", "s3://b/a\x00", "s3:"} {
		_, err := parse(path)
		require.Error(t, err, path)
	}
}

// TestKeysInAPathAreNotPrinted where they are refused, also with a slash in them.
func TestKeysInAPathAreNotPrinted(t *testing.T) {
	for _, path := range []string{"s3a://AKIA:hidden@wh/t", "s3://AKIA:hid/den@wh/t", "s3://AKIA:hid/den"} {
		_, err := fs.For(t.Context(), path, nil)
		require.ErrorContains(t, err, "s3.secret-key")
		_, other := newFake(t).open(t).Stat(t.Context(), path)
		for _, err := range []error{err, other} {
			require.Error(t, err)
			require.NotContains(t, err.Error(), "AKIA")
			require.NotContains(t, err.Error(), "hid")
		}
	}
}

func TestDirectoriesWithMarkers(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	want := []string{"sub"}
	for i := range 30 {
		name := fmt.Sprintf("data-%04d", i)
		want = append(want, name)
		require.NoError(t, fsys.Replace(t.Context(), "s3://wh/d/"+name, nil))
	}
	for _, marker := range []string{"d/", "d/sub/", "d/old_$folder$", "empty/"} {
		o := object{path: "s3://wh/" + marker, bucket: "wh", key: marker}
		_, err := fsys.client.PutObject(t.Context(), fsys.put(o, bytes.NewReader(nil), 0))
		require.NoError(t, err)
	}
	require.ElementsMatch(t, want, fstest.Names(t, fsys, "s3://wh/d"))
	require.Empty(t, fstest.Names(t, fsys, "s3://wh/empty"))
	for _, dir := range []string{"s3://wh/d", "s3://wh/d/sub", "s3://wh/empty", "s3://wh/empty/", "s3://wh", "s3://wh/"} {
		info, err := fsys.Stat(t.Context(), dir)
		require.NoError(t, err)
		require.True(t, info.Dir, dir)
	}
	require.ErrorContains(t, fsys.Remove(t.Context(), "s3://wh/d"), "not empty")
	require.NoError(t, fsys.Remove(t.Context(), "s3://wh/empty"))
	_, err := fsys.Stat(t.Context(), "s3://wh/empty")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Error(t, fsys.Remove(t.Context(), "s3://wh/"))
	for _, err := range []error{fsys.Replace(t.Context(), "s3://wh/", nil), fsys.Replace(t.Context(), "s3://wh/d/", nil)} {
		require.ErrorContains(t, err, "directory")
	}
}

func TestListingOutlastsFaults(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	fstest.Write(t, fsys, "s3://wh/d/f", nil)
	f.on("GET list-type=2", 1, lose)
	f.on("GET list-type=2", 1, cut(50))
	f.on("GET list-type=2", 1, answer(503, "SlowDown"))
	require.Equal(t, []string{"f"}, fstest.Names(t, fsys, "s3://wh/d"))
	for _, err := range fsys.List(t.Context(), "s3://nobucket/d") {
		require.ErrorContains(t, err, "bucket does not exist")
		require.NotErrorIs(t, err, fs.ErrNotExist)
	}
}

func TestListingsOfManyPages(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	var want []string
	for i := range 30 {
		name := fmt.Sprintf("data-%04d", i)
		want = append(want, name)
		require.NoError(t, fsys.Replace(t.Context(), "s3://wh/d/"+name, nil))
	}
	f.on("GET list-type=2", -1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		q := r.URL.Query()
		q.Set("max-keys", "7")
		r.URL.RawQuery = q.Encode()
		next.ServeHTTP(w, r)
	})
	require.Equal(t, want, fstest.Names(t, fsys, "s3://wh/d"))
	require.Equal(t, 5, f.count("GET", "list-type=2"))
}
