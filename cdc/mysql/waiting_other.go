//go:build !linux

package mysql

import "net"

// receiveRoom doesn't know: the reader never rests.
func receiveRoom(net.Conn) int { return 0 }

func nothingWaits(net.Conn) bool { return false }

func wakeFrom(net.Conn, int) {}
