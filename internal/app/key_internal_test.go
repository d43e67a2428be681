package app

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestKeyFile(t *testing.T) {
	tests := map[string]struct{ db, want string }{
		"beside the database": {"data/claviger.db", "data/claviger.key"},
		"another ending":      {"shop.sqlite3", "shop.key"},
		"no ending":           {"/var/lib/claviger", "/var/lib/claviger.key"},
		"elsewhere":           {"postgres://localhost/claviger", "claviger.key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (Config{DB: tt.db}).KeyFile(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestKeyIsMadeOnce(t *testing.T) {
	cfg := Config{DB: filepath.Join(t.TempDir(), "claviger.db")}
	first, made, err := cfg.key(true)
	if err != nil || !made {
		t.Fatalf("made %v, error %v", made, err)
	}
	info, err := os.Stat(cfg.KeyFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has mode %v, error %v; want 0600", info.Mode(), err)
	}
	for _, fresh := range []bool{true, false} {
		again, made, err := cfg.key(fresh)
		if err != nil || made || !bytes.Equal(first, again) {
			t.Errorf("the next start has another key (made %v, error %v)", made, err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(cfg.DB))
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, error %v; want the key file alone", len(left), err)
	}
}

// TestKeyRace: simultaneous starts in the same folder agree on one key.
func TestKeyRace(t *testing.T) {
	cfg := Config{DB: filepath.Join(t.TempDir(), "claviger.db")}
	keys := make([][]byte, 16)
	var starts sync.WaitGroup
	for i := range keys {
		starts.Go(func() {
			key, _, err := cfg.key(true)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	starts.Wait()
	for _, k := range keys {
		if !bytes.Equal(k, keys[0]) {
			t.Fatal("two starts have two keys")
		}
	}
}

func TestKeyRefusals(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.key")
	if err := os.WriteFile(broken, []byte("not a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		cfg   Config
		fresh bool
		want  string
	}{
		"lost file":                  {Config{DB: filepath.Join(dir, "lost.db")}, false, "is missing; restore it"},
		"broken file":                {Config{DB: filepath.Join(dir, "broken.db")}, true, "must be 32 bytes"},
		"folder that is not there":   {Config{DB: filepath.Join(dir, "no", "x.db")}, true, "make the key file"},
		"nodes must share one":       {Config{DB: "postgres://db/claviger", Addr: ":8080"}, true, "CLAVIGER_SECRET_KEY"},
		"a setting that is no key":   {Config{DB: "x.db", SecretKey: "zz"}, true, "must be 32 bytes"},
		"another machine's loopback": {Config{DB: "postgres://db/claviger", Addr: "192.0.2.1:80"}, true, "every node"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := tt.cfg.key(tt.fresh)
			if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one of the key that says %q", err, tt.want)
			}
		})
	}
}

func TestParseKey(t *testing.T) {
	want := bytes.Repeat([]byte{0xfb, 0xff}, 16)
	for name, text := range map[string]string{
		"hex":             strings.Repeat("fbff", 16),
		"hex in capitals": strings.Repeat("FBFF", 16),
		"a line":          strings.Repeat("fbff", 16) + "\n",
		"base64":          "+//7//v/+//7//v/+//7//v/+//7//v/+//7//v/+/8=",
		"base64 for URLs": "-__7__v_-__7__v_-__7__v_-__7__v_-__7__v_-_8",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseKey(text)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %x, error %v", got, err)
			}
		})
	}
}
