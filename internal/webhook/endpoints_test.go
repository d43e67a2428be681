package webhook_test

import (
	"fmt"
	"testing"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/webhook/webhooktest"
)

// TestInState: every partner is in exactly one state, the first that applies in the order of
// EndpointState, with any number of partners.
func TestInState(t *testing.T) {
	o := &webhook.Outbox{DB: sqldbtest.Open(t)}
	const partners, kinds = 501, 8 // more than one read returns
	sqldbtest.Fill(t, o.DB, partners,
		`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at, paused_at) `+sqldbtest.Numbers+
			`SELECT n, CAST(5000 - n AS text), '', CAST(n AS text), FALSE, FALSE, 0, 0, CASE WHEN n % 8 = 1 THEN 1 ELSE 0 END FROM numbers`,
		`INSERT INTO profiles (partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at, updated_at) `+sqldbtest.Numbers+
			`SELECT n, CASE WHEN n % 8 IN (1, 2) THEN '' ELSE 'https://a.example' END, 1, '', 0, 0, 0, 0 FROM numbers WHERE n % 8 <> 3`,
		`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at) `+sqldbtest.Numbers+
			`SELECT n, CASE WHEN n % 8 < 6 THEN 1 ELSE 0 END, 0, CASE WHEN n % 8 < 5 THEN 1 ELSE 0 END, 0, 0, 0 FROM numbers WHERE n % 8 <> 7`)
	want := map[webhook.EndpointState]map[int64]bool{}
	of := [kinds]webhook.EndpointState{
		webhook.EndpointParked, webhook.EndpointPaused, webhook.EndpointNoURL, webhook.EndpointNoURL,
		webhook.EndpointParked, webhook.EndpointFailing, webhook.EndpointHealthy, webhook.EndpointHealthy,
	}
	for id := range int64(partners) {
		state := of[(id+1)%kinds]
		if want[state] == nil {
			want[state] = map[int64]bool{}
		}
		want[state][id+1] = true
	}
	registry := &partner.Store{DB: o.DB}
	for _, state := range webhook.EndpointStates {
		got, err := o.InState(t.Context(), registry, &profile.Store{DB: o.DB, Partners: registry}, state)
		if err != nil {
			t.Fatal(err)
		}
		webhooktest.Same(t, fmt.Sprint(state), got, want[state])
	}
}

// TestEndpointsHealth: waiting deliveries of a partner are counted up to the given limit.
func TestEndpointsHealth(t *testing.T) {
	o := box(t)
	for atMost, want := range map[int64]webhook.EndpointHealth{3: {Waiting: 3, More: true}, 4: {Waiting: 4}, 5: {Waiting: 4}} {
		got, err := o.EndpointsHealth(t.Context(), []int64{1, 2}, atMost)
		if err != nil {
			t.Fatal(err)
		}
		webhooktest.Same(t, fmt.Sprintf("up to %d", atMost), got, map[int64]webhook.EndpointHealth{1: want, 2: {}})
	}
}
