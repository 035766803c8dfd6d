// Package sysmem tells how much memory there is.
package sysmem

import (
	"os"
	"strconv"
	"strings"
)

// Limit is the least of the control group's limit and the machine's memory, in bytes; 1 GiB when neither is known.
func Limit() int64 {
	limit := int64(0)
	take := func(n int64) {
		if n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	for _, f := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(f); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
				take(n)
			}
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
				if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					take(kb << 10)
				}
			}
		}
	}
	if limit == 0 {
		return 1 << 30
	}
	return limit
}
