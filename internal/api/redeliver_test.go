package api_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/wire"
)

// TestRedeliveriesAreLimited: a partner may make a limited number of requests a minute with all its
// keys, and each partner has its own limit.
func TestRedeliveriesAreLimited(t *testing.T) {
	h := newHarness(t)
	h.licenses()
	now := time.Unix(1_800_000_000, 0)
	h.RedeliveryLimit = &wire.Limiter{PerMinute: 60, Now: func() time.Time { return now }}
	url, client := h.serve(), contract(t).Client(t)
	path := url + "/v2/events/6/redeliver"
	for i := range 60 {
		if got := h.ask(client, "POST", path, ""); got.Status != 202 {
			t.Fatalf("redelivery %d is answered %d %s", i+1, got.Status, got.Body)
		}
	}
	got := h.ask(client, "POST", path, "")
	if got.Status != 429 || got.Header.Get("Retry-After") != "1" {
		t.Errorf("one more is answered %d, Retry-After %q: %s", got.Status, got.Header.Get("Retry-After"), got.Body)
	}
	if got := h.ask(client, "GET", url+"/v2/profile", ""); got.Status != 200 {
		t.Errorf("what else is asked for is answered %d", got.Status)
	}
	if got := h.ask(client, "POST", path, "", "Authorization: Bearer "+h.otherKey); got.Status != 404 {
		t.Errorf("another partner is answered %d for an event that is not its own", got.Status)
	}
	now = now.Add(time.Second)
	if got := h.ask(client, "POST", path, ""); got.Status != 202 {
		t.Errorf("a second later: %s", fmt.Sprint(got.Status, got.Body))
	}
}
