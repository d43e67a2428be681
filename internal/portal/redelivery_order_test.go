package portal_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/redelivery"
	"claviger/internal/webhook/history"
)

// TestRedeliveryKeepsTheOrder: resent events arrive in order for each license.
func TestRedeliveryKeepsTheOrder(t *testing.T) {
	h := start(t)
	var keys []string
	for range 4 {
		keys = append(keys, h.sell(h.tide).Key)
	}
	for range 3 { // the events of licenses are mixed
		for _, key := range keys {
			_, err := h.Licenses.Hold(t.Context(), apptest.Tester, key, license.HoldOther)
			h.Must(err)
			_, err = h.Licenses.Reinstate(t.Context(), apptest.Tester, key)
			h.Must(err)
		}
	}
	const events = 4 * 7
	h.Exec(`UPDATE outbox SET state = 3, attempts = 9 WHERE partner_id = $1`, h.tide.ID)
	type post struct {
		License string `json:"license_key"`
		EventID int64  `json:"event_id"`
	}
	posts := make(chan post, events)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p post
		_ = json.NewDecoder(r.Body).Decode(&p)
		posts <- p
		_, _ = w.Write([]byte(`{"success":true}`))
	}))
	t.Cleanup(server.Close)
	_, _, _, err := h.Profiles.Amend(t.Context(), apptest.Tester, h.tide.ID, partner.Change{}, profile.URLChange{Webhook: &server.URL}, false)
	h.Must(err)
	j, err := h.Redeliveries.Begin(t.Context(), apptest.Tester, redelivery.Request{PartnerID: h.tide.ID, Filter: history.Filter{State: history.Failed}, Rate: redelivery.MaxRate})
	h.Must(err)
	if j.Expected != events {
		t.Fatalf("%d events are to be sent, want %d", j.Expected, events)
	}
	last := map[string]int64{}
	for range events {
		p := <-posts
		if p.EventID <= last[p.License] {
			t.Errorf("event %d of a license comes after event %d", p.EventID, last[p.License])
		}
		last[p.License] = p.EventID
	}
}
