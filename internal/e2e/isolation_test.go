package e2e_test

import (
	"fmt"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// TestHangingPartner: while one partner does not answer and has more events than its lane holds,
// another gets its events.
func TestHangingPartner(t *testing.T) {
	hanging := newEndpoint(t, func(int64, int) reply { return reply{hold: true} })
	well := newEndpoint(t, friendly)
	c := launch(t, "--db", sqldbtest.URL(t), "--webhook", hanging.URL)
	hanging.know(c.card.Partner.WebhookSecret)
	for n := range 4 {
		order(t, c, c.card.Partner.ID, fmt.Sprint("stuck-", n), 100)
	}
	hanging.await(t, "requests that hang", func() bool { return hanging.open > 1 })

	made := read[struct {
		ID     int64  `json:"id"`
		Secret string `json:"webhook_secret"`
	}](t, c.operator().must(t, 201, "POST", "/operator/v1/partners", object{"name": "Well", "webhook_url": well.URL, "external_id": "well"}))
	well.know(made.Secret)
	c.operator().must(t, 201, "PUT", fmt.Sprintf("/operator/v1/partners/%d/plans/1", made.ID), object{"name": "One", "price_cents": 100, "currency": "EUR"})
	keys := order(t, c, made.ID, "flows", 50)
	for _, key := range keys {
		c.operator().must(t, 200, "POST", "/operator/v1/licenses/"+key+"/activate", object{})
	}
	well.await(t, "both events of each license of the healthy partner", func() bool { return len(well.delivered) == 2*len(keys) })

	// No request has timed out: all this happened while the first of them hung.
	if n := hanging.count(); n.open != n.arrivals {
		t.Errorf("of %d requests that hang, %d ended before the healthy partner had its events", n.arrivals, n.arrivals-n.open)
	}
	hanging.check(t)
	well.check(t)
}

// TestFailingLicense: a refused event blocks its own license and no other of the same partner.
func TestFailingLicense(t *testing.T) {
	t.Parallel()
	var poisoned int64 // the first event that comes
	e := newEndpoint(t, func(event int64, _ int) reply {
		if poisoned == 0 {
			poisoned = event
		}
		if event == poisoned {
			return reply{status: 500, body: "not this one"}
		}
		return welcome
	})
	c := launch(t, "--db", sqldbtest.URL(t), "--webhook", e.URL, "--retry", "1h")
	e.know(c.card.Partner.WebhookSecret)
	bad := order(t, c, c.card.Partner.ID, "bad", 1)[0]
	e.await(t, "the event that is refused", func() bool { return len(e.arrivals) == 1 && e.open == 0 })
	c.operator().must(t, 200, "POST", "/operator/v1/licenses/"+bad+"/activate", object{})
	good := order(t, c, c.card.Partner.ID, "good", 30)
	for _, key := range good {
		c.operator().must(t, 200, "POST", "/operator/v1/licenses/"+key+"/activate", object{})
	}
	e.await(t, "both events of each other license", func() bool { return len(e.delivered) == 2*len(good) })
	e.check(t)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.arrivals {
		if a.license == bad && a.event != poisoned {
			t.Errorf("an event of the failing license came before the one that is refused was delivered: %s", a.body)
		}
	}
}

// order buys a number of licenses in one order and returns their keys.
func order(t *testing.T, c *child, partner int64, name string, quantity int) (keys []string) {
	t.Helper()
	made := read[sale](t, c.operator().must(t, 201, "POST", "/operator/v1/purchases", object{
		"partner_id": partner, "tier": 1, "external_id": name, "quantity": quantity, "user": object{"email": c.card.Buyer.Email},
	}))
	for _, l := range made.Licenses.Items {
		keys = append(keys, l.Key)
	}
	return keys
}
