package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// Consumer is the progress of a streaming reader, kept in consumer/consumer-<id>. Snapshots from Next on are needed.
type Consumer struct {
	ID   string
	Next int64 // the snapshot that it reads next

	Changed time.Time // when that was recorded
}

// consumerPrefix precedes the id in the names of consumer files.
const consumerPrefix = "consumer-"

func (t *Table) consumerPath(id string) string { return t.path + "/consumer/" + consumerPrefix + id }

// consumerTries and consumerWait: Java overwrites the file in place, so that a reader may see half of it.
const (
	consumerTries = 10
	consumerWait  = 200 * time.Millisecond
)

// Consumers returns the progress of all consumers, in no order.
func (t *Table) Consumers(ctx context.Context) ([]Consumer, error) {
	var all []Consumer
	dir := t.path + "/consumer"
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		id, ok := strings.CutPrefix(info.Name, consumerPrefix)
		if !ok || info.Dir {
			continue
		}
		next, err := t.readConsumer(ctx, fs.Join(dir, info.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Consumer{ID: id, Next: next, Changed: info.ModTime})
	}
	return all, nil
}

// Consumer returns the progress of a consumer; the error wraps fs.ErrNotExist when there is none. Changed is not set.
func (t *Table) Consumer(ctx context.Context, id string) (Consumer, error) {
	if err := checkConsumerID(id); err != nil {
		return Consumer{}, err
	}
	next, err := t.readConsumer(ctx, t.consumerPath(id))
	return Consumer{ID: id, Next: next}, err
}

// RecordConsumer tells the progress of a consumer, for expiry and for readers of every engine that go on under its name.
func (t *Table) RecordConsumer(ctx context.Context, id string, next int64) error {
	if err := checkConsumerID(id); err != nil {
		return err
	}
	data, err := prettyJSON(fmt.Appendf(nil, `{"nextSnapshot":%d}`, next))
	if err != nil {
		return err
	}
	if err := t.fs.Replace(ctx, t.consumerPath(id), data); err != nil {
		return fmt.Errorf("recording consumer %s: %w", t.consumerPath(id), err)
	}
	return nil
}

func checkConsumerID(id string) error {
	if id == "" || strings.ContainsAny(id, "/\\") {
		return fmt.Errorf("%w: consumer-id %q is no file name", ErrOption, id)
	}
	return nil
}

// IdleConsumers returns the ids of the consumers that have not told of progress since a time.
func (t *Table) IdleConsumers(ctx context.Context, since time.Time) ([]string, error) {
	var ids []string
	dir := t.path + "/consumer"
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		if id, ok := strings.CutPrefix(info.Name, consumerPrefix); ok && !info.Dir && info.ModTime.Before(since) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (t *Table) readConsumer(ctx context.Context, path string) (int64, error) {
	for try := 1; ; try++ {
		raw, err := readWhole(ctx, t.fs, path)
		if err != nil {
			return 0, fmt.Errorf("reading consumer %s: %w", path, err)
		}
		var c struct {
			Next *int64 `json:"nextSnapshot"`
		}
		err = json.Unmarshal(raw, &c)
		if err == nil && c.Next != nil {
			return *c.Next, nil
		}
		if try == consumerTries {
			return 0, fmt.Errorf("reading consumer %s: %w: no nextSnapshot in %q", path, ErrCorrupt, raw)
		}
		if err := backoff.Sleep(ctx, consumerWait); err != nil {
			return 0, err
		}
	}
}

// RemoveConsumer forgets a consumer's progress.
func (t *Table) RemoveConsumer(ctx context.Context, id string) error {
	if err := t.fs.Remove(ctx, t.consumerPath(id)); err != nil {
		return fmt.Errorf("removing consumer %s: %w", t.consumerPath(id), err)
	}
	return nil
}
