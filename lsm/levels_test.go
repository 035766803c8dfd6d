package lsm

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// intSchema is a table with a key of one INT.
func intSchema(t require.TestingT) *table.Schema {
	typ, err := row.ParseType("INT NOT NULL")
	require.NoError(t, err)
	s, err := table.NewSchema(table.Spec{
		Fields: []row.Field{{Name: "k", Type: typ}}, PrimaryKeys: []string{"k"}, Options: table.Options{"bucket": "1"},
	})
	require.NoError(t, err)
	return s
}

// intKey is a key of one INT as in manifests: arity, null bits, value.
func intKey(v int) []byte {
	b := binary.BigEndian.AppendUint32(nil, 1)
	b = binary.LittleEndian.AppendUint64(b, 0)
	return binary.LittleEndian.AppendUint64(b, uint64(uint32(v)))
}

func keyedFile(name string, level int, size int64, from, to int) table.DataFile {
	return table.DataFile{Name: name, Level: level, Size: size, MinKey: intKey(from), MaxKey: intKey(to)}
}

func withSeq(f table.DataFile, from, to int64) table.DataFile {
	f.MinSeq, f.MaxSeq = from, to
	return f
}

func TestLevelsOrderRunsNewestFirst(t *testing.T) {
	files := []table.DataFile{
		keyedFile("deep2", 7, 8, 10, 20),
		withSeq(keyedFile("old", 0, 1, 0, 9), 1, 5),
		keyedFile("mid", 2, 2, -5, 90),
		withSeq(keyedFile("new", 0, 4, 0, 9), 10, 12),
		withSeq(keyedFile("shorter", 0, 1, 0, 9), 3, 5),
		withSeq(keyedFile("also old", 0, 1, 0, 9), 1, 5),
		keyedFile("deep1", 7, 16, -8, 9),
	}
	files[1].CreationMillis = 7 // later than the other of the same sequence numbers
	l, err := NewLevels(files, intSchema(t), nil)
	require.NoError(t, err)
	var order []string
	for _, r := range l.Runs() {
		for _, f := range r.Files {
			require.Equal(t, r.Level, f.Level)
			order = append(order, f.Name)
		}
	}
	require.Equal(t, []string{"new", "also old", "old", "shorter", "mid", "deep1", "deep2"}, order)
	require.Equal(t, 6, l.NumSortedRuns())
	require.Equal(t, 4, l.DeepestLevel0())
	require.Equal(t, 8, l.NumLevels(), "the options say 6, and a file lies in level 7")
	require.Equal(t, 7, l.MaxLevel())
	require.Equal(t, 7, l.HighestNonEmpty())
	require.EqualValues(t, 33, l.Size())
	require.EqualValues(t, 24, l.Runs()[5].Size())
	require.Equal(t, "deep2", files[0].Name, "the caller's files stay as they are")
}

func TestLevelsOfNoFiles(t *testing.T) {
	l, err := NewLevels(nil, intSchema(t), table.Options{"num-sorted-run.compaction-trigger": "3"})
	require.NoError(t, err)
	require.Equal(t, []int{0, 4, 3, -1, 0}, []int{l.NumSortedRuns(), l.NumLevels(), l.MaxLevel(), l.HighestNonEmpty(), l.DeepestLevel0()})
	require.Zero(t, l.Size())
}

func TestLevelsRefuseFilesThatCannotBe(t *testing.T) {
	broken := keyedFile("b", 1, 1, 5, 6)
	broken.MinKey = broken.MinKey[:3]
	for what, files := range map[string][]table.DataFile{
		"overlap in level 1": {keyedFile("a", 1, 1, 0, 5), keyedFile("b", 1, 1, 5, 6)},
		"twice":              {keyedFile("a", 0, 1, 0, 5), keyedFile("a", 2, 1, 5, 6)},
		"level -1":           {keyedFile("a", -1, 1, 0, 5)},
		"key range of b":     {keyedFile("a", 1, 1, 0, 5), broken},
	} {
		_, err := NewLevels(files, intSchema(t), nil)
		require.ErrorIs(t, err, table.ErrCorrupt, what)
		require.ErrorContains(t, err, what)
	}
	_, err := NewLevels(nil, intSchema(t), table.Options{"num-levels": "1"})
	require.ErrorIs(t, err, table.ErrOption)
}

func TestRunsAreCountedWithoutLookingAtKeys(t *testing.T) {
	var files []table.DataFile
	runs, level0 := CountRuns(files)
	require.Zero(t, runs+level0)
	require.EqualValues(t, -1, NewestSchema(files))
	for i, level := range []int{5, 0, 3, 5, 0, 100, 0} {
		files = append(files, table.DataFile{Level: level, SchemaID: int64(7 - i)})
	}
	runs, level0 = CountRuns(files)
	require.Equal(t, 6, runs)
	require.Equal(t, 3, level0)
	require.EqualValues(t, 7, NewestSchema(files))
}
