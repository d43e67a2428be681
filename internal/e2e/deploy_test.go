package e2e_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"claviger/internal/app"
	"claviger/internal/sqldb/sqldbtest"
)

// deployed is the folder with the files of an install.
const deployed = "../../deploy"

// deployFile reads a file of deploy/.
func deployFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployed, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deployTool returns the path of a program that checks a file of deploy/. Without it the test is
// skipped; script/deploy-tools installs it. Files do not depend on the database, so they are
// checked once.
func deployTool(t *testing.T, name string) string {
	t.Helper()
	onceForBoth(t)
	for _, at := range []string{name, "/usr/sbin/" + name} { // not in the path of normal users
		if found, err := exec.LookPath(at); err == nil {
			return found
		}
	}
	t.Skipf("%s is not on this machine; script/deploy-tools installs it", name)
	return ""
}

// onceForBoth skips a test without a database in the run on PostgreSQL.
func onceForBoth(t *testing.T) {
	t.Helper()
	if sqldbtest.Postgres() {
		t.Skip("it does not depend on the database, and runs on SQLite")
	}
}

// deployTexts returns all files of deploy/ by path, without comments.
func deployTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	err := fs.WalkDir(os.DirFS(deployed), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			texts[name] = deployFile(t, name)
		}
		return err
	})
	if err != nil || len(texts) < 3 {
		t.Fatalf("%d files were read, %v", len(texts), err)
	}
	return texts
}

// TestDeploySettings: each variable and each setting in a file of deploy/ is one of the program's,
// also in comments.
func TestDeploySettings(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	known := map[string]bool{"CLAVIGER_CONFIG": true}
	for _, s := range app.Settings(app.Serve) {
		known[s.Variable()] = true
		if s.Secret {
			known[s.Variable()+"_FILE"] = true
		}
	}
	found := 0
	for name, text := range deployTexts(t) {
		for _, v := range regexp.MustCompile(`CLAVIGER_[A-Z_]+`).FindAllString(text, -1) {
			if found++; !known[v] {
				t.Errorf("%s names %s, which is not a setting", name, v)
			}
		}
	}
	if found == 0 {
		t.Error("no variable was found")
	}
}

// TestDeployCommands: each command line of the program in a file of deploy/ has a known command and
// flags.
func TestDeployCommands(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`claviger ((?:serve|health|doctor|token|operator|migrate|config|backup|secret|version)\b[^\n";|&]*)`)
	checked := make(map[string]bool)
	for name, text := range deployTexts(t) {
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(strings.NewReplacer(". ", " . ", ", ", " , ").Replace(m[1] + " ")) // also in a sentence
			end := slices.IndexFunc(words, func(w string) bool { return !regexp.MustCompile(`^[a-z]+$`).MatchString(w) })
			if end < 0 {
				end = len(words)
			}
			help := commandHelp(t, program, words[:end])
			for _, w := range words[end:] {
				flag, _, _ := strings.Cut(w, "=")
				if strings.HasPrefix(flag, "--") && !strings.Contains(help, flag+" ") {
					t.Errorf("%s: claviger %s has no flag %s", name, strings.Join(words[:end], " "), flag)
				}
			}
			checked[path.Base(name)] = true
		}
	}
	if len(checked) < 2 {
		t.Errorf("only %v have command lines", checked)
	}
}

// commandHelp returns the help of the longest command at the start of words: the rest of a sentence
// does not belong to it.
func commandHelp(t *testing.T, program string, words []string) string {
	t.Helper()
	for n := min(len(words), 2); n > 0; n-- {
		out, err := exec.CommandContext(t.Context(), program, append(slices.Clone(words[:n]), "--help")...).CombinedOutput()
		if err == nil && strings.Contains(string(out), "claviger "+strings.Join(words[:n], " ")) {
			return string(out)
		}
	}
	t.Errorf("claviger %s is not a command", strings.Join(words, " "))
	return ""
}
