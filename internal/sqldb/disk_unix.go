//go:build linux || darwin || freebsd

package sqldb

import "syscall"

// diskOf reports the space on the file system of path.
func diskOf(path string) (Disk, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return Disk{}, false
	}
	size := int64(s.Bsize) //nolint:unconvert,nolintlint // smaller elsewhere
	//nolint:gosec,nolintlint // no disk is that large
	return Disk{Free: int64(s.Bavail) * size, Total: int64(s.Blocks) * size}, true
}
