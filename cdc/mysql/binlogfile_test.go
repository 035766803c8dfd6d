package mysql

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
)

// logFile is a log file with the events of a stream.
func logFile(checksum bool, events []event) []byte {
	b := []byte(binlogMagic)
	add := func(e event, checksum bool) {
		f := newFakeStream()
		f.checksum = checksum
		f.event(e)
		for p := f.b; len(p) > 0; { // without the packets' headers
			n := int(p[0]) | int(p[1])<<8 | int(p[2])<<16
			first := 0
			if len(p) == len(f.b) {
				first = 1
			}
			b = append(b, p[4+first:4+n]...)
			p = p[4+n:]
		}
	}
	format := make([]byte, 2+50+4+1+30+1)
	copy(format[2:], "8.0.36")
	if checksum {
		format[len(format)-1] = 1
	}
	if !checksum {
		format = append(format, 0, 0, 0, 0)
	}
	add(event{kind: eventFormat, body: format}, checksum)
	for _, e := range events {
		add(e, checksum)
	}
	return b
}

// scan reads a file's events, each with its own copy of the body.
func scan(t *testing.T, file []byte) (events []event, err error) {
	path := filepath.Join(t.TempDir(), "binlog.000001")
	require.NoError(t, os.WriteFile(path, file, 0o644))
	require.Equal(t, bytes.HasPrefix(file, []byte(binlogMagic)), hasMagic(path))
	err = scanBinlog(t.Context(), path, func(e event) error {
		if e.kind != eventFormat {
			e.size = uint32(eventHeader + len(e.body)) // without the checksum
			e.body = bytes.Clone(e.body)
			events = append(events, e)
		}
		return nil
	})
	return events, err
}

func TestLogFiles(t *testing.T) {
	for _, checksum := range []bool{false, true} {
		for seed, most := range []int{60, 5000, 3 * readBuffer} {
			_, want := eventsOf(rand.New(rand.NewPCG(uint64(seed), 3)), 60, most)
			for i := range want {
				if want[i].kind == eventRotate { // they are for streams
					want[i].kind = eventXID
				}
			}
			file := logFile(checksum, want)
			got, err := scan(t, file)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		large := event{kind: eventWriteRowsV2, size: uint32(eventHeader + fullPacket + 5), body: bytes.Repeat([]byte("x"), fullPacket+5)}
		got, err := scan(t, logFile(checksum, []event{large, large}))
		require.NoError(t, err)
		require.True(t, bytes.Equal(large.body, got[1].body))
	}
}

// A file that ends inside an event was not copied whole.
func TestALogFileCutAtEveryByte(t *testing.T) {
	_, want := eventsOf(rand.New(rand.NewPCG(5, 5)), 4, 30)
	for i := range want {
		want[i].kind = eventXID
	}
	file := logFile(true, want)
	ends := map[int]bool{}
	at := len(file)
	for i := len(want) - 1; i >= 0; i-- {
		ends[at] = true
		at -= int(want[i].size) + 4
	}
	ends[at], ends[4] = true, true
	for cut := range len(file) {
		_, err := scan(t, file[:cut])
		if ends[cut] {
			require.NoError(t, err, cut)
			continue
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, cut)
		require.ErrorIs(t, err, cdc.ErrSource, cut)
	}
}

func TestADamagedLogFileIsNoticed(t *testing.T) {
	_, want := eventsOf(rand.New(rand.NewPCG(5, 5)), 4, 30)
	file := logFile(true, want)
	const inUse = 4 + 17
	for i := 4; i < len(file); i++ {
		damaged := bytes.Clone(file)
		damaged[i] ^= 1
		_, err := scan(t, damaged)
		if i == inUse { // the server had the file open
			require.NoError(t, err)
		} else if at := i - 4; at != 4 && at != eventHeader+2+50+4+1+30 && (at < eventHeader+2 || at >= eventHeader+2+50) { // the kind, the version and whether there are checksums
			require.ErrorIs(t, err, cdc.ErrSource, "byte %d", i)
		}
	}
}

func FuzzLogFile(f *testing.F) {
	_, want := eventsOf(rand.New(rand.NewPCG(5, 5)), 4, 30)
	f.Add(logFile(true, want))
	f.Add(logFile(false, want))
	huge := binary.LittleEndian.AppendUint32(append([]byte(binlogMagic), make([]byte, 9)...), 1<<32-1)
	f.Add(append(huge, make([]byte, 20)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := scan(t, b)
		if err != nil {
			require.ErrorIs(t, err, cdc.ErrSource)
		}
		for _, e := range events {
			require.LessOrEqual(t, len(e.body), len(b))
		}
	})
}

// TestAllocationsOfLogFiles is a gate: no event of a file allocates, whether it is checked or not.
func TestAllocationsOfLogFiles(t *testing.T) {
	for _, checksum := range []bool{false, true} {
		read := func(n int) float64 {
			_, events := eventsOf(rand.New(rand.NewPCG(5, 5)), n, 400)
			path := filepath.Join(t.TempDir(), "binlog.000001")
			require.NoError(t, os.WriteFile(path, logFile(checksum, events), 0o644))
			return testing.AllocsPerRun(3, func() {
				if err := scanBinlog(t.Context(), path, func(event) error { return nil }); err != nil {
					t.Fatal(err)
				}
			})
		}
		require.Equal(t, read(500), read(1000))
	}
}
