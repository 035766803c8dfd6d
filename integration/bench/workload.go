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
	Kind       string `json:"kind"` // kindWriter, kindFull or kindMinor
	Format     string `json:"format"`
	Data       string `json:"data"` // random, words, mixed or columns
	Rows       int    `json:"rows"`
	Keys       int    `json:"keys"`
	Interval   int    `json:"rows_per_commit"`
	Buckets    int    `json:"buckets"`
	Partitions int    `json:"partitions"`
	DataLen    int    `json:"data_bytes"`
	Seed       int64  `json:"seed"`
	Parallel   int    `json:"parallel"`
	Point      int    `json:"point,omitempty"`          // of a curve, or megabytes of a tick
	Large      bool   `json:"large,omitempty"`          // the many rows of a point of a curve
	Columns    int    `json:"columns,omitempty"`        // of the data "columns"
	Tables     int    `json:"tables,omitempty"`         // growth-tables
	Existing   int    `json:"existing_rows,omitempty"`  // growth-existing
	Uncounted  int    `json:"uncounted_rows,omitempty"` // of the first commit: what a process does once per table is neither a row's nor a file's
	Base       int    `json:"base_rows,omitempty"`      // compaction: rows that were there before and lie in the max level; Rows come after them
}

// Kinds of workloads.
const (
	kindWriter = "writer"
	kindFull   = "compact-full"  // all rows in level 0, into one run
	kindMinor  = "compact-minor" // what the strategy picks: level 0, not what lies in the max level
)

func (w workload) name() string {
	switch {
	case w.grows():
		return w.pointName()
	case w.Kind == kindTick:
		return fmt.Sprintf("%s-%d-%s", w.Kind, w.Point, w.Format)
	}
	return w.Kind + "-" + w.Format + "-" + w.Data
}

// counted is the part of the rows that is measured.
func (w workload) counted() float64 { return float64(w.Rows-w.Uncounted) / float64(w.Rows) }

// String says what all workloads of the kind have in common.
func (w workload) String() string {
	if w.grows() {
		rows := w.Rows - w.Uncounted
		return fmt.Sprintf("%s: %d and %d rows, %d commits", w.Kind, rows, rows*growthTimes, rows/w.Interval)
	} else if w.Kind == kindTick {
		return fmt.Sprintf("tick: %d checkpoints, %d buckets, %s", w.Rows, w.Buckets, w.Format)
	}
	base := ""
	if w.Base > 0 {
		base = fmt.Sprintf("%d rows in the max level, then ", w.Base)
	}
	return fmt.Sprintf("%s: %s%d rows over %d keys, %d buckets, %d partitions, a commit each %d rows, parallel %d",
		w.Kind, base, w.Rows, w.Keys, w.Buckets, w.Partitions, w.Interval, w.Parallel)
}

func (w workload) compacts() bool { return w.Kind == kindFull || w.Kind == kindMinor }

// by tells whether a side does it: paimon-rust doesn't compact, and curves and ticks are ours.
func (w workload) by(side string) bool {
	return side == sideOurs || w.Kind == kindWriter || side == sideJava && w.compacts()
}

// options are the guide's, with the format of the pair.
func (w workload) options() table.Options {
	buffer := "256 mb"
	switch { // the rows of a commit, and those of the next while they are written
	case w.Kind == kindTick && w.Point > 128:
		buffer = "640 mb"
	case w.grows():
		buffer = "512 mb"
	}
	return table.Options{
		"bucket":                      strconv.Itoa(w.Buckets),
		"write-only":                  "true",
		"write-buffer-size":           buffer,
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
	switch w.Data {
	case "mixed":
		fields = append(fields, mixedFields(text)...)
	case "columns":
		fields = append(fields, columnFields(w.Columns, text)...)
	default:
		fields = append(fields, row.Field{Name: "data", Type: text})
	}
	fields = append(fields, row.Field{Name: "dt", Type: row.Type{Root: row.VarChar, Length: row.MaxLength}})
	return table.Spec{Fields: fields, PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"}, Options: w.options()}
}

// compactCommits is how many files each bucket has in level 0 when a compaction begins.
const compactCommits = 20

// pairs are the workloads that a selection names: those whose names contain one of the comma-separated parts; without one the
// comparisons, and "all" has the curves and ticks too. Curves end at their greatest point below most.
func pairs(base workload, selection string, ticks, most int) ([]workload, error) {
	var all []workload
	for _, kind := range []string{kindWriter, kindFull, kindMinor} {
		for _, f := range []string{"parquet", "avro"} {
			for _, d := range []string{"random", "words", "mixed"} {
				if w := base.pair(kind, f, d); selected(w.name(), selection) && (d != "words" || kind == kindWriter) {
					all = append(all, w)
				}
			}
		}
	}
	if selection != "" {
		all = append(all, base.growth(selection, most)...)
		base.Rows = ticks
		all = append(all, base.ticks(selection)...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no pair is selected by %q; there are %s", selection, pairNames)
	}
	return all, nil
}

const pairNames = "writer-{parquet,avro}-{random,words,mixed}, compact-{full,minor}-{parquet,avro}-{random,mixed}, tick-{64,256}-{parquet,avro} and growth-{partitions,buckets,columns,rowsize,existing,tables}-{parquet,avro}-POINT"

// pair makes a workload of the one that the flags say.
func (w workload) pair(kind, format, data string) workload {
	w.Kind, w.Format, w.Data = kind, format, data
	if kind == kindWriter {
		return w
	}
	w.Keys = max(w.Keys, w.Rows)
	if kind == kindMinor { // half as much in level 0 as beside it: no cause to take all
		w.Base, w.Rows = w.Rows, w.Rows/2
	}
	w.Interval = (w.Rows + compactCommits - 1) / compactCommits
	return w
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
