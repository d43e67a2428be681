package api_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// told is a partner's message about a license: by webhook, or in the list of events.
type told struct {
	EventID    int64  `json:"event_id"`
	LicenseKey string `json:"license_key"`
	Tier       int    `json:"tier"`
	Reason     string `json:"reason"`

	LicenseStatus string `json:"license_status"` // in the webhook
	Status        string `json:"status"`         // in the list
}

// state is a partner's knowledge of a license.
type state struct {
	EventID int64
	Status  string
	Tier    int
	Reason  string
}

// merge applies the rule of docs/webhooks.md to the messages, in that order.
func merge(arrived []told) map[string]state {
	licenses := map[string]state{}
	for _, e := range arrived {
		if e.EventID > licenses[e.LicenseKey].EventID {
			licenses[e.LicenseKey] = state{e.EventID, e.LicenseStatus + e.Status, e.Tier, e.Reason}
		}
	}
	return licenses
}

// TestListAndWebhooksMerge gives a partner the list of events and its webhooks, mixed in any order,
// some twice and some only in one of the two. The one rule leads to the actual licenses.
func TestListAndWebhooksMerge(t *testing.T) {
	h := newHarness(t)
	posted := make(chan told, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var e told
		if err != nil || json.Unmarshal(body, &e) != nil {
			t.Errorf("posted %q: %v", body, err)
		}
		posted <- e
	}))
	t.Cleanup(srv.Close)
	_, _, _, err := h.Profiles.Amend(t.Context(), tester, h.ours.ID, partner.Change{}, profile.URLChange{Webhook: &srv.URL}, false)
	h.Must(err)
	log := h.dispatch()
	h.licenses()

	got := h.ask(contract(t).Client(t), "GET", h.serve()+"/v2/licenses/events", "")
	var list struct{ Items []told }
	h.Must(json.Unmarshal([]byte(got.Body), &list))
	var webhooks []told
	for range list.Items {
		log.Next(t)
		webhooks = append(webhooks, <-posted)
	}

	want := h.known()
	for range 100 {
		// Each event comes in at least one of the two.
		arrived := append([]told{}, list.Items...)
		for i, e := range webhooks {
			arrived = append(arrived, e)
			if rand.IntN(2) == 0 {
				arrived = append(arrived, e, list.Items[i])
			}
		}
		if drop := rand.IntN(3); drop == 0 {
			arrived = arrived[len(list.Items):]
		}
		rand.Shuffle(len(arrived), func(i, k int) { arrived[i], arrived[k] = arrived[k], arrived[i] })
		if d := cmp.Diff(want, merge(arrived)); d != "" {
			t.Fatalf("%v\nmerge to (-licenses +merged):\n%s", arrived, d)
		}
	}
}

// known returns the expected final knowledge of our partner: each license as it is, with the number
// and the reason of its newest event.
func (h *harness) known() map[string]state {
	h.Helper()
	licenses, err := h.API.Licenses.List(h.Context(), h.ours.ID, license.Filter{}, paging.First())
	h.Must(err)
	want := map[string]state{}
	for _, l := range licenses.Licenses {
		l, err := h.API.Licenses.ByKey(h.Context(), l.Key)
		h.Must(err)
		events, err := h.API.Events.OfLicense(h.Context(), l.ID, event.Filter{}, paging.First())
		h.Must(err)
		newest := events.Events[0]
		want[l.Key] = state{newest.ID, l.Status.String(), l.Tier, string(newest.Reason)}
	}
	return want
}
