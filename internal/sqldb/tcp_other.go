//go:build !linux

package sqldb

import "syscall"

// limitUnconfirmed does nothing: this system has no such limit.
func limitUnconfirmed(string, string, syscall.RawConn) error { return nil }
