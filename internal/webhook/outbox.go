package webhook

import (
	"context"
	"time"

	"claviger/internal/courier"
	"claviger/internal/sqldb"
)

// Notice is an event as its partner is to learn of it.
type Notice struct {
	EventID      int64
	PartnerID    int64
	LicenseID    int64
	LicenseKey   string
	Kind         int    // an event.Kind, which this room does not know
	Event        string // that kind in words
	Status       string // of the license after the event
	Tier         int
	PreviousTier int // 0 unless the event changed the tier
	Reason       string
	Sentence     string // the reason in words
	PlanName     string // of the plan of that tier; "" if it is sold no more
	At           time.Time
	CreatedAt    time.Time
	First        bool // the license has no earlier event
}

// body is what the partner is sent: made once, the same on every attempt.
func (n Notice) body() string {
	return string(courier.Body(courier.Event{
		LicenseKey: n.LicenseKey, Kind: n.Event, Status: n.Status, At: n.At, EventID: n.EventID, Tier: n.Tier,
		PreviousTier: n.PreviousTier, Reason: n.Reason, Sentence: n.Sentence, CreatedAt: n.CreatedAt, PlanName: n.PlanName,
	}))
}

// Enqueue writes the event's delivery in the event's transaction, due at once.
// Where this node's dispatcher has room and no earlier event of the license is
// open, the delivery is born leased to it and handed over after the commit, so
// that it needs no search; otherwise the dispatcher finds it. Behind an earlier
// event that waits, it waits as long. A nil Outbox has no dispatcher.
//
// The event's own time may come from the clock of another node that is ahead of
// ours; what is due and leased goes by ours.
func (o *Outbox) Enqueue(tx *sqldb.Tx, n Notice) {
	var d *Dispatcher
	due := n.CreatedAt
	if o != nil {
		d, due = o.Dispatcher, o.Now()
	}
	item := &item{
		eventID: n.EventID, partnerID: n.PartnerID, licenseID: n.LicenseID, licenseKey: n.LicenseKey, kind: n.Kind, body: n.body(), dueAt: due,
	}
	var node string
	if d.hasRoom(n.PartnerID) {
		node, item.leaseUntil = d.node, due.Add(leaseTime)
	}
	tx.Queue(`INSERT INTO deliveries (event_id, partner_id, license_id, license_key, kind, body, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		n.EventID, n.PartnerID, n.LicenseID, n.LicenseKey, n.Kind, item.body, n.CreatedAt)
	if n.First {
		// Nothing of it can be open: a plain row, at half the price.
		tx.Queue(`INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, node, lease_until, created_at, updated_at)
			VALUES ($1, $2, $3, 1, 0, $4, $5, $6, $7, $7)`,
			n.EventID, n.PartnerID, n.LicenseID, due, node, item.leaseUntil, n.CreatedAt)
		tx.AfterCommit(func() { d.born(item) })
		return
	}
	born := sqldb.QueueQuery(tx, sqldb.Value[time.Time], `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, node, lease_until,
			created_at, updated_at)
		SELECT CAST($1 AS bigint), CAST($2 AS bigint), CAST($3 AS bigint), 1, 0,
			CASE WHEN o.later > CAST($4 AS bigint) THEN o.later ELSE CAST($4 AS bigint) END,
			CASE WHEN o.n = 0 THEN CAST($5 AS text) ELSE '' END, CASE WHEN o.n = 0 THEN CAST($6 AS bigint) ELSE 0 END,
			CAST($7 AS bigint), CAST($7 AS bigint)
		FROM (SELECT count(*) AS n, coalesce(max(due_at), 0) AS later FROM outbox WHERE license_id = $3 AND state = 1) AS o
		RETURNING lease_until`,
		n.EventID, n.PartnerID, n.LicenseID, due, node, item.leaseUntil, n.CreatedAt)
	tx.AfterCommit(func() {
		// Answered with the commit.
		until, err := born.One(context.Background())
		if err != nil {
			until = time.Time{}
		}
		item.leaseUntil = until
		d.born(item)
	})
}

// born takes on a new delivery that is leased to this node, and has one that is
// not searched for.
func (d *Dispatcher) born(it *item) {
	if it.leaseUntil.IsZero() {
		d.missed(it)
		d.reconsider(it.licenseID) // what stands before it may have been refused often enough
	} else {
		d.accept(it)
	}
}
