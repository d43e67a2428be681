package courier

import (
	"net"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged makes the system give up a connection without acknowledgements for Timeout.
// By default it keeps sending for a quarter of an hour.
func limitUnacknowledged(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // on failure the default applies
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(Timeout.Milliseconds()))
		})
	}
}
