//go:build unix

package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/app"
)

// TestAdviceOnModes: the operator is told of each file with secrets or data that others on the
// machine can read or write, with advice.
func TestAdviceOnModes(t *testing.T) {
	const data = ": it holds the data; run chmod 600 "
	for name, c := range map[string]struct {
		dir   fs.FileMode
		files map[string]fs.FileMode
		want  func(dir string) []string
	}{
		"its owner's alone": {0o700, map[string]fs.FileMode{"a.db": 0o600, "a.key": 0o600, "a.db-wal": 0o600}, func(string) []string { return nil }},
		"nothing there yet": {0o700, nil, func(string) []string { return nil }},
		"a folder to read": {0o755, nil, func(dir string) []string {
			return []string{"others on this machine can read " + dir + ": it is the folder of the database, which should have one of its own; run chmod 700 " + dir}
		}},
		"a folder to write": {0o773, nil, func(dir string) []string {
			return []string{"others on this machine can read and write " + dir + ": it is the folder of the database, which should have one of its own; run chmod 700 " + dir}
		}},
		"a key file": {0o700, map[string]fs.FileMode{"a.key": 0o640}, func(dir string) []string {
			key := filepath.Join(dir, "a.key")
			return []string{"others on this machine can read " + key + ": it holds the key that opens every stored secret; run chmod 600 " + key}
		}},
		"the data": {0o700, map[string]fs.FileMode{"a.db": 0o620, "a.db-wal": 0o604}, func(dir string) []string {
			db := filepath.Join(dir, "a.db")
			return []string{"others on this machine can write " + db + data + db, "others on this machine can read " + db + "-wal" + data + db + "-wal"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.dir)
			for file, mode := range c.files {
				path := filepath.Join(dir, file)
				if err := os.WriteFile(path, nil, mode); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			cfg := app.Defaults(app.Serve)
			cfg.PublicURL, cfg.Mail.Host, cfg.DB = "https://licenses.example.com", "mail.example.com", filepath.Join(dir, "a.db")
			cfg.SupportURL = "https://example.com/help"
			got := cfg.Advice()
			if diff := cmp.Diff(c.want(dir), append([]string(nil), got[1:]...)); diff != "" { // the first is about the missing secret-key
				t.Errorf("advice (-want +got)\n%s", diff)
			}
		})
	}
}

// TestAdviceOnSecretFiles: a secret's file is checked like the key file.
func TestAdviceOnSecretFiles(t *testing.T) {
	path := write(t, "secret.key", key)
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // tests an open mode
		t.Fatal(err)
	}
	cfg, _, err := app.Load(app.Serve, app.Sources{Flags: map[string]string{"secret-key-file": path, "public-url": "https://licenses.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Mail.Host, cfg.DB = "mail.example.com", filepath.Join(folder(t, 0o700), "a.db")
	want := []string{"others on this machine can read " + path + ": it holds the secret setting secret-key; run chmod 600 " + path}
	cfg.SupportURL = "https://example.com/help"
	if diff := cmp.Diff(want, cfg.Advice()); diff != "" {
		t.Errorf("advice (-want +got)\n%s", diff)
	}

	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(path)) // of systemd; its access list shows as a group's mode
	if diff := cmp.Diff([]string(nil), cfg.Advice()); diff != "" {
		t.Errorf("advice on a credential (-want +got)\n%s", diff)
	}
}
