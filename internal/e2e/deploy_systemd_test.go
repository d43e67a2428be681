package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/app"
)

// unitValues returns the values of a key in a unit file.
func unitValues(unit, key string) []string {
	var values []string
	for _, m := range regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(unit, -1) {
		values = append(values, m[1])
	}
	return values
}

// TestSystemdUnit: systemd accepts the unit, its hardening stays, and its command accepts the
// sample settings and the unit's credentials.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	tool := deployTool(t, "systemd-analyze")
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unit := strings.ReplaceAll(deployFile(t, "systemd/claviger.service"), "/usr/local/bin/claviger", path)
	file := filepath.Join(dir, "claviger.service")
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), tool, "security", "--offline=true", "--no-pager", "--threshold=20", file).CombinedOutput()
	if err != nil {
		t.Errorf("the unit is less confined than 2.0: %v\n%s", err, out)
	}
	checkExecStart(t, unit, dir)

	stop, err := time.ParseDuration(unitValues(unit, "TimeoutStopSec")[0])
	if err != nil || stop <= stopLimit(defaultDrain) {
		t.Errorf("the unit waits %v for the end (%v), and the service may take %v", stop, err, stopLimit(defaultDrain))
	}
}

// defaultDrain is the default of drain-delay on PostgreSQL.
const defaultDrain = 5 * time.Second

// stopLimit returns the maximum duration of a stop: drain-delay, requests, then jobs, then the
// database.
func stopLimit(drain time.Duration) time.Duration {
	return drain + app.Defaults(app.Serve).ShutdownTimeout + 2*10*time.Second
}

// checkExecStart runs the unit's command as config check, with credentials as from systemd.
func checkExecStart(t *testing.T, unit, dir string) {
	t.Helper()
	contents := map[string]string{"secret-key": strings.Repeat("ab", 32), "smtp-url": "smtp://mail.example.com:587"}
	for _, c := range unitValues(unit, "LoadCredential") {
		name, _, _ := strings.Cut(c, ":")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(contents[name]+"\n"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	line := strings.NewReplacer("${CREDENTIALS_DIRECTORY}", dir,
		"/etc/claviger/claviger.toml", filepath.Join(deployed, "systemd/claviger.toml"),
	).Replace(unitValues(unit, "ExecStart")[0])
	words := strings.Fields(line)
	if len(words) < 2 || words[1] != "serve" {
		t.Fatalf("ExecStart is %s", line)
	}
	check := exec.CommandContext(t.Context(), words[0], append([]string{"config", "check"}, words[2:]...)...)
	out, err := check.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", strconv.Quote(line), err, out)
	}
	for _, want := range []string{"smtp-url\tsmtp://mail.example.com:587", "public-url\thttps://licenses.example.com"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("config check does not say %q:\n%s", want, out)
		}
	}
	state := "/var/lib/" + unitValues(unit, "StateDirectory")[0] + "/"
	if !strings.Contains(string(out), "db\t"+state) {
		t.Errorf("the database is not in %s, the one place that can be written:\n%s", state, out)
	}
}
