//go:build !(linux || darwin || freebsd)

package sqldb

// diskOf reports false: the space is unknown on this system.
func diskOf(string) (Disk, bool) { return Disk{}, false }
