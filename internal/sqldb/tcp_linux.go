package sqldb

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall lacks.
const tcpUserTimeout = 0x12

// limitUnconfirmed makes a connection fail when sent data stays unconfirmed, as when a network drops
// packets. Otherwise the system sends it again for a quarter of an hour.
func limitUnconfirmed(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
	})
	if err == nil {
		err = failed
	}
	return err
}
