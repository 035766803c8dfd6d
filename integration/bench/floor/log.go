package floor

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

// LogCost is what a log costs to read.
type LogCost struct {
	CPU    float64 `json:"cpu_s,omitempty"`
	Events int     `json:"events,omitempty"`
	Bytes  int64   `json:"bytes,omitempty"`
}

const (
	dumpNonBlocking = 1          // the server ends the stream where the log ends
	serverID        = 0x0b00_b00 // as a replica that nobody else is
	eventHeader     = 19
)

// Log reads a log from a place to its end, from every event no more than its header.
func Log(addr, user, password, name string, pos uint32) (c LogCost, err error) {
	conn, err := client.Connect(addr, user, password, "")
	if err != nil {
		return c, fmt.Errorf("connecting to MySQL at %s: %w", addr, err)
	}
	defer conn.Close()
	for _, v := range []string{"source", "master"} { // the newer servers, and the older ones
		if _, err := conn.Execute("SET @" + v + "_binlog_checksum = @@global.binlog_checksum"); err != nil {
			return c, fmt.Errorf("preparing to read the log: %w", err)
		}
	}
	dump := make([]byte, 4, 32)
	dump = append(dump, mysql.COM_BINLOG_DUMP)
	dump = binary.LittleEndian.AppendUint32(dump, pos)
	dump = binary.LittleEndian.AppendUint16(dump, dumpNonBlocking)
	dump = binary.LittleEndian.AppendUint32(dump, serverID)
	dump = append(dump, name...)
	conn.ResetSequence()
	if err := conn.WritePacket(dump); err != nil {
		return c, fmt.Errorf("asking for the log: %w", err)
	}
	start := processorTime()
	err = c.read(bufio.NewReaderSize(conn.Conn.Conn, 1<<16))
	c.CPU = processorTime() - start
	return c, err
}

// read takes packets until the one that ends the stream. A packet of full length goes on in the next.
func (c *LogCost) read(in *bufio.Reader) error {
	goesOn := false
	for {
		head, err := in.Peek(4)
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
		if _, err := in.Discard(4); err != nil {
			return err
		}
		if !goesOn {
			body, err := in.Peek(min(n, 1+eventHeader))
			if err != nil {
				return fmt.Errorf("reading the log: %w", err)
			}
			switch {
			case n == 0:
				return errors.New("the log has an empty packet")
			case body[0] == mysql.EOF_HEADER && n < 9:
				return nil
			case body[0] == mysql.ERR_HEADER:
				rest, _ := io.ReadAll(io.LimitReader(in, int64(n)))
				return fmt.Errorf("the server refuses: %q", rest)
			}
			c.Events++
		}
		c.Bytes += int64(n)
		if _, err := in.Discard(n); err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		goesOn = n == 1<<24-1
	}
}
