package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
)

// PostponeBucket is the bucket of rows that a table with bucket=-2 has not assigned yet.
const PostponeBucket = -2

// partitionTypes returns the types of the partition keys, in their order. They never change over the life of a table.
func (s *Schema) partitionTypes() []*row.Type {
	types := make([]*row.Type, len(s.PartitionKeys))
	for i, f := range s.PartitionIndexes() {
		types[i] = &s.Fields[f].Type
	}
	return types
}

// DecodePartition returns the partition keys' values as a batch of one row.
func (s *Schema) DecodePartition(partition []byte) (*row.Batch, error) {
	types := s.partitionTypes()
	b := partitionBatch(types)
	if err := row.DecodeSerializedRow(partition, types, b); err != nil {
		return nil, fmt.Errorf("decoding partition %x: %w: %w", partition, ErrCorrupt, err)
	}
	return b, nil
}

// PartitionValues returns the values of a partition as they appear in paths, before escaping: that of a null, empty or
// blank value is the option partition.default-name.
func (t *Table) PartitionValues(partition []byte) ([]string, error) {
	s := t.Schema()
	if len(s.PartitionKeys) == 0 {
		return nil, nil
	}
	b, err := s.DecodePartition(partition)
	if err != nil {
		return nil, err
	}
	o := t.Options()
	values := make([]string, len(b.Cols))
	for i := range b.Cols {
		col := &b.Cols[i]
		if !col.IsNull(0) {
			values[i] = string(row.AppendPartitionText(nil, col, 0, o.Bool(KeyPartitionLegacyName)))
		}
		if isBlank(values[i]) {
			values[i] = o.Get(KeyPartitionDefaultName)
		}
	}
	return values, nil
}

// isBlank is Java's StringUtils.isNullOrWhitespaceOnly.
func isBlank(s string) bool {
	for _, r := range s {
		if !isJavaWhitespace(r) {
			return false
		}
	}
	return true
}

// isJavaWhitespace is Java's Character.isWhitespace: the separators of Unicode without the non-breaking ones, and some
// control characters.
func isJavaWhitespace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20, r == 0x1680, r >= 0x2000 && r <= 0x200a && r != 0x2007,
		r == 0x2028, r == 0x2029, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

// PartitionPath returns the directory of a partition below the table's, such as "dt=2024-01-01/h=1", and "" when the table
// has no partition keys.
func (t *Table) PartitionPath(partition []byte) (string, error) {
	values, err := t.PartitionValues(partition)
	if err != nil {
		return "", err
	}
	var path []byte
	for i, key := range t.Schema().PartitionKeys {
		if i > 0 {
			path = append(path, '/')
		}
		path = appendEscaped(path, key)
		path = append(path, '=')
		path = appendEscaped(path, values[i])
	}
	return string(path), nil
}

// appendEscaped escapes what Java's PartitionPathUtils does, in directory names of partitions.
func appendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 || strings.IndexByte("\"#%'*/:=?\\\x7f{}[]^", c) >= 0 {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// dataDir returns where data lies: the table's directory or, by data-file.path-directory, one below.
func (t *Table) dataDir() string {
	if d := t.Options().Get(KeyDataFilePathDirectory); d != "" {
		return fs.Join(t.path, d)
	}
	return t.path
}

// BucketPath returns the directory of the files of a bucket.
func (t *Table) BucketPath(partition []byte, bucket int32) (string, error) {
	p, err := t.PartitionPath(partition)
	if err != nil {
		return "", err
	}
	name := "bucket-" + strconv.Itoa(int(bucket))
	if bucket == PostponeBucket {
		name = "bucket-postpone"
	}
	if p == "" {
		return fs.Join(t.dataDir(), name), nil
	}
	return fs.Join(t.dataDir(), p, name), nil
}

// DataFilePath returns where a data or changelog file lies.
func (t *Table) DataFilePath(partition []byte, bucket int32, f *DataFile) (string, error) {
	if f.ExternalPath != "" {
		return f.ExternalPath, nil
	}
	dir, err := t.BucketPath(partition, bucket)
	if err != nil {
		return "", err
	}
	return fs.Join(dir, f.Name), nil
}

// extraFilePath returns where an extra file of f, such as its index, lies: beside it.
func extraFilePath(dataFilePath, name string) string { return fs.Join(fs.Dir(dataFilePath), name) }
