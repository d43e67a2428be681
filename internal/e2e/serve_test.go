package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// TestServeFromNothing is an operator's first minute in an empty folder: the service, a token, a
// partner.
func TestServeFromNothing(t *testing.T) {
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	serve := exec.CommandContext(t.Context(), path, "serve", "--addr", "127.0.0.1:0", "--admin-addr", "off")
	serve.Dir = dir
	log, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill() })
	lines := bufio.NewReader(log)
	base, said := awaitServing(t, lines)
	for _, want := range []string{"public-url is not set", "created the secret key"} {
		if !strings.Contains(said, want) {
			t.Errorf("the start did not say %q:\n%s", want, said)
		}
	}
	add := exec.CommandContext(t.Context(), path, "token", "add", "--name", "me", "--scopes", "admin")
	add.Dir = dir
	token, err := add.Output()
	if err != nil {
		t.Fatalf("make a token: %v", err)
	}
	operator := caller{base: base, token: strings.TrimSpace(string(token))}
	operator.must(t, 201, "POST", "/operator/v1/partners", object{"name": "Acme", "external_id": "app-1"})
	info, err := os.Stat(filepath.Join(dir, "claviger.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file is %v, %v; want mode 0600", info, err)
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), `"msg":"stopped"`) {
		t.Errorf("it ended with %q, %v", rest, err)
	}
	if strings.Contains(said+string(rest), operator.token) {
		t.Error("the log has the token")
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}

// awaitServing reads the log up to the line with the service's address.
func awaitServing(t *testing.T, log *bufio.Reader) (base, said string) {
	t.Helper()
	var all strings.Builder
	for {
		text, err := log.ReadString('\n')
		all.WriteString(text)
		if err != nil {
			t.Fatalf("it does not serve: %v\n%s", err, all.String())
		}
		var line struct {
			Msg string `json:"msg"`
			URL string `json:"url"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("a log line is not JSON: %s", text)
		}
		if line.Msg == "serving" {
			return line.URL, all.String()
		}
	}
}

// TestNodesNeedTheKey: in production on PostgreSQL the service does not create a key.
func TestNodesNeedTheKey(t *testing.T) {
	t.Parallel()
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file has its key file beside it")
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	serve := exec.CommandContext(t.Context(), path, "serve", "--addr", "0.0.0.0:0", "--admin-addr", "off", "--db", sqldbtest.URL(t))
	serve.Dir = t.TempDir()
	out, err := serve.CombinedOutput()
	if err == nil || serve.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "CLAVIGER_SECRET_KEY") {
		t.Errorf("it ended with %v:\n%s", err, out)
	}
	if n := len(entries(t, serve.Dir)); n != 0 {
		t.Errorf("%d files were made", n)
	}
}
