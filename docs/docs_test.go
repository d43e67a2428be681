package docs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"claviger/docs"
)

// market answers as the marketplace does: tokens for one code, and a license for its
// token.
func market(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{"error": "invalid_grant", "error_description": "The code is used up."}
		switch {
		case r.URL.Path == "/openid/license_key/" && r.Header.Get("Authorization") == "Bearer token-1":
			answer = map[string]string{"license_key": "key-1"}
		case r.URL.Path == "/openid/token/" && r.PostFormValue("code") == "a b&c" && r.PostFormValue("grant_type") == "authorization_code" &&
			r.PostFormValue("redirect_uri") == "https://app.example.com/callback" && r.PostFormValue("client_id") == "my-client-id" && r.PostFormValue("client_secret") == "s3cret":
			answer = map[string]string{"access_token": "token-1", "error": ""}
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// programs run a sample of connect.md with a code given as argument: they print the
// license's key, or fail with what was refused.
var programs = map[string]struct {
	command       []string
	file          string
	before, after string
}{
	"go": {
		[]string{"go", "run"},
		"main.go",
		"package main\n\nimport (\n\"encoding/json\"\n\"fmt\"\n\"net/http\"\n\"net/url\"\n\"os\"\n)\n\n",
		"\n\nfunc main() {\nkey, err := licenseOf(os.Args[1])\nif err != nil {\npanic(err)\n}\nfmt.Println(key)\n}\n",
	},
	"js":     {[]string{"node"}, "main.js", "", "\n\nlicenseOf(process.argv[2]).then(console.log);\n"},
	"python": {[]string{"python3"}, "main.py", "", "\n\nimport sys\nprint(license_of(sys.argv[1]))\n"},
	"php":    {[]string{"php"}, "main.php", "<?php\n", "\necho license_of($argv[1]), \"\\n\";\n"},
}

// TestExchangeSamples runs the samples of connect.md that exchange a code.
func TestExchangeSamples(t *testing.T) {
	url := market(t)
	for language, p := range programs {
		t.Run(language, func(t *testing.T) {
			if _, err := exec.LookPath(p.command[0]); err != nil {
				t.Skipf("there is no %s", p.command[0])
			}
			blocks := docs.Blocks(docs.Connect, language)
			if len(blocks) != 1 {
				t.Fatalf("connect.md has %d blocks of %s", len(blocks), language)
			}
			file := filepath.Join(t.TempDir(), p.file)
			text := p.before + strings.ReplaceAll(blocks[0], "https://market.example", url) + p.after
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(code string) (string, error) {
				cmd := exec.CommandContext(t.Context(), p.command[0], append(p.command[1:], file, code)...)
				cmd.Env = append(os.Environ(), "CLIENT_SECRET=s3cret")
				out, err := cmd.CombinedOutput()
				return strings.TrimSpace(string(out)), err
			}
			if out, err := run("a b&c"); err != nil || out != "key-1" {
				t.Errorf("it says %q, %v", out, err)
			}
			if out, err := run("another"); err == nil || !strings.Contains(out, "The code is used up.") {
				t.Errorf("a refused code: %q, %v", out, err)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	for _, language := range []string{"go", "js", "python", "php"} {
		if n := len(docs.Blocks(docs.Webhooks, language)); n != 2 {
			t.Errorf("webhooks.md has %d blocks of %s", n, language)
		}
	}
}
