// Package maintenance takes from a table what nobody needs any more, and makes the tags that its options ask for: expiry of
// snapshots, of the changelogs that outlive them, of tags, consumers and partitions, and the removal of orphaned files. What
// goes is decided as Paimon does (Java's ExpireSnapshotsImpl and its kin), with the branches' files kept besides.
//
//	m := maintenance.NewMaintainer(t, user, limiter)
//	report, err := m.Run(ctx, snapshot)            // all that Paimon does after a commit, in its order
//	report, err = maintenance.RemoveOrphanFiles(ctx, t, maintenance.OrphanOptions{DryRun: true})
//
// A file is removed only when each reference that could need it has been looked at: what can't be read for want of storage
// ends the work with nothing removed, what is damaged or gone keeps the files in question. Data files go first, then
// manifests, then their lists, then snapshots from the oldest on, the hint EARLIEST last. So a run that was cut short is
// taken up by the next one, and two at once, of whatever engine, do no more than each other's work.
//
// The directory paimon-go below the table, in which streaming jobs keep how far they are, is never looked into.
package maintenance
