package soak

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Table is a table of the source and how it is kept in Paimon.
type Table struct {
	Name      string
	DDL       string
	Partition string // partition keys
	Options   map[string]string
	Changelog bool // it keeps all changes

	keyed  func(lo, hi int) string // a condition for the keys [lo, hi)
	moved  func(by int) string     // an assignment that moves a key
	values func(r *rand.Rand, id int) string
	change []func(r *rand.Rand) string // assignments
}

var words = []string{"order", "paid", "shipped", "refund", "größe", "東京", "it''s", "🙂", "a\\\\b", "invoice", ""}

func word(r *rand.Rand) string { return words[r.IntN(len(words))] }

func orNull(r *rand.Rand, s string) string {
	if r.IntN(7) == 0 {
		return "NULL"
	}
	return s
}

func text(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.IntN(n) {
		b.WriteString(word(r))
		b.WriteByte(' ')
	}
	return b.String()
}

func stamp(r *rand.Rand) string {
	return fmt.Sprintf("'2024-%02d-%02d %02d:%02d:%02d.%06d'", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e6))
}

func ids(lo, hi int) string { return fmt.Sprintf("id >= %d AND id < %d", lo, hi) }

// Tables are the tables of the workload. Options are strings of Paimon.
func Tables() []Table {
	return []Table{{
		Name: "orders",
		DDL: `CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, status VARCHAR(40), amount DECIMAL(12,2), note VARCHAR(2000),
			changed DATETIME(6), weight DOUBLE)`,
		Options: map[string]string{"bucket": "4"},
		keyed:   ids,
		moved:   func(by int) string { return fmt.Sprintf("id = id + %d", by) },
		values: func(r *rand.Rand, id int) string {
			return fmt.Sprintf("%d,%d,'%s',%s,'%s',%s,%s", id, r.IntN(1000), word(r), orNull(r, fmt.Sprintf("%d.%02d", r.IntN(1e9), r.IntN(100))), text(r, 20),
				orNull(r, stamp(r)), orNull(r, fmt.Sprintf("%d.125", r.IntN(1e6))))
		},
		change: []func(r *rand.Rand) string{
			func(r *rand.Rand) string { return fmt.Sprintf("status = '%s'", word(r)) },
			func(r *rand.Rand) string {
				return fmt.Sprintf("amount = amount + %d, note = '%s'", r.IntN(10), text(r, 30))
			},
			func(r *rand.Rand) string { return "changed = " + orNull(r, stamp(r)) },
		},
	}, {
		Name: "events",
		DDL: `CREATE TABLE events (id INT, day DATE, kind ENUM('open','close','it''s'), flags SET('a','b','c'), body JSON, raw VARBINARY(60), n BIGINT UNSIGNED,
			PRIMARY KEY (id, day))`,
		Partition: "day",
		Options:   map[string]string{"bucket": "2", "file.format": "avro"},
		keyed:     ids,
		moved: func(by int) string {
			return fmt.Sprintf("day = DATE_ADD('2024-01-01', INTERVAL (id + %d) %% 5 DAY)", by)
		},
		values: func(r *rand.Rand, id int) string {
			return fmt.Sprintf("%d,'2024-01-%02d','%s','%s',%s,%s,%d", id, 1+id%5, []string{"open", "close", "it''s"}[r.IntN(3)], []string{"", "a", "a,c", "a,b,c"}[r.IntN(4)],
				orNull(r, fmt.Sprintf(`'{"n": %d, "w": ["x", %d]}'`, r.IntN(100), r.IntN(1e6))), orNull(r, fmt.Sprintf("x'%016x'", r.Uint64())), r.Uint64())
		},
		change: []func(r *rand.Rand) string{
			func(r *rand.Rand) string { return fmt.Sprintf("n = %d", r.Uint64()) },
			func(r *rand.Rand) string { return fmt.Sprintf(`body = '{"changed": %d}', kind = 'close'`, r.IntN(1e6)) },
		},
	}, {
		Name: "ledger",
		DDL: `CREATE TABLE ledger (account VARCHAR(20) COLLATE utf8mb4_bin, seq INT, tiny TINYINT, small SMALLINT UNSIGNED, ok TINYINT(1), f FLOAT, b BIT(12),
			at TIMESTAMP(3) NULL, t TIME(3), y YEAR, txt TEXT, PRIMARY KEY (account, seq))`,
		Options: map[string]string{"bucket": "2", "changelog-producer": "input", "changelog.num-retained.min": "1000000",
			"changelog.num-retained.max": "2000000", "changelog.time-retained": "30 d"},
		Changelog: true,
		keyed:     func(lo, hi int) string { return fmt.Sprintf("seq >= %d AND seq < %d", lo, hi) },
		moved:     func(by int) string { return fmt.Sprintf("seq = seq + %d", by) },
		values: func(r *rand.Rand, id int) string {
			return fmt.Sprintf("'Acc-%d',%d,%s,%d,%d,%s,b'%b',%s,'%02d:%02d:%02d.%03d',%d,'%s'", id%97, id, orNull(r, fmt.Sprint(r.IntN(256)-128)), r.IntN(65536), r.IntN(2),
				orNull(r, fmt.Sprintf("%d.5", r.IntN(1e5))), r.IntN(4096), orNull(r, stamp(r)), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), 1901+r.IntN(200), text(r, 12))
		},
		change: []func(r *rand.Rand) string{
			func(r *rand.Rand) string { return fmt.Sprintf("tiny = %d, txt = '%s'", r.IntN(100), text(r, 12)) },
			func(r *rand.Rand) string { return fmt.Sprintf("ok = 1 - ok, small = %d", r.IntN(65536)) },
			func(r *rand.Rand) string { return fmt.Sprintf("b = b'%b'", r.IntN(4096)) },
		},
	}}
}

// Workload makes transactions of a seed.
type Workload struct {
	Seed   uint64
	Keys   int // of each table, about
	Tables []Table
}

const (
	addEvery   = 200 // transactions from one added column to the next
	addMost    = 7   // columns added to a table
	valuesEach = 500 // rows of a statement
)

// added are the types of added columns, in turn.
var added = []string{"INT", "VARCHAR(30)", "DECIMAL(10,3)", "DATETIME(3)", "BIGINT", "DOUBLE", "VARBINARY(16)"}

func addedValue(r *rand.Rand, i int) string {
	switch i % len(added) {
	case 1:
		return "'" + word(r) + "'"
	case 2:
		return fmt.Sprintf("%d.%03d", r.IntN(1e6), r.IntN(1000))
	case 3:
		return stamp(r)[:len("'2024-01-01 00:00:00.000")] + "'"
	case 6:
		return fmt.Sprintf("x'%08x'", r.Uint32())
	}
	return fmt.Sprint(r.IntN(1e6))
}

// columns is the number of columns that were added to a table before transaction i.
func (w *Workload) columns(table, i int) int {
	last := (i - 1) / addEvery // statement n adds a column to table n modulo their number, from 1 on
	if table == 0 {
		return min(addMost, last/len(w.Tables))
	}
	return min(addMost, (last+len(w.Tables)-table)/len(w.Tables))
}

// Added is the statement that adds a column when transaction i is one, and the table and column it adds.
func (w *Workload) Added(i int) (statement, table, column string, ok bool) {
	if i%addEvery != 0 {
		return "", "", "", false
	}
	t := i / addEvery % len(w.Tables)
	n := w.columns(t, i)
	if n >= addMost {
		return "", "", "", false
	}
	table, column = w.Tables[t].Name, fmt.Sprintf("added_%d", n)
	return fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s NULL", table, column, added[n%len(added)]), table, column, true
}

// Txn is the i-th transaction, from 1 on, without BEGIN and COMMIT; undone: it is rolled back.
func (w *Workload) Txn(i int) (statements []string, undone bool) {
	r := rand.New(rand.NewPCG(w.Seed, uint64(i)))
	undone = r.IntN(25) == 0
	switch n := r.IntN(100); {
	case n < 50: // a few rows of any table
		for range 1 + r.IntN(6) {
			statements = append(statements, w.step(r, i, 1+r.IntN(8))...)
		}
	case n < 97:
		for range 1 + r.IntN(2) {
			statements = append(statements, w.step(r, i, 20+r.IntN(280))...)
		}
	default:
		statements = w.step(r, i, w.Keys/4+r.IntN(w.Keys/2))
	}
	return statements, undone
}

// step changes about n rows of one table.
func (w *Workload) step(r *rand.Rand, i, n int) []string {
	k := r.IntN(len(w.Tables))
	t := &w.Tables[k]
	lo := r.IntN(w.Keys)
	in := t.keyed(lo, lo+n)
	switch what := r.IntN(20); {
	case what < 8:
		return w.Upsert(r, k, w.columns(k, i), lo, lo+n)
	case what < 15:
		set := t.change[r.IntN(len(t.change))](r)
		if c := w.columns(k, i); c > 0 && r.IntN(2) == 0 {
			at := r.IntN(c)
			set += fmt.Sprintf(", added_%d = %s", at, orNull(r, addedValue(r, at)))
		}
		return []string{fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.Name, set, in)}
	case what < 18:
		return []string{fmt.Sprintf("DELETE FROM %s WHERE %s", t.Name, in)}
	}
	if t.Partition != "" { // from one partition to another
		return []string{fmt.Sprintf("UPDATE IGNORE %s SET %s WHERE %s", t.Name, t.moved(r.IntN(5)), in)}
	}
	by := n + r.IntN(w.Keys)
	return []string{fmt.Sprintf("DELETE FROM %s WHERE %s", t.Name, t.keyed(lo+by, lo+by+n)),
		fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.Name, t.moved(by), in)}
}

// Upsert writes the rows [lo, hi) of a table that got some added columns.
func (w *Workload) Upsert(r *rand.Rand, table, columns, lo, hi int) (statements []string) {
	var b strings.Builder
	for id := lo; id < hi; {
		b.Reset()
		fmt.Fprintf(&b, "REPLACE INTO %s VALUES ", w.Tables[table].Name)
		for n := 0; n < valuesEach && id < hi; n++ {
			if n > 0 {
				b.WriteByte(',')
			}
			b.WriteString("(" + w.Tables[table].values(r, id))
			for c := range columns {
				b.WriteString("," + orNull(r, addedValue(r, c)))
			}
			b.WriteByte(')')
			id++
		}
		statements = append(statements, b.String())
	}
	return statements
}
