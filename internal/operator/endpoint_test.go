package operator_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/api"
	"claviger/internal/apptest"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/wire/wiretest"
)

// endpointState is the endpoint in the answer of GET /partners/{id}.
type endpointState struct {
	State         string `json:"state"`
	FailingSince  string `json:"failing_since"`
	ParkedAt      string `json:"parked_at"`
	Waiting       int64  `json:"waiting"`
	WaitingMore   bool   `json:"waiting_more"`
	LastSuccessAt string `json:"last_success_at"`
	LastErrorAt   string `json:"last_error_at"`
	LastError     string `json:"last_error"`
}

func (h *harness) endpointState() endpointState {
	h.Helper()
	var v struct{ Endpoint endpointState }
	a := h.send(h.tokens[account.Read], "GET", "/operator/v1/partners/1", "")
	a.Into(h, &v)
	return v.Endpoint
}

// TestEndpointState follows an endpoint from before it has a URL until it is parked and back.
func TestEndpointState(t *testing.T) {
	h := newHarness(t)
	var status atomic.Int64
	status.Store(http.StatusOK)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(srv.Close)
	log := h.dispatch()
	if got := h.endpointState(); got != (endpointState{State: "no_url"}) {
		t.Errorf("at first: %+v", got)
	}
	h.buy("order-1")
	if got := h.endpointState(); got != (endpointState{State: "no_url", Waiting: 1}) {
		t.Errorf("without a URL: %+v", got)
	}
	h.must(200, "PATCH", "/operator/v1/partners/1", `{"webhook_url":"`+srv.URL+`"}`)
	log.want(t, "what waited", "1 delivered")
	if got := h.endpointState(); got.LastSuccessAt == "" || got != (endpointState{State: "healthy", LastSuccessAt: got.LastSuccessAt}) {
		t.Errorf("after a success: %+v", got)
	}

	status.Store(http.StatusInternalServerError)
	h.buy("order-2")
	log.want(t, "a failure", "2 exhausted")
	got := h.endpointState()
	if got.State != "failing" || got.FailingSince == "" || got.LastErrorAt == "" || !strings.Contains(got.LastError, "500") || got.Waiting != 0 || got.LastSuccessAt == "" {
		t.Errorf("after a failure: %+v", got)
	}

	status.Store(http.StatusGone)
	h.buy("order-3")
	log.want(t, "a refusal for good", "3 exhausted")
	h.buy("order-4")
	if got = h.endpointState(); got.State != "parked" || got.ParkedAt == "" || !strings.Contains(got.LastError, "410") || got.Waiting != 1 {
		t.Errorf("parked: %+v", got)
	}

	h.must(200, "POST", "/operator/v1/partners/1/pause", `{"reason":"Unpaid"}`)
	if got = h.endpointState(); got.State != "paused" || got.Waiting != 1 {
		t.Errorf("paused: %+v", got)
	}
	status.Store(http.StatusOK)
	h.must(200, "POST", "/operator/v1/partners/1/resume", "")
	log.want(t, "what waited during the pause", "4 delivered")
	if got = h.endpointState(); got.State != "healthy" || got.FailingSince != "" || got.ParkedAt != "" || got.Waiting != 0 || !strings.Contains(got.LastError, "410") {
		t.Errorf("at last: %+v", got)
	}
	read := h.send(h.tokens[account.Read], "GET", "/operator/v1/partners/1", "")
	h.must(200, "PATCH", "/operator/v1/partners/1", read.Body)
}

// TestWaitingIsCountedToABound: the count stops at a limit and does not read a million rows.
func TestWaitingIsCountedToABound(t *testing.T) {
	h := newHarness(t)
	for rows, want := range map[int]endpointState{
		webhook.MaxCounted:     {State: "no_url", Waiting: webhook.MaxCounted},
		webhook.MaxCounted + 5: {State: "no_url", Waiting: webhook.MaxCounted, WaitingMore: true},
	} {
		err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			tx.Queue(`DELETE FROM outbox`)
			tx.Queue(fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at)
				SELECT i, 1, i, 1, 0, $1, $1, $1 FROM n`, rows), h.clock.Now().Add(time.Hour))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.endpointState(); got != want {
			t.Errorf("%d rows: %+v, want %+v", rows, got, want)
		}
	}
}

// TestWhatPartnersRead: operators read the same bytes about a license as its partner, including the
// attempts.
func TestWhatPartnersRead(t *testing.T) {
	h := newHarness(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(srv.Close)
	h.must(200, "PATCH", "/operator/v1/partners/1", `{"webhook_url":"`+srv.URL+`"}`)
	log := h.dispatch()
	key := h.buy("order-1")
	log.want(t, "an attempt", "1 exhausted")
	var made struct{ Secret string }
	h.must(200, "POST", "/operator/v1/partners/1/rotate", `{"what":"api_key"}`).Into(t, &made)
	partners := &api.API{Common: h.operator.Common, Webhooks: h.operator.Webhooks, Profiles: h.operator.Profiles}
	base := wiretest.Serve(t, partners.Handler())
	for _, what := range []string{"/explain", "/events", "/events?event=purchase&limit=1", "/webhook-responses", "/webhook-responses?success=true", "/webhook-responses?success=maybe"} {
		ours := h.send(h.tokens[account.Read], "GET", "/operator/v1/licenses/"+key+what, "")
		theirs := apptest.Send(t, http.DefaultClient, "GET", base+"/v2/licenses/"+key+what, "", "Authorization: Bearer "+made.Secret)
		if strings.HasSuffix(what, "maybe") {
			if ours.Code() != "invalid_parameter" || theirs.Code() != ours.Code() {
				t.Errorf("%s: %s and %s", what, ours.Body, theirs.Body)
			}
			continue
		}
		if ours.Status != http.StatusOK || ours.Body != theirs.Body || ours.Header.Get("X-Total-Count") != theirs.Header.Get("X-Total-Count") {
			t.Errorf("%s: operators read %d %s, the partner %s", what, ours.Status, ours.Body, theirs.Body)
		}
		if what == "/webhook-responses" && !strings.Contains(ours.Body, `"response_status":401`) {
			t.Errorf("the attempt is not there: %s", ours.Body)
		}
	}
}
