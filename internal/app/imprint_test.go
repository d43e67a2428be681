package app_test

import (
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"claviger/internal/app"
)

// TestImprint: the pages show the settings about the marketplace.
func TestImprint(t *testing.T) {
	logo := filepath.Join(t.TempDir(), "logo.png")
	f, err := os.Create(logo)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, image.NewNRGBA(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	a := serving(t, func(c *app.Config) {
		c.LegalName, c.SupportURL, c.TermsURL, c.PrivacyURL = "Acme Software GmbH", "mailto:help@example.com", "https://example.com/terms", "https://example.com/privacy"
		c.Logo, c.Accent = logo, "#1b4173"
	})
	page := body(t, a, "/", http.StatusOK)
	for _, want := range []string{
		"<p>Acme Software GmbH</p>", `<a href="mailto:help@example.com">Support</a>`, `<a href="https://example.com/terms">Terms</a>`,
		`<a href="https://example.com/privacy">Privacy</a>`, `<link rel="stylesheet" href="/brand/`, `<img src="/brand/`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the front page lacks %s:\n%s", want, page)
		}
	}
	_, rest, _ := strings.Cut(page, `href="/brand/`)
	sheet, _, _ := strings.Cut(rest, `"`)
	if css := body(t, a, "/brand/"+sheet, http.StatusOK); !strings.Contains(css, "#1b4173") {
		t.Errorf("the style sheet is %s", css)
	}
	if look := a.Services().Mail.Look; look.Accent != "#1b4173" || !strings.HasPrefix(look.Logo, "http") {
		t.Errorf("mails look like %+v", look)
	}
	if page := body(t, a, "/nowhere", http.StatusNotFound); !strings.Contains(page, "Contact support") || !strings.Contains(page, `<a href="/sign-in">Sign in</a>`) {
		t.Errorf("the page of an unknown path is %s", page)
	}
}

// TestWellKnown: the paths that browsers and search engines expect on every site.
func TestWellKnown(t *testing.T) {
	a := serving(t, nil)
	if text := body(t, a, "/robots.txt", http.StatusOK); !strings.Contains(text, "Disallow: /\n") || !strings.Contains(text, "Allow: /products/\n") {
		t.Errorf("robots.txt is %s", text)
	}
	for from, to := range map[string]string{"/favicon.ico": "/assets/", "/.well-known/change-password": "/account/password"} {
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.Get("http://" + a.Addr() + from) //nolint:noctx // ends with the test's server
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusFound || !strings.HasPrefix(res.Header.Get("Location"), to) {
			t.Errorf("%s: %d to %s", from, res.StatusCode, res.Header.Get("Location"))
		}
	}
}

// serving starts the service.
func serving(t *testing.T, change func(*app.Config)) *app.App {
	t.Helper()
	cfg := config(t)
	if change != nil {
		change(&cfg)
	}
	a, stop := run(t, cfg)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// body requests a page as a browser does.
func body(t *testing.T, a *app.App, path string, status int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return string(text)
}
