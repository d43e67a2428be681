package shop_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html/atom"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// annAndSlowApplication returns Ann with a license of an application that accepts webhooks. Nothing
// delivers them; the test does.
func annAndSlowApplication(t *testing.T, glance, patience time.Duration) (*pagetest.Service, *pagetest.Browser, license.License) {
	t.Helper()
	h, b, l := annAndLicense(t)
	h.Shop.ShowAfter, h.Shop.WaitAtMost = glance, patience
	hook := "https://tide.example/hook"
	h.RedirectURL = "https://tide.example/in?a=1&b=%C3%BC&copy=2;c=(d)'" // as a partner may save it
	if _, _, _, err := h.Shop.OAuth.Profiles.Amend(t.Context(), pagetest.Tester, h.Partner.ID, nothing, profile.URLChange{Webhook: &hook, Redirect: &h.RedirectURL}, false); err != nil {
		t.Fatal(err)
	}
	return h, b, l
}

// told records the first attempt of each webhook.
func told(h *pagetest.Service, l license.License) {
	h.Helper()
	err := h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE outbox SET attempts = 1 WHERE license_id = $1`, l.ID)
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
}

// stays fails the test if something comes before the application was told.
func stays[T any](h *pagetest.Service, l license.License, came <-chan T) {
	h.Helper()
	untold := func() int64 {
		n, err := sqldb.One(h.Context(), h.DB, sqldb.Value[int64],
			`SELECT count(*) FROM outbox AS o JOIN deliveries AS d ON d.event_id = o.event_id WHERE o.license_id = $1 AND o.state = 1 AND d.kind = 2`, l.ID)
		if err != nil {
			h.Fatal(err)
		}
		return n
	}
	for untold() == 0 {
	}
	for range 500 { // far longer than an answer without a wait
		untold()
		select {
		case <-came:
			h.Fatal("the buyer was sent on before the application was told")
		default:
		}
	}
}

// allow consents on the page of a license and returns the answer to be read.
func allow(ctx context.Context, b *pagetest.Browser, l license.License) *http.Response {
	b.Helper()
	return b.Send(ctx, http.MethodPost, consentPage(l), url.Values{"decision": {"allow"}}, "same-origin")
}

// begins reads an answer up to the end of the visible page.
func begins(b *pagetest.Browser, answer *http.Response) string {
	b.Helper()
	var text strings.Builder
	for part := make([]byte, 4096); !strings.Contains(text.String(), "</footer>"); {
		n, err := answer.Body.Read(part)
		text.Write(part[:n])
		if err != nil {
			b.Fatalf("%d with %q ended by %v", answer.StatusCode, text.String(), err)
		}
	}
	return text.String()
}

// goesOn returns the target of the page's refresh, or "".
func goesOn(s *pagetest.Page) string {
	s.Helper()
	for _, n := range s.All(atom.Meta) {
		if pagetest.Attr(n, "http-equiv") == "refresh" {
			to, _ := strings.CutPrefix(pagetest.Attr(n, "content"), "0; url=")
			return to
		}
	}
	return ""
}

// connects checks that the page names the target and the purpose, and that the browser goes there
// automatically with a code, as by the link.
func connects(s *pagetest.Page, h *pagetest.Service) {
	s.Helper()
	s.Want(http.StatusOK, "Connecting you to Tide Planner…")
	rest, ok := strings.CutPrefix(goesOn(s), h.RedirectURL+"&code=")
	code, iss, _ := strings.Cut(rest, "&iss=")
	if !ok || len(code) != 64 || iss != url.QueryEscape(h.URL) {
		s.Fatalf("the browser is sent on to %q, want %q with a code and the issuer", goesOn(s), h.RedirectURL)
	}
	h.AddSecret(code)
	if !strings.Contains(s.Text(), "We are sending your license to Tide Planner. This takes at most a second.") {
		s.Errorf("the page says %s", s.Text())
	}
	for _, link := range s.All(atom.A) {
		if pagetest.Words(link) != "Continue to Tide Planner" {
			continue
		}
		// html/template escapes some characters of a link differently.
		there, err := url.PathUnescape(pagetest.Attr(link, "href"))
		if want, _ := url.PathUnescape(goesOn(s)); err != nil || there != want {
			s.Errorf("the link leads to %q, %v", there, err)
		}
		return
	}
	s.Error("the page has no link to go on by hand")
}

// TestRedirectAfterFirstAttempt: the buyer is sent to the application only after it was told of the
// license. If that is soon, no page is shown.
func TestRedirectAfterFirstAttempt(t *testing.T) {
	h, b, l := annAndSlowApplication(t, time.Hour, 2*time.Hour)
	page := b.Get(consentPage(l))
	sent := make(chan *pagetest.Page, 1)
	go func() { sent <- b.Press(page, "Allow and continue") }()
	stays(h, l, sent)
	told(h, l)
	s := <-sent
	if to := s.Header.Get("Location"); s.Status != http.StatusSeeOther || !strings.HasPrefix(to, h.RedirectURL+"&code=") {
		t.Errorf("got %d to %q", s.Status, to)
	}
}

// TestConnectingPage: a waiting buyer sees the reason, and continues when the application has been
// told.
func TestConnectingPage(t *testing.T) {
	h, b, l := annAndSlowApplication(t, 0, time.Hour)
	answer := allow(t.Context(), b, l)
	defer func() { _ = answer.Body.Close() }()
	before := begins(b, answer)
	rest := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		rest <- string(text)
	}()
	stays(h, l, rest)
	told(h, l)
	after := <-rest
	if after == "" || goesOn(b.ReadPage(answer, before)) != "" {
		t.Errorf("the page came as %q and %q", before, after)
	}
	connects(b.ReadPage(answer, before+after), h)
	if now := stored(h, l); now.Status != event.Active {
		t.Errorf("the license is %s", now.Status)
	}
}

// TestConnectingWithoutAnswer: an unreachable application costs the buyer WaitAtMost, and no more.
func TestConnectingWithoutAnswer(t *testing.T) {
	h, b, l := annAndSlowApplication(t, 0, time.Millisecond)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second) // before the request's own timeout
	defer stop()
	answer := allow(ctx, b, l)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	connects(b.ReadPage(answer, string(text)), h)
	// A buyer who consented before comes the same way.
	connects(b.Press(b.Get(pagetest.RedeemPath(l)), "Open Tide Planner"), h)
}

// TestConnectingLeavesTheNotice: a pending notice is not shown on a page that disappears too soon
// to be read.
func TestConnectingLeavesTheNotice(t *testing.T) {
	h, b, l := annAndSlowApplication(t, 0, time.Millisecond)
	b.Post(consentPage(l), "decision", "cancel").WantRedirect("/licenses")
	connects(b.Post(consentPage(l), "decision", "allow"), h)
	if text := b.Get("/licenses").Text(); !strings.Contains(text, "Nothing was connected") {
		t.Errorf("the notice is lost: %s", text)
	}
}

// TestNothingIsShown: no page is shown to programs that requested a mere redirect, or with a
// refusal.
func TestNothingIsShown(t *testing.T) {
	h, b, l := annAndSlowApplication(t, 0, time.Millisecond)
	connects(b.Post(consentPage(l), "decision", "allow"), h)
	for name, s := range map[string]*pagetest.Page{
		"code":          b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))),
		"access_denied": b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "consent"))), "Cancel"),
	} {
		to := s.Header.Get("Location")
		if s.Status != http.StatusSeeOther || !strings.HasPrefix(to, h.RedirectURL+"&") || !strings.Contains(to, name) {
			t.Errorf("%s: got %d to %q", name, s.Status, to)
		}
	}
}

// TestBuyerDisconnects: if the buyer leaves while the page is shown, the request ends, and its log
// line says so.
func TestBuyerDisconnects(t *testing.T) {
	h, b, l := annAndSlowApplication(t, 0, time.Hour)
	ctx, leave := context.WithCancel(t.Context())
	answer := allow(ctx, b, l)
	begins(b, answer)
	leave()
	_ = answer.Body.Close()
	line := ""
	for line == "" {
		for text := range strings.Lines(h.Log.String()) {
			if strings.Contains(text, `"method":"POST","route":"/licensing/{id}/consent"`) {
				line = text
			}
		}
	}
	if !strings.Contains(line, `"client_gone":true`) || !strings.Contains(line, `"status":200`) || !strings.Contains(line, `"level":"INFO"`) {
		t.Errorf("the line of the request is %s", line)
	}
}
