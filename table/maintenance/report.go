package maintenance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/table"
)

// Report tells what was removed or, in a dry run, would be.
type Report struct {
	Snapshots, Changelogs, Tags, Consumers, Partitions int
	CreatedTags                                        int
	// Files and Bytes are all that went, files of metadata too; bytes as far as a manifest tells them.
	Files int
	Bytes int64
	// Names are the files, relative to the table where they are below it, and the partitions, tags and consumers. A dry run
	// names all; else no more than some thousands are named.
	Names []string
	// HeldBy are the consumers without which more would go, by id, and Held is how many snapshots there are from the first one
	// that is kept for them to the newest.
	HeldBy []table.Consumer
	Held   int64
	// Kept says what was not removed and why, such as a damaged manifest.
	Kept []string
}

// maxNames bounds what a report remembers of files that are gone.
const maxNames = 10_000

func (r *Report) name(name string, dryRun bool) {
	if dryRun || len(r.Names) < maxNames {
		r.Names = append(r.Names, name)
	}
}

func (r *Report) kept(why string) {
	if len(r.Kept) < maxNames {
		r.Kept = append(r.Kept, why)
	}
}

// Add adds what another report tells.
func (r *Report) Add(o Report) {
	r.Snapshots += o.Snapshots
	r.Changelogs += o.Changelogs
	r.Tags += o.Tags
	r.Consumers += o.Consumers
	r.Partitions += o.Partitions
	r.CreatedTags += o.CreatedTags
	r.Files += o.Files
	r.Bytes += o.Bytes
	r.Held = max(r.Held, o.Held)
	for _, c := range o.HeldBy {
		if !slices.ContainsFunc(r.HeldBy, func(x table.Consumer) bool { return x.ID == c.ID }) {
			r.HeldBy = append(r.HeldBy, c)
		}
	}
	r.Names = append(r.Names, o.Names...)
	r.Kept = append(r.Kept, o.Kept...)
}

// finish puts the names of a dry run in order.
func (r *Report) finish(dryRun bool) Report {
	if dryRun {
		slices.Sort(r.Names)
	}
	return *r
}

func wrap(err error, doing string, t *table.Table) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, t.Path(), err)
}

func relative(t *table.Table, path string) string { return strings.TrimPrefix(path, t.Path()+"/") }
