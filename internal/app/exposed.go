package app

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// exposed names the files of this install that other users of the machine can read or write, each
// in a sentence with advice. Files that do not exist yet will be created for their owner only.
func (c Config) exposed() []string {
	if runtime.GOOS == "windows" {
		return nil // modes do not tell who can read a file there
	}
	var advice []string
	say := func(path, what, mode string) {
		info, err := os.Stat(path)
		if err != nil || credential(path) {
			return
		}
		can := access(info.Mode().Perm())
		if can == "" {
			return
		}
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		advice = append(
			advice,
			fmt.Sprintf("others on this machine can %s %s: %s; run chmod %s %s", can, path, what, mode, path),
		)
	}
	if _, set := c.SecretFiles["secret-key"]; !set && c.SecretKey == "" {
		say(c.KeyFile(), "it holds the key that opens every stored secret", "600")
	}
	for _, name := range slices.Sorted(maps.Keys(c.SecretFiles)) {
		say(c.SecretFiles[name], "it holds the secret setting "+name, "600")
	}
	if c.BackupDir != "" {
		say(c.BackupDir, "it is the folder of the backups", "700")
	}
	if c.Postgres() || c.DB == "" {
		return advice
	}
	say(filepath.Dir(c.DB), "it is the folder of the database, which should have one of its own", "700")
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		say(c.DB+end, "it holds the data", "600")
	}
	return advice
}

// credential reports whether systemd made the file for this service (LoadCredential). Only the
// service can read it, although its mode may show a group, because of an access list.
func credential(path string) bool {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	return dir != "" && filepath.Dir(path) == filepath.Clean(dir) ||
		filepath.Dir(path) == filepath.Join("/", credentialsFolder, unit)
}

// access returns the rights of a mode for others than the owner: read, write, both or "".
func access(mode fs.FileMode) string {
	can := []string{}
	if mode&0o044 != 0 {
		can = append(can, "read")
	}
	if mode&0o022 != 0 {
		can = append(can, "write")
	}
	return strings.Join(can, " and ")
}
