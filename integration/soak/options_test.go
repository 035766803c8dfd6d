//go:build integration

package soak

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// options are those of one run; they come from the environment (see the target soak of the Makefile).
type options struct {
	seed      uint64
	duration  time.Duration
	every     time.Duration // between faults
	warehouse string        // local, hdfs, ha or s3
	keys      int
	rate      int           // transactions a second
	tick      time.Duration // of the sinks
	patience  time.Duration // until all is in the tables that was in MySQL when a fault was mended
	instance  int           // of several runs at once on a machine, 0 to 9
	dir       string        // of logs and data; kept after a failure
	keep      bool          // also after success
}

// readOptions has defaults for CI: a minute in which MySQL, sinks, compactor, namenode and a datanode are killed and answers lost.
func readOptions(t *testing.T) options {
	text := func(name, otherwise string) string {
		if v := os.Getenv("PAIMON_GO_SOAK_" + name); v != "" {
			return v
		}
		return otherwise
	}
	duration := func(name, otherwise string) time.Duration {
		d, err := time.ParseDuration(text(name, otherwise))
		require.NoError(t, err, name)
		return d
	}
	number := func(name, otherwise string) int {
		n, err := strconv.Atoi(text(name, otherwise))
		require.NoError(t, err, name)
		return n
	}
	o := options{seed: uint64(number("SEED", "500")), duration: duration("DURATION", "3m"), every: duration("FAULT_EVERY", "5s"),
		warehouse: text("WAREHOUSE", "hdfs"), keys: number("KEYS", "10000"), rate: number("RATE", "10"), tick: duration("TICK", "2s"),
		patience: duration("PATIENCE", "150s"), instance: number("INSTANCE", "0"), dir: text("DIR", ""), keep: text("KEEP", "") != ""}
	if o.dir == "" {
		var err error
		o.dir, err = os.MkdirTemp("", "paimon-go-soak-")
		require.NoError(t, err)
	}
	require.NoError(t, os.MkdirAll(o.dir, 0o755))
	return o
}
