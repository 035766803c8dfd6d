//go:build integration

package table

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/local"
)

// oracle runs the Java judge and returns what it prints.
func oracle(t *testing.T, version string, args ...string) string {
	t.Helper()
	bin := os.Getenv("PAIMON_GO_ORACLE")
	require.NotEmpty(t, bin, "PAIMON_GO_ORACLE must name a built copy of integration/java/oracle")
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Env = append(os.Environ(), "PAIMON_VERSION="+version)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(t, cmd.Run(), "%q\n%s\n%s", args, out.String(), errOut.String())
	return out.String()
}

// seconds is what differs from run to run in the judge's checksums.
var seconds = regexp.MustCompile(`,"seconds":[0-9.eE-]+`)

// recommit makes a table with the data files of a Java one, and makes its commits again with our Commit.
func recommit(t *testing.T, from, to string) *Table {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch top, _, _ := strings.Cut(rel, "/"); top {
		case "snapshot", "manifest", "tag", "changelog":
			return nil
		}
		if strings.HasSuffix(rel, ".crc") || strings.HasPrefix(rel, "schema/") && rel != "schema/schema-0" {
			return nil
		}
		copyFile(t, path, filepath.Join(to, rel))
		return nil
	}))
	schema := int64(0)
	fsys := local.FS{}
	java, err := Open(t.Context(), fsys, from, nil)
	require.NoError(t, err)
	ours, err := Open(t.Context(), fsys, to, Options{"manifest.merge-min-count": "3"})
	require.NoError(t, err)
	for s, err := range java.Snapshots(t.Context()) {
		require.NoError(t, err)
		for ; schema < s.SchemaID; schema++ { // each when it came
			copyFile(t, java.schemaPath(schema+1), ours.schemaPath(schema+1))
		}
		x := Committable{ID: s.CommitIdentifier, Watermark: s.Watermark, Properties: s.Properties}
		for e, err := range java.ScanDelta(t.Context(), s) {
			require.NoError(t, err)
			m := CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
			files := []DataFile{e.File}
			switch {
			case s.CommitKind == CommitCompact && e.Kind == Add:
				m.Compact.After = files
			case s.CommitKind == CommitCompact:
				m.Compact.Before = files
			case e.Kind == Add:
				m.Data.New = files
			default:
				m.Data.Deleted = files
			}
			x.Messages = append(x.Messages, m)
		}
		for e, err := range java.ScanChangelog(t.Context(), s) {
			require.NoError(t, err)
			m := CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
			if s.CommitKind == CommitCompact {
				m.Compact.Changelog = []DataFile{e.File}
			} else {
				m.Data.Changelog = []DataFile{e.File}
			}
			x.Messages = append(x.Messages, m)
		}
		made, err := ours.NewCommit(s.CommitUser, nil).Commit(t.Context(), x)
		require.NoError(t, err)
		require.Equal(t, s.CommitKind, made.CommitKind)
		require.Equal(t, s.SchemaID, made.SchemaID)
		require.Equal(t, s.ID, made.ID)
		require.Equal(t, s.TotalRecordCount, made.TotalRecordCount)
	}
	return ours
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, data, 0o644))
}

func TestJavaReadsWhatWeCommit(t *testing.T) {
	tables := []string{"part_three", "changelog_lookup_parquet", "write_only_dedicated", "evolution_parquet", "file_index"}
	dir := t.TempDir()
	oracle(t, "1.4.2", "golden", dir+"/java", "--only", "^("+strings.Join(tables, "|")+")$")
	for _, name := range tables {
		t.Run(name, func(t *testing.T) {
			ours := recommit(t, dir+"/java/warehouse/golden.db/"+name, dir+"/ours/golden.db/"+name)
			for p := range ours.Check(t.Context(), nil, true, nil) {
				t.Error(p)
			}
			for _, version := range []string{"1.4.2", "1.3.1"} {
				for _, verb := range []string{"read", "changelog"} {
					if verb == "changelog" && version != "1.4.2" {
						continue
					}
					want := oracle(t, version, verb, dir+"/java/warehouse", "golden", name, "--checksum")
					got := oracle(t, version, verb, dir+"/ours", "golden", name, "--checksum")
					require.Equal(t, seconds.ReplaceAllString(want, ""), seconds.ReplaceAllString(got, ""), "%s by %s", verb, version)
				}
			}
			oracle(t, "1.4.2", "check", dir+"/ours", "golden", name, "--strict", "--deep")
		})
	}
	t.Run("Java goes on", func(t *testing.T) {
		name := "write_only_dedicated"
		oracle(t, "1.4.2", "compact", dir+"/ours", "golden", name, "--full")
		oracle(t, "1.3.1", "compact", dir+"/ours", "golden", name, "--full")
		ours, err := Open(t.Context(), local.FS{}, dir+"/ours/golden.db/"+name, nil)
		require.NoError(t, err)
		mustCommit(t, ours.NewCommit("u", nil), 1)
		for p := range ours.Check(t.Context(), nil, true, nil) {
			t.Error(p)
		}
		want := oracle(t, "1.4.2", "read", dir+"/java/warehouse", "golden", name, "--sorted")
		require.Equal(t, want, oracle(t, "1.4.2", "read", dir+"/ours", "golden", name, "--sorted"))
		oracle(t, "1.4.2", "check", dir+"/ours", "golden", name, "--strict", "--deep")
	})
}
