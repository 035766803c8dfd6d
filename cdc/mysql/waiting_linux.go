package mysql

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// receiveRoom returns about how many bytes the system receives before they are read, 0 where it doesn't say.
func receiveRoom(c net.Conn) (n int) {
	onSocket(c, func(fd int) (err error) {
		n, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		return err
	})
	return n
}

// nothingWaits reports whether all that the system has received is read.
func nothingWaits(c net.Conn) bool {
	n := 0
	ok := onSocket(c, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		return err
	})
	return ok && n == 0
}

// wakeFrom makes the system wake this process for what the connection brings only when so many bytes wait, or its end. Without it
// each packet would wake the runtime's poller, even while nobody reads.
func wakeFrom(c net.Conn, bytes int) {
	onSocket(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes) })
}

// onSocket does something with the descriptor of a connection, and reports whether that went well.
func onSocket(c net.Conn, do func(fd int) error) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	if e := raw.Control(func(fd uintptr) { err = do(int(fd)) }); e != nil {
		return false
	}
	return err == nil
}
