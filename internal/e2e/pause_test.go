package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// TestPausedPartnerIsSentNothing: events of a paused partner wait without an attempt, also when
// redelivered, while others get theirs. After the partner is resumed, all of them arrive.
func TestPausedPartnerIsSentNothing(t *testing.T) {
	t.Parallel()
	e, other := newEndpoint(t, friendly), newEndpoint(t, friendly)
	c := launch(t, "--db", sqldbtest.URL(t), "--webhook", e.URL)
	e.know(c.card.Partner.WebhookSecret)
	keys := order(t, c, c.card.Partner.ID, "before", 3)
	e.await(t, "the events of the purchase", func() bool { return len(e.delivered) == len(keys) })
	first := read[list[eventLine]](t, c.operator().must(t, 200, "GET", "/operator/v1/events", nil)).Items[0].ID

	at := fmt.Sprintf("/operator/v1/partners/%d", c.card.Partner.ID)
	c.operator().must(t, 200, "POST", at+"/pause", object{"reason": "unpaid invoice"})
	for _, key := range keys {
		c.operator().must(t, 200, "POST", "/operator/v1/licenses/"+key+"/hold", object{})
	}
	c.operator().must(t, 202, "POST", fmt.Sprintf("/operator/v1/events/%d/redeliver", first), nil)
	c.operator().must(t, 409, "POST", "/operator/v1/purchases", object{"partner_id": c.card.Partner.ID, "tier": 1, "external_id": "during"})

	// Another partner's events pass through the same dispatcher meanwhile.
	made := read[struct {
		ID     int64  `json:"id"`
		Secret string `json:"webhook_secret"`
	}](t, c.operator().must(t, 201, "POST", "/operator/v1/partners", object{"name": "Other", "webhook_url": other.URL, "external_id": "other"}))
	other.know(made.Secret)
	c.operator().must(t, 201, "PUT", fmt.Sprintf("/operator/v1/partners/%d/plans/1", made.ID), object{"name": "One"})
	for i := range 20 {
		order(t, c, made.ID, fmt.Sprint("other-", i), 1)
		other.await(t, "the event of the other partner", func() bool { return len(other.delivered) == i+1 })
	}
	if n := e.count(); n.arrivals != len(keys) {
		t.Errorf("%d requests came while the partner was paused", n.arrivals-len(keys))
	}

	resumed := time.Now()
	c.operator().must(t, 200, "POST", at+"/resume", nil)
	e.await(t, "what waited", func() bool { return len(e.arrivals) >= 2*len(keys)+1 && e.open == 0 })
	for _, key := range keys {
		got := read[list[struct {
			At      time.Time `json:"created_at"`
			Success bool      `json:"success"`
		}]](t, c.partner().must(t, 200, "GET", "/v2/licenses/"+key+"/webhook-responses", nil))
		late := 0
		for _, r := range got.Items {
			if !r.Success {
				t.Errorf("an attempt failed: %+v", r)
			}
			if r.At.After(resumed.Add(-time.Second)) {
				late++
			}
		}
		if late == 0 {
			t.Errorf("nothing was sent for %s after the pause: %+v", key, got.Items)
		}
	}
	e.check(t)
	other.check(t)
}
