//go:build integration

package maintenance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

// judge is one process of the oracle, for many commands.
type judge struct {
	in  io.Writer
	out *bufio.Reader
}

func startJudge(t *testing.T) *judge {
	program := os.Getenv("PAIMON_GO_ORACLE")
	require.NotEmpty(t, program, "PAIMON_GO_ORACLE names the judge of integration/java")
	cmd := exec.Command(program, "serve")
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "ORACLE_JAVA_OPTS=-Xmx1g -XX:+UseSerialGC -XX:-UsePerfData")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &judge{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// run gives the lines of a command for the table db.t of a warehouse, and whether it went well.
func (j *judge) run(t *testing.T, verb, warehouse string, args ...string) ([]string, bool) {
	words := append([]string{verb, warehouse, "d", "t"}, args...)
	b, err := json.Marshal(words)
	require.NoError(t, err)
	_, err = j.in.Write(append(b, '\n'))
	require.NoError(t, err)
	var lines []string
	for {
		line, err := j.out.ReadString('\n')
		require.NoError(t, err)
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, `{"_rc":`) {
			return append(lines, line), line == `{"_rc":0}`
		}
		lines = append(lines, line)
	}
}

func (j *judge) must(t *testing.T, verb, warehouse string, args ...string) []string {
	lines, ok := j.run(t, verb, warehouse, args...)
	require.True(t, ok, "%s %s: %s", verb, args, strings.Join(lines, "\n"))
	return lines
}

// twins are two copies of a table that Java made, for Java and for us.
type twins struct {
	t            *testing.T
	j            *judge
	java, ours   string // warehouses
	dynamic      table.Options
	looseContent bool // new files were made, so that names differ
}

const tableDir = "d.db/t"

// makeTwins makes a table of 14 commits by Java, with tags before some of them.
func makeTwins(t *testing.T, j *judge, options map[string]string, tags map[int]string) *twins {
	dir := t.TempDir()
	all := map[string]string{
		"bucket": "2", "snapshot.num-retained.min": "100", "snapshot.num-retained.max": "100", "num-sorted-run.compaction-trigger": "3",
		"manifest.merge-min-count": "4", "file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b",
	}
	for k, v := range options {
		all[k] = v
	}
	spec, err := json.Marshal(map[string]any{
		"fields": []map[string]string{
			{"name": "dt", "type": "STRING NOT NULL"}, {"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "STRING"},
		},
		"partitionKeys": []string{"dt"}, "primaryKeys": []string{"dt", "k"}, "options": all,
	})
	require.NoError(t, err)
	base := dir + "/base"
	j.must(t, "create", base, "--spec", string(spec))
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 14 {
		if tag := tags[n]; tag != "" {
			j.must(t, "tag", base, "--create", tag)
		}
		var rows bytes.Buffer
		for range 6 {
			fmt.Fprintf(&rows, `{"_kind":"+I","dt":"2024-01-%02d","k":%d,"v":"x%d"}`+"\n", 1+rng.IntN(3), rng.IntN(9), n)
		}
		j.must(t, "write", base, "--wait-compaction", "--input", writeTemp(t, rows.String()))
	}
	w := &twins{t: t, j: j, java: dir + "/java", ours: dir + "/ours", dynamic: table.Options{}}
	w.copy(base)
	return w
}

func writeTemp(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func (w *twins) copy(base string) {
	for _, to := range []string{w.java, w.ours} {
		require.NoError(w.t, os.CopyFS(to, os.DirFS(base)))
		for path := range w.files(to) { // checksums of Java's local file system would complain about our hints
			require.NotContains(w.t, path, ".crc")
		}
	}
}

// both changes a file in both copies.
func (w *twins) both(path, content string) {
	for _, wh := range []string{w.java, w.ours} {
		full := filepath.Join(wh, tableDir, path)
		require.NoError(w.t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(w.t, os.WriteFile(full, []byte(content), 0o644))
	}
}

// files returns the content of metadata files, and the paths of the others.
func (w *twins) files(warehouse string) map[string]string {
	all := map[string]string{}
	root := filepath.Join(warehouse, tableDir)
	require.NoError(w.t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(rel, "/")
		switch {
		case d.IsDir():
			if strings.Contains(rel, "=") || strings.Contains(rel, "bucket-") {
				all[rel] = "directory"
			}
		case top == "snapshot" || top == "changelog" || top == "tag" || top == "consumer":
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[rel] = string(data)
		case strings.HasPrefix(d.Name(), "changelog-") && strings.HasSuffix(d.Name(), ".index"):
			// Java forgets to remove them
		default:
			all[rel] = ""
		}
		return nil
	}))
	return all
}

var (
	anyUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}(-\d+)?|"(timeMillis|baseManifestListSize|deltaManifestListSize|commitIdentifier)" : [^,]*,|` +
		`"uuid" : [^,]*,|"tagCreateTime" : [^\]]*\]|Time" : \d+`)
	anyWarehouse = regexp.MustCompile(`/[^" ]*/(java|ours)/d\.db`)
)

// same demands that both copies have the same files.
func (w *twins) same() {
	w.t.Helper()
	java, ours := w.files(w.java), w.files(w.ours)
	if w.looseContent {
		java, ours = loose(java), loose(ours)
	}
	require.Equal(w.t, java, ours)
	// The judge wants more of kept changelogs than Java keeps; it must say the same of both.
	a, _ := w.j.run(w.t, "check", w.java, "--deep")
	b, _ := w.j.run(w.t, "check", w.ours, "--deep")
	require.Equal(w.t, findings(a), findings(b))
}

// findings are what the judge says, but for how long it took and for what Java leaves behind: the indexes of changelog files,
// which it forgets to remove.
func findings(lines []string) []string {
	var kept []string
	for _, l := range lines {
		l = anyWarehouse.ReplaceAllString(l, "")
		if !strings.Contains(l, `"severity":"info"`) && !strings.Contains(l, `.parquet.index","msg"`) && !strings.Contains(l, `"summary"`) {
			kept = append(kept, l)
		}
	}
	return kept
}

// loose forgets what is drawn at random or by the clock: of files it counts those that look alike.
func loose(files map[string]string) map[string]string {
	var all []string
	for path, content := range files {
		f := strings.ReplaceAll(path+" "+content, `"commitUser" : "oracle-write"`, `"commitUser" : "us"`)
		all = append(all, strings.ReplaceAll(anyUUID.ReplaceAllString(f, "#"), "\n  #\n", "\n"))
	}
	sort.Strings(all)
	out := map[string]string{}
	for i, f := range all {
		out[fmt.Sprint(i)] = f
	}
	return out
}

func (w *twins) open() *table.Table {
	t, err := table.Open(w.t.Context(), local.FS{}, filepath.Join(w.ours, tableDir), w.dynamic)
	require.NoError(w.t, err)
	return t
}

func (w *twins) expire(most, least int) {
	w.t.Helper()
	w.j.must(w.t, "expire", w.java, "--retain-max", fmt.Sprint(most), "--retain-min", fmt.Sprint(least), "--older-than-ms", "0")
	_, err := ExpireSnapshots(w.t.Context(), w.open(), ExpireOptions{RetainMax: &most, RetainMin: &least, OlderThan: future(), MaxDeletes: 1 << 30})
	require.NoError(w.t, err)
	w.same()
}

// maintain lets Java do what it does after each commit, of a commit of nothing, and us the same.
func (w *twins) maintain(options table.Options) {
	w.t.Helper()
	w.dynamic = options
	args := []string{"--ignore-empty", "--input", writeTemp(w.t, "")}
	for k, v := range options {
		args = append(args, "--option", k+"="+v)
	}
	w.j.must(w.t, "write", w.java, args...)
	m := NewMaintainer(w.open(), "us", nil)
	_, err := m.Run(w.t.Context(), nil)
	require.NoError(w.t, err)
	w.same()
}

func (w *twins) deleteTag(name string) {
	w.t.Helper()
	w.j.must(w.t, "tag", w.java, "--delete", name)
	_, err := DeleteTag(w.t.Context(), w.open(), name, false, nil)
	require.NoError(w.t, err)
	w.same()
}

func TestWeExpireAsJavaDoes(t *testing.T) {
	j := startJudge(t)
	tags := map[int]string{2: "a", 5: "b", 6: "c", 11: "d"}
	producers := map[string]string{"none": "none", "input": "input"}
	for name, producer := range producers {
		t.Run("by number, changelog "+name, func(t *testing.T) {
			w := makeTwins(t, j, map[string]string{"changelog-producer": producer}, nil)
			for _, n := range []int{15, 9, 4, 1} {
				w.expire(n, n)
			}
		})
		t.Run("with tags, changelog "+name, func(t *testing.T) {
			w := makeTwins(t, j, map[string]string{"changelog-producer": producer, "snapshot.clean-empty-directories": "true"}, tags)
			w.expire(12, 12)
			w.deleteTag("c")
			w.expire(3, 2)
			for _, g := range []string{"b", "a", "d"} {
				w.deleteTag(g)
			}
			w.expire(1, 1)
		})
		t.Run("kept changelogs, changelog "+name, func(t *testing.T) {
			w := makeTwins(t, j, map[string]string{"changelog-producer": producer, "changelog.num-retained.max": "200"}, tags)
			w.expire(9, 9)
			w.expire(2, 2)
			w.maintain(table.Options{
				"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "2", "snapshot.time-retained": "0 ms",
				"changelog.num-retained.min": "8", "changelog.num-retained.max": "8",
			})
			w.both("consumer/consumer-c", `{"nextSnapshot":24}`)
			w.maintain(table.Options{
				"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "snapshot.time-retained": "0 ms",
				"changelog.num-retained.min": "1", "changelog.num-retained.max": "3", "changelog.time-retained": "0 ms",
			})
		})
	}
	t.Run("limits", func(t *testing.T) {
		w := makeTwins(t, j, nil, tags)
		w.both("consumer/consumer-x", `{"nextSnapshot":8}`)
		o := table.Options{"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "2147483647", "snapshot.time-retained": "0 ms", "snapshot.expire.limit": "3"}
		for range 5 {
			w.maintain(o)
		}
		w.maintain(o.With(table.Options{"consumer.expiration-time": "0 ms"}))
		w.maintain(o.With(table.Options{"snapshot.time-retained": "1 h"}))
	})
	t.Run("tags by period", func(t *testing.T) {
		w := makeTwins(t, j, nil, nil)
		w.spread(7 * time.Hour)
		w.looseContent = true
		w.maintain(table.Options{
			"tag.automatic-creation": "process-time", "tag.creation-delay": "3 h", "tag.default-time-retained": "9 d", "tag.create-success-file": "true",
			"tag.num-retained-max": "3", "sink.process-time-zone": "Asia/Tokyo",
		})
		w.maintain(table.Options{
			"tag.automatic-creation": "process-time", "tag.creation-period": "hourly", "tag.period-formatter": "without_dashes",
			"tag.automatic-completion": "true", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "snapshot.time-retained": "0 ms",
		})
	})
	for _, bucket := range []string{"2", "-1"} {
		t.Run("partitions, bucket "+bucket, func(t *testing.T) {
			w := makeTwins(t, j, map[string]string{"bucket": bucket}, tags)
			w.looseContent = true
			age := time.Since(time.Date(2024, 1, 2, 12, 0, 0, 0, time.Local)).Truncate(time.Hour)
			w.maintain(table.Options{
				"partition.expiration-time": fmt.Sprintf("%d h", int(age.Hours())), "partition.expiration-check-interval": "0 s",
				"partition.expiration-max-num": "1",
			})
			w.maintain(table.Options{
				"partition.expiration-time": "1 d", "partition.expiration-check-interval": "0 s", "partition.expiration-batch-size": "1",
				"partition.timestamp-formatter": "yyyyMMdd HH:mm", "partition.timestamp-pattern": "$dt",
			})
			w.maintain(table.Options{
				"partition.expiration-time": "1 d", "partition.expiration-check-interval": "0 s", "partition.expiration-batch-size": "1",
				"partition.timestamp-formatter": "yyyy-MM-dd HH:mm", "partition.timestamp-pattern": "$dt 13:00",
				"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "snapshot.time-retained": "0 ms", "snapshot.clean-empty-directories": "true",
			})
		})
	}
}

// spread sets the times of the snapshots of both copies apart.
func (w *twins) spread(step time.Duration) {
	at := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	field := regexp.MustCompile(`"timeMillis" : \d+`)
	for id := 1; ; id++ {
		path := fmt.Sprintf("snapshot/snapshot-%d", id)
		data, err := os.ReadFile(filepath.Join(w.java, tableDir, path))
		if err != nil {
			require.ErrorIs(w.t, err, os.ErrNotExist)
			return
		}
		at = at.Add(step)
		w.both(path, field.ReplaceAllString(string(data), fmt.Sprintf(`"timeMillis" : %d`, at.UnixMilli())))
	}
}

// TestJavaTablesStayWhole expires tables of many kinds that Java made, to one snapshot, and lets Java read what is left. Before
// and after, it is agreed with the judge on what is an orphan.
func TestJavaTablesStayWhole(t *testing.T) {
	j := startJudge(t)
	dir := t.TempDir()
	// the verb golden takes a directory in the place of the warehouse
	cmd := exec.CommandContext(t.Context(), os.Getenv("PAIMON_GO_ORACLE"), "golden", dir, "--only", "^(tags|dv_tags|dv_parquet|dynamic.*|file_index|part_three|evolution_avro|changelog_lookup_parquet|first_row.*)$")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	names, err := filepath.Glob(dir + "/warehouse/golden.db/*")
	require.NoError(t, err)
	require.Greater(t, len(names), 5)
	for _, path := range names {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			w := t.TempDir()
			require.NoError(t, os.CopyFS(filepath.Join(w, tableDir), os.DirFS(path)))
			tab, err := table.Open(t.Context(), local.FS{}, filepath.Join(w, tableDir), nil)
			require.NoError(t, err)
			agree := func() {
				r, err := RemoveOrphanFiles(t.Context(), tab, OrphanOptions{OlderThan: *future(), DryRun: true})
				require.NoError(t, err)
				lines := j.must(t, "check", w, "--deep")
				require.Equal(t, strings.Count(strings.Join(lines, "\n"), `"severity":"orphan"`), r.Files, "%v\n%v", r.Names, lines)
			}
			agree()
			read := func() string {
				return string(regexp.MustCompile(`"seconds":[^,}]*`).ReplaceAllString(strings.Join(j.must(t, "read", w, "--checksum"), "\n"), ""))
			}
			rows := read()
			tags, err := tab.Tags(t.Context())
			require.NoError(t, err)
			_, err = ExpireSnapshots(t.Context(), tab, ExpireOptions{RetainMin: ptr(1), OlderThan: future(), MaxDeletes: 1000})
			require.NoError(t, err)
			agree()
			for _, g := range tags {
				_, err = DeleteTag(t.Context(), tab, g.Name, false, nil)
				require.NoError(t, err)
				agree()
			}
			require.Equal(t, rows, read())
		})
	}
}
