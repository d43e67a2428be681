package ui_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ui"
	"claviger/internal/wire"
)

// shown returns a page as sent.
func shown(t *testing.T, p *ui.Pages, name string, v ui.View) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	if err := p.Render(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), name, v); err != nil {
		t.Fatal(err)
	}
	return w.Result(), w.Body.String()
}

func TestHeaders(t *testing.T) {
	const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'"
	for _, c := range []struct {
		name      string
		publicURL string
		formTo    []string
		csp, hsts string
	}{
		{"plain", "http://localhost:8080", nil, policy, ""},
		{"https", "https://market.example", nil, policy, "max-age=31536000"},
		{"form to a partner", "", []string{"https://acme.example", "http://127.0.0.1:9000", "acme:"}, policy + " https://acme.example http://127.0.0.1:9000 acme:", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sample(t)
			p.PublicURL = c.publicURL
			got, body := shown(t, p, "text", ui.View{Data: "Hello", FormTo: c.formTo, Status: http.StatusTeapot})
			if got.StatusCode != http.StatusTeapot {
				t.Errorf("status %d", got.StatusCode)
			}
			for name, want := range map[string]string{
				"Content-Security-Policy":   c.csp + "; frame-ancestors 'none'; base-uri 'none'",
				"Referrer-Policy":           "same-origin",
				"Cache-Control":             "no-store",
				"X-Frame-Options":           "DENY",
				"X-Content-Type-Options":    "nosniff",
				"Strict-Transport-Security": c.hsts,
				"Content-Type":              "text/html; charset=utf-8",
			} {
				if got := got.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			for _, inline := range []string{"<style", "style=", "onclick", "<script>"} {
				if strings.Contains(body, inline) {
					t.Errorf("the page has %s, which its own policy forbids", inline)
				}
			}
		})
	}
}

// TestFormToIsAnOrigin: a value saved by a partner must not add a directive.
func TestFormToIsAnOrigin(t *testing.T) {
	p := sample(t)
	for _, bad := range []string{"", "*", "https://a.example; script-src *", "https://a.example 'unsafe-inline'", "https://a.example/path?q", "'self'", "https://a.example,x"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err := p.Render(w, r, "text", ui.View{Data: "Hello", FormTo: []string{bad}}); err == nil {
			t.Errorf("%q was taken: %s", bad, w.Header().Get("Content-Security-Policy"))
		}
	}
}

func TestEverythingIsEscaped(t *testing.T) {
	const evil = `<script>alert("1")</script>`
	p := sample(t)
	p.Brand = evil
	_, body := shown(t, p, "text", ui.View{
		Title: evil, Person: evil, Notice: evil, Problem: evil, Data: evil,
		Menu: []ui.Item{{Label: evil, URL: "javascript:alert(1)"}},
	})
	if strings.Contains(body, "<script>") || strings.Contains(body, "javascript:") {
		t.Errorf("the page lets markup through:\n%s", body)
	}
	if n := strings.Count(body, "&lt;script&gt;"); n != 11 {
		t.Errorf("the text shows %d times, want 11: title, three times the brand, menu and person for either width, problem, notice, page\n%s", n, body)
	}
}

func TestAFailingTemplateSendsNothing(t *testing.T) {
	p := sample(t)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	err := p.Render(w, r, "broken", ui.View{Title: "Half", Data: struct{ Missing *http.Request }{}})
	if err == nil {
		t.Fatal("a template that asks for what is not there was shown")
	}
	if w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("half a page was sent: %v %s", w.Header(), w.Body)
	}
	if err := p.Render(w, r, "nowhere", ui.View{}); err == nil {
		t.Error("a page that does not exist was shown")
	}
}

// gone is a connection closed by its reader.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestDisconnectIsLogged(t *testing.T) {
	ctx, note := wire.Begin(t.Context(), "req_1", "")
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err := sample(t).Render(gone{httptest.NewRecorder()}, r, "text", ui.View{Data: "Hello"}); err == nil || !note.Gone {
		t.Errorf("error %v, gone %v", err, note.Gone)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"no page":             {},
		"a page that is none": {"a.html": {Data: []byte("{{if}}")}},
		"an unknown function": {"a.html": {Data: []byte("{{nothing}}")}},
		"a broken part":       {"a.html": {}, "_p.html": {Data: []byte(`{{define "x"}}`)}},
		"our own page's name": {"failure.html": {}},
	} {
		if _, err := ui.New(files, nil); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestShell(t *testing.T) {
	p := sample(t)
	if diff := cmp.Diff([]string{"all", "broken", "confirm", "failure", "filters", "form", "invitation", "list", "live", "secrets", "team", "text"}, p.Names()); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	v := full("Hello")
	v.NoIndex, v.Wide = true, true
	_, body := shown(t, p, "text", v)
	for _, want := range []string{
		`<html lang="en" data-zone="UTC">`, "<title>Sample · Keys &amp; Co</title>", `<a class="skip" href="#main">`, `<nav class="menu" aria-label="Main">`,
		`<a href="/all" aria-current="page">My licenses</a>`, `<form method="post" action="/sign-out">`, `<meta name="robots" content="noindex">`,
		`<main id="main" tabindex="-1" class="wide">`, `role="alert"><p>The receipt could not be sent.</p>`, `role="status"><p>Your license was activated.</p>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the shell has no %s", want)
		}
	}
	_, body = shown(t, p, "text", ui.View{Data: "Hello"})
	for _, not := range []string{`<nav class="menu"`, "top-small", "sign-out", "robots", "notice", "wide", " · "} {
		if strings.Contains(body, not) {
			t.Errorf("a page for nobody has %s:\n%s", not, body)
		}
	}
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
