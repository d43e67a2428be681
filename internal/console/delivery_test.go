package console_test

import (
	"html"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/visitor/pagetest"
)

// lastDelivery returns the event of Tide with the newest delivery.
func (h *harness) lastDelivery() int64 {
	h.Helper()
	return h.Count(`SELECT max(event_id) FROM deliveries WHERE partner_id = $1`, h.tide.ID)
}

// TestDeliveryPage: a delivery with its attempts, one attempt with its request and response, and an
// operator's resend.
func TestDeliveryPage(t *testing.T) {
	h := start(t)
	var status atomic.Int64
	status.Store(401)
	h.serveWith(&status)
	h.sell()
	list := h.waitFor(viewer, path("/deliveries?state=failing"), "401 Unauthorized")
	event := h.lastDelivery()
	link := path("/deliveries/%d?state=failing", event)
	if !strings.Contains(list.Body, `href="`+link+`"`) {
		t.Errorf("the list does not lead to %s:\n%s", link, list.Body)
	}
	page := h.as(viewer).Get(link)
	wants(t, page, http.StatusOK, "Tide Planner", "Attempt 1 of 1", "401", "The last attempt failed.", "The partner is told: Your server rejected", "webhook-id", "The text that was signed", "Timing", "First byte", "Next attempt", "Repeat it with curl", "/operator/v1/partners/")
	wantsNone(t, page, "Send again…", "</strong> Your server", "your webhook")
	attempt := h.Count(`SELECT max(id) FROM webhook_responses WHERE event_id = $1`, event)
	h.Exec(`UPDATE webhook_responses SET dns_us = 11000, connect_us = 22000, tls_us = 33000, first_byte_us = 44000 WHERE id = $1`, attempt)
	page = h.as(viewer).Get(path("/deliveries/%d/attempts/%d", event, attempt))
	wants(t, page, http.StatusOK, "Attempt 1 of 1", "DNS 11 ms Connect 22 ms TLS 33 ms First byte 44 ms")
	for _, unknown := range []string{path("/deliveries/%d/attempts/%d", event, attempt+77), path("/deliveries/77"), path("/deliveries/x"), path("/deliveries/%d/attempts/x", event)} {
		wants(t, h.as(viewer).Get(unknown), http.StatusNotFound)
	}
	wants(t, h.as(sales).Get(path("/deliveries/%d/send", event)), http.StatusNotFound)

	ask := h.as(support).Get(path("/deliveries/%d/send", event))
	wants(t, ask, http.StatusOK, "It is sent now to the partner's webhook URL", "It takes the place of the attempt that is scheduled for", "/operator/v1/events/")
	status.Store(200)
	h.as(support).Press(ask, "Send it again").WantRedirect(path("/deliveries/%d", event))
	page = h.waitFor(support, path("/deliveries/%d", event), "Delivered")
	wants(t, page, http.StatusOK, "Attempt 2 of 2", support+" sent it by hand, in place of the attempt", "The partner's server accepted this event.")
	wantsNone(t, h.as(member).Get("/portal/1/deliveries"), support)
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'event.redeliver' AND actor_kind = 'user' AND session <> ''`); n != 1 {
		t.Errorf("%d entries of the audit", n)
	}

	// The form is stale now: the event was sent and delivered.
	wants(t, h.as(support).Press(ask, "Send it again"), http.StatusConflict, "This has changed since the page was shown", "State was “failing” and is now “delivered”")
	wants(t, h.as(support).Post(path("/deliveries/%d/send", event)), http.StatusBadRequest, "The form was not sent whole")
	if n := h.Count(`SELECT count(*) FROM webhook_responses WHERE event_id = $1`, event); n != 2 {
		t.Errorf("a stale form sent it: %d attempts", n)
	}
}

// TestDeliveriesByEventAndLicense: the filters find an event or a license among those of all
// partners, at any time.
func TestDeliveriesByEventAndLicense(t *testing.T) {
	h := start(t)
	first, second := h.sell(), h.sell()
	event := h.lastDelivery()
	h.Exec(`UPDATE deliveries SET created_at = 1`)
	h.Exec(`UPDATE outbox SET created_at = 1`)
	wants(t, h.as(viewer).Get(path("/deliveries")), http.StatusOK, "Nothing in the last 24 hours")
	page := h.as(viewer).Get(path("/deliveries?license=%s", strings.ToUpper(first.Key)))
	wants(t, page, http.StatusOK, first.Key[len(first.Key)-8:])
	wantsNone(t, page, second.Key[len(second.Key)-8:])
	page = h.as(viewer).Get(path("/deliveries?id=evt_%d", event))
	wants(t, page, http.StatusOK, second.Key[len(second.Key)-8:])
	wantsNone(t, page, first.Key[len(first.Key)-8:])
	for _, query := range []string{"license=9b1f7a52-3c0e-4d38-8a86-2f4f6f5f7a10", "id=evt_77", "event=activate&range=all", "partner=77&range=all"} {
		wants(t, h.as(viewer).Get(path("/deliveries?%s", query)), http.StatusOK, "Nothing matches")
	}
}

// TestDeliveryPageIsLive: an open delivery page gets the next attempt, the list announces it if its
// filters match, and the partner's page shows the endpoint's health.
func TestDeliveryPageIsLive(t *testing.T) {
	h := start(t)
	var status atomic.Int64
	status.Store(503)
	h.serveWith(&status)
	h.sell()
	h.waitFor(viewer, path("/deliveries?state=failing"), "503 Service Unavailable")
	event := h.lastDelivery()
	reef, _ := h.Partner("Reef Log", profile.URLs{})
	h.Plans(reef.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	h.Buy(license.Purchase{PartnerID: reef.ID, Tier: 1, Buyer: &account.Person{Email: buyer}, ExternalID: "reef-1"})
	page, state := h.as(viewer).Get(path("/deliveries/%d", event)), h.as(viewer).Get(path("/partners/%d", h.tide.ID))
	wants(t, state, http.StatusOK, "Failing since")
	list, mine := h.as(viewer).Get(path("/deliveries")), h.as(viewer).Get(path("/deliveries?partner=%d&state=delivered", h.tide.ID))
	others, paused := h.as(viewer).Get(path("/deliveries?partner=%d", reef.ID)), h.as(viewer).Get(path("/deliveries?live=off"))
	wants(t, paused, http.StatusOK, "Paused.", "Follow what happens")
	wantsNone(t, paused, "Nothing matches")
	status.Store(200)
	h.as(support).Press(h.as(support).Get(path("/deliveries/%d/send", event)), "Send it again").WantRedirect(path("/deliveries/%d", event))
	h.wantTold(viewer, page, "server accepted this event")
	h.wantTold(viewer, state, "Healthy")
	wantsNone(t, h.as(viewer).Get(path("/partners/%d", h.tide.ID)), "Healthy Healthy")
	h.wantTold(viewer, list, "1 new, show")
	h.wantTold(viewer, mine, "1 new, show")
	h.Exec(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, diagnosis, created_at, updated_at)
		SELECT max(event_id), '', 500, 'no', 12, '', $2, '', max(created_at), max(created_at) FROM deliveries WHERE partner_id = $1`, reef.ID, false)
	h.wantTold(viewer, others, "1 new, show") // of its own
	state = h.as(viewer).Get(path("/partners/%d", h.tide.ID))
	status.Store(503)
	h.sell()
	h.wantTold(viewer, state, "Its server fails")
}

// wantTold follows the stream of a page until it gets a message.
func (h *harness) wantTold(email string, page *pagetest.Page, text string) {
	h.Helper()
	_, stream, ok := strings.Cut(page.Body, `hx-sse:connect="`)
	if !ok {
		h.Fatalf("the page has no stream:\n%s", page.Text())
	}
	stream, _, _ = strings.Cut(stream, `"`)
	answer := h.as(email).Send(h.Context(), http.MethodGet, html.UnescapeString(stream), nil, "same-origin")
	defer answer.Body.Close() //nolint:errcheck // the test has read the body
	var got strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(got.String(), text) {
		n, err := answer.Body.Read(buf)
		if got.Write(buf[:n]); err != nil {
			h.Fatalf("%v after %s", err, got.String())
		}
	}
	if !strings.Contains(got.String(), `hx-swap-oob="`) {
		h.Errorf("the page is sent %s", got.String())
	}
}
