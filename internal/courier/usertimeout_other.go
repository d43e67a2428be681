//go:build !linux

package courier

import "net"

// limitUnacknowledged has no equivalent on this system.
func limitUnacknowledged(net.Conn) {}
