//go:build linux || darwin || freebsd

package sqldb

import "syscall"

// diskOf reports the space of the file system of a file.
func diskOf(path string) (Disk, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return Disk{}, false
	}
	size := int64(s.Bsize)                                                         //nolint:unconvert,nolintlint // it is smaller elsewhere
	return Disk{Free: int64(s.Bavail) * size, Total: int64(s.Blocks) * size}, true //nolint:gosec,nolintlint // no disk is that large
}
