package httpd

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// firstLent is the descriptor of the first socket that a service manager passes.
const firstLent = 3

// lentSocket returns the listening socket that a service manager such as systemd passes to this
// process, if it passes one. The manager keeps the socket open over restarts, so connections wait in it while
// no process serves. See sd_listen_fds(3).
func lentSocket() (l net.Listener, ok bool, err error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, false, nil
	}
	if n := os.Getenv("LISTEN_FDS"); n != "1" {
		return nil, false, fmt.Errorf("the service manager passed %s sockets; pass one, for addr", n)
	}
	// Programs that this one starts must not believe that the socket is theirs.
	_ = os.Unsetenv("LISTEN_PID")
	_ = os.Unsetenv("LISTEN_FDS")
	file := os.NewFile(firstLent, "socket of the service manager")
	l, err = net.FileListener(file)
	_ = file.Close() // l has a copy
	if err != nil {
		return nil, false, fmt.Errorf("use the socket that the service manager passed: %w", err)
	}
	return l, true, nil
}
