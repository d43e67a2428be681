package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// wants checks the texts of a page.
func wants(t testing.TB, page *pagetest.Page, status int, texts ...string) {
	t.Helper()
	if page.Status != status {
		t.Errorf("the status is %d, not %d: %s", page.Status, status, page.Text())
	}
	for _, text := range texts {
		if !strings.Contains(page.Text(), text) {
			t.Errorf("no %q in %s", text, page.Text())
		}
	}
}

// wantsNone checks that texts are not on a page.
func wantsNone(t testing.TB, page *pagetest.Page, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page.Text(), text) {
			t.Errorf("%q in %s", text, page.Text())
		}
	}
}

// waitFor loads a page until it contains a text.
func (h *harness) waitFor(email, path, text string) *pagetest.Page {
	h.Helper()
	for {
		page := h.as(email).Get(path)
		if strings.Contains(page.Text(), text) {
			return page
		}
		if err := h.Context().Err(); err != nil {
			h.Fatalf("no %q in %s", text, page.Text())
		}
	}
}

// serveWith gives Tide the URLs of a server that answers webhooks with a status.
func (h *harness) serveWith(status *atomic.Int64) {
	h.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	h.Cleanup(server.Close)
	_, _, _, err := h.Profiles.Amend(h.Context(), apptest.Tester, h.tide.ID, partner.Change{}, profile.URLChange{Webhook: &server.URL}, false)
	h.Must(err)
}

// sell sells a license of Tide.
func (h *harness) sell() license.License {
	h.Helper()
	return h.Buy(license.Purchase{PartnerID: h.tide.ID, Tier: 1, Buyer: &account.Person{Email: buyer}, AmountCents: 4900, Currency: "USD", ExternalID: fmt.Sprintf("order-%d", time.Now().UnixNano())})
}

// setUp gives Tide a complete setup.
func (h *harness) setUp() {
	h.Helper()
	h.Today.Disk = func() (sqldb.Disk, bool) { return sqldb.Disk{}, false } // not the disk of this machine
	_, err := h.Profiles.AddContact(h.Context(), apptest.Tester, h.tide.ID, "Ops", "ops@tide.example")
	h.Must(err)
	h.Exec(`UPDATE profiles SET redirect_url = 'https://tide.example/back', redirect_valid_at = 1 WHERE partner_id = $1`, h.tide.ID)
}

// TestTodayFindsAParkedEndpoint follows an endpoint from the first page through "Try now" to an
// empty page.
func TestTodayFindsAParkedEndpoint(t *testing.T) {
	h := start(t)
	h.setUp()
	wants(t, h.as(viewer).Get(path("")), http.StatusOK, "Nothing to do")
	var status atomic.Int64
	status.Store(410)
	h.serveWith(&status)
	h.sell()
	page := h.waitFor(support, path(""), "Parked endpoints")
	wants(t, page, http.StatusOK, "Tide Planner", "410", "1 event waits.", "Next probe", "Try now")
	wantsNone(t, page, "Nothing to do", "Failing endpoints")
	wantsNone(t, h.as(sales).Get(path("")), "Try now")
	wants(t, h.as(viewer).Get(path("/outages?state=parked")), http.StatusOK, "Tide Planner", "Parked")
	wantsNone(t, h.as(viewer).Get(path("/outages?state=failing")), "Tide Planner")

	status.Store(200)
	h.as(support).Press(page, "Try now").WantRedirect(path("/outages"))
	h.waitFor(support, path("/outages"), "No endpoint fails")
	h.waitFor(viewer, path(""), "Nothing to do")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'endpoint.try' AND actor_kind = 'user' AND session <> ''`); n != 1 {
		t.Errorf("%d entries of the audit", n)
	}

	// The form is stale now: the endpoint no longer fails.
	stale := h.as(support).Press(page, "Try now")
	wants(t, stale, http.StatusConflict, "This has changed since the page was shown", "is now “not failing”")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'endpoint.try'`); n != 1 {
		t.Errorf("a stale form did something: %d entries", n)
	}
	wants(t, h.as(support).Post(path("/outages/%d/try", h.tide.ID)), http.StatusBadRequest, "The form was not sent whole")
}

// TestTodayNamesWhatIsNotSetUp: the page lists each thing that a partner lacks, and nothing of a
// paused partner.
func TestTodayNamesWhatIsNotSetUp(t *testing.T) {
	h := start(t)
	h.sell()
	page := h.as(viewer).Get(path(""))
	wants(t, page, http.StatusOK, "Buyers who cannot redeem", "1 license is sold and not redeemed.", "Partners without contacts")
	wantsNone(t, page, "URLs that were never validated", "Certificates near their end")
	h.Exec(`UPDATE profiles SET webhook_url = 'https://tide.example/hook', redirect_url = 'https://tide.example/back', certificate_until = $2 WHERE partner_id = $1`,
		h.tide.ID, h.Accounts.Now().Add(20*24*time.Hour))
	page = h.as(viewer).Get(path(""))
	wants(t, page, http.StatusOK, "URLs that were never validated", "The webhook URL.", "The redirect URL.", "Certificates near their end", "Valid until")
	wantsNone(t, page, "Buyers who cannot redeem")
	h.Exec(`UPDATE profiles SET certificate_until = $2 WHERE partner_id = $1`, h.tide.ID, h.Accounts.Now().Add(22*24*time.Hour))
	wantsNone(t, h.as(viewer).Get(path("")), "Certificates near their end")
	_, _, err := h.Profiles.Pause(t.Context(), apptest.Tester, h.tide.ID, "invoice 77 is unpaid")
	h.Must(err)
	wants(t, h.as(viewer).Get(path("")), http.StatusOK, "Nothing to do")
}

// TestTodayNamesWhatTheServiceLacks: jobs, keys and emails.
func TestTodayNamesWhatTheServiceLacks(t *testing.T) {
	h := start(t)
	h.setUp()
	h.waitFor(viewer, path("/jobs"), "when the service starts") // the keys were made
	mail := h.givenUp()
	h.Exec(`UPDATE oauth_keys SET activates_at = $1 WHERE activates_at <> 0 AND alg = 'RS256'`, h.Accounts.Now().Add(-336*24*time.Hour))
	h.Exec(`INSERT INTO job_runs (job, node, began_at, took_us, next_at, succeeded_at, failed_since, error) VALUES ('exports', 'one', 1, 1, 1, 1, 1, 'no space')`)
	page := h.as(admin).Get(path(""))
	wants(t, page, http.StatusOK, "Jobs that failed", "exports", "no space", "Signing keys near their end", "It signs with RS256.", "Mails that were given up", "ops@tide.example: Webhooks fail (no such mailbox)")
	wantsNone(t, page, "ES256")
	h.as(support).Press(h.as(support).Get(path("/mails/%d", mail)), "Dismiss").WantRedirect(path("/mails"))
	wantsNone(t, h.as(admin).Get(path("")), "Mails that were given up")
}

// TestTodayNamesAFullDisk: a large disk that is nearly full and a small one that is not are not
// listed.
func TestTodayNamesAFullDisk(t *testing.T) {
	h := start(t)
	h.setUp()
	const gb = 1 << 30
	for _, c := range []struct {
		disk sqldb.Disk
		full bool
	}{{sqldb.Disk{Free: 5 * gb, Total: 1000 * gb}, false}, {sqldb.Disk{Free: 5*gb - 1, Total: 1000 * gb}, true}, {sqldb.Disk{Free: gb, Total: 10 * gb}, false}, {sqldb.Disk{Free: gb - 1, Total: 10 * gb}, true}} {
		h.Today.Disk = func() (sqldb.Disk, bool) { return c.disk, true }
		if got := strings.Contains(h.as(viewer).Get(path("")).Text(), "The disk is nearly full"); got != c.full {
			t.Errorf("%+v: %t", c.disk, got)
		}
	}
}

// TestTodayIsBounded: with many partners, ten are listed and the rest is counted.
func TestTodayIsBounded(t *testing.T) {
	h := start(t)
	for range 40 {
		h.Partner("Another", profile.URLs{})
	}
	wants(t, h.as(viewer).Get(path("")), http.StatusOK, "Partners without contacts", "31 more")
}

// TestTodayIsLive: an open page is updated when the items change.
func TestTodayIsLive(t *testing.T) {
	h := start(t, func(cfg *app.Config) { cfg.ParkAfter = time.Hour })
	h.setUp()
	page := h.as(viewer).Get(path(""))
	h.givenUp()
	h.wantTold(viewer, page, "Mails that were given up")
}
