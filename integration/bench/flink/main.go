package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "github.com/paimon-go/paimon-go/format/avro"
	_ "github.com/paimon-go/paimon-go/format/parquet"
	_ "github.com/paimon-go/paimon-go/fs/hdfs"
	_ "github.com/paimon-go/paimon-go/fs/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-flink:", err)
		os.Exit(1)
	}
}

// list is a flag that is repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// choice is what runs are made of all combinations of.
type choice struct {
	phases, sides, formats, merged, producers string
	compact                                   bool
	tick                                      time.Duration
	rounds                                    int
	json, extra                               string
	again, report, floors                     bool
	limit                                     time.Duration
	store                                     *store
}

func run(ctx context.Context, args []string) error {
	var (
		c                     choice
		r                     runner
		conf, mysqlConf, fcnf list
		root                  string
	)
	f := flag.NewFlagSet("bench-flink", flag.ExitOnError)
	f.StringVar(&c.phases, "phases", "paced", "comma list of catchup (an initial read, then changes after a restart) and paced")
	f.StringVar(&c.sides, "sides", "ours,action,sql", "comma list of ours, action (Flink's mysql_sync_table) and sql (Flink's mysql-cdc source and INSERT INTO)")
	f.StringVar(&c.formats, "formats", "avro", "comma list of avro and parquet")
	f.StringVar(&c.producers, "producers", "input", "comma list of changelog producers: input, none")
	f.StringVar(&c.merged, "merged", "true,false", "comma list of precommit-compact's values")
	f.BoolVar(&c.compact, "compact", false, "with the dedicated compaction beside it, each side's own")
	f.DurationVar(&c.tick, "tick", time.Second, "interval of commits, and of checkpoints")
	f.IntVar(&c.rounds, "rounds", 1, "rounds of all")
	f.StringVar(&c.json, "json", "", "file for the figures of every run, one JSON object a line; runs that it has are not made again, and reported with the others")
	f.BoolVar(&c.again, "again", false, "make runs again that the file has")
	f.BoolVar(&c.report, "report", false, "run nothing, report what the file has of these settings")
	f.BoolVar(&c.floors, "floors", true, "after a catch-up of ours without compaction: what the log's headers, bare zstd and bare writing take")
	f.DurationVar(&c.limit, "total", 25*time.Minute, "begin no run that would end after this time; 0: no limit")
	f.IntVar(&r.Rows, "rows", 60_000, "rows that the table has at the beginning")
	f.IntVar(&r.Events, "events", 300_000, "changes of the catch-up phase")
	f.IntVar(&r.Rate, "rate", 1000, "changes a second of the paced phase")
	f.DurationVar(&r.Length, "length", 3*time.Minute, "of the paced phase")
	f.IntVar(&r.Days, "days", 3, "partitions that change")
	f.Uint64Var(&r.Seed, "seed", 7, "seed of the rows and changes")
	f.DurationVar(&r.limit, "limit", 10*time.Minute, "how long a run waits for anything")
	f.StringVar(&root, "scratch", "", "directory for warehouses, logs and checkpoints; default: the system's temporary directory")
	f.StringVar(&r.storage, "storage", "", "URI below which warehouses are made, e.g. of HDFS; default: -scratch")
	f.StringVar(&r.hadoopConf, "hadoop-conf", os.Getenv("PAIMON_GO_HDFS"), "with -storage on HDFS: directory of core-site.xml and hdfs-site.xml")
	f.StringVar(&r.http, "name-node", "", "with -storage on HDFS: host:port of the name node's HTTP, to count calls")
	f.StringVar(&r.bin, "bin", "bin", "directory of paimon-go-sink and paimon-go-compact")
	f.StringVar(&r.listen, "listen", "", "host:port where our sink serves metrics and profiles (/debug/pprof)")
	f.StringVar(&r.flink, "flink", os.Getenv("PAIMON_GO_FLINK"), "directory that java/build.sh filled")
	f.StringVar(&r.heap, "heap", "2g", "heap of each JVM")
	f.IntVar(&r.parallelism, "parallelism", 2, "of Flink's jobs")
	f.StringVar(&r.addr, "mysql", os.Getenv("PAIMON_GO_BENCH_MYSQL_ADDR"), "host:port of a MySQL with a user cdc, password cdc, that nothing else writes to")
	f.StringVar(&database, "database", database, "in MySQL and in the warehouse; the table in it is made anew")
	f.Var(&conf, "table-conf", "K=V, further table option of both sides; repeat it")
	f.Var(&mysqlConf, "flink-mysql-conf", "K=V, further setting of Flink's source; repeat it")
	f.Var(&fcnf, "flink-conf", "K=V, further setting of Flink; repeat it")
	if err := f.Parse(args); err != nil {
		return err
	}
	c.extra = strings.Join(slices.Concat(conf, mysqlConf, fcnf), " ")
	var err error
	if c.store, err = openStore(c.json); err != nil {
		return err
	}
	if c.report {
		report(os.Stdout, c.store.of(c.settings()))
		return nil
	}
	if r.addr == "" {
		return errors.New("-mysql or PAIMON_GO_BENCH_MYSQL_ADDR must name a MySQL server")
	}
	if r.scratch, err = scratchDir(root); err != nil {
		return err
	}
	if r.storage == "" {
		r.storage = r.scratch
	} else if r.hadoopConf == "" {
		return errors.New("-storage goes with -hadoop-conf")
	}
	if !strings.Contains(r.storage, ":") {
		r.hadoopConf = ""
	}
	r.user, r.secret, r.conf, r.mysqlConf, r.flinkConf = "cdc", "cdc", conf, mysqlConf, fcnf
	conn, err := connect(r.addr, r.user, r.secret)
	if err != nil {
		return err
	}
	defer conn.Close()
	r.src = &source{conn: conn}
	return c.all(ctx, &r)
}

// settings are all combinations; the sides alternate within each.
func (c *choice) settings() (out []setting) {
	for phase := range strings.SplitSeq(c.phases, ",") {
		for format := range strings.SplitSeq(c.formats, ",") {
			for producer := range strings.SplitSeq(c.producers, ",") {
				for merged := range strings.SplitSeq(c.merged, ",") {
					for side := range strings.SplitSeq(c.sides, ",") {
						out = append(out, setting{phase, side, format, producer, merged == "true", c.compact, c.tick, c.extra})
					}
				}
			}
		}
	}
	return out
}

func (c *choice) all(ctx context.Context, r *runner) error {
	var (
		start   = time.Now()
		longest time.Duration
		left    int
	)
	r.floors = c.floors
	for round := range c.rounds {
		for _, s := range c.settings() {
			if !c.again && c.store.has(runKey{s, r.plan, round + 1}) {
				continue
			}
			begin := time.Now()
			if c.limit > 0 && begin.Add(longest).After(start.Add(c.limit)) {
				left++
				continue
			}
			fmt.Fprintf(os.Stderr, "%s: %s\n", time.Now().Format(time.TimeOnly), &s)
			err := r.run(ctx, s, round+1, func(res *result) error {
				fmt.Fprintf(os.Stderr, "  %s: %.1f us of CPU a change, %.0f MB, %d commits, load %s\n", res.Phase, res.PerEvent, res.Peak, res.Commits, res.Load)
				if s.Phase == "paced" && res.Made > 1.05*r.Length.Seconds() {
					fmt.Fprintf(os.Stderr, "  MySQL took %.0f s for what should be done in %s: the machine is too busy for the rate\n", res.Made, r.Length)
				}
				return c.store.add(res)
			})
			if err != nil {
				return fmt.Errorf("%s: %w (logs in %s)", &s, err, r.scratch)
			}
			longest = max(longest, time.Since(begin))
		}
	}
	report(os.Stdout, c.store.of(c.settings()))
	if left > 0 {
		fmt.Printf("\n%d runs are left after %s; the same command goes on with them\n", left, c.limit)
	}
	return os.RemoveAll(r.scratch)
}
