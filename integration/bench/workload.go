package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// workload is what both sides of a pair do.
type workload struct {
	Format     string `json:"format"`
	Data       string `json:"data"` // random, words or mixed
	Rows       int    `json:"rows"`
	Keys       int    `json:"keys"`
	Interval   int    `json:"rows_per_commit"`
	Buckets    int    `json:"buckets"`
	Partitions int    `json:"partitions"`
	DataLen    int    `json:"data_bytes"`
	Seed       int64  `json:"seed"`
	Parallel   int    `json:"parallel"`
}

func (w workload) name() string { return "writer-" + w.Format + "-" + w.Data }

// options are the guide's, with the format of the pair.
func (w workload) options() table.Options {
	return table.Options{
		"bucket":                      strconv.Itoa(w.Buckets),
		"write-only":                  "true",
		"write-buffer-size":           "256 mb",
		"num-sorted-run.stop-trigger": "2147483647",
		"sort-spill-threshold":        "10",
		"file.format":                 w.Format,
		"file.compression":            "zstd",
		"file.compression.zstd-level": "3",
	}
}

// spec is the table: the guide's, or one of 20 columns.
func (w workload) spec() table.Spec {
	text := row.Type{Root: row.VarChar, Nullable: true, Length: row.MaxLength}
	fields := []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}}
	if w.Data == "mixed" {
		fields = append(fields, mixedFields(text)...)
	} else {
		fields = append(fields, row.Field{Name: "data", Type: text})
	}
	fields = append(fields, row.Field{Name: "dt", Type: row.Type{Root: row.VarChar, Length: row.MaxLength}})
	return table.Spec{Fields: fields, PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"}, Options: w.options()}
}

// pairs are the workloads that a selection names: all, or those whose names contain one of the comma-separated parts.
func pairs(base workload, selection string) ([]workload, error) {
	var all []workload
	for _, f := range []string{"parquet", "avro"} {
		for _, d := range []string{"random", "words", "mixed"} {
			w := base
			w.Format, w.Data = f, d
			if selected(w.name(), selection) {
				all = append(all, w)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no pair is selected by %q; there are writer-{parquet,avro}-{random,words,mixed}", selection)
	}
	return all, nil
}

func selected(name, selection string) bool {
	if selection == "" || selection == "all" {
		return true
	}
	for part := range strings.SplitSeq(selection, ",") {
		if part != "" && strings.Contains(name, part) {
			return true
		}
	}
	return false
}
