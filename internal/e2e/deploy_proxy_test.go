package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// proxied is claviger serve behind a TLS proxy, both as processes.
type proxied struct {
	*testing.T
	dir     string
	program string
	port    string // of the proxy, for https
	node    string // where the service listens
	url     string
	client  *http.Client
	log     bytes.Buffer // of the service; read it after the service has ended
	serve   *exec.Cmd
}

// newProxied starts the service with the settings of the systemd sample, and makes a certificate.
func newProxied(t *testing.T) *proxied {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &proxied{T: t, dir: t.TempDir(), program: path, port: freePort(t), node: "127.0.0.1:" + freePort(t)}
	p.url = "https://127.0.0.1:" + p.port
	p.certificate()
	p.serve = p.command("serve")
	p.serve.Stderr = &p.log
	p.run(p.serve)
	return p
}

// command returns a command of the program with the settings of the service.
func (p *proxied) command(words ...string) *exec.Cmd {
	p.Helper()
	var sample struct {
		Proxies string `toml:"trusted-proxies"`
	}
	if err := toml.Unmarshal([]byte(deployFile(p.T, "systemd/claviger.toml")), &sample); err != nil {
		p.Fatal(err)
	}
	cmd := exec.CommandContext(p.Context(), p.program, words...)
	cmd.Dir = p.dir
	cmd.Env = []string{
		"CLAVIGER_ADDR=" + p.node, "CLAVIGER_ADMIN_ADDR=off", "CLAVIGER_PUBLIC_URL=" + p.url, "CLAVIGER_TRUSTED_PROXIES=" + sample.Proxies,
		"CLAVIGER_CA_FILE=" + filepath.Join(p.dir, "cert.pem"), "CLAVIGER_REQUIRE_SECOND_FACTOR=none", "TMPDIR=" + p.dir,
	}
	return cmd
}

// run starts a process and ends it with the test.
func (p *proxied) run(cmd *exec.Cmd) {
	p.Helper()
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	})
}

// certificate writes the certificate of Go's own tests, and makes a client that trusts it.
func (p *proxied) certificate() {
	p.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		p.Fatal(err)
	}
	for name, block := range map[string]pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), pem.EncodeToMemory(&block), 0o600); err != nil {
			p.Fatal(err)
		}
	}
	p.client = s.Client()
	if p.client.Jar, err = cookiejar.New(nil); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(p.client.CloseIdleConnections)
}

// get requests a path through the proxy; header is an additional header, or "".
func (p *proxied) get(ctx context.Context, at, header, value string) *http.Response {
	p.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		p.Fatal(err)
	}
	if header != "" {
		r.Header.Set(header, value)
	}
	resp, err := p.client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// awaitReady waits until the proxy and the service behind it answer.
func (p *proxied) awaitReady() {
	p.Helper()
	for range 600 {
		r, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.url+"/readyz", nil)
		if err != nil {
			p.Fatal(err)
		}
		resp, err := p.client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.Fatal("nobody is ready behind the proxy")
}

// use makes typical requests through the proxy.
func (p *proxied) use() {
	p.Helper()
	p.awaitReady()
	// An address that the client claims is not trusted.
	if resp := p.get(p.Context(), p.url+"/sign-in", "X-Forwarded-For", "203.0.113.9"); resp.StatusCode != http.StatusOK {
		p.Errorf("a page is answered %s", resp.Status)
	}
	token, err := p.command("token", "add", "--name", "me", "--scopes", "admin").Output()
	if err != nil {
		p.Fatalf("make a token: %v", err)
	}
	// The service, not the proxy, decides about bodies up to the size of an import.
	if status := p.post("/operator/v1/import", string(token), strings.NewReader(strings.Repeat(" ", 16<<20))); status == http.StatusRequestEntityTooLarge || status >= 500 {
		p.Errorf("a body of 16 MiB is answered %d", status)
	}
	if status := p.post("/operator/v1/partners", string(token), strings.NewReader(`{"name":"Acme","external_id":"app-1"}`)); status != http.StatusCreated {
		p.Errorf("a partner is answered %d", status)
	}
	p.stream()
	if out, err := p.command("doctor").CombinedOutput(); err != nil || !strings.Contains(string(out), "pass\tpublic URL") {
		p.Errorf("claviger doctor: %v\n%s", err, out)
	}
}

// post sends JSON and returns the status.
func (p *proxied) post(path, token string, body *strings.Reader) int {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.url+path, body)
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	r.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // not read
	return resp.StatusCode
}

// stream opens a live page of the console: its first line arrives while the answer is still open.
func (p *proxied) stream() {
	p.Helper()
	out, err := p.command("operator", "add", "ann@example.com").CombinedOutput()
	link := regexp.MustCompile(`https://\S+`).FindString(string(out))
	if err != nil || link == "" {
		p.Fatalf("make an operator: %v\n%s", err, out)
	}
	p.signIn(link)
	ctx, cancel := context.WithTimeout(p.Context(), 30*time.Second)
	defer cancel()
	resp := p.get(ctx, p.url+"/console/deliveries/live", "Accept", "text/event-stream")
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		p.Fatalf("the stream is answered %s, %s, by %s", resp.Status, kind, resp.Request.URL)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		p.Errorf("the stream is buffered: %q, %v", line, err)
	}
}

// signIn uses a single-use sign-in link like its page.
func (p *proxied) signIn(link string) {
	p.Helper()
	_, token, _ := strings.Cut(link, "token=")
	r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.url+"/sign-in/link", strings.NewReader("token="+token))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", p.url) // as browsers do: it must be the host that the service sees
	resp, err := p.client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // not read
	if resp.StatusCode != http.StatusOK {
		p.Fatalf("signing in is answered %s", resp.Status)
	}
}

// stopped ends the service and checks the logged client addresses.
func (p *proxied) stopped() {
	p.Helper()
	_ = p.serve.Process.Signal(syscall.SIGTERM)
	if err := p.serve.Wait(); err != nil {
		p.Errorf("the service did not end in order: %v", err)
	}
	log := p.log.String()
	if strings.Contains(log, "203.0.113.9") || !strings.Contains(log, `"client":"127.0.0.1"`) {
		p.Errorf("the log does not have the client's address, as the proxy saw it:\n%s", log)
	}
	if strings.Contains(log, "not a declared proxy") {
		p.Error("the proxy is not declared by the sample settings")
	}
}

// through runs the test's proxy, uses it, and stops the service.
func (p *proxied) through(proxy *exec.Cmd) {
	p.Helper()
	var said bytes.Buffer
	proxy.Stdout, proxy.Stderr = &said, &said
	p.run(proxy)
	p.use()
	p.stopped()
	_ = proxy.Process.Signal(syscall.SIGTERM)
	_ = proxy.Wait()
	if p.Failed() {
		p.Logf("the proxy wrote:\n%s", said.String()[max(0, said.Len()-logShown):])
	}
}

// replaced replaces each of the pairs, and fails if one is not in the text.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the sample has no %q", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// TestNginx: nginx accepts the sample, and the service works through it.
func TestNginx(t *testing.T) {
	t.Parallel()
	tool := deployTool(t, "nginx")
	p := newProxied(t)
	site := replaced(t, deployFile(t, "nginx.conf"),
		"listen [::]:80;", "", "listen [::]:443 ssl http2;", "",
		"listen 80;", "listen 127.0.0.1:"+freePort(t)+";", "listen 443 ", "listen 127.0.0.1:"+p.port+" ",
		"server_name licenses.example.com;", "server_name 127.0.0.1;", "127.0.0.1:8080", p.node,
		"/etc/letsencrypt/live/licenses.example.com/fullchain.pem", p.dir+"/cert.pem",
		"/etc/letsencrypt/live/licenses.example.com/privkey.pem", p.dir+"/key.pem")
	main := "daemon off;\nmaster_process off;\npid " + p.dir + "/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		main += kind + "_temp_path " + p.dir + "/" + kind + ";\n"
	}
	file := filepath.Join(p.dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(main+site+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-p", p.dir, "-e", "stderr", "-c", file}
	out, err := exec.CommandContext(t.Context(), tool, append(args, "-t")...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "[warn]") {
		t.Fatalf("nginx -t: %v\n%s", err, out)
	}
	p.through(exec.CommandContext(t.Context(), tool, args...))
}

// TestCaddy: Caddy accepts the sample, and the service works through it.
func TestCaddy(t *testing.T) {
	t.Parallel()
	tool := deployTool(t, "caddy")
	p := newProxied(t)
	file := filepath.Join(p.dir, "Caddyfile")
	// Our own certificate, and no other ports of the machine.
	text := "{\n\tadmin off\n\tauto_https off\n}\n" + replaced(t, deployFile(t, "Caddyfile"),
		"\trequest_body {", "\ttls "+p.dir+"/cert.pem "+p.dir+"/key.pem\n\trequest_body {")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), tool, args...)
		cmd.Env = []string{"HOME=" + p.dir, "SITE=" + p.url, "NODES=" + p.node}
		return cmd
	}
	out, err := run("validate", "--adapter", "caddyfile", "--config", file).CombinedOutput()
	if err != nil {
		t.Fatalf("caddy validate: %v\n%s", err, out)
	}
	p.through(run("run", "--adapter", "caddyfile", "--config", file))
}
