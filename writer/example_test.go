package writer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// A program that keeps a table of orders: two batches, each made a snapshot of its own, and a look at the result. For a
// table on a disk take local.FS{} of fs/local in place of mem.New(), and a real path.
func Example() {
	ctx := context.Background()

	// A table with a primary key. An existing one is opened with table.Open.
	t, err := table.Create(ctx, mem.New(), table.TablePath("/warehouse", "shop", "orders"), table.Spec{
		Fields: []row.Field{
			{Name: "id", Type: row.Type{Root: row.BigInt}},
			{Name: "state", Type: row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}},
		},
		PrimaryKeys: []string{"id"},
		Options:     table.Options{"bucket": "2", "write-only": "true"},
	})
	if err != nil {
		log.Fatal(err)
	}

	// The commit user is the job's name. What it has committed last tells where to go on; with Resume, a second instance of
	// the job is noticed.
	const user = "orders-sync"
	last, err := t.LatestOf(ctx, user)
	if err != nil {
		log.Fatal(err)
	}
	var resume writer.Resume
	if last != nil {
		resume = writer.Resume{SnapshotID: last.ID, Identifier: last.CommitIdentifier}
		fmt.Println("going on from", last.Properties["position"])
	}

	id := resume.Identifier

	w, err := writer.Open(ctx, t, writer.Config{CommitUser: user, Resume: &resume})
	if err != nil {
		log.Fatal(err)
	}
	b := row.NewBatch(w.Type())
	put := func(kind row.Kind, order int64, state string) {
		b.Cols[0].AppendI64(order)
		b.Cols[1].AppendString(state)
		b.EndRow(kind)
	}
	checkpoint := func(position string) {
		if err := w.Write(ctx, b); err != nil {
			log.Fatal(err)
		}
		b.Reset() // the rows were copied
		id++
		if err := w.Checkpoint(ctx, id, map[string]string{"position": position}); err != nil {
			log.Fatal(err)
		}
	}

	put(row.Insert, 1, "new")
	put(row.Insert, 2, "new")
	put(row.Insert, 3, "new")
	checkpoint("page 1")

	put(row.UpdateAfter, 2, "paid")
	put(row.Delete, 3, "new")
	checkpoint("page 2")

	if err := w.Close(ctx); err != nil { // waits for the commits
		log.Fatal(err)
	}

	s, err := t.Latest(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("snapshot %d, %s\n", s.ID, s.Properties["position"])
	for rows, err := range lsm.Scan(ctx, t, s, lsm.ScanOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		for i := range rows.N {
			fmt.Println(rows.Cols[0].I64[i], string(rows.Cols[1].Value(i)))
		}
	}
	// Unordered output:
	// snapshot 2, page 2
	// 1 new
	// 2 paid
}
