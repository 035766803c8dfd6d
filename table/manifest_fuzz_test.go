package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/avro"
)

// requireCorrupt demands that an error of damaged bytes is one of these and nothing else.
func requireCorrupt(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat) {
		t.Fatalf("error %v", err)
	}
}

// container wraps plain datums, so that the fuzzer need not invent checksums of compression.
func container(t testing.TB, schema string, count int, data []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := avro.NewBlockWriter(&file, schema, avro.CodecNull, 0)
	require.NoError(t, err)
	for i := range count {
		part := data
		if i > 0 {
			part = nil
		}
		require.NoError(t, w.Append(part))
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

func seedEntry() []byte {
	f := testFile("a", 0, 1, 2)
	f.ExtraFiles, f.EmbeddedIndex, f.ExternalPath, f.WriteCols = []string{"a.index"}, []byte{1}, "x", []string{"v"}
	return appendEntry(nil, &Entry{Kind: Add, Partition: binaryRow("p"), TotalBuckets: 1, File: f})
}

func FuzzManifestFile(f *testing.F) {
	f.Add(container(f, manifestSchema, 1, seedEntry()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		data, err := parseManifest("m", raw)
		requireCorrupt(t, err)
		if err != nil {
			return
		}
		for _, err := range data.entries(nil) {
			requireCorrupt(t, err)
		}
	})
}

// Entries that decode encode to something that decodes to the same, whatever the bytes were.
func FuzzManifestEntries(f *testing.F) {
	f.Add(1, seedEntry())
	f.Add(2, append(seedEntry(), seedEntry()...))
	f.Fuzz(func(t *testing.T, count int, plain []byte) {
		data := &manifestData{path: "m", blocks: []plainBlock{{count: int64(count & 0xff), data: plain}}}
		var entries []Entry
		for e, err := range data.entries(nil) {
			requireCorrupt(t, err)
			if err != nil {
				return
			}
			entries = append(entries, *e)
		}
		n := 0
		for _, err := range data.entries(func(*entryHead) bool { n++; return false }) {
			require.NoError(t, err, "what can be read can be skipped")
		}
		require.Len(t, entries, n)
		for i := range entries {
			again := &manifestData{path: "m", blocks: []plainBlock{{count: 1, data: appendEntry(nil, &entries[i])}}}
			for e, err := range again.entries(nil) {
				require.NoError(t, err)
				require.Equal(t, entries[i], *e)
			}
		}
	})
}

func FuzzManifestList(f *testing.F) {
	seed := appendManifest(nil, &Manifest{Name: "m", Size: 1, Added: 2, PartitionStats: EmptyStats(), Buckets: Range{0, 1, true}})
	f.Add(container(f, manifestListSchema, 1, seed))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, err := parseManifestList("l", raw)
		requireCorrupt(t, err)
	})
}

// The schema of a foreign version comes from the file too.
func FuzzForeignManifest(f *testing.F) {
	f.Add(manifestSchema+" ", seedEntry())
	f.Fuzz(func(t *testing.T, schema string, plain []byte) {
		data, err := parseManifest("m", container(t, schema, 1, plain))
		requireCorrupt(t, err)
		if err != nil {
			return
		}
		for _, err := range data.entries(nil) {
			requireCorrupt(t, err)
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"version":3,"id":1,"schemaId":0,"baseManifestList":"a","deltaManifestList":"b","commitUser":"u","commitKind":"APPEND"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseSnapshot("s", raw)
		requireCorrupt(t, err)
		if err != nil {
			return
		}
		data, err := s.encode()
		require.NoError(t, err)
		again, err := parseSnapshot("s", data)
		require.NoError(t, err)
		if len(s.Properties) == 0 {
			s.Properties = nil // absent and empty are one
		}
		require.Equal(t, s, again)
	})
}

func TestDamageIsNamedWithPathAndOffset(t *testing.T) {
	datum := seedEntry()
	for i := range datum {
		for _, b := range []byte{0x00, 0x7f, 0x80, 0xff} {
			bad := bytes.Clone(datum)
			bad[i] = b
			data, err := parseManifest("/t/manifest/m", container(t, manifestSchema, 1, bad))
			require.NoError(t, err)
			for _, err := range data.entries(nil) {
				requireCorrupt(t, err)
				if err != nil {
					require.ErrorContains(t, err, "/t/manifest/m")
					require.ErrorContains(t, err, "offset")
				}
			}
		}
	}
	whole := container(t, manifestSchema, 1, datum)
	for n := range whole {
		_, err := parseManifest("/t/manifest/m", whole[:n])
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, "/t/manifest/m")
		}
	}
}

func FuzzIndexEntries(f *testing.F) {
	v := vectorFile("v", "a", "b")
	path := "x"
	v.ExternalPath, v.Vectors[1].Cardinality = &path, nil
	f.Add(appendIndexEntry(nil, &IndexEntry{Partition: binaryRow("p"), File: hashFile("h")}))
	f.Add(appendIndexEntry(nil, &IndexEntry{Partition: binaryRow("p"), File: v}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := avro.NewDecoder(raw)
		e, ok := decodeIndexEntry(d)
		if !ok || d.Err() != nil || e.File.Type != IndexHash && e.File.Type != IndexDeletionVectors {
			return
		}
		again, ok := decodeIndexEntry(avro.NewDecoder(appendIndexEntry(nil, &e)))
		if e.File.Type == IndexHash {
			again.File.Vectors = e.File.Vectors
		}
		require.True(t, ok)
		require.Equal(t, e, again)
	})
}

// Whatever a file of deletion vectors has, it is read or refused.
func FuzzVectors(f *testing.F) {
	f.Add(unhex(f, javaVector), 24)
	f.Add(unhex(f, javaVector64), 44)
	f.Fuzz(func(t *testing.T, raw []byte, length int) {
		// The checksum is made right, as no fuzzer would.
		if len(raw) > 12 {
			if size := int(int32(binary.BigEndian.Uint32(raw[1:]))); size > 0 && size <= len(raw)-9 {
				binary.BigEndian.PutUint32(raw[5+size:], crc32.ChecksumIEEE(raw[5:5+size]))
			}
		}
		b, err := vectorAt(raw, 1, length)
		if err != nil {
			return
		}
		file, n, err := appendVector([]byte{vectorVersion}, b)
		require.NoError(t, err)
		again, err := vectorAt(file, 1, n)
		require.NoError(t, err)
		require.True(t, b.Equals(again))
	})
}
