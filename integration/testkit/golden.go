//go:build integration

package testkit

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Golden is a table that Java wrote, and what Java reads from it.
type Golden struct {
	Table *Table
	Name  string
	// Rows are sorted and without kinds, as is each tag's.
	Rows []string
	Tags map[string][]string
}

// Goldens lets a Java version write its golden tables, once for each version of what writes them, and returns them. Nobody may
// change them: copy.
func Goldens(t testing.TB, version string) []Golden {
	dir := goldenDir(t, version)
	f, err := os.Open(filepath.Join(dir, "index.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	var list []Golden
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var e struct {
			Table, File string
			Tags        map[string]struct{ File string }
		}
		require.NoError(t, json.Unmarshal(sc.Bytes(), &e))
		g := Golden{Table: TableAt(t, filepath.Join(dir, "warehouse"), "golden", e.Table), Name: e.Table, Tags: map[string][]string{}}
		g.Rows = expected(t, dir, e.File)
		for tag, x := range e.Tags {
			g.Tags[tag] = expected(t, dir, x.File)
		}
		list = append(list, g)
	}
	require.NotEmpty(t, list)
	return list
}

func expected(t testing.TB, dir, file string) []string {
	f, err := os.Open(filepath.Join(dir, "expected", file))
	require.NoError(t, err)
	defer f.Close()
	var lines []string
	sc := bufio.NewScanner(f)
	for sc.Buffer(nil, 16<<20); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	require.NoError(t, sc.Err())
	return bare(lines)
}

// goldenDir is where the tables of a version lie, beside the oracle.
func goldenDir(t testing.TB, version string) string {
	sum := sha256.New()
	sources, err := filepath.Glob(root() + "/integration/java/src/oracle/*.java")
	require.NoError(t, err)
	for _, s := range sources {
		switch filepath.Base(s) {
		case "Golden.java", "Write.java", "Vectors.java", "Render.java":
			b, err := os.ReadFile(s)
			require.NoError(t, err)
			sum.Write(b)
		}
	}
	dir := filepath.Join(filepath.Dir(filepath.Dir(env(t, "PAIMON_GO_ORACLE"))), "golden", version+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	require.NoError(t, err)
	_, err = Java(t, version, "golden", fresh)
	require.NoError(t, err)
	_ = os.Rename(fresh, dir) // or another test run was quicker
	return dir
}
