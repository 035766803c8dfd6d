package maintenance

import (
	"context"

	"github.com/paimon-go/paimon-go/table"
)

// ExpireConsumers forgets the consumers that have not told of progress for consumer.expiration-time; none when that is not
// set. One that is gone for ever would keep its snapshots for ever.
func ExpireConsumers(ctx context.Context, t *table.Table, dryRun bool) (Report, error) {
	return expireConsumers(ctx, t, dryRun, NewClock(nil))
}

func expireConsumers(ctx context.Context, t *table.Table, dryRun bool, clock *Clock) (Report, error) {
	var report Report
	err := forgetConsumers(ctx, t, dryRun, clock, &report)
	return report.finish(dryRun), wrap(err, "expiring consumers of", t)
}

func forgetConsumers(ctx context.Context, t *table.Table, dryRun bool, clock *Clock, report *Report) error {
	if !t.Options().Has(table.KeyConsumerExpirationTime) {
		return nil
	}
	now, err := clock.now(ctx, t, dryRun)
	if err != nil {
		return err
	}
	oldest := now.Add(-t.Options().Duration(table.KeyConsumerExpirationTime))
	idle, err := t.IdleConsumers(ctx, oldest)
	if err != nil {
		return err
	}
	for _, id := range idle {
		if !dryRun {
			if err := t.RemoveConsumer(ctx, id); err != nil {
				return err
			}
		}
		report.Consumers++
		report.Files++
		report.name("consumer/consumer-"+id, dryRun)
	}
	return nil
}
