//go:build integration

package writer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

// judge is the Java judge, one process for a test.
type judge struct {
	t   *testing.T
	dir string
	in  io.Writer
	out *bufio.Scanner
}

func newJudge(t *testing.T, dir string) *judge {
	t.Helper()
	bin := os.Getenv("PAIMON_GO_ORACLE")
	require.NotEmpty(t, bin, "PAIMON_GO_ORACLE must name a built copy of integration/java/oracle")
	cmd := exec.CommandContext(t.Context(), bin, "serve")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	j := &judge{t: t, dir: dir, in: in, out: bufio.NewScanner(out)}
	j.out.Buffer(nil, 16<<20)
	return j
}

// run returns the lines that a verb prints about the table.
func (j *judge) run(verb string, args ...string) []string {
	j.t.Helper()
	words, err := json.Marshal(append([]string{verb, j.dir, "db", "t"}, args...))
	require.NoError(j.t, err)
	_, err = fmt.Fprintf(j.in, "%s\n", words)
	require.NoError(j.t, err)
	var lines []string
	for j.out.Scan() {
		if strings.HasPrefix(j.out.Text(), `{"_rc":`) {
			require.Equal(j.t, `{"_rc":0}`, j.out.Text(), "%s: %s", words, strings.Join(lines, "\n"))
			return lines
		}
		lines = append(lines, j.out.Text())
	}
	require.Fail(j.t, "the judge has ended", "%s: %v", words, j.out.Err())
	return nil
}

// Java goes on where we stopped, we where Java stopped, and who goes on beside the other is told.
func TestJavaTakesADynamicTableOverAndBack(t *testing.T) {
	for _, parallelism := range []string{"1", "3"} {
		t.Run(parallelism, func(t *testing.T) {
			ctx := t.Context()
			dir := t.TempDir()
			j := newJudge(t, dir)
			tbl, err := table.Create(ctx, local.FS{}, filepath.Join(dir, "db.db", "t"), table.Spec{
				Fields: guideFields(), PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"},
				Options: table.Options{"bucket": "-1", "write-only": "true", "dynamic-bucket.target-row-num": "50", "dynamic-bucket.assigner-parallelism": parallelism},
			})
			require.NoError(t, err)
			model := map[string]string{}
			id := int64(0)
			open := func() *Writer {
				w, err := Open(ctx, tbl, Config{CommitUser: "ours"})
				require.NoError(t, err)
				return w
			}
			write := func(w *Writer, from, to int, data string) {
				b := row.NewBatch(w.Type())
				for i := from; i < to; i++ {
					for p := range 2 {
						kind, key := row.Insert, fmt.Sprintf("%d/d%d", i, p)
						if model[key] = data; i%9 == 0 {
							kind = row.Delete
							delete(model, key)
						}
						appendRow(b, kind, int64(i), data, fmt.Sprintf("d%d", p))
					}
				}
				require.NoError(t, w.Write(ctx, b))
				id++
				require.NoError(t, w.Checkpoint(ctx, id, nil))
			}
			java := func(from, to int, data string) {
				var in strings.Builder
				for i := from; i < to; i++ {
					fmt.Fprintf(&in, `{"_kind":"+I","id":%d,"data":%q,"dt":"d1"}`+"\n", i, data)
					model[fmt.Sprintf("%d/d1", i)] = data
				}
				name := filepath.Join(t.TempDir(), "rows")
				require.NoError(t, os.WriteFile(name, []byte(in.String()), 0o600))
				j.run("write", "--commit-user", "java", "--input", name)
			}
			same := func() {
				require.Equal(t, model, contents(t, tbl))
				requireIndexed(t, tbl)
				require.Len(t, j.run("read"), len(model))
				j.run("check", "--deep")
			}
			w := open()
			write(w, 0, 120, "ours")
			write(w, 60, 200, "ours again")
			require.NoError(t, w.Close(ctx))
			same()
			java(150, 320, "java")
			same()
			w = open()
			write(w, 10, 400, "back")
			require.NoError(t, w.Wait(ctx))
			same()
			for _, buckets := range bucketsOf(t, tbl) {
				total := int64(0)
				for _, n := range buckets {
					require.LessOrEqual(t, n, int64(50))
					total += n
				}
				require.EqualValues(t, 400, total)
				require.LessOrEqual(t, len(buckets), 400/50+3)
			}
			java(1000, 1010, "beside us")
			before := len(model)
			b := row.NewBatch(w.Type())
			appendRow(b, row.Insert, 5000, "late", "d1")
			require.NoError(t, w.Write(ctx, b))
			id++
			require.NoError(t, w.Checkpoint(ctx, id, nil))
			require.ErrorIs(t, w.Wait(ctx), table.ErrForeignWriter)
			require.ErrorIs(t, w.Close(ctx), table.ErrForeignWriter)
			require.Len(t, model, before)
			same()
		})
	}
}
