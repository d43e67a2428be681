package api_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/wire"
)

// TestRedeliveriesAreLimited: a partner may ask for so many a minute, whichever key it
// uses, and the limit is that partner's own.
func TestRedeliveriesAreLimited(t *testing.T) {
	h := build(t)
	h.tell()
	now := time.Unix(1_800_000_000, 0)
	h.Redeliveries = &wire.Limiter{PerMinute: 60, Now: func() time.Time { return now }}
	url, client := h.serve(), contract(t).Client(t)
	path := url + "/v2/events/6/redeliver"
	for i := range 60 {
		if got := h.ask(client, "POST", path, ""); got.status != 202 {
			t.Fatalf("redelivery %d is answered %d %s", i+1, got.status, got.body)
		}
	}
	got := h.ask(client, "POST", path, "")
	if got.status != 429 || got.header.Get("Retry-After") != "1" {
		t.Errorf("one more is answered %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	if got := h.ask(client, "GET", url+"/v2/profile", ""); got.status != 200 {
		t.Errorf("what else is asked for is answered %d", got.status)
	}
	if got := h.ask(client, "POST", path, "", "Authorization: Bearer "+h.otherKey); got.status != 404 {
		t.Errorf("another partner is answered %d for an event that is not its own", got.status)
	}
	now = now.Add(time.Second)
	if got := h.ask(client, "POST", path, ""); got.status != 202 {
		t.Errorf("a second later: %s", fmt.Sprint(got.status, got.body))
	}
}
