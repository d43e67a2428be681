package portal_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/requestlog"
	"claviger/internal/visitor/pagetest"
)

func init() {
	forms["/overview/try"] = func(*harness, partner.Partner) url.Values { return url.Values{} }
}

// endpoint gives Tide a webhook URL that answers with a status.
func (h *harness) endpoint(status *atomic.Int64) {
	h.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	h.Cleanup(server.Close)
	_, _, _, err := h.Profiles.Amend(h.Context(), apptest.Tester, h.tide.ID, partner.Change{}, profile.URLChange{Webhook: &server.URL}, false)
	h.Must(err)
}

// waitFor loads the overview until it contains a text.
func (h *harness) waitFor(text string) string {
	h.Helper()
	for {
		page := h.as(developer).Get(h.path("/overview"))
		if strings.Contains(page.Text(), text) {
			return page.Text()
		}
		if err := h.Context().Err(); err != nil {
			h.Fatalf("no %q in %s", text, page.Text())
		}
	}
}

// TestOverview follows an endpoint from an empty page through a failure to its recovery.
func TestOverview(t *testing.T) {
	h := start(t, func(cfg *app.Config) {
		cfg.Retry, cfg.ParkAfter, cfg.ProbeEvery = []time.Duration{time.Hour, 24 * time.Hour}, 90*time.Minute, 5*time.Minute
	})
	page := h.as(viewer).Get(h.path("/overview"))
	wants(t, page, http.StatusOK, "No webhook URL is set", "1 hour and 30 minutes", "in 5 attempts or more", "every 5 minutes", "3 times in all, over about 1 day and 1 hour", "/v2/stats")

	var status atomic.Int64
	status.Store(401)
	h.endpoint(&status)
	_, err := h.Partners.Rotate(t.Context(), apptest.Tester, h.tide.ID, partner.WebhookSecret, 0)
	h.Must(err)
	h.sell(h.tide)
	h.sell(h.reef)
	text := h.waitFor("Failing since")
	for _, want := range []string{
		"401", "1 event waits.", "Try now", "1 delivery, one cause", "401 Unauthorized from your server since",
		"right after this at", "Rotated the webhook secret", "Failed 1 failed attempt, the last at",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(h.as(viewer).Get(h.path("/overview")).Text(), "Try now") {
		t.Error("a viewer may have it tried")
	}
	h.wantZone("/overview", "/deliveries", "/deliveries/"+eventOf(h, h.tide), "/deliveries/"+eventOf(h, h.tide)+"/send", "/requests", "/audit")

	status.Store(200)
	h.as(developer).Post(h.path("/overview/try")).WantRedirect(h.path("/overview"))
	text = h.waitFor("Healthy")
	if !strings.Contains(text, "No event waits.") || strings.Contains(text, "one cause") || !strings.Contains(text, "Had the webhook URL tried immediately.") {
		t.Errorf("after it was mended: %s", text)
	}
}

// TestOverviewBlamesNoActBeforeASuccess: an act before the last success did not break the endpoint.
func TestOverviewBlamesNoActBeforeASuccess(t *testing.T) {
	h := start(t, func(cfg *app.Config) { cfg.Retry = []time.Duration{time.Hour} })
	var status atomic.Int64
	status.Store(200)
	h.endpoint(&status)
	_, err := h.Partners.Rotate(t.Context(), apptest.Tester, h.tide.ID, partner.WebhookSecret, 0)
	h.Must(err)
	h.sell(h.tide)
	h.waitFor("Healthy")
	status.Store(401)
	h.sell(h.tide)
	if text := h.waitFor("1 delivery, one cause"); strings.Contains(text, "right after this at") {
		t.Errorf("an act before a success is blamed: %s", text)
	}
}

// clockTime matches a time of day with its zone.
var clockTime = regexp.MustCompile(` \d\d:\d\d(?::\d\d)?(?: ([A-Z]+))?\b`)

// bareTime matches a time in a sentence without its own element.
var bareTime = regexp.MustCompile(`(?:since|for|at|until) (?:\d[^<]{0,14})?\d\d:\d\d`)

// wantZone checks that a person in India reads every time of the pages in their zone, also in
// sentences, charts and filters, and that sentences offer UTC.
func (h *harness) wantZone(pages ...string) {
	h.Helper()
	site, err := url.Parse(h.web.URL)
	h.Must(err)
	b := h.web.NewBrowser().SignIn(developer, password)
	b.Jar.SetCookies(site, []*http.Cookie{{Name: "claviger-zone", Value: "Asia/Kolkata"}})
	for i := range 2 { // a second unauthenticated call, so that they form a group
		h.Requests.Refused(requestlog.Call{PartnerID: h.tide.ID, Method: "POST", Path: "/openid/token", Status: 401, Code: "invalid_client", RequestID: fmt.Sprint("req_", i)})
	}
	h.Must(h.Requests.Flush(h.Context()))
	for _, path := range pages {
		page := b.Get(h.path("%s", path))
		found := clockTime.FindAllStringSubmatch(page.Text(), -1)
		for _, at := range found {
			if at[1] != "IST" {
				h.Errorf("%s has the time %q", path, at[0])
			}
		}
		if at := bareTime.FindString(page.Body); at != "" {
			h.Errorf("%s has a time in a sentence without UTC at hand: %q", path, at)
		}
		if page.Status != http.StatusOK || len(found) == 0 {
			h.Errorf("%s is answered %d and has no time: %s", path, page.Status, page.Text())
		}
	}
	// Typed times are in the person's zone; the URL has UTC, for other readers.
	const inUTC = "from=2026-11-16T10%3A00%3A00Z"
	for _, list := range []string{"/deliveries?range=span&", "/licenses?", "/requests?"} {
		typed := b.Get(h.path("%s", list+"from=2026-11-16T15:30"))
		if typed.Status != http.StatusSeeOther || !strings.Contains(typed.Header.Get("Location"), inUTC) {
			h.Errorf("a time typed at %s leads to %d %s", list, typed.Status, typed.Header.Get("Location"))
		}
		shown := b.Follow(typed)
		if got := pagetest.Attr(shown.Input("from"), "value"); got != "2026-11-16T15:30" || !strings.Contains(shown.Text(), "16 Nov 2026, 15:30 IST") {
			h.Errorf("the filter of %s shows %q", list, got)
		}
	}
}

// bounded turns on the limits that testMoney turns off.
func bounded(cfg *app.Config) { cfg.TestMoney = false }

// TestTryNowIsLimited: neither the page nor the API lets anyone hammer a server; both count as URL
// checks.
func TestTryNowIsLimited(t *testing.T) {
	h := start(t, bounded)
	for range profile.MaxChecks - 1 {
		h.as(developer).Post(h.path("/overview/try")).WantRedirect(h.path("/overview"))
	}
	h.Must(h.Webhooks.TryNow(t.Context(), apptest.Tester, h.tide.ID)) // as the API does
	if got := h.as(developer).Post(h.path("/overview/try")); got.Status != http.StatusTooManyRequests {
		t.Errorf("the eleventh try of ten minutes: %d", got.Status)
	}
	if err := h.Webhooks.TryNow(t.Context(), apptest.Tester, h.tide.ID); !fault.Is(err, "too_many_checks") {
		t.Errorf("by the API: %v", err)
	}
}

// TestOverviewStates checks the texts of every state.
func TestOverviewStates(t *testing.T) {
	h := start(t)
	var status atomic.Int64
	status.Store(410)
	h.endpoint(&status)
	wants(t, h.as(viewer).Get(h.path("/overview")), http.StatusOK, "Ready, and nothing was sent yet")
	h.sell(h.tide)
	h.waitFor("Parked, next probe at")
	_, _, err := h.Profiles.Pause(t.Context(), apptest.Tester, h.tide.ID, "invoice 77 is unpaid")
	h.Must(err)
	page := h.as(viewer).Get(h.path("/overview"))
	wants(t, page, http.StatusOK, "Paused by the marketplace")
	if strings.Contains(page.Body, "invoice 77") {
		t.Error("the reason is the operator's own")
	}
}

// TestOverviewFragment: the update is a part of the page, with its charts, and not the whole page.
func TestOverviewFragment(t *testing.T) {
	h := start(t)
	cookie := h.as(viewer).Cookie()
	answer := apptest.Send(t, http.DefaultClient, "GET", h.App.URL()+h.path("/overview?hours=168"), "",
		"Cookie: "+cookie.Name+"="+cookie.Value, "HX-Request: true", "HX-Request-Type: partial").Body
	if !strings.Contains(answer, `id="now"`) || strings.Contains(answer, "<html") || !strings.Contains(answer, "Licenses per day") {
		t.Errorf("the fragment is %s", answer)
	}
	wants(t, h.as(viewer).Get(h.path("/overview?hours=168")), http.StatusOK, "7 days", "Licenses per day (UTC)")
}
