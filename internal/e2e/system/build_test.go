package system_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"claviger/internal/release"
)

// root is the folder of the project, from here.
const root = "../../.."

// programs are the three builds of the tests.
type programs struct {
	old  string // the previous release, from the history
	now  string // the working tree, as the next release, with two artificial migrations
	next string // the working tree, as the release after it

	oldVersion, nowVersion, nextVersion string
}

// previous is the file with the commit of the previous release.
const previous = "internal/release/previous"

// built builds the programs once.
var built = sync.OnceValues(func() (p programs, err error) {
	dir, err := os.MkdirTemp("", "claviger-system-*")
	if err != nil {
		return p, err
	}
	commit, err := previousCommit()
	if err != nil {
		return p, err
	}
	source := filepath.Join(dir, "source")
	if err := unpack(commit, source); err != nil {
		return p, err
	}
	version, err := os.ReadFile(filepath.Join(source, "internal/release/version")) //nolint:gosec // ours
	if err != nil {
		return p, fmt.Errorf("the previous release has no version: %w", err)
	}
	p.oldVersion = strings.TrimSpace(string(version))
	p.nowVersion = following(p.oldVersion) + "-dev"
	p.nextVersion = following(p.nowVersion)
	p.old = filepath.Join(dir, "old")
	p.now = filepath.Join(dir, "now")
	p.next = filepath.Join(dir, "next")
	if err := build(source, p.old, ""); err != nil {
		return p, err
	}
	for version, to := range map[string]string{p.nowVersion: p.now, p.nextVersion: p.next} {
		over, err := overlay(dir, version, release.Number(p.nowVersion))
		if err == nil {
			err = build(root, to, over)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
})

func programsOf(t *testing.T) programs {
	t.Helper()
	p, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// previousCommit reads the commit of the previous release, which must be in the history.
func previousCommit() (string, error) {
	text, err := os.ReadFile(filepath.Join(root, previous))
	if err != nil {
		return "", err
	}
	var commit string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			commit = line
		}
	}
	if _, err := git("cat-file", "-e", commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("the history here does not have %q, the previous release of %s; this test builds it, so run it "+
			"in a clone with the whole history (git fetch --unshallow): %w", commit, previous, err)
	}
	return commit, nil
}

func git(args ...string) (string, error) {
	cmd := exec.Command("git", args...) //nolint:gosec,noctx // as the tests name them
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return string(out), nil
}

// unpack writes the files of a commit to a folder.
func unpack(commit, to string) error {
	archive := to + ".tar"
	if _, err := git("archive", "--output", archive, commit); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	out, err := exec.Command("tar", "-x", "-f", archive, "-C", to).CombinedOutput() //nolint:gosec,noctx // ours
	if err != nil {
		return fmt.Errorf("unpack the previous release: %w: %s", err, out)
	}
	return nil
}

// build builds the program of a folder.
func build(source, to, overlay string) error {
	args := []string{"build", "-ldflags=-s -w", "-buildvcs=false", "-o", to}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "./cmd/claviger")...) //nolint:gosec,noctx // ours
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", to, err, out)
	}
	return nil
}

// overlay writes a file for go build -overlay, which gives the program another version and two
// artificial migrations. The old form of the second one is unused since a version.
func overlay(dir, version, since string) (string, error) {
	here, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	add := func(path, text string) error {
		file := filepath.Join(dir, strings.ReplaceAll(version+"/"+path, "/", "_"))
		replace[filepath.Join(here, path)] = file
		return os.WriteFile(file, []byte(text), 0o600)
	}
	for path, text := range artificial(version, since) {
		if err := add(path, text); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay-"+version)
	return file, os.WriteFile(file, text, 0o600)
}

// artificial returns the files of the overlay: the version; a column and a table; an index; and the
// removal of the column.
func artificial(version, since string) map[string]string {
	files := map[string]string{"internal/release/version": version + "\n"}
	for _, database := range []string{"sqlite", "postgres"} {
		at := "internal/sqldb/migrations/" + database + "/"
		build := "CREATE INDEX artificial_licenses ON licenses (updated_at);\n"
		if database == "postgres" {
			build = strings.Replace(build, "INDEX", "INDEX CONCURRENTLY IF NOT EXISTS", 1)
		}
		files[at+"9001_artificial.sql"] = "-- kind: expanding\n\nALTER TABLE licenses ADD COLUMN artificial TEXT;\n" +
			"CREATE TABLE artificial (\n\ta TEXT NOT NULL PRIMARY KEY\n);\n"
		files[at+"9002_artificial_index.sql"] = "-- kind: expanding\n\n" + build
		files[at+"9003_artificial_end.sql"] = "-- kind: contracting, old form unused since " + since +
			"\n\n-- The artificial column of licenses.\nALTER TABLE licenses DROP COLUMN artificial;\n"
	}
	return files
}

// following returns the next minor version.
func following(version string) string {
	var major, minor, patch int
	_, _ = fmt.Sscanf(release.Number(version), "%d.%d.%d", &major, &minor, &patch)
	return fmt.Sprintf("%d.%d.0", major, minor+1)
}
