//go:build integration

package integration

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// A matrixCase is one combination of what a table with a primary key may be.
type matrixCase struct {
	engine   string
	producer string
	buckets  string
	vectors  bool
	sequence bool
	inline   bool // the writer compacts
}

var (
	matrixEngines = map[string]table.Options{
		"deduplicate": {},
		"partial":     {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		"groups":      {"merge-engine": "partial-update", "fields.g.sequence-group": "a,sum", "fields.sum.aggregate-function": "sum"},
		"aggregation": {"merge-engine": "aggregation", "fields.sum.aggregate-function": "sum", "fields.v.aggregate-function": "last_value",
			"fields.a.aggregate-function": "max", "fields.a.ignore-retract": "true"},
		"first-row": {"merge-engine": "first-row"},
	}
	matrixProducers = []string{"none", "input", "lookup", "full-compaction"}
	// matrixBuckets are kinds of buckets; those that are not written or not compacted here yet say what stands in the way.
	matrixBuckets = []struct {
		name    string
		conf    table.Options
		pending string
	}{
		{"fixed", table.Options{"bucket": "2"}, ""},
		{"dynamic", table.Options{"bucket": "-1", "dynamic-bucket.target-row-num": "10"}, ""},
		{"cross", table.Options{"bucket": "-1", "dynamic-bucket.target-row-num": "10"}, ""},
		{"postpone", table.Options{"bucket": "-2", "postpone.default-bucket-num": "2"}, ""},
	}
)

// matrix lists all combinations, by turns of what makes most of a difference.
func matrix() (list []matrixCase) {
	for _, engine := range []string{"deduplicate", "partial", "groups", "aggregation", "first-row"} {
		for _, producer := range matrixProducers {
			for _, b := range matrixBuckets {
				for i := range 8 {
					m := matrixCase{engine, producer, b.name, i&1 > 0, i&2 > 0, i&4 > 0}
					if engine == "groups" && m.sequence {
						continue // the group has a sequence of its own
					}
					list = append(list, m)
				}
			}
		}
	}
	return list
}

func (m *matrixCase) String() string {
	words := []string{m.engine, m.producer, m.buckets}
	for word, is := range map[string]bool{"vectors": m.vectors, "sequence": m.sequence, "inline": m.inline} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words[3:])
	return strings.Join(words, " ")
}

// forbidden is what Paimon says of a combination that it doesn't allow: a part of our message and one of Java's.
func (m *matrixCase) forbidden() (ours, java string) {
	switch {
	case m.sequence && m.engine == "first-row":
		return "sequence.field can't go with merge-engine first-row", "sequence field on FIRST_ROW"
	case m.sequence && m.moves():
		return "sequence.field needs all partition keys", "sequence.field in cross partition update"
	case m.engine == "first-row" && (m.producer == "input" || m.producer == "full-compaction"):
		return "merge-engine first-row goes with changelog-producer none and lookup only", "changelog-producer on FIRST_ROW"
	case m.vectors && m.producer == "full-compaction":
		return "deletion-vectors.enabled goes neither with changelog-producer full-compaction", "NONE/INPUT/LOOKUP changelog producer"
	case m.vectors && m.engine == "first-row":
		return "nor with merge-engine first-row", "First row merge engine does not need deletion vectors"
	}
	return "", ""
}

// moves tells whether rows of a key may be in any partition. Then only the writer may compact the table.
func (m *matrixCase) moves() bool { return m.buckets == "cross" }

// pending are the options, one of which our writer or compactor names when it refuses the table for now; "" if it doesn't.
func (m *matrixCase) pending() string {
	var names []string
	for _, b := range matrixBuckets {
		if b.name == m.buckets && b.pending != "" {
			names = append(names, b.pending)
		}
	}
	return strings.Join(names, "|")
}

func (m *matrixCase) spec(t *testing.T) table.Spec {
	field := func(name, s string) row.Field {
		x, err := row.ParseType(s)
		require.NoError(t, err)
		return row.Field{Name: name, Type: x}
	}
	spec := table.Spec{
		Fields: []row.Field{field("k", "INT NOT NULL"), field("p", "STRING NOT NULL"), field("a", "INT"), field("sum", "BIGINT"), field("g", "INT"), field("v", "STRING")},
		Options: table.Options{"write-only": strconv.FormatBool(!m.inline), "changelog-producer": m.producer, "num-sorted-run.compaction-trigger": "3",
			"deletion-vectors.enabled": strconv.FormatBool(m.vectors)}.With(matrixEngines[m.engine]),
		PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "k"},
	}
	for _, b := range matrixBuckets {
		if b.name == m.buckets {
			spec.Options = spec.Options.With(b.conf)
		}
	}
	if m.moves() {
		spec.PrimaryKeys = []string{"k"}
		if m.engine == "aggregation" {
			spec.Options["fields.p.aggregate-function"] = "primary-key" // else retracts make it NULL, which it may not be
		}
	}
	switch {
	case m.sequence:
		spec.Options["sequence.field"] = "g"
	case m.engine == "aggregation":
		spec.Options["fields.g.aggregate-function"] = "last_value"
	}
	return spec
}

// TestMatrixForbids has each combination that Paimon doesn't allow refused by us with its reason, and by Java.
func TestMatrixForbids(t *testing.T) {
	asked := map[string]bool{}
	for _, m := range matrix() {
		ours, java := m.forbidden()
		if ours == "" {
			continue
		}
		spec := m.spec(t)
		x := testkit.TableAt(t, t.TempDir(), "d", "t")
		_, err := table.Create(t.Context(), local.FS{}, x.Path(), spec)
		require.ErrorIs(t, err, table.ErrOption, m.String())
		require.ErrorContains(t, err, ours, m.String())
		if asked[java] && !matrixAll() {
			continue
		}
		asked[java] = true
		_, err = x.TryJava(testkit.JavaVersions[0], "create", "--spec", javaSpec(t, spec))
		require.ErrorContains(t, err, java, m.String())
	}
	require.Len(t, asked, 5)
}

// TestMatrixIsNotCompactedBeside has a dedicated compaction refused where Paimon's is, an unsupported bucket mode: nothing but a
// writer may compact tables whose keys move between partitions.
func TestMatrixIsNotCompactedBeside(t *testing.T) {
	for _, m := range matrix() {
		if ours, _ := m.forbidden(); ours != "" || !m.moves() {
			continue
		}
		x := testkit.TableAt(t, t.TempDir(), "d", "t")
		_, err := table.Create(t.Context(), local.FS{}, x.Path(), m.spec(t))
		require.NoError(t, err, m.String())
		err = compactOnce(t, x, compactor.Full)
		require.ErrorIs(t, err, table.ErrOption, m.String())
		require.ErrorContains(t, err, "bucket is -1 and partition column p is not part of the primary key", m.String())
	}
}

// TestMatrixPending has what is not written or not compacted here yet refused by name, so that nobody gets half of it.
func TestMatrixPending(t *testing.T) {
	for _, m := range matrix() {
		if ours, _ := m.forbidden(); ours != "" || m.pending() == "" {
			continue
		}
		x := testkit.TableAt(t, t.TempDir(), "d", "t")
		tbl, err := table.Create(t.Context(), local.FS{}, x.Path(), m.spec(t))
		require.NoError(t, err, m.String())
		w, err := writer.Open(t.Context(), tbl, writer.Config{})
		if err == nil { // then nobody compacts it
			require.NoError(t, w.Close(t.Context()))
			err = compactOnce(t, x, compactor.Full)
		}
		require.ErrorIs(t, err, table.ErrOption, m.String())
		require.Regexp(t, m.pending(), err.Error(), m.String())
	}
}

// javaSpec is a spec as the oracle takes it.
func javaSpec(t *testing.T, spec table.Spec) string {
	s := &table.Schema{Fields: spec.Fields, PartitionKeys: spec.PartitionKeys, PrimaryKeys: spec.PrimaryKeys, Options: spec.Options}
	for i := range s.Fields {
		s.Fields[i].ID = i
	}
	b, err := s.Encode()
	require.NoError(t, err)
	return string(b)
}

func matrixAll() bool { return os.Getenv("PAIMON_GO_TEST_SEEDS") != "" }

// TestMatrix plays random histories on tables of each kind: our writer and our compaction, beside a model and Java. At some
// moments both compact the same table in full, Java a copy of it; then both have the same rows and the same changelog of that.
// PAIMON_GO_TEST_SEEDS is how many histories each combination has (make matrix); without it there is one of a few.
func TestMatrix(t *testing.T) {
	rounds := 1
	if matrixAll() {
		var err error
		rounds, err = strconv.Atoi(os.Getenv("PAIMON_GO_TEST_SEEDS"))
		require.NoError(t, err)
	}
	var list []matrixCase
	for _, m := range matrix() {
		if ours, _ := m.forbidden(); ours == "" && m.pending() == "" {
			list = append(list, m)
		}
	}
	if !matrixAll() {
		rng := seed(t)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = fewOf(list, 16)
	}
	for _, m := range list {
		t.Run(m.String(), func(t *testing.T) {
			for range rounds {
				newMatrixRun(t, m, seed(t)).play()
			}
		})
	}
}

// fewOf takes some of a list, by turns of what decides how rows find their bucket and who compacts it, and how.
func fewOf(list []matrixCase, n int) (few []matrixCase) {
	type kind struct {
		buckets         string
		vectors, inline bool
	}
	had := map[kind]int{}
	turns := make(map[matrixCase]int, len(list))
	for _, m := range list {
		k := kind{m.buckets, m.vectors, m.inline}
		turns[m] = had[k]
		had[k]++
	}
	slices.SortStableFunc(list, func(a, b matrixCase) int { return turns[a] - turns[b] })
	return list[:min(len(list), n)]
}

// matrixRun is a history of a table.
type matrixRun struct {
	matrixCase
	t     *testing.T
	rng   *rand.Rand
	java  string
	x     *testkit.Table
	w     *writer.Writer
	id    int64
	keys  int
	model *matrixModel
}

func newMatrixRun(t *testing.T, m matrixCase, rng *rand.Rand) *matrixRun {
	r := &matrixRun{matrixCase: m, t: t, rng: rng, java: testkit.JavaVersions[0], x: testkit.TableAt(t, t.TempDir(), "d", "t"), keys: []int{3, 20, 200}[rng.IntN(3)]}
	spec := m.spec(t)
	spec.Options["file.format"] = []string{"avro", "parquet"}[rng.IntN(2)]
	if rng.IntN(3) == 0 {
		spec.Options["changelog-producer.row-deduplicate"] = strconv.FormatBool(m.producer != "none")
	}
	_, err := table.Create(t.Context(), local.FS{}, r.x.Path(), spec)
	require.NoError(t, err)
	r.model = newMatrixModel(m, rng)
	return r
}

func (r *matrixRun) play() {
	r.open()
	for range 1 + r.rng.IntN(4) {
		for range 1 + r.rng.IntN(4) {
			r.tick()
			if r.rng.IntN(3) == 0 {
				r.compact(compactor.Minor)
			}
			if r.rng.IntN(4) == 0 {
				r.close()
				r.model.reopened()
				r.open()
			}
		}
		r.judge()
	}
	r.close()
	r.requireReplay()
	r.x.RequireCleanFiles()
}

func (r *matrixRun) open() {
	var err error
	r.w, err = writer.Open(r.t.Context(), r.x.Open(), writer.Config{CommitUser: "ours"})
	require.NoError(r.t, err)
}

func (r *matrixRun) close() {
	require.NoError(r.t, r.w.Wait(r.t.Context()))
	require.NoError(r.t, r.w.Close(r.t.Context()))
}

// tick writes the rows of a commit.
func (r *matrixRun) tick() {
	b := row.NewBatch(r.w.Type())
	for range 1 + r.rng.IntN(3*r.keys) {
		r.model.change(b, r.rng.IntN(r.keys))
	}
	writeInParts(r.t, r.w, b, r.rng)
	r.id++
	require.NoError(r.t, r.w.Checkpoint(r.t.Context(), r.id, nil))
	require.NoError(r.t, r.w.Wait(r.t.Context()))
}

// compact does what a dedicated compaction would do now, if there is one.
func (r *matrixRun) compact(strategy string) {
	if r.buckets == "postpone" && r.producer == "full-compaction" { // Java's job for it gives buckets and compacts in full at once
		strategy = compactor.Full
	}
	if r.moves() {
		return
	}
	require.NoError(r.t, compactOnce(r.t, r.x, strategy))
}

func compactOnce(t *testing.T, x *testkit.Table, strategy string) error {
	s, err := compactor.New(compactor.Config{CommitUserPrefix: "compactor", Strategy: strategy, StrictTables: true, Log: slog.New(slog.DiscardHandler)}, oneTable{x})
	require.NoError(t, err)
	_, err = s.Once(t.Context())
	return err
}

// oneTable is compactor.Tables of one table.
type oneTable struct{ x *testkit.Table }

func (o oneTable) List(context.Context) ([]string, error) { return []string{"d.t"}, nil }

func (o oneTable) Open(ctx context.Context, _ string) (*table.Table, error) {
	return table.Open(ctx, local.FS{}, o.x.Path(), nil)
}

// visible tells whether what is committed is there for readers, and for the changelog of compactions: level 0 is empty, or doesn't
// matter.
func (r *matrixRun) visible() bool {
	return r.inline || !r.moves() || !r.vectors && r.engine != "first-row" && r.producer != "lookup" && r.producer != "full-compaction"
}

// judge compacts in full, here and a copy by Java, and compares. What only the writer compacts is compared as it is.
func (r *matrixRun) judge() {
	if r.moves() {
		rows := r.x.JavaRows(r.java)
		testkit.RequireSameRows(r.t, "we of ours", rows, scanned(r.t, r.x))
		if r.model.sound && r.visible() {
			testkit.RequireSameRows(r.t, "the model", r.model.rows(), rows)
		}
		return
	}
	theirs, from := r.x.Copy(r.t.TempDir()), r.x.Latest()
	if r.buckets == "postpone" {
		theirs.Java(r.java, "postpone-compact")
	} else {
		theirs.JavaCompacts(r.java, "--full")
	}
	r.compact(compactor.Full)
	rows := theirs.JavaRows(r.java)
	testkit.RequireSameRows(r.t, "java of ours", rows, r.x.JavaRows(r.java))
	testkit.RequireSameRows(r.t, "we of ours", rows, scanned(r.t, r.x))
	testkit.RequireSameRows(r.t, "we of java's", rows, scanned(r.t, theirs))
	if r.model.sound {
		testkit.RequireSameRows(r.t, "the model", r.model.rows(), rows)
	}
	since := func(x *testkit.Table) []testkit.Change {
		return slices.DeleteFunc(x.JavaChanges(r.java), func(c testkit.Change) bool { return c.Snapshot <= from })
	}
	testkit.RequireSameHistory(r.t, since(theirs), since(r.x))
}

// requireReplay replays the changelog, where that is what there is to the table.
func (r *matrixRun) requireReplay() {
	stream := r.x.JavaChanges(r.java)
	if r.producer != "none" {
		r.x.RequireChangelogCounts(stream)
	}
	if r.moves() { // a key that came back may be in another bucket, and the buckets of a snapshot are in no order
		place := func(c testkit.Change) int64 {
			if c.Kind == "-D" {
				return 2 * c.Snapshot
			}
			return 2*c.Snapshot + 1
		}
		slices.SortStableFunc(stream, func(a, b testkit.Change) int { return cmp.Compare(place(a), place(b)) })
	}
	if r.engine == "first-row" {
		for i := range stream {
			stream[i].Kind = strings.Replace(stream[i].Kind, "+U", "+I", 1) // the row has the kind that it was written with
		}
	}
	if (r.producer == "lookup" || r.producer == "full-compaction") && r.visible() {
		testkit.RequireSameRows(r.t, "the replay", r.x.JavaRows(r.java), testkit.Replayed(r.t, stream))
	}
}

// matrixModel makes changes and knows what they come to, by the simplest rules: one row a key, changed one by one. Histories
// are such that it doesn't matter which records meet in which merge.
type matrixModel struct {
	matrixCase
	rng   *rand.Rand
	live  map[int]*matrixRow
	least map[int]int    // sequence that the next row of a key must have at least
	home  map[int]string // partition that a key was in first, as far as the writer knows
	sound bool           // it knows the rows
}

// matrixRow is a row; nil is NULL.
type matrixRow struct {
	p            string
	a, sum, g    *int
	v            *string
	group, order int // largest sequences seen
}

func newMatrixModel(m matrixCase, rng *rand.Rand) *matrixModel {
	// Rows that come out of order make another partial update of each grouping into files.
	return &matrixModel{matrixCase: m, rng: rng, live: map[int]*matrixRow{}, least: map[int]int{}, home: map[int]string{}, sound: m.engine != "partial" || !m.sequence || rng.IntN(2) == 0}
}

// reopened forgets where keys were that have no row: a new writer knows those of rows only.
func (m *matrixModel) reopened() {
	for k := range m.home {
		if m.live[k] == nil {
			delete(m.home, k)
		}
	}
}

// change appends a change of a key.
func (m *matrixModel) change(b *row.Batch, k int) {
	old := m.live[k]
	kind := []row.Kind{row.Insert, row.UpdateAfter, row.Insert, row.Delete, row.UpdateBefore}[m.rng.IntN(5)]
	switch {
	case m.engine == "first-row" || m.engine == "groups" || m.engine == "aggregation" && (old == nil || m.sequence),
		m.engine == "partial" && kind == row.UpdateBefore: // it would begin a row with its values
		kind = []row.Kind{row.Insert, row.UpdateAfter}[m.rng.IntN(2)]
	}
	in := &matrixRow{p: fmt.Sprint("p", k%2), a: m.number(9), sum: m.number(100), g: m.number(5)}
	if m.rng.IntN(3) > 0 {
		text := fmt.Sprint("v", m.rng.IntN(9))
		in.v = &text
	}
	if m.moves() {
		in.p = fmt.Sprint("p", m.rng.IntN(3))
	}
	if m.sequence {
		m.order(in, k, kind)
	}
	switch {
	case m.engine == "partial":
		m.afterDelete(in, k, kind)
	case m.engine == "groups" && in.g == nil: // a lone row shows them
		in.a, in.sum = nil, nil
	}
	m.append(b, k, kind, in)
	m.apply(k, kind, in, old)
}

// afterDelete sees to it that partial updates don't show what a delete took: its own values, and, once it is merged with a
// later row, those before.
func (m *matrixModel) afterDelete(in *matrixRow, k int, kind row.Kind) {
	switch _, live := m.live[k]; {
	case kind == row.Delete:
		in.a, in.sum, in.v = nil, nil, nil
		if !m.sequence {
			in.g = nil
		}
	case !live:
		one, text := m.rng.IntN(9), "new"
		in.a, in.sum, in.v = &one, &one, &text
		if in.g == nil {
			in.g = &one
		}
	}
}

// order gives a row its sequence: any, but after that of a delete, which compaction forgets.
func (m *matrixModel) order(in *matrixRow, k int, kind row.Kind) {
	g := m.least[k] + m.rng.IntN(5)
	if m.engine == "partial" && m.sound {
		m.least[k] = g
	}
	if kind.IsRetract() && m.engine != "aggregation" {
		g = m.least[k] + 5
		m.least[k] = g + 1
	}
	in.g = &g
}

func (m *matrixModel) number(n int) *int {
	if m.rng.IntN(4) == 0 {
		return nil
	}
	x := m.rng.IntN(n)
	return &x
}

func (m *matrixModel) append(b *row.Batch, k int, kind row.Kind, r *matrixRow) {
	if err := row.ParseJSONRow([]byte(strings.Replace(r.text(k), "{", fmt.Sprintf(`{"_kind":%q,`, kind.String()), 1)), b); err != nil {
		panic(err)
	}
}

func (r *matrixRow) text(k int) string {
	number := func(x *int) string {
		if x == nil {
			return "null"
		}
		return strconv.Itoa(*x)
	}
	text := "null"
	if r.v != nil {
		text = strconv.Quote(*r.v)
	}
	return fmt.Sprintf(`{"k":%d,"p":%q,"a":%s,"sum":%s,"g":%s,"v":%s}`, k, r.p, number(r.a), number(r.sum), number(r.g), text)
}

// apply does what a record does to the row of its key.
func (m *matrixModel) apply(k int, kind row.Kind, in, old *matrixRow) {
	if in.g != nil {
		in.order = *in.g
	}
	if m.home[k] == "" {
		m.home[k] = in.p
	}
	if m.moves() && m.engine != "deduplicate" {
		in.p = m.home[k] // later rows go where the key is
	}
	switch m.engine {
	case "deduplicate":
		m.latest(k, kind, in, old)
	case "first-row":
		if old == nil {
			m.live[k] = in
		}
	case "partial":
		switch {
		case kind == row.Delete:
			delete(m.live, k)
		case old == nil:
			m.live[k] = in
		default:
			overlay(&old.a, in.a)
			overlay(&old.sum, in.sum)
			overlay(&old.g, in.g)
			overlay(&old.v, in.v)
		}
	case "groups":
		if old == nil {
			old = &matrixRow{p: in.p, group: -1}
			m.live[k] = old
		}
		overlay(&old.v, in.v)
		if in.g == nil {
			return
		}
		old.sum = plus(old.sum, in.sum, 1)
		if *in.g >= old.group {
			old.group, old.g, old.a = *in.g, in.g, in.a
		}
	case "aggregation":
		m.aggregate(k, kind, in, old)
	}
}

// latest is deduplicate.
func (m *matrixModel) latest(k int, kind row.Kind, in, old *matrixRow) {
	if m.sequence && old != nil && in.order < old.order {
		return
	}
	if kind.IsRetract() {
		delete(m.live, k)
		return
	}
	m.live[k] = in
}

func (m *matrixModel) aggregate(k int, kind row.Kind, in, old *matrixRow) {
	if old == nil {
		m.live[k] = in
		return
	}
	sign := 1
	if kind.IsRetract() {
		sign = -1
	} else if old.a == nil || in.a != nil && *in.a > *old.a {
		old.a = in.a
	}
	old.sum = plus(old.sum, in.sum, sign)
	switch {
	case m.sequence && in.order < old.order:
	case sign < 0:
		old.v, old.g = nil, nil
	default:
		old.v, old.g, old.order = in.v, in.g, in.order
	}
}

func overlay[T any](old **T, in *T) {
	if in != nil {
		*old = in
	}
}

func plus(acc, in *int, sign int) *int {
	if in == nil {
		return acc
	}
	sum := sign * *in
	if acc != nil {
		sum += *acc
	}
	return &sum
}

// rows are those that there are, in the form of Table.JavaRows.
func (m *matrixModel) rows() (rows []string) {
	for k, r := range m.live {
		rows = append(rows, r.text(k))
	}
	slices.Sort(rows)
	return rows
}
