package mysql

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/paimon-go/paimon-go/cdc"
)

// rowQuery runs a SELECT by the binary protocol and gives the raw row packets, which the Decoder reads without boxing a
// value. The connection can do nothing else until the last row was read.
type rowQuery struct {
	c     *client.Conn
	stmt  *client.Stmt
	types []byte // protocol type of each column
	buf   []byte
	done  bool
}

// startQuery prepares and executes query.
func startQuery(c *client.Conn, query string) (*rowQuery, error) {
	stmt, err := c.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w: %w", query, err, cdc.ErrSource)
	}
	q := &rowQuery{c: c, stmt: stmt}
	if err := q.execute(); err != nil {
		return nil, fmt.Errorf("running %s: %w: %w", query, err, cdc.ErrSource)
	}
	return q, nil
}

// execute sends COM_STMT_EXECUTE without parameters and reads the column definitions.
func (q *rowQuery) execute() error {
	q.c.ResetSequence()
	p := make([]byte, 4+1+4+1+4)
	p[4] = gomysql.COM_STMT_EXECUTE
	binary.LittleEndian.PutUint32(p[5:], q.stmt.ID)
	binary.LittleEndian.PutUint32(p[10:], 1) // iteration count
	if err := q.c.WritePacket(p); err != nil {
		return err
	}
	b, err := q.packet()
	if err != nil {
		return err
	}
	n, _, _ := gomysql.LengthEncodedInt(b)
	for range n {
		if b, err = q.packet(); err != nil {
			return err
		}
		f := &gomysql.Field{}
		if err := f.Parse(append([]byte(nil), b...)); err != nil {
			return err
		}
		q.types = append(q.types, f.Type)
	}
	if b, err = q.packet(); err == nil && b[0] != gomysql.EOF_HEADER {
		err = malformed("no end of the column definitions")
	}
	return err
}

func (q *rowQuery) packet() ([]byte, error) {
	var err error
	if q.buf, err = q.c.ReadPacketReuseMem(q.buf[:0]); err != nil {
		return nil, err
	}
	if len(q.buf) == 0 {
		return nil, malformed("an empty packet")
	}
	if q.buf[0] == gomysql.ERR_HEADER {
		return nil, q.c.HandleErrorPacket(append([]byte(nil), q.buf...))
	}
	return q.buf, nil
}

// next returns the next row packet, valid until the next call; io.EOF after the last.
func (q *rowQuery) next() ([]byte, error) {
	if q.done {
		return nil, io.EOF
	}
	b, err := q.packet()
	if err != nil {
		return nil, fmt.Errorf("reading rows: %w: %w", err, cdc.ErrSource)
	}
	if b[0] == gomysql.EOF_HEADER {
		q.done = true
		return nil, io.EOF
	}
	return b, nil
}

// close reads what is left and frees the statement.
func (q *rowQuery) close() error {
	for !q.done {
		if _, err := q.next(); err != nil && err != io.EOF {
			return err
		}
	}
	return q.stmt.Close()
}

// interruptOn closes the connection when ctx ends, so that a blocked read returns. The returned function undoes it.
func interruptOn(ctx context.Context, c *client.Conn) func() bool {
	return context.AfterFunc(ctx, func() { _ = c.Conn.Conn.Close() })
}

// cell is one value of a row packet: null, or its bytes without a length prefix.
type cell struct {
	null bool
	data []byte
}

// cells splits a binary protocol row packet into its values.
func cells(packet []byte, types []byte) ([]cell, error) {
	r := reader{b: packet}
	r.u8()
	nulls := r.take((len(types) + 9) / 8)
	out := make([]cell, len(types))
	for i, t := range types {
		if r.bad {
			break
		}
		if nulls[(i+2)>>3]>>((i+2)&7)&1 == 1 {
			out[i].null = true
			continue
		}
		switch t {
		case gomysql.MYSQL_TYPE_TINY:
			out[i].data = r.take(1)
		case gomysql.MYSQL_TYPE_SHORT, gomysql.MYSQL_TYPE_YEAR:
			out[i].data = r.take(2)
		case gomysql.MYSQL_TYPE_INT24, gomysql.MYSQL_TYPE_LONG, gomysql.MYSQL_TYPE_FLOAT:
			out[i].data = r.take(4)
		case gomysql.MYSQL_TYPE_LONGLONG, gomysql.MYSQL_TYPE_DOUBLE:
			out[i].data = r.take(8)
		case gomysql.MYSQL_TYPE_DATE, gomysql.MYSQL_TYPE_DATETIME, gomysql.MYSQL_TYPE_TIMESTAMP, gomysql.MYSQL_TYPE_TIME,
			gomysql.MYSQL_TYPE_NEWDATE:
			out[i].data = r.take(int(r.u8()))
		default:
			out[i].data = r.take(int(r.lenenc()))
		}
	}
	if r.bad {
		return nil, malformed("a row packet of %d bytes is cut", len(packet))
	}
	return out, nil
}
