package webhook

import (
	"time"

	"claviger/internal/courier"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// Outbox stores pending deliveries.
type Outbox struct {
	DB  *sqldb.DB
	Now func() time.Time

	// Tell is a hook. Outbox calls it after the commit of a change: dispatch.Dispatcher.Tell
	// listens, so that the dispatcher of this node learns of it immediately. Nil: not called, and a
	// poll finds the change.
	Tell func(News)

	Checks *profile.Store // its limit of checks counts for TryNow; nil: no limit
}

// News is a committed change: a new delivery, a delivery of a license that may be due, or an
// endpoint that changed.
type News struct {
	Item      *Item // the first open delivery of its license; nil: none is new
	PartnerID int64
	LicenseID int64
	Reload    bool // the endpoint changed
}

func (o *Outbox) tell(n News) {
	if o != nil && o.Tell != nil {
		o.Tell(n)
	}
}

// Notice is an event to be sent to its partner.
type Notice struct {
	EventID      int64
	PartnerID    int64
	LicenseID    int64
	LicenseKey   string
	Kind         int    // an event.Kind, which this package does not import
	Event        string // the kind as text
	Status       string // of the license after the event
	Tier         int
	PreviousTier int // 0 unless the event changed the tier
	Reason       string
	Sentence     string // the reason as a sentence
	PlanName     string // of the plan of that tier; "" if it is no longer sold
	At           time.Time
	CreatedAt    time.Time
	First        bool // the license has no earlier event
}

// body returns the webhook body. It is built once and is the same for every attempt.
func (n Notice) body() string {
	return string(courier.Body(courier.Event{
		LicenseKey: n.LicenseKey, PlanName: n.PlanName, Kind: n.Event, Status: n.Status, At: n.At, EventID: n.EventID,
		Tier: n.Tier, PreviousTier: n.PreviousTier, Reason: n.Reason, Sentence: n.Sentence, CreatedAt: n.CreatedAt,
	}))
}

// insertOpen inserts an outbox row. Behind an earlier pending event of the license it is due no
// sooner than that event. It returns the number of such events.
var insertOpen = `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at)
	SELECT CAST($1 AS bigint), CAST($2 AS bigint), CAST($3 AS bigint), CAST($6 AS bigint), 0,
		CASE WHEN o.later > $4 THEN o.later ELSE CAST($4 AS bigint) END, CAST($5 AS bigint), CAST($5 AS bigint)
	FROM (SELECT coalesce(max(due_at), 0) AS later FROM outbox WHERE license_id = $3 AND ` + IsPending + `) AS o
	RETURNING (SELECT count(*) FROM outbox AS e WHERE e.license_id = $3 AND e.` + IsPending + ` AND e.event_id < $1)`

// Enqueue writes the deliveries of events in their transaction, due immediately. After the commit
// it notifies the owner of the partner's lane. This node's own lane gets the delivery itself,
// unless an earlier event of the license is pending; otherwise the lane gets the license id and
// searches. A nil Outbox notifies no lane.
//
// The time of an event may come from the clock of another node that is ahead of ours. The due time
// comes from our clock.
func (o *Outbox) Enqueue(tx *sqldb.Tx, notices ...Notice) {
	rows := make([][]any, len(notices))
	firsts := [][]any{}
	for i, n := range notices {
		due := n.CreatedAt
		if o != nil {
			due = o.Now()
		}
		it := &Item{EventID: n.EventID, PartnerID: n.PartnerID, LicenseID: n.LicenseID, Body: n.body(), DueAt: due}
		rows[i] = []any{n.EventID, n.PartnerID, n.LicenseID, n.LicenseKey, n.Kind, it.Body, n.CreatedAt}
		if n.First {
			// It has no earlier event: a plain insert at half the cost.
			firsts = append(firsts, []any{
				n.EventID, n.PartnerID, n.LicenseID, int(Pending), 0, due, n.CreatedAt, n.CreatedAt,
			})
			tx.AfterCommit(func() { o.tell(News{Item: it, PartnerID: it.PartnerID, LicenseID: it.LicenseID}) })
			continue
		}
		earlier := sqldb.QueueQuery(tx, sqldb.Value[int64], insertOpen, n.EventID, n.PartnerID, n.LicenseID, due,
			n.CreatedAt, int(Pending))
		tx.AfterCommit(func() {
			news := News{PartnerID: it.PartnerID, LicenseID: it.LicenseID}
			if open, ok := earlier.Committed(); ok && open == 0 {
				news.Item = it
			}
			o.tell(news)
		})
	}
	tx.Insert("deliveries", []string{
		"event_id", "partner_id", "license_id", "license_key", "kind", "body", "created_at",
	}, rows)
	tx.Insert("outbox", []string{
		"event_id", "partner_id", "license_id", "state", "attempts", "due_at", "created_at", "updated_at",
	}, firsts)
}
