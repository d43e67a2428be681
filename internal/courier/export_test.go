package courier

import (
	"context"
	"net"
)

// DialWith makes a client get its connections from dial.
func DialWith(c *Client, dial func() (net.Conn, error)) {
	c.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial() }
}
