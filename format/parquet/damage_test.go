package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var damageRounds = flag.Int("damage.rounds", 60, "damaged copies of each file to read")

// damagedBytes is the most that reading a damaged file of some kilobytes may allocate: batches of a file whose rows turned
// out to be many, but nothing of the size that a damaged length claims.
const damagedBytes = 96 << 20

// readDamaged reads a file that may be damaged: it must give rows or an error about the damage, not panic, and allocate
// little.
func readDamaged(t testing.TB, file []byte, typ *row.Type) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := readRows(file, typ, 200_000)
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(damagedBytes))
	if err != nil {
		require.NotContains(t, err.Error(), "panic")
		require.True(t, errors.Is(err, format.ErrCorrupt) || errors.Is(err, errUnsupported), err.Error())
	}
	return err
}

// readRows reads a file without keeping its rows, limit of them at most.
func readRows(file []byte, typ *row.Type, limit int) error {
	r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), format.ReadSpec{Type: typ, BatchRows: 1000})
	if err != nil {
		return err
	}
	defer r.Close()
	b := row.NewBatch(typ)
	for rows := 0; rows < limit; rows += b.N {
		if err := r.Next(b); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		for i := range b.N {
			_ = row.AppendJSONRow(nil, b, i, false) // every value can be looked at
		}
	}
	return nil
}

func TestTruncatedFilesAreCorrupt(t *testing.T) {
	for _, name := range []string{"all", "nested"} {
		file, typ, _ := golden(t, name)
		for n := range len(file) {
			require.ErrorIs(t, readDamaged(t, file[:n], typ), format.ErrCorrupt, "%s cut to %d bytes", name, n)
		}
	}
}

// TestFlippedBitsAreFoundInPages flips bits all over files. Those in a page's bytes are always found, by its checksum;
// those in headers and the footer may be harmless.
func TestFlippedBitsAreFoundInPages(t *testing.T) {
	for _, name := range []string{"all", "nested", "v1", "v2", "v2nodict", "lz4", "plain"} {
		file, typ, _ := golden(t, name)
		rnd := rand.New(rand.NewSource(1))
		for range 300 {
			flip(t, file, typ, rnd.Intn(8*len(file)))
		}
	}
}

func flip(t *testing.T, file []byte, typ *row.Type, bit int) {
	bad := bytes.Clone(file)
	bad[bit/8] ^= 1 << (bit % 8)
	err := readDamaged(t, bad, typ)
	for _, c := range footerOf(t, file).groups[0].chunks {
		var h pageHeader
		n, herr := h.read(file[c.dataOffset:])
		require.NoError(t, herr)
		if at := int(c.dataOffset) + n; bit/8 >= at && bit/8 < at+int(h.size) {
			require.ErrorIs(t, err, format.ErrCorrupt, "bit %d", bit)
		}
	}
}

// TestDamageThatPassesTheChecksumIsHarmless puts random bytes into files without looking at checksums, as in files of
// writers that make none: whatever comes out, it must not panic or take much memory.
func TestDamageThatPassesTheChecksumIsHarmless(t *testing.T) {
	verifyPages = false
	defer func() { verifyPages = true }()
	rounds := *damageRounds
	rnd := rand.New(rand.NewSource(int64(rounds)))
	for _, name := range goldens {
		file, typ, _ := golden(t, name)
		b, err := readFile(file, typ, 0)
		require.NoError(t, err)
		for _, f := range [][]byte{file, writeFile(t, format.WriteSpec{Type: typ, Compression: "none"}, b)} {
			for range rounds {
				bad := bytes.Clone(f)
				for range 1 + rnd.Intn(4) {
					at := rnd.Intn(len(bad))
					switch rnd.Intn(4) {
					case 0:
						bad[at] = byte(rnd.Int())
					case 1:
						bad[at] = []byte{0, 1, 0x7F, 0x80, 0xFF}[rnd.Intn(5)]
					case 2:
						bad[at] ^= 1 << rnd.Intn(8)
					case 3:
						from := rnd.Intn(len(bad))
						copy(bad[at:], bad[from:min(len(bad), from+1+rnd.Intn(8))])
					}
				}
				_ = readDamaged(t, bad, typ)
			}
		}
	}
}

// TestClaimsOfSizeAreNotBelieved makes headers claim much of what isn't there.
func TestClaimsOfSizeAreNotBelieved(t *testing.T) {
	typ := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.Int, Nullable: true}}, row.Field{Name: "l",
		Type: row.Type{Root: row.Array, Elem: &row.Type{Root: row.VarChar, Length: 9, Nullable: true}}})
	b := row.NewBatch(&typ)
	for range 100 {
		b.Cols[0].AppendNull()
		b.Cols[1].Kids[0].AppendNull()
		b.Cols[1].EndList()
		b.EndRow(row.Insert)
	}
	for _, codec := range []string{"none", "zstd", "gzip", "snappy", "lz4", "lz4_raw"} {
		file := writeFile(t, format.WriteSpec{Type: &typ, Compression: codec}, b)
		m := footerOf(t, file)
		var h pageHeader
		c := m.groups[0].chunks[0]
		n, err := h.read(file[c.dataOffset:])
		require.NoError(t, err)
		for _, f := range []func(){
			func() { h.uncompressed = 1<<31 - 1 },
			func() { h.size = 1<<31 - 1 },
			func() { h.values = 1<<31 - 1 },
			func() { h.uncompressed = -1 },
			func() { h.size = -5 },
		} {
			was := h
			f()
			var w thriftWriter
			h.write(&w)
			h = was
			// The page moves behind the file's, and the footer says so.
			bad := append(bytes.Clone(file[:4]), w.b...)
			bad = append(bad, file[int(c.dataOffset)+n:int(c.dataOffset)+n+int(was.size)]...)
			bad = withFooter(bad, &typ, c, int64(len(bad)-4))
			require.ErrorIs(t, readDamaged(t, bad, &row.Type{Root: row.Row, Fields: typ.Fields[:1]}), format.ErrCorrupt, "%s: %+v", codec, was)
		}
	}
}

// withFooter completes a file of one column chunk that begins at byte 4.
func withFooter(file []byte, typ *row.Type, c chunkMeta, size int64) []byte {
	s, err := newFileSchema(&row.Type{Root: row.Row, Fields: typ.Fields[:1]})
	if err != nil {
		panic(err)
	}
	w := &writer{schema: s, cfg: &config{codec: c.codec}, rows: c.values}
	w.groups = []writtenGroup{{rows: c.values, chunks: []writtenChunk{{at: 4, dataAt: 4, size: size, levels: c.values}}}}
	var buf bytes.Buffer
	w.out = &buf
	w.writeFooter()
	return append(file, buf.Bytes()...)
}

func TestReadErrorsOfTheStoreAreNotCorruption(t *testing.T) {
	file, typ, _ := golden(t, "plain")
	broken := errors.New("the store is away")
	for n := range 60 {
		r := &failingReaderAt{r: bytes.NewReader(append(make([]byte, 0), file...)), fail: n, err: broken}
		err := func() error {
			rd, err := Format.NewReader(r, int64(len(file)), format.ReadSpec{Type: typ})
			if err != nil {
				return err
			}
			defer rd.Close()
			b := row.NewBatch(typ)
			for {
				if err := rd.Next(b); err != nil {
					return err
				}
			}
		}()
		if r.calls <= n {
			require.Equal(t, io.EOF, err)
			return
		}
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, format.ErrCorrupt)
	}
}

type failingReaderAt struct {
	r           io.ReaderAt
	calls, fail int
	err         error
}

func (r *failingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if r.calls++; r.calls > r.fail {
		return 0, r.err
	}
	return r.r.ReadAt(p, off)
}

// FuzzReader reads any bytes as files of all types.
func FuzzReader(f *testing.F) {
	_, all, _ := golden(f, "all")
	_, nested, _ := golden(f, "nested")
	_, v1, _ := golden(f, "v1")
	types := []*row.Type{all, nested, v1}
	for _, name := range goldens {
		file, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
		require.NoError(f, err)
		f.Add(file)
	}
	rnd := rand.New(rand.NewSource(7))
	for range 10 {
		typ := randomRow(rnd, 3, 2)
		f.Add(writeFile(f, format.WriteSpec{Type: typ, Compression: "none"}, randomBatch(rnd, typ, 5, shape{nulls: 20, listMax: 2})))
	}
	verifyPages = false // or nothing but headers is ever reached
	f.Cleanup(func() { verifyPages = true })
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<16 {
			return
		}
		for _, typ := range types {
			_ = readDamaged(t, file, typ)
		}
		// The file's own idea of its columns reaches deeper than types it doesn't have.
		if n := len(file) - 8; n > 4 {
			if size := int(binary.LittleEndian.Uint32(file[n:])); size <= n {
				var m fileMeta
				_ = m.read(file[n-size : n])
			}
		}
	})
}
