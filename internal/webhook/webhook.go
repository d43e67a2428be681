// Package webhook owns the deliveries to partners and what every attempt met: the tables
// deliveries, outbox, endpoints, redelivered, manual_sends and webhook_responses, and the
// rules by which a delivery is due, tried again, given up or superseded. It sends nothing:
// dispatch does, which asks Store what is to be sent and has it record what came of it.
// What partners and operators read of the tables is in the folder history.
// How a webhook is signed and posted, and which answer means success, is courier's; whom
// to tell that an endpoint is down is outage's.
//
// A delivery is written in the transaction of its event, so none can be lost: what is
// sent, which never changes, and a row in the outbox, which is deleted when the partner
// took it. The row stays when every attempt failed (exhausted) or a newer event of the
// license replaced it (superseded); both can be redelivered. Each delivery is sent at
// least once, with the same bytes and the same id every time.
//
// # Order
//
// Events of a license are sent strictly one after another in the order of their ids:
// only the first open delivery of a license is sent, and the next when that is settled.
//
// # Endpoints
//
// An endpoint that does nothing but fail is parked: it gets a probe now and then, its
// queue waits, and a success opens it again. Everybody who changes open deliveries locks
// the row of the endpoint first.
//
// # Attempts
//
// Attempts are recorded in batches, in one transaction each. What was sent under a claim
// that the node has lost is recorded as an attempt and changes nothing else.
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
	Uncounted  int // of those, the ones that came early
	Generation int64
	DueAt      time.Time
	Probe      bool // sent to see whether a parked endpoint is back
	Early      bool // sent before the time of its retry, while the endpoint drains: an attempt that the schedule does not count
}

// State is where a delivery stands, in the table.
type State int

// The states.
const (
	Pending    State = iota + 1 // due at its time
	Delivered                   // the partner took it; the row is deleted
	Exhausted                   // every attempt failed; it can be redelivered
	Superseded                  // it was refused, and a newer event of the license is sent in its place; likewise
)

// The states in SQL. They stand in the text, since partial indexes are made for them.
var (
	IsPending = "state = " + strconv.Itoa(int(Pending))
	IsGivenUp = "state > " + strconv.Itoa(int(Delivered))

	// isPendingToo is IsPending beside a list of events, which no partial index is for:
	// PostgreSQL takes what is open to be little, and would read all of it, with what left
	// it lately.
	isPendingToo = "state + 0 = " + strconv.Itoa(int(Pending))
)

// Stats counts deliveries by state.
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
