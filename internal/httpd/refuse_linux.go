package httpd

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// refuseNew has the kernel ignore new connections to a listening socket, and waits until those that
// it made before are accepted, or until ctx ends. Closing the socket would reset connections that
// wait: their clients have sent a request and cannot know whether it was read. A client that is
// ignored tries again after a second and is refused then, and every proxy asks another node.
func refuseNew(ctx context.Context, l net.Listener) error {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = ignoreNew(int(fd)) })
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	look := time.NewTicker(settle)
	defer look.Stop()
	for waiting := true; waiting && err == nil; {
		select {
		case <-look.C: // the last one is in the hands of the server by the next look
		case <-ctx.Done():
			return ctx.Err()
		}
		err = raw.Control(func(fd uintptr) {
			info, failed := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			waiting = failed == nil && info.Unacked > 0 // of a listening socket: connections to accept
		})
	}
	return err
}

// settle is the time that an accepted connection has to reach the server.
const settle = 10 * time.Millisecond

// ignoreNew attaches a filter to a listening socket that drops the first packet of each connection
// (SYN). All others pass.
func ignoreNew(fd int) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13}, // the flags in the TCP header
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: 0x02},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
}
