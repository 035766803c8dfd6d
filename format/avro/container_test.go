package avro

import (
	"bytes"
	"io"
	"testing"

	"github.com/paimon-go/paimon-go/format"
	"github.com/stretchr/testify/require"
)

const longSchema = `{"type":"record","name":"r","fields":[{"name":"a","type":"long"},{"name":"b","type":"string"}]}`

// longFile has n records {a: i, b: i times 'x' modulo 50}.
func longFile(t testing.TB, codec string, n int) []byte {
	var out bytes.Buffer
	w, err := NewBlockWriter(&out, longSchema, codec, 1)
	require.NoError(t, err)
	var datum []byte
	for i := range n {
		datum = AppendLong(datum[:0], int64(i))
		datum = AppendBytes(datum, bytes.Repeat([]byte{'x'}, i%50))
		require.NoError(t, w.Append(datum))
	}
	require.Equal(t, int64(n), w.Rows())
	require.NoError(t, w.Close())
	require.Equal(t, int64(out.Len()), w.Size())
	return out.Bytes()
}

// readLongFile returns the number of records, which it verifies.
func readLongFile(t testing.TB, file []byte) (int, error) {
	r, err := NewBlockReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return 0, err
	}
	require.Equal(t, longSchema, r.Schema())
	rows := 0
	for {
		n, data, err := r.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		d := NewDecoder(data)
		for ; n > 0; n-- {
			require.Equal(t, int64(rows), d.Long())
			require.Len(t, d.Bytes(), rows%50)
			rows++
		}
		require.NoError(t, d.Err())
		require.Zero(t, d.Len())
	}
}

var writeCodecs = []string{CodecNull, CodecZstandard, CodecDeflate, CodecSnappy}

func TestContainerGivesBackEveryRecord(t *testing.T) {
	for _, codec := range writeCodecs {
		for _, n := range []int{0, 1, 10000} {
			rows, err := readLongFile(t, longFile(t, codec, n))
			require.NoError(t, err, "%s %d", codec, n)
			require.Equal(t, n, rows)
		}
	}
}

func TestTruncatedContainerIsCorrupt(t *testing.T) {
	for _, codec := range writeCodecs {
		file := longFile(t, codec, 10000)
		whole := map[int]bool{} // ends of blocks
		r, err := NewBlockReader(bytes.NewReader(file), int64(len(file)))
		require.NoError(t, err)
		for {
			whole[int(r.off)] = true
			if _, _, err := r.Next(); err == io.EOF {
				break
			}
		}
		require.Greater(t, len(whole), 3)
		for n := 0; n < len(file); n += 1 + n/25 {
			_, err := readLongFile(t, file[:n])
			if !whole[n] {
				require.ErrorIs(t, err, format.ErrCorrupt, "%s cut at %d", codec, n)
			}
		}
	}
}
