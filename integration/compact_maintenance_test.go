//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// golden returns the golden tables with these names, or all.
func golden(t *testing.T, names ...string) []testkit.Golden {
	var list []testkit.Golden
	for _, g := range testkit.Goldens(t, testkit.JavaVersions[0]) {
		if len(names) == 0 || slices.Contains(names, g.Name) {
			list = append(list, g)
		}
	}
	require.GreaterOrEqual(t, len(list), len(names))
	return list
}

// requireSameFiles requires that two copies of a table have the same files, and that what is left of them is the same.
func requireSameFiles(t *testing.T, javas, ours *testkit.Table) {
	t.Helper()
	a, b := javas.Bytes(), ours.Bytes()
	var onlyJavas, onlyOurs []string
	for name := range a {
		if text, ok := b[name]; !ok {
			onlyJavas = append(onlyJavas, name)
		} else if !strings.Contains(name, "/manifest/") {
			require.Equal(t, a[name], text, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			onlyOurs = append(onlyOurs, name)
		}
	}
	require.Empty(t, onlyJavas, "Java keeps them")
	require.Empty(t, onlyOurs, "Java removes them")
}

// inTheFuture is a time as --older_than takes it.
func inTheFuture() string { return time.Now().Add(time.Hour).Format(time.DateTime) }

// TestSnapshotsExpireAsByJava expires the snapshots of copies of every golden table by us and by Java: the same files stay.
func TestSnapshotsExpireAsByJava(t *testing.T) {
	for _, c := range []struct {
		name  string
		only  []string
		ours  []string
		javas []string
		make  func(t *testing.T, x *testkit.Table)
	}{
		{name: "all but one", ours: []string{"--retain-max", "1", "--retain-min", "1"}, javas: []string{"--retain-max", "1", "--retain-min", "1", "--older-than-ms", "3600000"}},
		{name: "old ones", only: []string{"levels", "write_only_dedicated", "changelog_input_parquet", "part_three", "manifest_full"},
			ours: []string{"--retain-max", "100", "--retain-min", "3", "--older-than", inTheFuture()}, javas: []string{"--retain-max", "100", "--retain-min", "3", "--older-than-ms", "0"}},
		{name: "consumers hold them", only: []string{"levels", "changelog_input_parquet"}, make: func(t *testing.T, x *testkit.Table) {
			require.NoError(t, os.MkdirAll(filepath.Join(x.Path(), "consumer"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(x.Path(), "consumer", "consumer-a"), []byte(`{"nextSnapshot":5}`), 0o644))
		}, ours: []string{"--retain-max", "100", "--retain-min", "1", "--older-than", inTheFuture()}, javas: []string{"--retain-max", "100", "--retain-min", "1", "--older-than-ms", "0"}},
		{name: "tags hold their files", only: []string{"levels", "rolling", "write_only_dedicated"}, make: func(t *testing.T, x *testkit.Table) {
			for _, id := range []string{"2", "4"} {
				x.Java(testkit.JavaVersions[0], "tag", "--create", "t"+id, "--snapshot", id)
			}
		}, ours: []string{"--retain-max", "1", "--retain-min", "1"}, javas: []string{"--retain-max", "1", "--retain-min", "1", "--older-than-ms", "3600000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, g := range golden(t, c.only...) {
				t.Run(g.Name, func(t *testing.T) {
					base := g.Table.In(t)
					if c.make != nil {
						base = base.Copy(t.TempDir())
						c.make(t, base)
					}
					ours, javas := base.Copy(t.TempDir()), base.Copy(t.TempDir())
					dry := ours.Bytes()
					ours.Compact("expire_snapshots", append(c.ours, "--dry-run")...)
					require.Equal(t, dry, ours.Bytes(), "--dry_run removes nothing")
					ours.Compact("expire_snapshots", c.ours...)
					javas.Java(testkit.JavaVersions[0], "expire", c.javas...)
					requireSameFiles(t, javas, ours)
				})
			}
		})
	}
}

// TestChangelogsExpireAsByJava does the same with changelogs that outlived their snapshots.
func TestChangelogsExpireAsByJava(t *testing.T) {
	for _, g := range golden(t, "changelog_decoupled") {
		for _, args := range [][]string{{"--retain-max", "3", "--retain-min", "1"}, {"--retain-max", "1", "--retain-min", "1"}} {
			ours, javas := g.Table.In(t).Copy(t.TempDir()), g.Table.In(t).Copy(t.TempDir())
			ours.Compact("expire_changelogs", args...)
			javas.Java(testkit.JavaVersions[0], "expire-changelogs", args...)
			requireSameFiles(t, javas, ours)
			testkit.RequireSameRows(t, "java", g.Rows, ours.JavaRows(testkit.JavaVersions[0]))
		}
	}
}

// TestPartitionsExpireAsByJava drops old partitions of copies by us and by Java.
func TestPartitionsExpireAsByJava(t *testing.T) {
	day := func(ago int) string { return time.Now().AddDate(0, 0, -ago).Format(time.DateOnly) }
	base := testkit.NewTable(t, `{"fields":[{"name":"dt","type":"STRING NOT NULL"},{"name":"id","type":"BIGINT NOT NULL"},{"name":"data","type":"STRING"}],
		"partitionKeys":["dt"],"primaryKeys":["dt","id"],"options":{"bucket":"2","write-only":"true","partition.expiration-time":"7 d",
		"partition.timestamp-formatter":"yyyy-MM-dd","partition.expiration-check-interval":"0 s"}}`)
	var b strings.Builder
	for i := range 200 {
		dt := day(i % 20)
		if i%20 == 19 {
			dt = "not a date"
		}
		fmt.Fprintf(&b, `{"dt":%q,"id":%d,"data":"row %d"}`+"\n", dt, i, i)
	}
	input := t.TempDir() + "/rows"
	require.NoError(t, os.WriteFile(input, []byte(b.String()), 0o644))
	base.Java(testkit.JavaVersions[0], "write", "--input", input, "--commit-every", "50")
	before := base.JavaRows(testkit.JavaVersions[0])
	ours, javas := base.Copy(t.TempDir()), base.Copy(t.TempDir())
	ours.Compact("expire_partitions", "--dry-run")
	testkit.RequireSameRows(t, "after --dry_run", before, ours.JavaRows(testkit.JavaVersions[0]))
	ours.Compact("expire_partitions")
	javas.Java(testkit.JavaVersions[0], "expire-partitions")
	after := javas.JavaRows(testkit.JavaVersions[0])
	require.Less(t, len(after), len(before))
	ours.RequireRows(after)
	require.Equal(t, shape(t, javas), shape(t, ours))
	ours.RequireClean()
}

// TestOrphansAreRemovedAsByJava puts files of all ages where Paimon looks for orphans and where it doesn't.
func TestOrphansAreRemovedAsByJava(t *testing.T) {
	for _, g := range golden(t, "levels", "tags", "part_three", "changelog_decoupled", "dyn_bucket", "file_index_file") {
		t.Run(g.Name, func(t *testing.T) {
			base := g.Table.In(t).Copy(t.TempDir())
			age(t, base, 30*24*time.Hour)
			var buckets []string
			require.NoError(t, filepath.WalkDir(base.Path(), func(path string, d os.DirEntry, err error) error {
				if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "bucket-") {
					buckets = append(buckets, path)
				}
				return err
			}))
			require.NotEmpty(t, buckets)
			dirs := append(buckets, base.Path()+"/manifest", base.Path()+"/snapshot", base.Path()+"/index", base.Path()+"/statistics", base.Path()+"/elsewhere")
			for i, dir := range dirs {
				for name, old := range map[string]bool{"data-x%d-0.parquet": true, "data-y%d-0.parquet": false, "manifest-list-z%d": true, ".snapshot-9%d.tmp": true, "junk%d": true} {
					name = fmt.Sprintf(name, i) // Java looks at one file of a name only
					require.NoError(t, os.MkdirAll(dir, 0o755))
					path := filepath.Join(dir, name)
					require.NoError(t, os.WriteFile(path, []byte(fmt.Sprint(i)), 0o644))
					if then := time.Now().Add(-72 * time.Hour); old {
						require.NoError(t, os.Chtimes(path, then, then))
					}
				}
			}
			ours, javas := base.Copy(t.TempDir()), base.Copy(t.TempDir())
			sameTimes(t, base, ours)
			sameTimes(t, base, javas)
			ours.Compact("remove_orphan_files")
			javas.Java(testkit.JavaVersions[0], "orphans")
			requireSameFiles(t, javas, ours)
			testkit.RequireSameRows(t, "java", g.Rows, ours.JavaRows(testkit.JavaVersions[0]))
		})
	}
}

// sameTimes gives a copy's files the times of the original's.
func sameTimes(t *testing.T, from, to *testkit.Table) {
	require.NoError(t, filepath.WalkDir(from.Path(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chtimes(to.Path()+strings.TrimPrefix(path, from.Path()), info.ModTime(), info.ModTime())
	}))
}
