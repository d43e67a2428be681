// Package webhook owns the deliveries to partners and the records of their attempts: the tables
// deliveries, outbox, endpoints, redelivered, manual_sends and webhook_responses. It owns the rules
// for when a delivery is due, retried, given up or superseded.
//
// It sends nothing: dispatch sends, asks Store for deliveries and has it record the results.
// Package history reads the tables for partners and operators. Package courier signs and posts
// webhooks and decides which answer means success. Package outage notifies people of an endpoint
// that is down.
//
// A delivery is written in the transaction of its event, so none can be lost. It consists of the
// body, which never changes, and a row in the outbox, which is deleted when the partner accepts it.
// The row stays if every attempt failed (exhausted) or a newer event of the license replaced it
// (superseded); both can be redelivered. Each delivery is sent at least once, always with the same
// bytes and the same id.
//
// # Order
//
// Events of a license are sent strictly one after another in the order of their ids: only the first
// pending delivery of a license is sent, and the next when that is settled.
//
// # Endpoints
//
// An endpoint that only fails is parked: it gets an occasional probe and its queue waits. A success
// opens it again. Every change of pending deliveries locks the row of the endpoint first.
//
// # Attempts
//
// Attempts are recorded in batches, each in one transaction. Attempts under a claim that the node
// has lost are stored and change nothing else.
package webhook

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/sqldb"
)

// Item is a delivery in memory.
type Item struct {
	EventID    int64
	PartnerID  int64
	LicenseID  int64
	Body       string
	Attempts   int // made before this one
	Uncounted  int // early ones among them
	Generation int64
	DueAt      time.Time
	Probe      bool // sent to check whether a parked endpoint is back
	Early      bool // a retry sent early, while the endpoint drains; the schedule does not count it
}

// State is the state of a delivery in the table.
type State int

// The states.
const (
	Pending    State = iota + 1 // to be sent when due
	Delivered                   // accepted by the partner; the row is deleted
	Exhausted                   // every attempt failed; it can be redelivered
	Superseded                  // refused and replaced by a newer event of the license; can be redelivered
)

// The states in SQL. They are literals because partial indexes depend on them.
var (
	IsPending = "state = " + strconv.Itoa(int(Pending))
	IsGivenUp = "state > " + strconv.Itoa(int(Delivered))

	// isPendingToo is IsPending for use with a list of events. It prevents the use of a partial
	// index: PostgreSQL underestimates the number of pending rows and would read all of them,
	// including those that left the outbox recently.
	isPendingToo = "state + 0 = " + strconv.Itoa(int(Pending))
)

// Stats is the number of deliveries by state.
type Stats struct {
	Pending    int64
	Delivered  int64
	Exhausted  int64
	Superseded int64
}

// Stats counts deliveries by state.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	s, err := sqldb.One(ctx, o.DB, func(r *sqldb.Row, s *Stats) error {
		return r.Scan(&s.Pending, &s.Delivered, &s.Exhausted, &s.Superseded)
	},
		`SELECT pending, made - pending - exhausted - superseded, exhausted, superseded FROM (SELECT
			(SELECT count(*) FROM outbox WHERE `+IsPending+`) AS pending,
			(SELECT count(*) FROM outbox WHERE `+IsGivenUp+` AND state = $1) AS exhausted,
			(SELECT count(*) FROM outbox WHERE `+IsGivenUp+` AND state = $2) AS superseded,
			(SELECT count(*) FROM deliveries) AS made) AS n`, int(Exhausted), int(Superseded))
	if err != nil {
		return Stats{}, fmt.Errorf("count deliveries: %w", err)
	}
	return s, nil
}
