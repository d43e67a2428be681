// Package webhooktest creates deliveries and attempts for the tests of webhook and history.
package webhooktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// Start is the time of the first event of Box.
var Start = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

// Box returns an outbox with three events of license 1 (ids 1 to 3) and one of license 2 (id 4), an
// hour apart, all of partner 1.
func Box(t testing.TB) *webhook.Outbox {
	t.Helper()
	o := &webhook.Outbox{DB: sqldbtest.Open(t), Now: func() time.Time { return Start.Add(24 * time.Hour) }}
	Write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at)
			VALUES (1, '', '', '', $1, $1, 0, 0)`, false)
		for id := range 2 {
			tx.Queue(
				`INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id,
				redeemed, released, held, erased, epoch, event_ms, created_at, updated_at)
				VALUES ($1, 1, $1, $2, $2, 1, 1, 0, $3, $3, 0, $3, 0, 0, 0, 0)`,
				id+1,
				fmt.Sprint("key", id+1),
				false,
			)
		}
		for i, license := range []int{1, 1, 1, 2} {
			at := Start.Add(time.Duration(i) * time.Hour)
			tx.Queue(
				`INSERT INTO events (id, partner_id, ord, license_id, license_key, kind, tier, previous_tier, reason,
				event_ms, status, created_at)
				VALUES ($1, 1, $1, $2, '', 1, 1, 0, '', 0, 1, $3)`,
				i+1,
				license,
				at,
			)
			o.Enqueue(tx, webhook.Notice{EventID: int64(i + 1), PartnerID: 1, LicenseID: int64(license), CreatedAt: at})
		}
	})
	return o
}

// Write runs fn in a transaction of the outbox's database.
func Write(t testing.TB, o *webhook.Outbox, fn func(tx *sqldb.Tx)) {
	t.Helper()
	if err := o.DB.Write(t.Context(), func(tx *sqldb.Tx) error { fn(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

// Respond records n attempts for an event, every third a success.
func Respond(t testing.TB, o *webhook.Outbox, event, n int) {
	t.Helper()
	Write(t, o, func(tx *sqldb.Tx) {
		for i := range n {
			tx.Queue(
				`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time,
				url, success, created_at, updated_at) VALUES ($1, '', $2, '', 0, '', $3, 0, 0)`,
				event,
				i,
				i%3 == 0,
			)
		}
	})
}

// Same compares got with want.
func Same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}
