package diagnose_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
)

// record returns the stored headers of a webhook.
func record(secrets courier.Secrets, at time.Time, body string) string {
	signer := courier.Signer{Brand: "Acme", UserAgent: "test"}
	return courier.HeaderText(signer.Headers(42, 3, at, secrets, []byte(body)))
}

func TestSignedTexts(t *testing.T) {
	at := time.UnixMilli(1772355600123).UTC()
	const body = `{"event":"purchase"}`
	got := diagnose.SignedTexts(record(courier.NewSecrets("whsec_c2VjcmV0"), at, body), body)
	if want := courier.Texts(42, at, []byte(body)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := diagnose.SignedTexts("", body); got != (courier.Signed{}) {
		t.Errorf("without headers: %+v", got)
	}
}

// TestRepeat runs the script: the result is signed like a webhook, with any secret, and the shell
// executes nothing in the body.
func TestRepeat(t *testing.T) {
	for _, program := range []string{"sh", "curl", "openssl", "od", "base64"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
	var got http.Header
	var received string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, received = r.Header, string(b)
	}))
	defer server.Close()
	const body = `{"note":"it's $(echo run) \"quoted\" \\ ü"}`
	for _, key := range []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "plain 'key'"} {
		secrets := courier.NewSecrets(key)
		script := diagnose.Repeat(server.URL+"/hook?a=1&b=2", record(secrets, time.Now(), body), body)
		if strings.Contains(script, key) {
			t.Error("the script has the secret in it")
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Env = append(cmd.Environ(), "SECRET="+key)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, script)
		}
		if received != body {
			t.Errorf("received %q", received)
		}
		ms := got.Get("X-Acme-Timestamp")
		at, err := time.ParseDuration(ms + "ms")
		if err != nil {
			t.Fatal(err)
		}
		want := courier.Signer{Brand: "Acme"}.Headers(42, 1, time.UnixMilli(at.Milliseconds()), secrets, []byte(body))
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature", "X-Acme-Timestamp", "X-Acme-Signature"} {
			if got.Get(name) != want[name][0] {
				t.Errorf("%s is %q, want %q", name, got.Get(name), want[name][0])
			}
		}
	}
}

func TestAtLocalhost(t *testing.T) {
	if got := diagnose.AtLocalhost("https://a.example:8443/hook?x=1"); got != "http://localhost:3000/hook?x=1" {
		t.Errorf("got %s", got)
	}
}
