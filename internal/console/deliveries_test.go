package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestDeliveriesOfAllPartners lists the failures of every partner, page by page, and resends those
// of one.
func TestDeliveriesOfAllPartners(t *testing.T) {
	h := start(t)
	var status atomic.Int64
	status.Store(503)
	h.serveWith(&status)
	reef, _ := h.Partner("Reef Log", profile.URLs{})
	h.Plans(reef.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	h.Buy(license.Purchase{PartnerID: reef.ID, Tier: 1, Buyer: &account.Person{Email: buyer}, ExternalID: "reef-1"})
	h.sell()
	page := h.waitFor(viewer, path("/deliveries?state=failing"), "503 Service Unavailable")
	wants(t, page, http.StatusOK, "Tide Planner", "503 Service Unavailable", "Failing")
	wantsNone(t, page, "Reef Log", "Recover what failed")
	wants(t, h.as(viewer).Get(path("/deliveries")), http.StatusOK, "Tide Planner", "Reef Log", "Waiting")
	wants(t, h.as(viewer).Get(path("/deliveries?state=waiting")), http.StatusOK, "Reef Log")
	wantsNone(t, h.as(viewer).Get(path("/deliveries?state=waiting")), "Tide Planner")
	one := path("/deliveries?partner=%d", h.tide.ID)
	wantsNone(t, h.as(support).Get(one), "Reef Log")
	wants(t, h.as(support).Get(one), http.StatusOK, "Recover what failed…")
	for query, want := range map[string]string{"partner=x": "id of a partner", "state=nonsense": "not one of the list", "code=999": "must be a status", "range=never": "not one of the list"} {
		wants(t, h.as(viewer).Get(path("/deliveries?%s", query)), http.StatusBadRequest, want)
	}

	// An operator without a membership resends the failures.
	h.Exec(`UPDATE outbox SET state = 3 WHERE partner_id = $1`, h.tide.ID)
	wants(t, h.as(viewer).Get(path("/deliveries?state=exhausted")), http.StatusOK, "Tide Planner")
	today := h.waitFor(support, path(""), "Events that were given up")
	wants(t, today, http.StatusOK, "1 event: 1 exhausted, 0 superseded.", "Send them again")
	status.Store(200)
	ask := h.as(support).Get(path("/recover/%d?state=failed", h.tide.ID))
	wants(t, ask, http.StatusOK, "It is about 1 event now.")
	answer := h.as(support).Press(ask, "Send them again")
	job := answer.Header.Get("Location")
	if answer.Status != http.StatusSeeOther || !strings.HasPrefix(job, path("/recover/%d/", h.tide.ID)) {
		t.Fatalf("%d to %s: %s", answer.Status, job, answer.Text())
	}
	done := h.waitFor(viewer, job, "Sent 1 of 1 event: 1 was delivered.")
	wants(t, done, http.StatusOK, "Done", "by "+support)
	if !regexp.MustCompile(`aria-current="page"[^>]*>Outages|/console/outages"[^>]*aria-current="page"`).MatchString(done.Body) {
		t.Errorf("the navigation does not say where the page belongs:\n%s", done.Body)
	}
	h.waitFor(viewer, path("/deliveries?state=delivered"), "Tide Planner")
	wants(t, h.as(support).Post(path("/recover/%d", h.tide.ID), "state", "delivered"), http.StatusUnprocessableEntity, "Events to send must be chosen from the list.")
	wants(t, h.as(support).Post(path("/recover/%d", h.tide.ID), "state", "failed", "rate", "0"), http.StatusUnprocessableEntity, "must be a whole number")
}

// TestSecondRedelivery: starting a second recovery links to the running one, by its name in the
// console.
func TestSecondRedelivery(t *testing.T) {
	h := start(t)
	h.Buy(license.Purchase{PartnerID: h.tide.ID, Tier: 1, Quantity: 10, ExternalID: "order-1"})
	h.Exec(`UPDATE outbox SET state = 3 WHERE partner_id = $1`, h.tide.ID)
	job := h.redelivery() // one event a second
	_, err := h.Redeliveries.Pause(h.Context(), apptest.Tester, h.tide.ID, job.ID)
	h.Must(err)
	page := h.as(support).Post(path("/recover/%d", h.tide.ID), "state", "failed", "rate", "1")
	wants(t, page, http.StatusConflict, fmt.Sprintf("Recovery %d of this partner is paused. Wait until it is done, or cancel it; then begin another.", job.ID))
	wantsNone(t, page, "Redelivery")
	at := path("/recover/%d/%d", h.tide.ID, job.ID)
	if got := page.Links(at)[at]; got != fmt.Sprintf("Look at recovery %d", job.ID) {
		t.Errorf("the link to the recovery is %q:\n%s", got, page.Body)
	}
}

// TestErrorsLeadBack: the 404 page links to the list before it and to the start of the console.
func TestErrorsLeadBack(t *testing.T) {
	h := start(t)
	for _, at := range []string{"/licenses/00000000-0000-4000-8000-000000000000", "/nothing"} {
		b := h.as(viewer)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+path("%s", at), http.NoBody)
		h.Must(err)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Referer", b.URL+path("/licenses"))
		answer, err := b.Client.Do(r)
		h.Must(err)
		page := b.Read(answer)
		wants(t, page, http.StatusNotFound)
		if page.Links("/console/licenses")["/console/licenses"] == "" || page.Links("/console/")["/console/"] != "Go to the start page" {
			t.Errorf("%s leads to %v", at, page.Links("/"))
		}
	}
}

// TestDeliveriesArePaged: the pages of a list of all partners follow one another.
func TestDeliveriesArePaged(t *testing.T) {
	h := start(t)
	for i := range 11 {
		h.Buy(license.Purchase{PartnerID: h.tide.ID, Tier: 1, Quantity: 10, ExternalID: fmt.Sprintf("order-%d", i)})
	}
	seen := 0
	for at := path("/deliveries"); at != ""; {
		page := h.as(viewer).Get(at)
		seen += strings.Count(page.Body, `href="/console/deliveries/`)
		at = ""
		for to := range page.Links("/deliveries?after=") {
			at = to
		}
		if seen > 200 {
			break
		}
	}
	if seen != 110 {
		t.Errorf("the pages have %d deliveries", seen)
	}
}
