package app_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/profile"
)

func TestEgressSettings(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct{ name, value, says string }{
		{"egress-proxy", "proxy:3128", "http or https proxy"},
		{"egress-proxy", "socks5://u:hidden@proxy:1080", "http or https proxy"},
		{"egress-proxy", "http://u:hidden@proxy:3128/path", "http or https proxy"},
		{"ca-file", filepath.Join(t.TempDir(), "none.pem"), "cannot be read"},
		{"ca-file", empty, "has no certificate"},
	} {
		_, _, err := app.Load(app.Serve, app.Sources{Flags: map[string]string{try.name: try.value}})
		if err == nil || !strings.Contains(err.Error(), try.says) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s %s: %v", try.name, try.value, err)
		}
	}
}

// TestPrivateAuthority: a partner with a certificate of a private authority is called with ca-file,
// by the client that posts webhooks.
func TestPrivateAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		file  string
		known bool
	}{{"", false}, {file, true}} {
		h := apptest.New(t, func(c *app.Config) { c.CAFile = try.file })
		p, _ := h.Partner("App", profile.URLs{})
		_, _, _, err := h.Profiles.SetURLs(t.Context(), audit.System("test"), p.ID, profile.URLChange{Redirect: &server.URL})
		if known := err == nil || !strings.Contains(err.Error(), "certificate"); known != try.known {
			t.Errorf("with the file %q: %v", try.file, err)
		}
	}
}
