//go:build !(linux || darwin || freebsd)

package sqldb

// diskOf does not know the space of a file system here.
func diskOf(string) (Disk, bool) { return Disk{}, false }
