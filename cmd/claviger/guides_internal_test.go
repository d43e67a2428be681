//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"claviger/docs"
	"claviger/internal/sqldb/sqldbtest"
)

// readGuide returns the text of a guide.
func readGuide(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shell runs a script as if pasted into a terminal, and returns its output. Processes that it
// leaves running end with it.
func shell(t *testing.T, dir, script string, env ...string) (string, error) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out") // a pipe would wait for background processes
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()                                                 //nolint:errcheck // read by name
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script) //nolint:gosec // commands of our guides
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	failed := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // nothing may be left
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

// freeAddr returns a free address of this machine.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // not used
	return l.Addr().String()
}

// onlySQLite skips a test that always uses an SQLite database, or none: a second run with
// PostgreSQL would be the same.
func onlySQLite(t *testing.T) {
	t.Helper()
	if sqldbtest.Postgres() {
		t.Skip("these commands use no PostgreSQL")
	}
}

// TestInstallToFirstSale runs the lines of docs/operator.md in an empty folder.
func TestInstallToFirstSale(t *testing.T) {
	onlySQLite(t)
	_, section, ok := strings.Cut(readGuide(t, "operator"), "\nThen, in an empty folder:\n")
	section, _, _ = strings.Cut(section, "\n## ")
	lines := strings.Count(strings.Join(commandsOf(section), "\n"), "\n") + 1
	if !ok || lines > 12 {
		t.Fatalf("docs/operator.md has no short way to the first sale: %d lines", lines)
	}
	addr, dir := freeAddr(t), t.TempDir()
	script := strings.ReplaceAll(strings.Join(commandsOf(section), "\n"), "127.0.0.1:8080", addr)
	script += "\ncurl -s $CLAVIGER_URL/operator/v1/purchases/1 -H \"Authorization: Bearer $CLAVIGER_OPERATOR_TOKEN\""
	out, err := shell(t, dir, script, "CLAVIGER_ADDR="+addr, "CLAVIGER_ADMIN_ADDR=off")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"amount_cents":4900,"currency":"USD"`, `(?m)^1\t[0-9a-f-]{36}\tinactive\t1\t`, `(?m)^api_key\tlk_`, `/sign-in/link\?token=`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("it does not print %s:\n%s", want, out)
		}
	}
}

// TestFirstHour runs docs/first-hour.md in a shell and compares the output with the guide.
func TestFirstHour(t *testing.T) {
	onlySQLite(t)
	dir, app := t.TempDir(), freeAddr(t)
	sdk, err := filepath.Abs(filepath.Join("..", "..", "sdk"))
	if err == nil {
		err = os.Symlink(sdk, filepath.Join(dir, "sdk"))
	}
	if err != nil {
		t.Fatal(err)
	}
	market := freeAddr(t)
	_, port, _ := strings.Cut(app, ":")
	text := strings.NewReplacer("127.0.0.1:3000", app, "PORT=3000", "PORT="+port, "127.0.0.1:8080", market).Replace(readGuide(t, "first-hour"))
	var script strings.Builder
	var expected []string // by block of commands
	for _, m := range regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		switch {
		case strings.HasPrefix(m[2], "git clone "): // the program is built, and on the path
		case m[1] == "sh":
			fmt.Fprintf(&script, "echo '=== next'\n%s", m[2])
			expected = append(expected, "")
		default:
			expected[len(expected)-1] = m[2]
		}
	}
	out, err := shell(t, dir, script.String(), "CLAVIGER_ADDR="+market)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := strings.Split(out, "=== next\n")[1:]
	if len(expected) < 5 || len(printed) != len(expected) {
		t.Fatalf("%d blocks of commands, %d outputs", len(expected), len(printed))
	}
	for i, want := range expected {
		for line := range strings.Lines(want) {
			if !matches(line, printed[i]) {
				t.Errorf("the guide says %q, and this is printed:\n%s", line, printed[i])
			}
		}
	}
}

// matches reports whether an output has a line of a guide, in which … matches anything.
func matches(line, out string) bool {
	pattern := strings.NewReplacer(" … ", `\s(?:.*\s)?`, "…", ".*", " ", `\s+`).Replace(regexp.QuoteMeta(strings.TrimSpace(line)))
	return regexp.MustCompile(`(?m)^` + pattern + `\s*$`).MatchString(out)
}

// commandsOf returns the commands of a text in order: indented lines that begin like one, with
// their continuation lines.
func commandsOf(text string) []string {
	begins := regexp.MustCompile(`^ {4,}((?:claviger|curl|openssl|export|grep|until) .*|CLAVIGER_\w+=.*\\)`)
	var all []string
	goesOn := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		m := begins.FindStringSubmatch(line)
		switch {
		case goesOn:
			all[len(all)-1] += "\n" + strings.TrimSpace(line)
		case m != nil:
			all = append(all, m[1])
		default:
			continue
		}
		goesOn = strings.HasSuffix(line, `\`)
	}
	return all
}

// TestNamedCommands: every command in the text of a guide exists, with its flags.
func TestNamedCommands(t *testing.T) {
	root := newRoot()
	root.InitDefaultCompletionCmd() // Execute does this automatically
	found := 0
	for _, g := range docs.Guides() {
		for _, m := range regexp.MustCompile("`claviger ([^`]+)`").FindAllStringSubmatch(g.Text, -1) {
			found++
			args := strings.Fields(m[1])
			cmd, rest, err := root.Find(args)
			if err != nil || cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				t.Errorf("%s.md names claviger %s, which does not exist: %v", g.Name, m[1], err)
				continue
			}
			for _, arg := range args {
				if name, ok := strings.CutPrefix(arg, "--"); ok && cmd.Flag(name) == nil {
					t.Errorf("%s.md names claviger %s, which has no flag --%s", g.Name, m[1], name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("the guides name %d commands", found)
	}
}
