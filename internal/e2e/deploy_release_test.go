package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReleaseFiles: a release has a bill of materials and checksums, and both are reproducible.
func TestReleaseFiles(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "claviger-linux-amd64")
	if err := os.WriteFile(file, readFile(t, path), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	bill, sums := describeRelease(t, dir)
	if again, sumsAgain := describeRelease(t, dir); !bytes.Equal(bill, again) || !bytes.Equal(sums, sumsAgain) {
		t.Error("made again, the files are others")
	}
	for name, text := range map[string][]byte{"claviger-linux-amd64": readFile(t, file), "claviger.cdx.json": bill} {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name); !strings.Contains(string(sums), line) {
			t.Errorf("the checksums do not have %q:\n%s", line, sums)
		}
	}
	var read struct {
		BomFormat, SpecVersion, SerialNumber string
		Components                           []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(bill, &read); err != nil {
		t.Fatal(err)
	}
	if read.BomFormat != "CycloneDX" || read.SpecVersion != "1.5" || !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(read.SerialNumber) {
		t.Errorf("the bill of materials is %s %s %s", read.BomFormat, read.SpecVersion, read.SerialNumber)
	}
	listed := make(map[string]string)
	for _, c := range read.Components {
		listed[c.Name] = c.Version
		if c.Purl != "pkg:golang/"+strings.ToLower(c.Name)+"@"+strings.ReplaceAll(c.Version, "+", "%2B") {
			t.Errorf("%s %s has the address %s", c.Name, c.Version, c.Purl)
		}
	}
	module := string(readFile(t, "../../go.mod"))
	for _, name := range []string{"github.com/jackc/pgx/v5", "github.com/ncruces/go-sqlite3", "github.com/spf13/cobra"} {
		if listed[name] == "" || !strings.Contains(module, name+" "+listed[name]+"\n") {
			t.Errorf("%s is listed in version %q", name, listed[name])
		}
	}
	if listed["std"] == "" {
		t.Error("Go's own packages are not listed")
	}
}

// describeRelease makes and returns the files of a release.
func describeRelease(t *testing.T, dir string) (bill, sums []byte) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-C", "../../tools", "./sbom", dir).CombinedOutput(); err != nil {
		t.Fatalf("sbom: %v\n%s", err, out)
	}
	return readFile(t, filepath.Join(dir, "claviger.cdx.json")), readFile(t, filepath.Join(dir, "SHA256SUMS"))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReleasePlatforms: make release builds for every promised system.
func TestReleasePlatforms(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	list := regexp.MustCompile(`(?m)^PLATFORMS := (.*)$`).FindSubmatch(readFile(t, "../../Makefile"))
	if list == nil || string(list[1]) != "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64" {
		t.Errorf("make release builds for %q", list)
	}
}
