package table

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/fs/mem"
)

const testPath = "/warehouse/db.db/t"

func typeOf(t testing.TB, s string) row.Type {
	t.Helper()
	typ, err := row.ParseType(s)
	require.NoError(t, err)
	return typ
}

// fieldsOf reads "k INT NOT NULL, v STRING".
func fieldsOf(t testing.TB, s string) []row.Field {
	t.Helper()
	typ := typeOf(t, "ROW<"+s+">")
	return typ.Fields
}

func smallSpec(t testing.TB) Spec {
	return Spec{
		Fields:      fieldsOf(t, "k INT, v STRING, p STRING"),
		PrimaryKeys: []string{"k", "p"}, PartitionKeys: []string{"p"}, Options: Options{"bucket": "2"},
	}
}

func TestTablePath(t *testing.T) {
	require.Equal(t, "hdfs://nn/wh/db.db/t", TablePath("hdfs://nn/wh/", "db", "t"))
	require.Equal(t, "/wh/db.db/t", TablePath("/wh", "db", "t"))
}

func TestCreateMakesWhatJavaMakes(t *testing.T) {
	data, err := os.ReadFile("testdata/schema/all-spec.json")
	require.NoError(t, err)
	var spec struct {
		Fields                     []row.Field
		PartitionKeys, PrimaryKeys []string
		Options                    Options
		Comment                    string
	}
	require.NoError(t, json.Unmarshal(data, &spec))
	delete(spec.Options, "my comment") // a key that we take for a mistake
	spec.Options["path"] = "/somewhere"
	s, err := NewSchema(Spec(spec))
	require.NoError(t, err)
	for _, version := range []string{"1.4.2", "1.3.1"} {
		golden, _ := goldenSchema(t, version+"/all-schema-0.json")
		delete(golden.Options, "my comment")
		require.Equal(t, encoded(t, golden), encoded(t, s))
	}
}

func TestCreateThenOpen(t *testing.T) {
	fsys := mem.New()
	made, err := Create(t.Context(), fsys, testPath+"/", smallSpec(t))
	require.NoError(t, err)
	require.Equal(t, testPath, made.Path())
	require.Equal(t, []string{testPath + "/schema/schema-0"}, fsys.Paths())
	require.False(t, made.Schema().Fields[0].Type.Nullable, "primary key columns become NOT NULL")
	require.False(t, made.Schema().Fields[2].Type.Nullable)
	require.True(t, made.Schema().Fields[1].Type.Nullable)

	dynamic := Options{"write-buffer-size": "1 mb"}
	opened, err := Open(t.Context(), fsys, testPath, dynamic)
	require.NoError(t, err)
	dynamic["bucket"] = "99"
	require.Equal(t, encoded(t, made.Schema()), encoded(t, opened.Schema()))
	require.EqualValues(t, 1<<20, opened.Options().Size(KeyWriteBufferSize))
	require.Equal(t, 2, opened.Options().Int(KeyBucket))
	require.NotContains(t, opened.Schema().Options, "write-buffer-size")

	_, err = Create(t.Context(), fsys, testPath, smallSpec(t))
	require.ErrorIs(t, err, ErrTableExists)
	_, err = Open(t.Context(), fsys, "/warehouse/db.db/none", nil)
	require.ErrorIs(t, err, ErrNoTable)
}

func TestCreateRefusesSnapshotsWithoutSchema(t *testing.T) {
	fsys := mem.New()
	fsys.Overwrite(testPath+"/snapshot/snapshot-3", []byte("{}"))
	_, err := Create(t.Context(), fsys, testPath, smallSpec(t))
	require.ErrorIs(t, err, ErrCorrupt)
	require.Len(t, fsys.Paths(), 1)
}

func TestCreateTakesKeysFromOptions(t *testing.T) {
	spec := smallSpec(t)
	spec.PrimaryKeys, spec.PartitionKeys = nil, nil
	spec.Options = Options{"primary-key": "k , p", "partition": "p", "bucket": "1", "path": "/x"}
	s, err := NewSchema(spec)
	require.NoError(t, err)
	require.Equal(t, []string{"k", "p"}, s.PrimaryKeys)
	require.Equal(t, []string{"p"}, s.PartitionKeys)
	require.Equal(t, Options{"bucket": "1"}, s.Options)
	require.Contains(t, spec.Options, "path", "the caller's options stay as they are")

	spec.PrimaryKeys = []string{"k"}
	_, err = NewSchema(spec)
	require.ErrorIs(t, err, ErrOption)
}

func TestCreateRefusesWhatJavaRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		err    error
		part   string
	}{
		"no columns":           {func(s *Spec) { s.Fields = nil }, ErrSchema, "no fields"},
		"equal names":          {func(s *Spec) { s.Fields[1].Name = "k" }, ErrSchema, `"k"`},
		"system name":          {func(s *Spec) { s.Fields[1].Name = "_SEQUENCE_NUMBER" }, ErrSchema, "_SEQUENCE_NUMBER"},
		"key prefix":           {func(s *Spec) { s.Fields[1].Name = "_KEY_v" }, ErrSchema, "_KEY_v"},
		"row kind name":        {func(s *Spec) { s.Fields[1].Name = "rowkind" }, ErrSchema, "rowkind"},
		"unknown key":          {func(s *Spec) { s.PrimaryKeys = []string{"x", "p"} }, ErrSchema, `"x"`},
		"unknown partition":    {func(s *Spec) { s.PartitionKeys = []string{"x"} }, ErrSchema, `"x"`},
		"key twice":            {func(s *Spec) { s.PrimaryKeys = []string{"k", "p", "k"} }, ErrSchema, "k twice"},
		"only partition keys":  {func(s *Spec) { s.PrimaryKeys = []string{"p"} }, ErrSchema, "one row"},
		"nested key":           {func(s *Spec) { s.Fields[0].Type = typeOf(t, "ARRAY<INT>") }, ErrSchema, "ARRAY"},
		"bad decimal":          {func(s *Spec) { s.Fields[1].Type = row.Type{Root: row.Decimal, Precision: 39, Nullable: true} }, ErrSchema, "column v"},
		"no buckets":           {func(s *Spec) { s.Options["bucket"] = "0" }, ErrOption, "bucket"},
		"bucket text":          {func(s *Spec) { s.Options["bucket"] = "four" }, ErrOption, "bucket"},
		"bucket key unknown":   {func(s *Spec) { s.Options["bucket-key"] = "x" }, ErrOption, "bucket-key"},
		"bucket key no key":    {func(s *Spec) { s.Options["bucket-key"] = "v" }, ErrOption, "primary key"},
		"bucket key partition": {func(s *Spec) { s.Options["bucket-key"] = "p" }, ErrOption, "partition key"},
		"bucket key dynamic":   {func(s *Spec) { s.Options = Options{"bucket-key": "k"} }, ErrOption, "bucket-key"},
		"mod of text": {func(s *Spec) {
			s.Fields[0].Type = typeOf(t, "STRING")
			s.Options["bucket-function.type"] = "mod"
		}, ErrOption, "mod"},
		"sequence unknown": {func(s *Spec) { s.Options["sequence.field"] = "v,x" }, ErrOption, "column x"},
		"sequence twice":   {func(s *Spec) { s.Options["sequence.field"] = "v,v" }, ErrOption, "twice"},
		"sequence across": {func(s *Spec) {
			s.PrimaryKeys = []string{"k"}
			s.Options["sequence.field"] = "v"
		}, ErrOption, "partition keys"},
		"rowkind unknown":     {func(s *Spec) { s.Options["rowkind.field"] = "x" }, ErrOption, "column x"},
		"fields unknown":      {func(s *Spec) { s.Options["fields.x.stats-mode"] = "none" }, ErrOption, "column x"},
		"retention":           {func(s *Spec) { s.Options["snapshot.num-retained.min"] = "0" }, ErrOption, "less than 1"},
		"retention order":     {func(s *Spec) { s.Options["snapshot.num-retained.max"] = "9" }, ErrOption, "between"},
		"changelog retention": {func(s *Spec) { s.Options["changelog.num-retained.max"] = "9" }, ErrOption, "between"},
		"expiry": {func(s *Spec) {
			s.PartitionKeys = nil
			s.Options["partition.expiration-time"] = "1 d"
		}, ErrOption, "partitioned"},
		"producer": {func(s *Spec) {
			s.PrimaryKeys = nil
			s.Options["bucket-key"] = "k"
			s.Options["changelog-producer"] = "input"
		}, ErrOption, "primary key"},
		"first row":          {func(s *Spec) { s.Options["merge-engine"] = "first-row"; s.Options["changelog-producer"] = "input" }, ErrOption, "first-row"},
		"vectors":            {func(s *Spec) { s.Options["merge-engine"] = "first-row"; s.Options["deletion-vectors.enabled"] = "true" }, ErrOption, "deletion-vectors"},
		"time field":         {func(s *Spec) { s.Options["record-level.time-field"] = "v" }, ErrOption, "STRING"},
		"misspelling":        {func(s *Spec) { s.Options["write-ony"] = "true" }, ErrOption, "write-only"},
		"misspelt family":    {func(s *Spec) { s.Options["fields.v.sequnce-group"] = "k" }, ErrOption, "fields.v.sequence-group"},
		"misspelt aggregate": {func(s *Spec) { s.Options["fields.v.aggregate-funtion"] = "sum" }, ErrOption, "fields.v.aggregate-function"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := mem.New()
			spec := smallSpec(t)
			c.change(&spec)
			_, err := Create(t.Context(), fsys, testPath, spec)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.part)
			require.Empty(t, fsys.Paths())
		})
	}
}

func TestBytesDoNotPartitionWhatIsWritten(t *testing.T) {
	for _, typ := range []string{"BYTES", "BINARY(3)", "VARBINARY(3)"} {
		spec := smallSpec(t)
		spec.Options["bucket"] = "1"
		for i := range spec.Fields {
			if spec.Fields[i].Name == "p" {
				spec.Fields[i].Type = typeOf(t, typ)
			}
		}
		s, err := NewSchema(spec)
		require.NoError(t, err)
		require.ErrorContains(t, s.CheckWritable(s.Options), "partition column p")
	}
}

func TestCreateAllowsWhatOnlyWritersRefuse(t *testing.T) {
	for _, o := range []Options{
		{"bucket": "1", "file.format": "orc"},
	} {
		fsys := mem.New()
		spec := smallSpec(t)
		spec.Options = o
		tab, err := Create(t.Context(), fsys, testPath, spec)
		require.NoError(t, err)
		require.ErrorIs(t, tab.Schema().CheckWritable(tab.Options()), ErrOption, o)
		_, err = Open(t.Context(), fsys, testPath, nil)
		require.NoError(t, err)
	}
}

func TestCreateResolvesALostReply(t *testing.T) {
	for _, how := range []faultfs.How{faultfs.Before, faultfs.Lost, faultfs.ReplyLost} {
		inner := mem.New()
		fsys := faultfs.New(inner, faultfs.Nth(1, how, faultfs.Ops(faultfs.OpPublish)))
		_, err := Create(t.Context(), fsys, testPath, smallSpec(t))
		if how == faultfs.ReplyLost {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, faultfs.ErrInjected)
		require.NotErrorIs(t, err, ErrTableExists)
		_, err = Create(t.Context(), fsys, testPath, smallSpec(t))
		require.NoError(t, err)
	}
	// reply lost and no way to look: nothing is known
	fsys := faultfs.New(mem.New(), func(c faultfs.Call) faultfs.How {
		switch c.Op {
		case faultfs.OpPublish:
			return faultfs.ReplyLost
		case faultfs.OpOpen:
			return faultfs.Before
		}
		return faultfs.OK
	})
	_, err := Create(t.Context(), fsys, testPath, smallSpec(t))
	require.ErrorIs(t, err, ErrUnknownOutcome)
}

func TestStrayFilesInSchemaDirectoryAreIgnored(t *testing.T) {
	fsys := mem.New()
	_, err := Create(t.Context(), fsys, testPath, smallSpec(t))
	require.NoError(t, err)
	for _, name := range []string{"schema-0.bak", "schema-", "schema-x", "schema-+5", "schema--1", ".schema-7.3f.tmp", "README", "schema-99999999999999999999"} {
		fstest.Write(t, fsys, testPath+"/schema/"+name, []byte("junk"))
	}
	tab, err := Open(t.Context(), fsys, testPath, nil)
	require.NoError(t, err)
	require.EqualValues(t, 0, tab.Schema().ID)
}

func TestOpenNamesTheDamagedFile(t *testing.T) {
	fsys := mem.New()
	_, err := Create(t.Context(), fsys, testPath, smallSpec(t))
	require.NoError(t, err)
	path := testPath + "/schema/schema-0"
	data := fstest.Read(t, fsys, path)
	for _, bad := range [][]byte{data[:len(data)/2], {}, []byte(strings.Replace(string(data), `"id" : 0`, `"id" : 7`, 1))} {
		fsys.Overwrite(path, bad)
		_, err := Open(t.Context(), fsys, testPath, nil)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, path)
	}
	fsys.Overwrite(path, []byte(strings.Replace(string(data), `"version" : 3`, `"version" : 4`, 1)))
	_, err = Open(t.Context(), fsys, testPath, nil)
	require.ErrorIs(t, err, ErrNewerFormat)
	require.ErrorContains(t, err, path)

	boom := faultfs.New(fsys, faultfs.Nth(1, faultfs.Before, faultfs.Ops(faultfs.OpList)))
	boom.FailWith(fs.ErrTransient)
	_, err = Open(t.Context(), boom, testPath, nil)
	require.ErrorIs(t, err, fs.ErrTransient)
	require.NotErrorIs(t, err, ErrNoTable)
}

func TestDynamicOptionsCannotContradictTheTable(t *testing.T) {
	fsys := mem.New()
	spec := smallSpec(t)
	spec.Options["ignore-delete"] = "true"
	_, err := Create(t.Context(), fsys, testPath, spec)
	require.NoError(t, err)
	for name, value := range map[string]string{
		"bucket": "-1", "merge-engine": "aggregation", "bucket-key": "k", "deletion-vectors.enabled": "true", "ignore-delete": "false",
		"primary-key": "v", "rowkind.field": "v",
	} {
		_, err := Open(t.Context(), fsys, testPath, Options{name: value})
		require.ErrorIs(t, err, ErrOption, name)
		require.ErrorContains(t, err, name)
	}
	_, err = Open(t.Context(), fsys, testPath, Options{"bucket": "3"})
	require.ErrorIs(t, err, ErrOption)
	require.ErrorContains(t, err, "bucket is 2 in the table and can't be 3")
	_, err = Open(t.Context(), fsys, testPath, Options{
		"bucket": "2", "merge-engine": "deduplicate", "ignore-delete": "true", "write-only": "true", "deletion-vectors.enabled": "false",
	})
	require.NoError(t, err)
}
