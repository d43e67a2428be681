package ui_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"claviger/internal/ui"
	"claviger/internal/wire"
)

const partnerURL = "https://app.example/in?code=1"

// onward returns a page that redirects after wait.
func onward(to string, wait func()) ui.View {
	return ui.View{Title: "Moving on", Data: "Moving on", DelayedRedirect: &ui.DelayedRedirect{To: to, Wait: wait}}
}

// refreshes returns the targets of a page's automatic redirects.
func refreshes(t *testing.T, page string) []string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for n := range doc.Descendants() {
		attrs := map[string]string{}
		for _, a := range n.Attr {
			attrs[a.Key] = a.Val
		}
		if n.DataAtom == atom.Meta && attrs["http-equiv"] == "refresh" {
			list = append(list, attrs["content"])
		}
	}
	return list
}

// TestDelayedRedirect: the visible page is sent before the wait, and the redirect after it.
func TestDelayedRedirect(t *testing.T) {
	w := httptest.NewRecorder()
	before := ""
	view := onward(partnerURL, func() {
		before = w.Body.String()
		if !w.Flushed {
			t.Error("the page was not flushed before the wait")
		}
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err := sample(t).Render(w, r, "text", view); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>Moving on", "<h1>Moving on</h1>", "</footer>"} {
		if !strings.Contains(before, want) {
			t.Errorf("before the wait there is no %s in\n%s", want, before)
		}
	}
	if strings.Contains(before, "refresh") {
		t.Errorf("the browser is sent on before the wait:\n%s", before)
	}
	whole := w.Body.String()
	if got := refreshes(t, whole); len(got) != 1 || got[0] != "0; url="+partnerURL {
		t.Errorf("after the wait the browser is sent to %q", got)
	}
	h := w.Header()
	if h.Get("Content-Length") != strconv.Itoa(len(whole)) || h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "same-origin" ||
		!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Accel-Buffering") != "no" {
		t.Errorf("a page of %d bytes has the headers %v", len(whole), h)
	}
}

// TestDelayedRedirectAddress: any http or https URL reaches the browser unchanged, and no other
// does.
func TestDelayedRedirectAddress(t *testing.T) {
	for name, to := range map[string]string{
		"query":        "https://app.example/in?a=1&b=2&code=3",
		"entities":     "https://app.example/in?a=1&amp=2&copy;=3&lt;x",
		"odd":          `https://app.example/a;b,(c)'d|e=f?url=https://x.example/;x&%3Cb%3E=%22`,
		"beyond ASCII": "https://bücher.example/straße?q=日本&code=1",
		"breaking out": `https://app.example/"><script>alert(1)</script>`,
		"a second URL": "https://app.example/?;url=javascript:alert(1)",
		"plain http":   "http://127.0.0.1:3000/callback?code=1",
	} {
		t.Run(name, func(t *testing.T) {
			_, body := shown(t, sample(t), "text", onward(to, func() {}))
			if got := refreshes(t, body); len(got) != 1 || got[0] != "0; url="+to {
				t.Errorf("the browser is sent to %q, want %q", got, to)
			}
			if strings.Contains(body, "<script>") {
				t.Errorf("the address broke out:\n%s", body)
			}
		})
	}
	for _, bad := range []string{"javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "JAVASCRIPT:alert(1)"} {
		_, body := shown(t, sample(t), "text", onward(bad, func() {}))
		if strings.Contains(strings.ToLower(body), "alert(1)") {
			t.Errorf("the browser is sent to %s:\n%s", bad, body)
		}
	}
}

// TestDelayedRedirectIsRare: a page without a redirect has no refresh.
func TestDelayedRedirectIsRare(t *testing.T) {
	got, body := shown(t, sample(t), "text", ui.View{Data: "Hello"})
	if list := refreshes(t, body); len(list) > 0 || got.Header.Get("X-Accel-Buffering") != "" {
		t.Errorf("the browser is sent to %q, headers %v", list, got.Header)
	}
}

// plainWriter cannot flush.
type plainWriter struct {
	io.Writer
	header http.Header
}

func (w plainWriter) Header() http.Header { return w.header }
func (w plainWriter) WriteHeader(int)     {}

// TestDelayedRedirectWithoutFlush: without flush support, the page is sent complete.
func TestDelayedRedirectWithoutFlush(t *testing.T) {
	var b strings.Builder
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	waited := false
	if err := sample(t).Render(plainWriter{&b, http.Header{}}, r, "text", onward(partnerURL, func() { waited = true })); err != nil {
		t.Fatal(err)
	}
	if got := refreshes(t, b.String()); len(got) != 1 || !waited || !strings.HasSuffix(b.String(), "</html>\n") {
		t.Errorf("waited %v, sent on to %q by\n%s", waited, got, b.String())
	}
}

// TestDelayedRedirectAfterDisconnect: a client that disconnects is noted and gets nothing more.
func TestDelayedRedirectAfterDisconnect(t *testing.T) {
	ctx, note := wire.Begin(t.Context(), "req_7", "")
	ctx, leave := context.WithCancel(ctx)
	w := httptest.NewRecorder()
	err := sample(t).Render(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), "text", onward(partnerURL, leave))
	if err == nil || !note.Gone || len(refreshes(t, w.Body.String())) > 0 {
		t.Errorf("%v, gone %v, sent\n%s", err, note.Gone, w.Body)
	}
}
