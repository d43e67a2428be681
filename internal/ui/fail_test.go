package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// unavailable is a temporary error.
type unavailable struct{}

func (unavailable) Error() string     { return "dial tcp 10.0.0.5: refused" }
func (unavailable) Unavailable() bool { return true }

// TestFailLeadsBack: an error page of an area links to the previous page in it, and to the start of
// the area; never to another site or to itself.
func TestFailLeadsBack(t *testing.T) {
	pages := sample(t)
	pages.Start = func(*http.Request) string { return "/console/" }
	for referer, back := range map[string]string{
		"http://example.com/console/licenses?q=a&b=1": `href="/console/licenses?q=a&amp;b=1">Go back<`,
		"http://example.com/console":                  `href="/console">Go back<`,
		"http://example.com/console/gone":             "", // itself
		"http://example.com/consoles":                 "",
		"http://example.com/account":                  "",
		"http://evil.example/console/licenses":        "",
		"":                                            "",
		"http://%zz":                                  "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com/console/gone", http.NoBody)
		r.Header.Set("Referer", referer)
		w := httptest.NewRecorder()
		pages.Fail(w, r, fault.New(fault.Missing, "unknown_license", "No such license."))
		body := w.Body.String()
		if !strings.Contains(body, `href="/console/">Go to the start page<`) {
			t.Errorf("from %q: the page does not lead to the start of the area:\n%s", referer, body)
		}
		if got := strings.Contains(body, "Go back"); got != (back != "") || !strings.Contains(body, back) {
			t.Errorf("from %q: want %q:\n%s", referer, back, body)
		}
	}
}

func TestFail(t *testing.T) {
	slow := fault.New(fault.Throttled, "slow", "Too many tries.")
	slow.After = 1500 * time.Millisecond
	for _, c := range []struct {
		name   string
		method string
		err    error
		status int
		has    []string
		not    []string
		retry  string
	}{
		{"fault", "GET", fault.New(fault.Conflict, "held", "This license is <held>."), 409, []string{"That did not work", "This license is &lt;held&gt;.", `href="/"`}, []string{"req_7", "Try again"}, ""},
		{"not for you", "GET", fault.New(fault.Forbidden, "x", "It is somebody else's."), 403, []string{"You don&#39;t have access to this page"}, []string{"req_7"}, ""},
		{"missing", "GET", fault.New(fault.Missing, "unknown_license", "No such license."), 404, []string{"Not found"}, []string{"req_7"}, ""},
		{"throttled", "GET", slow, 429, []string{"Please wait", "Too many tries.", "Try again"}, []string{"req_7"}, "2"},
		{"internal", "GET", errors.New("password is hunter2"), 500, []string{"Something went wrong", "req_7", "Try again"}, []string{"hunter2"}, ""},
		{"internal after a form", "POST", errors.New("password is hunter2"), 500, []string{"req_7"}, []string{"hunter2", "Try again</a>"}, ""},
		{"away", "GET", unavailable{}, 503, []string{"temporarily unavailable", "req_7", "Try again"}, []string{"10.0.0.5"}, "2"},
		{"too late", "GET", context.DeadlineExceeded, 503, []string{"temporarily unavailable"}, nil, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, note := wire.Begin(t.Context(), "req_7", "")
			w := httptest.NewRecorder()
			sample(t).Fail(w, httptest.NewRequestWithContext(ctx, c.method, "/x", nil), c.err)
			if w.Code != c.status || w.Header().Get("Retry-After") != c.retry {
				t.Errorf("status %d with Retry-After %q, want %d with %q", w.Code, w.Header().Get("Retry-After"), c.status, c.retry)
			}
			if !errors.Is(note.Err, c.err) {
				t.Errorf("noted %v", note.Err)
			}
			if w.Header().Get("Content-Security-Policy") == "" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("an error page without guard: %v", w.Header())
			}
			for _, s := range c.has {
				if !strings.Contains(w.Body.String(), s) {
					t.Errorf("no %q in\n%s", s, w.Body)
				}
			}
			for _, s := range c.not {
				if strings.Contains(w.Body.String(), s) {
					t.Errorf("%q in\n%s", s, w.Body)
				}
			}
		})
	}
}

// TestFailWhenTimeIsUp: after the deadline, any error is answered with 503.
func TestFailWhenTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	w := httptest.NewRecorder()
	sample(t).Fail(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), errors.New("scan: closed"))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
}

func TestFailAfterDisconnect(t *testing.T) {
	ctx, note := wire.Begin(t.Context(), "req_7", "")
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	w := httptest.NewRecorder()
	sample(t).Fail(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), context.Canceled)
	if w.Code != wire.StatusGone || !note.Gone || w.Body.Len() > 0 {
		t.Errorf("status %d, gone %v, body %q", w.Code, note.Gone, w.Body)
	}
}

func TestNotFound(t *testing.T) {
	got := get(t, site(t), "/nowhere")
	if body := read(t, got); got.StatusCode != http.StatusNotFound || !strings.Contains(body, "<h1>Page not found</h1>") {
		t.Errorf("status %d\n%s", got.StatusCode, body)
	}
}

// TestWrongMethod: opening the URL of a form shows an explanation.
func TestWrongMethod(t *testing.T) {
	for method, says := range map[string]string{"GET": "only receives a form", "HEAD": "", "PUT": "nothing was changed"} {
		got := ask(t, http.HandlerFunc(sample(t).WrongMethod), method, "/sign-out")
		body := read(t, got)
		if got.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(body, says) || method != "HEAD" && !strings.Contains(body, "<h1>This is not possible here</h1>") {
			t.Errorf("%s: %d\n%s", method, got.StatusCode, body)
		}
		if got.Header.Get("Content-Security-Policy") == "" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", method, got.Header)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	p := sample(t)
	p.PublicURL = "https://market.example/"
	inner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := p.SameOrigin(inner, "/openid/authorize")
	for _, c := range []struct {
		name    string
		method  string
		path    string
		headers []string
		status  int
	}{
		{"our own form", "POST", "/buy", []string{"Sec-Fetch-Site", "same-origin"}, 204},
		{"another site's form", "POST", "/buy", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a neighbour's form", "POST", "/buy", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"an old browser, our own", "POST", "/buy", []string{"Origin", "http://example.com"}, 204}, // httptest's Host
		{"an old browser, another site", "POST", "/buy", []string{"Origin", "https://evil.example"}, 403},
		{"an old browser, hidden", "POST", "/buy", []string{"Origin", "null"}, 403},
		{"behind a proxy that changes Host", "POST", "/buy", []string{"Origin", "https://market.example"}, 204},
		{"no browser", "POST", "/buy", nil, 204},
		{"a link from another site", "GET", "/buy", []string{"Sec-Fetch-Site", "cross-site"}, 204},
		{"exempt", "POST", "/openid/authorize", []string{"Sec-Fetch-Site", "cross-site"}, 204},
		{"exempt, with slash", "POST", "/openid/authorize/", []string{"Sec-Fetch-Site", "cross-site"}, 204},
		{"below the exempt", "POST", "/openid/authorize/decide", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ask(t, h, c.method, c.path, c.headers...)
			if got.StatusCode != c.status {
				t.Errorf("status %d, want %d", got.StatusCode, c.status)
			}
			if body := read(t, got); c.status == http.StatusForbidden && (!strings.Contains(body, "Open the page on Keys &amp; Co") || !strings.Contains(body, "<h1>This came from another site</h1>")) {
				t.Errorf("the page does not say what to do:\n%s", body)
			}
		})
	}
}
