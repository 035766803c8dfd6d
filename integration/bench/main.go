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
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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

		p = plan{start: time.Now()}

		pair, jsonPath, ours, path, sides string
		plot                              string
		genOnly, noJava, onlyReport       bool
		ticks, most                       int
	)
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.StringVar(&pair, "pair", "", "pairs to run: comma-separated parts of their names ("+pairNames+"); empty: writer and compact, all: everything")
	flags.IntVar(&p.rounds, "rounds", 3, "rounds of all sides in turn")
	flags.IntVar(&w.Rows, "rows", 1_000_000, "rows written by a run, or compacted in full")
	flags.IntVar(&ticks, "ticks", 100, "checkpoints of a tick pair")
	flags.IntVar(&most, "most", 0, "greatest point of a curve; 0: no limit")
	flags.StringVar(&plot, "plot", "", "with -report: a directory that gets the curves as SVG")
	flags.IntVar(&w.Keys, "keys", 1_000_000, "keys that the rows are upserts of; compactions: at least as many as rows")
	flags.IntVar(&w.Interval, "commit-interval-rows", 500_000, "rows of a commit of the writer")
	flags.IntVar(&w.Buckets, "buckets", 4, "buckets of the table")
	flags.IntVar(&w.Partitions, "partitions", 1, "partitions of the table")
	flags.IntVar(&w.DataLen, "data-len", 100, "bytes of the column data")
	flags.Int64Var(&w.Seed, "seed", 42, "seed of the rows")
	flags.IntVar(&w.Parallel, "parallel", 1, "writers in Java; shards and flush workers, or compactions at once, in ours")
	flags.StringVar(&jsonPath, "json", "", "file for the figures of every run, one JSON object a line; runs that it has are not made again, and reported with the others")
	flags.BoolVar(&p.again, "again", false, "make runs again that the file has")
	flags.BoolVar(&onlyReport, "report", false, "run nothing, report what the file has")
	flags.DurationVar(&p.limit, "limit", 25*time.Minute, "begin no run that would end after this time; 0: no limit")
	flags.StringVar(&sides, "sides", "ours,java,rust", "sides to run; rust is left out of what it can't do")
	flags.StringVar(&r.scratch, "scratch", "", "directory for tables; default: the system's temporary directory")
	flags.StringVar(&r.oracle, "oracle", os.Getenv("PAIMON_GO_ORACLE"), "the program of integration/java")
	flags.StringVar(&r.python, "python", os.Getenv("PAIMON_GO_RUST_PYTHON"), "a Python with paimon-rust's wheel (integration/bench/rust/setup.sh makes one); empty: without paimon-rust")
	flags.StringVar(&r.javaOpts, "java-opts", "-Xmx2g", "options of the JVM")
	flags.StringVar(&r.profile, "profile", "", "begin of the names of CPU profiles of our side; empty: none")
	flags.BoolVar(&r.warm, "warm", false, "Java compacts a copy of the table before, in the same process; no writer pairs then")
	flags.BoolVar(&noJava, "no-java", false, "without Java")
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
	if p.store, err = openStore(jsonPath); err != nil {
		return err
	}
	all, err := pairs(w, pair, ticks, most)
	if err != nil {
		return err
	}
	if r.warm {
		all = slices.DeleteFunc(all, func(w workload) bool { return !w.compacts() })
	}
	if onlyReport {
		names := map[string]bool{}
		for _, w := range all {
			names[w.name()] = true
		}
		results := p.store.of(names)
		report(os.Stdout, results)
		if plot == "" {
			return nil
		}
		return plotCurves(plot, results)
	}
	if r.self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	p.sides = slices.DeleteFunc(strings.Split(sides, ","), func(s string) bool {
		return s == sideJava && noJava || s == sideRust && r.python == ""
	})
	if r.oracle == "" && slices.Contains(p.sides, sideJava) {
		return fmt.Errorf("PAIMON_GO_ORACLE or -oracle must name the program of integration/java (integration/setup.sh builds it); -no-java goes without")
	}
	if r.scratch, err = os.MkdirTemp(r.scratch, "paimon-go-bench-"); err == nil {
		r.scratch, err = filepath.Abs(r.scratch)
	}
	if err != nil {
		return fmt.Errorf("making a directory for tables: %w", err)
	}
	defer os.RemoveAll(r.scratch)
	return p.compare(ctx, &r, all)
}

// plan is which runs there shall be.
type plan struct {
	rounds int
	sides  []string
	again  bool
	limit  time.Duration
	start  time.Time
	store  *store
}

// compare runs what is missing of all pairs and reports. The sides alternate within a pair, and the points of a curve within a round:
// the speed of a machine changes over minutes.
func (p *plan) compare(ctx context.Context, r *runner, all []workload) error {
	fmt.Printf("%s, %d processors, %s/%s, %s\n", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	pairs := map[string]bool{}
	left := 0
	for i := 0; i < len(all); {
		if i == 0 || all[i].Kind != all[i-1].Kind {
			fmt.Println(all[i])
		}
		group := all[i : i+1]
		for i++; i < len(all) && all[i].group() == group[0].group(); i++ {
			group = group[:len(group)+1]
		}
		for _, w := range group {
			pairs[w.name()] = true
		}
		n, err := p.pair(ctx, r, group)
		if err != nil {
			return err
		}
		left += n
	}
	report(os.Stdout, p.store.of(pairs))
	if left > 0 {
		fmt.Printf("\n%d runs are left after %s; the same command goes on with them\n", left, p.limit)
	}
	return nil
}

// pair makes the runs of a pair that are missing, as long as there is time, and tells how many are left. The workloads are one, or few
// rows and many rows of a point of a curve.
func (p *plan) pair(ctx context.Context, r *runner, group []workload) (left int, err error) {
	var todo []runKey
	for round := 1; round <= p.rounds; round++ {
		for _, w := range group {
			for _, side := range p.sides {
				k := runKey{w.name(), side, round, r.warm && w.compacts(), w}
				if w.by(side) && (p.again || !p.store.has(k)) {
					todo = append(todo, k)
				}
			}
		}
	}
	if !slices.Contains(p.sides, sideJava) {
		r.checked[group[0].name()] = true
	}
	want := map[workload]content{}
	var longest time.Duration
	for i, k := range todo {
		start := time.Now()
		if p.limit > 0 && start.Add(longest).After(p.start.Add(p.limit)) {
			return len(todo) - i, nil
		}
		c, ok := want[k.work]
		if !ok && k.work.Kind != kindTick {
			if c, err = expected(k.work); err != nil {
				return 0, err
			}
			want[k.work] = c
		}
		res, err := r.run(ctx, k.work, k.side, k.round, c)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(os.Stderr, "%s round %d %s: %.2f us/row, %.2f s CPU, %.2f s wall, load %s\n", k.pair, k.round, k.side, 1e6/res.RowsPerCPU, res.CPU, res.Wall, res.Load)
		if err := p.store.add(res); err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(start))
	}
	return 0, nil
}
