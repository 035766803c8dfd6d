package cli

import "github.com/paimon-go/paimon-go/internal/sysmem"

// MemoryLimit is the least of the control group's limit and the machine's memory, in bytes; 1 GiB when neither is known.
func MemoryLimit() int64 { return sysmem.Limit() }
