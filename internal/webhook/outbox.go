package webhook

import (
	"time"

	"claviger/internal/courier"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// Outbox holds the deliveries that are to be made.
type Outbox struct {
	DB   *sqldb.DB
	Now  func() time.Time
	Tell Tell

	Checks *profile.Book // whose limit of checks counts for TryNow; nil: there is none
}

// Tell is what is called after the commit of a change, so that what sends on this node
// learns of it at once. Functions that are nil are not called: a poll finds the change.
type Tell struct {
	Offer  func(*Item)                      // a new delivery, the first open one of its license
	Hint   func(partnerID, licenseID int64) // something of a license may be due
	Reload func(partnerID int64)            // the endpoint was changed
}

func (t Tell) offer(it *Item) {
	if t.Offer != nil {
		t.Offer(it)
	}
}

func (t Tell) hint(partnerID, licenseID int64) {
	if t.Hint != nil {
		t.Hint(partnerID, licenseID)
	}
}

func (t Tell) reload(partnerID int64) {
	if t.Reload != nil {
		t.Reload(partnerID)
	}
}

// Notice is an event as its partner is to learn of it.
type Notice struct {
	EventID      int64
	PartnerID    int64
	LicenseID    int64
	LicenseKey   string
	Kind         int    // an event.Kind, which this package does not know
	Event        string // that kind in words
	Status       string // of the license after the event
	Tier         int
	PreviousTier int // 0 unless the event changed the tier
	Reason       string
	Sentence     string // the reason in words
	PlanName     string // of the plan of that tier; "" if it is no longer sold
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

// insertOpen writes a new row of the outbox. Behind an earlier open event of the license
// that waits, it waits as long; it answers how many there are.
var insertOpen = `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at)
	SELECT CAST($1 AS bigint), CAST($2 AS bigint), CAST($3 AS bigint), CAST($6 AS bigint), 0,
		CASE WHEN o.later > CAST($4 AS bigint) THEN o.later ELSE CAST($4 AS bigint) END, CAST($5 AS bigint), CAST($5 AS bigint)
	FROM (SELECT coalesce(max(due_at), 0) AS later FROM outbox WHERE license_id = $3 AND ` + IsPending + `) AS o
	RETURNING (SELECT count(*) FROM outbox AS e WHERE e.license_id = $3 AND e.` + IsPending + ` AND e.event_id < $1)`

// Enqueue writes the deliveries of events in their transaction, due at once. After the
// commit the owner of the partner's lane hears of each: this node's own lane takes the
// delivery as it is, unless an earlier event of the license is open; otherwise the lane
// is told the license, and looks. A nil Outbox tells nobody.
//
// The event's own time may come from the clock of another node that is ahead of ours;
// what is due goes by ours.
func (o *Outbox) Enqueue(tx *sqldb.Tx, notices ...Notice) {
	var tell Tell
	if o != nil {
		tell = o.Tell
	}
	rows, firsts := make([][]any, len(notices)), [][]any{}
	for i, n := range notices {
		due := n.CreatedAt
		if o != nil {
			due = o.Now()
		}
		it := &Item{EventID: n.EventID, PartnerID: n.PartnerID, LicenseID: n.LicenseID, Body: n.body(), DueAt: due}
		rows[i] = []any{n.EventID, n.PartnerID, n.LicenseID, n.LicenseKey, n.Kind, it.Body, n.CreatedAt}
		if n.First {
			// Nothing of it can be open: a plain row, at half the price.
			firsts = append(firsts, []any{n.EventID, n.PartnerID, n.LicenseID, int(Pending), 0, due, n.CreatedAt, n.CreatedAt})
			tx.AfterCommit(func() { tell.offer(it) })
			continue
		}
		earlier := sqldb.QueueQuery(tx, sqldb.Value[int64], insertOpen, n.EventID, n.PartnerID, n.LicenseID, due, n.CreatedAt, int(Pending))
		tx.AfterCommit(func() {
			if open, ok := earlier.Committed(); ok && open == 0 {
				tell.offer(it)
			} else {
				tell.hint(it.PartnerID, it.LicenseID)
			}
		})
	}
	tx.Insert("deliveries", []string{"event_id", "partner_id", "license_id", "license_key", "kind", "body", "created_at"}, rows)
	tx.Insert("outbox", []string{"event_id", "partner_id", "license_id", "state", "attempts", "due_at", "created_at", "updated_at"}, firsts)
}
