//go:build !linux

package httpd

import (
	"context"
	"errors"
	"net"
)

// refuseNew needs Linux.
func refuseNew(context.Context, net.Listener) error { return errors.ErrUnsupported }
