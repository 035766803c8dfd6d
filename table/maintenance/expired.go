package maintenance

import (
	"context"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// PartitionExpired tells whether ExpirePartitions would drop a partition, as the table's options have it. newest is the
// greatest creation time of the partition's files. A compaction of such a partition is work for nothing.
func PartitionExpired(t *table.Table, partition []byte, newest int64, now time.Time) (bool, error) {
	x, err := newPartitionExpiry(context.Background(), t, PartitionOptions{Now: now}) // it asks nobody
	if x == nil || err != nil {
		return false, wrap(err, "looking at a partition of", t)
	}
	x.report = &Report{}
	_, expired, err := x.look(string(partition), newest)
	return expired, wrap(err, "looking at a partition of", t)
}
