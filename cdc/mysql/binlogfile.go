package mysql

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/cdc"
)

// binlogFiles lists the files of a directory that begin as binlog files do.
func binlogFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("binlog-dir: %w: %w", err, cdc.ErrSource)
	}
	var files []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() || !hasMagic(path) {
			continue
		}
		files = append(files, path)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("binlog-dir %s has no binlog file: %w", dir, cdc.ErrSource)
	}
	slices.SortFunc(files, func(a, b string) int { return compareBinlogs(filepath.Base(a), filepath.Base(b)) })
	return files, nil
}

const binlogMagic = "\xfebin"

func hasMagic(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [4]byte
	_, err = io.ReadFull(f, b[:])
	return err == nil && string(b[:]) == binlogMagic
}

// compareBinlogs orders file names by length, then text: binlog.999999 is before binlog.1000000.
func compareBinlogs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// binlogFile reads the events of a log file.
type binlogFile struct {
	in          *bufio.Reader
	large       []byte // an event that in can't hold
	checksummed bool
}

// next returns the next event, io.EOF behind the last. Its body is valid until the next call.
func (f *binlogFile) next() (event, error) {
	head, err := f.in.Peek(eventHeader)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return event{}, io.EOF
	}
	if err != nil {
		return event{}, cutFile(err)
	}
	size := int(eventOf(head).size)
	if size < eventHeader {
		return event{}, malformed("an event of %d bytes", size)
	}
	var b []byte
	if size <= f.in.Size() {
		if b, err = f.in.Peek(size); err == nil {
			_, err = f.in.Discard(size)
		}
	} else {
		f.large, err = readInto(f.large, f.in, size)
		b = f.large
	}
	if err != nil {
		return event{}, cutFile(err)
	}
	e := eventOf(b)
	if e.kind == eventFormat {
		f.checksummed = hasChecksums(e.body)
	}
	if f.checksummed {
		if err := verify(b); err != nil {
			return event{}, err
		}
		e.body = e.body[:len(e.body)-4]
	}
	return e, nil
}

func cutFile(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file ends inside an event: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// verify compares the checksum at the end of an event, which is ours to change.
func verify(b []byte) error {
	end := len(b) - 4
	if end < eventHeader {
		return malformed("an event of %d bytes with a checksum", len(b))
	}
	const flags, inUse = 17, 1
	if b[4] == eventFormat {
		b[flags] &^= inUse // set while the server writes to the file, and not part of the sum
	}
	if crc32.ChecksumIEEE(b[:end]) != le.Uint32(b[end:]) {
		return malformed("the checksum of an event of type %d that ends at %d is wrong", b[4], eventOf(b).endPos)
	}
	return nil
}

// readInto reads n bytes into buf, which it returns grown by no more than comes.
func readInto(buf []byte, in io.Reader, n int) ([]byte, error) {
	if cap(buf) > keptBuffer {
		buf = nil
	}
	buf = buf[:0]
	for at := 0; at < n; at = len(buf) {
		k := min(n-at, keptBuffer)
		buf = slices.Grow(buf, k)[:at+k]
		if _, err := io.ReadFull(in, buf[at:]); err != nil {
			return buf[:0], err
		}
	}
	return buf, nil
}

// scanBinlog gives the events of one file. Their bodies are valid until the next.
func scanBinlog(ctx context.Context, path string, take func(event) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", err, cdc.ErrSource)
	}
	defer file.Close()
	f := binlogFile{in: bufio.NewReaderSize(file, readBuffer)}
	if _, err := f.in.Discard(len(binlogMagic)); err != nil {
		return fmt.Errorf("%s: %w: %w", path, cutFile(err), cdc.ErrSource)
	}
	for {
		e, err := f.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w: %w", path, err, cdc.ErrSource)
		case ctx.Err() != nil:
			return ctx.Err()
		case e.kind == eventRotate:
			continue
		}
		if err := take(e); err != nil {
			return err
		}
	}
}
