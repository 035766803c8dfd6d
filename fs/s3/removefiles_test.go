package s3

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

func manyFiles(t *testing.T, fsys fs.FileSystem, n int) []string {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("s3://wh/d/k=a%%2Fb & <c>/f-%04d", i))
		require.NoError(t, fsys.Replace(t.Context(), paths[i], nil))
	}
	return paths
}

func noErrors(t *testing.T, errs []error) {
	t.Helper()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// TestManyFilesAreRemovedByFewRequests whose answers may get lost.
func TestManyFilesAreRemovedByFewRequests(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	hurried(fsys)
	paths := manyFiles(t, fsys, 1100)
	keep := "s3://wh/d/keep"
	require.NoError(t, fsys.Replace(t.Context(), keep, nil))
	f.on("POST delete", 1, lose)
	f.on("POST delete", 1, answer(503, "SlowDown"))
	errs := fsys.RemoveFiles(t.Context(), append(paths, "s3://wh/d/missing"))
	require.Len(t, errs, 1101)
	noErrors(t, errs)
	require.Equal(t, []string{"keep"}, fstest.Names(t, fsys, "s3://wh/d"))
	require.Equal(t, 4, f.count("POST", "delete"))
	require.Zero(t, f.count("DELETE", ""))
	require.Empty(t, fsys.RemoveFiles(t.Context(), nil))
}

// TestFilesThatAreLeft by such a request are removed by their own, or have their own error.
func TestFilesThatAreLeft(t *testing.T) {
	f := newFake(t)
	fsys := f.open(t)
	paths := manyFiles(t, fsys, 3)
	f.on("POST delete", 1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = fmt.Fprint(w, `<DeleteResult><Error><Key>d/k=a%2Fb &amp; &lt;c&gt;/f-0001</Key><Code>AccessDenied</Code></Error>`+
			`<Error><Key>d/k=a%2Fb &amp; &lt;c&gt;/f-0002</Key><Code>InternalError</Code></Error></DeleteResult>`)
	})
	f.on("DELETE f-0001", 1, answer(403, "AccessDenied"))
	errs := fsys.RemoveFiles(t.Context(), append(paths, "s3://wh/"))
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], fs.ErrPermission)
	require.NoError(t, errs[2])
	require.Error(t, errs[3], "no file")
	require.Equal(t, 1, f.count("DELETE", "f-0002"))
}

// TestAStoreThatRemovesOneByOne is asked for many only once.
func TestAStoreThatRemovesOneByOne(t *testing.T) {
	for _, refusal := range []func(http.ResponseWriter, *http.Request, http.Handler){
		answer(501, "NotImplemented"), answer(400, "MissingContentMD5"), answer(405, "MethodNotAllowed"),
	} {
		f := newFake(t)
		fsys := f.open(t)
		f.on("POST delete", -1, refusal)
		for range 2 {
			noErrors(t, fsys.RemoveFiles(t.Context(), manyFiles(t, fsys, 3)))
			require.Empty(t, fstest.Names(t, fsys, "s3://wh/d"))
		}
		require.Equal(t, 1, f.count("POST", "delete"))
	}
	f := newFake(t)
	fsys := f.open(t)
	f.on("POST delete", -1, answer(403, "AccessDenied"))
	for _, err := range fsys.RemoveFiles(t.Context(), manyFiles(t, fsys, 2)) {
		require.ErrorIs(t, err, fs.ErrPermission)
	}
}
