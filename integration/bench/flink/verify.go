package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// content is a number of rows and a sum over them that no order changes.
type content struct {
	rows int
	sum  uint64
}

func (c *content) add(id int64, data, dt []byte) {
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendInt(nil, id, 10))
	_, _ = h.Write(append(append([]byte{' '}, dt...), ' '))
	_, _ = h.Write(data)
	c.rows++
	c.sum += h.Sum64()
}

// same requires that a table has MySQL's rows.
func same(ctx context.Context, conn *client.Conn, t *table.Table) error {
	var want, got content
	var r mysql.Result
	err := conn.ExecuteSelectStreaming("SELECT id, data, dt FROM "+tableName, &r, func(v []mysql.FieldValue) error {
		want.add(v[0].AsInt64(), v[1].AsString(), v[2].AsString())
		return nil
	}, nil)
	if err != nil {
		return fmt.Errorf("reading MySQL's rows: %w", err)
	}
	s, err := t.Latest(ctx)
	if err != nil {
		return err
	}
	at := func(name string) int {
		return slices.IndexFunc(t.Schema().Fields, func(f row.Field) bool { return f.Name == name })
	}
	id, data, dt := at("id"), at("data"), at("dt")
	for b, err := range lsm.Scan(ctx, t, s, lsm.ScanOptions{}) {
		if err != nil {
			return err
		}
		for i := range b.N {
			got.add(b.Cols[id].I64[i], b.Cols[data].Value(i), b.Cols[dt].Value(i))
		}
	}
	if got != want {
		return fmt.Errorf("the table has %d rows (%x), MySQL %d (%x)", got.rows, got.sum, want.rows, want.sum)
	}
	return nil
}
