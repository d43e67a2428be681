package app

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unit is the name of our systemd unit.
const unit = "claviger.service"

// Credentials returns the files of secret settings that systemd gives to our unit, by setting: a
// credential has the name of its setting. Commands beside the service then have its secrets, as far
// as this user can read them. environ is that of os.Environ, and root the root of the file system.
func Credentials(environ []string, root string) map[string]string {
	files := map[string]string{}
	// The unit's files come first: the credentials of the running process replace them.
	parts, _ := filepath.Glob(filepath.Join(root, "etc/systemd/system", unit+".d", "*.conf")) // the pattern is right
	for _, path := range append([]string{filepath.Join(root, "etc/systemd/system", unit)}, parts...) {
		for setting, file := range loaded(path) {
			files[setting] = filepath.Join(root, file)
		}
	}
	given := lookup(environ, "CREDENTIALS_DIRECTORY")
	for _, dir := range []string{filepath.Join(root, credentialsFolder, unit), given} {
		for _, s := range settings {
			path := filepath.Join(dir, s.Name)
			if _, err := os.Stat(path); s.Secret && dir != "" && err == nil {
				files[s.Name] = path
			}
		}
	}
	return files
}

// credentialsFolder has a folder for each unit with credentials while it runs.
const credentialsFolder = "run/credentials"

// loaded reads the lines LoadCredential=setting:file of a unit.
func loaded(path string) map[string]string {
	f, err := os.Open(path)
	if err != nil {
		return nil // there is no such unit
	}
	defer f.Close() //nolint:errcheck // it was only read
	files := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		value, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "LoadCredential=")
		setting, file, absolute := strings.Cut(value, ":/")
		if ok && absolute {
			files[setting] = "/" + file
		}
	}
	return files
}

// withhold removes the credentials that this user cannot read, and notes them: without them the
// settings are incomplete, but not wrong.
func (c *Config) withhold(files map[string]string) layer {
	l := layer{map[string]string{}, func(name string) string {
		return "credential " + strings.TrimSuffix(name, "-file") + " of " + unit
	}}
	for setting, path := range files {
		f, err := os.Open(path)
		switch {
		case err == nil:
			_ = f.Close()
			l.values[setting+"-file"] = path
		case errors.Is(err, fs.ErrPermission):
			if c.Withheld == nil {
				c.Withheld = map[string]string{}
			}
			c.Withheld[setting] = path
		}
	}
	return l
}
