package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var (
		w = workload{}
		r = runner{checked: map[string]bool{}, shapes: map[string]map[string]int64{}}

		pair, jsonPath, ours, path string
		rounds                     int
		genOnly, noJava            bool
	)
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.StringVar(&pair, "pair", "", "pairs to run: comma-separated parts of their names (writer-{parquet,avro}-{random,words,mixed}, compact-{full,minor}-{parquet,avro}-{random,mixed}); empty: all")
	flags.IntVar(&rounds, "rounds", 3, "rounds of ours and Java in turn")
	flags.IntVar(&w.Rows, "rows", 1_000_000, "rows written by a run, or compacted in full")
	flags.IntVar(&w.Keys, "keys", 1_000_000, "keys that the rows are upserts of; compactions: at least as many as rows")
	flags.IntVar(&w.Interval, "commit-interval-rows", 500_000, "rows of a commit of the writer")
	flags.IntVar(&w.Buckets, "buckets", 4, "buckets of the table")
	flags.IntVar(&w.Partitions, "partitions", 1, "partitions of the table")
	flags.IntVar(&w.DataLen, "data-len", 100, "bytes of the column data")
	flags.Int64Var(&w.Seed, "seed", 42, "seed of the rows")
	flags.IntVar(&w.Parallel, "parallel", 1, "writers in Java; shards and flush workers, or compactions at once, in ours")
	flags.StringVar(&jsonPath, "json", "", "file for the figures of every run, one JSON object a line, appended")
	flags.StringVar(&r.scratch, "scratch", "", "directory for tables; default: the system's temporary directory")
	flags.StringVar(&r.oracle, "oracle", os.Getenv("PAIMON_GO_ORACLE"), "the program of integration/java")
	flags.StringVar(&r.javaOpts, "java-opts", "-Xmx2g", "options of the JVM")
	flags.StringVar(&r.profile, "profile", "", "begin of the names of CPU profiles of our side; empty: none")
	flags.BoolVar(&r.warm, "warm", false, "Java compacts a copy of the table before, in the same process; no writer pairs then")
	flags.BoolVar(&noJava, "no-java", false, "run our side alone")
	flags.StringVar(&ours, "ours", "", "internal: the workload of a process of our side")
	flags.StringVar(&path, "table", "", "internal: path of its table")
	flags.BoolVar(&genOnly, "gen-only", false, "internal: make the rows only")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if ours != "" {
		if err := json.Unmarshal([]byte(ours), &w); err != nil {
			return fmt.Errorf("workload %q: %w", ours, err)
		}
		return runOurs(ctx, w, path, genOnly, r.profile)
	}
	var err error
	if r.self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if r.oracle == "" && !noJava {
		return fmt.Errorf("PAIMON_GO_ORACLE or -oracle must name the program of integration/java (integration/setup.sh builds it); -no-java goes without")
	}
	if r.scratch, err = os.MkdirTemp(r.scratch, "paimon-go-bench-"); err != nil {
		return fmt.Errorf("making a directory for tables: %w", err)
	}
	defer os.RemoveAll(r.scratch)
	all, err := pairs(w, pair)
	if err != nil {
		return err
	}
	if r.warm {
		all = slices.DeleteFunc(all, func(w workload) bool { return !w.compacts() })
	}
	return compare(ctx, &r, all, rounds, noJava, jsonPath)
}

// compare runs all pairs and reports. The sides alternate within a pair.
func compare(ctx context.Context, r *runner, all []workload, rounds int, noJava bool, jsonPath string) error {
	fmt.Printf("%s, %d processors, %s/%s, %s\n", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Printf("min / median / max of %d rounds\n", rounds)
	sides := []string{sideOurs, sideJava}
	if noJava {
		sides = sides[:1]
	}
	var results []result
	for i, w := range all {
		if i == 0 || w.Kind != all[i-1].Kind {
			fmt.Println(w)
		}
		want, err := expected(w)
		if err != nil {
			return err
		}
		if noJava {
			r.checked[w.name()] = true
		}
		for round := 1; round <= rounds; round++ {
			for _, side := range sides {
				res, err := r.run(ctx, w, side, round, want)
				if err != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "%s round %d %s: %.2f us/row, %.2f s CPU, %.2f s wall, load %s\n", w.name(), round, side, 1e6/res.RowsPerCPU, res.CPU, res.Wall, res.Load)
				results = append(results, res)
			}
		}
	}
	report(os.Stdout, results)
	if jsonPath == "" {
		return nil
	}
	return appendJSON(jsonPath, results)
}

func appendJSON(path string, results []result) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	enc := json.NewEncoder(f)
	for i := range results {
		if err := enc.Encode(&results[i]); err != nil {
			_ = f.Close()
			return fmt.Errorf("writing figures: %w", err)
		}
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	return nil
}
