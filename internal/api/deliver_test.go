package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// dispatch runs the application, which sends webhooks, until the test ends. From then on the clock
// is the machine's, because the dispatcher waits by it.
func (h *harness) dispatch() apptest.Attempts {
	h.Helper()
	h.clock.UseMachine()
	attempts := h.Logged.Attempts()
	h.Run()
	return attempts
}

// moody starts an application that accepts webhooks or not, as told.
func moody(t testing.TB) (url string, takes *atomic.Bool) {
	t.Helper()
	takes = new(atomic.Bool)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !takes.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, takes
}

// eventIDs returns a license's events, oldest first.
func (h *harness) eventIDs(l license.License) []int64 {
	h.Helper()
	list, err := h.API.Events.OfLicense(h.Context(), l.ID, event.Filter{}, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst})
	h.Must(err)
	var ids []int64
	for _, e := range list.Events {
		ids = append(ids, e.ID)
	}
	return ids
}

// TestRedeliver resends events: the requested one, and after it the newest of its license. Each
// attempt is recorded, with the same bytes every time.
func TestRedeliver(t *testing.T) {
	h := newHarness(t)
	url, client := h.serve(), contract(t).Client(t)
	app, takes := moody(t)
	_, _, _, err := h.Profiles.Amend(t.Context(), tester, h.ours.ID, partner.Change{}, profile.URLChange{Webhook: &app}, false)
	h.Must(err)
	log := h.dispatch()
	s := h.licenses()
	ids := h.eventIDs(s.active) // bought, activated, plan changed
	redeliver := func(id int64) {
		t.Helper()
		if got := h.ask(client, "POST", fmt.Sprintf("%s/v2/events/%d/redeliver", url, id), ""); got.Status != http.StatusAccepted {
			t.Fatalf("answered %d %s", got.Status, got.Body)
		}
	}
	// want checks the webhooks of this license; others of the partner come in between.
	want := func(name string, lines ...string) {
		t.Helper()
		var got []string
		for len(got) < len(lines) {
			line := log.Next(t)
			for _, id := range ids {
				if strings.HasPrefix(line, fmt.Sprint(id, " ")) {
					got = append(got, line)
				}
			}
		}
		if diff := cmp.Diff(lines, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	first, last := ids[0], ids[len(ids)-1]
	want("the first fails", fmt.Sprint(first, " failed"))
	redeliver(first)
	want("one that waits is sent now; it was the last attempt, and the next event gets its first",
		fmt.Sprint(first, " exhausted"), fmt.Sprint(ids[1], " failed"))
	takes.Store(true)
	redeliver(ids[1])
	want("it is taken, and what waited behind it follows", fmt.Sprint(ids[1], " delivered"), fmt.Sprint(last, " delivered"))
	redeliver(first)
	want("one that was given up, and then the newest", fmt.Sprint(first, " delivered"), fmt.Sprint(last, " delivered"))
	redeliver(last)
	want("the newest alone", fmt.Sprint(last, " delivered"))

	responses, err := h.API.History.Responses(t.Context(), s.active.ID, nil, paging.First())
	h.Must(err)
	bodies := map[int64]string{}
	for _, r := range responses.Responses {
		if before, seen := bodies[r.EventID]; seen && before != r.RequestBody {
			t.Errorf("event %d was sent as %s and as %s", r.EventID, before, r.RequestBody)
		}
		bodies[r.EventID] = r.RequestBody
	}
	got := h.ask(client, "GET", url+"/v2/licenses/"+s.active.Key+"/webhook-responses?success=false", "")
	if len(responses.Responses) != 8 || len(bodies) != 3 || !strings.HasPrefix(got.Body, `{"size":3,`) {
		t.Errorf("%d attempts of %d events are on record, want 8 of 3; failed: %s", len(responses.Responses), len(bodies), got.Body)
	}
}

// TestNewURLRedelivers parks the endpoint and saves another webhook URL: waiting events go there
// immediately, long before the next probe.
func TestNewURLRedelivers(t *testing.T) {
	h := newHarness(t)
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(gone.Close)
	_, _, _, err := h.Profiles.Amend(t.Context(), tester, h.ours.ID, partner.Change{}, profile.URLChange{Webhook: &gone.URL}, false)
	h.Must(err)
	log := h.dispatch()
	id := h.eventIDs(h.buyTier(h.ours, 1, nil))[0]
	if got, want := log.Next(t), fmt.Sprint(id, " failed"); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	got := h.ask(contract(t).Client(t), "PATCH", h.serve()+"/v2/profile", `{"webhook_url":"`+h.application()+`/webhook"}`, jsonType)
	if got.Status != http.StatusOK {
		t.Fatalf("answered %d %s", got.Status, got.Body)
	}
	if got, want := log.Next(t), fmt.Sprint(id, " delivered"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
