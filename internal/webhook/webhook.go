// Package webhook owns the outbox of deliveries to partners, the dispatcher that
// sends them, how each partner's endpoint fares, and the record of what every
// attempt met: the tables deliveries, outbox, leases, endpoints, replays, redelivered and webhook_responses. What is
// sent, how it is signed and which answer means success is courier's; whom to
// tell that an endpoint is down is outage's.
//
// A delivery is written in the transaction of its event, so none can be lost: what
// is sent, which stays as it is, and a row in the outbox, which is there until the
// partner took it. When every attempt failed (exhausted), or a newer event of the license
// took its place (superseded), the row stays there. All of these can be redelivered. Each is sent at least once, with the same bytes and the
// same id every time.
//
// # Order
//
// Events of a license go out strictly one after another in the order of their
// ids: only the first open delivery of a license may be taken, and only while
// no other of it is. Whoever settles it takes the next.
//
// # Leases
//
// A node sends only what it holds a lease of. A new delivery is born leased to the
// node that wrote it, where that has room: its name and a time in the row, and no
// search. All that a search finds of a partner has one lease together, a row that lists
// the licenses: others leave those alone. Leases are renewed while something of them is
// in memory, trimmed to that, and ended with it, so that whatever a node loses track of
// comes free by itself; a result is not applied to a delivery that is another's by then,
// but the attempt is on record all the same. A row with the name * was called back by a
// redelivery: it stays open whatever came of the attempt under way.
//
// A node that is alone on its database needs no lease for what it finds; what it had
// when it was killed is found again by the next.
//
// # Lanes
//
// Each partner has a lane: what it has in memory and in flight is bounded and
// adapts to how its endpoint answers, and lanes take turns, so that one partner's
// slowness is no other's. An endpoint that does nothing but fail is parked: it
// gets a probe now and then, its queue waits, and a success opens it again.
//
// # Answers
//
// Answers are recorded in batches, all that wait in one transaction. While the
// database cannot be written they wait in memory, and soon nothing more is sent.
package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Outbox holds the deliveries that are to be made.
type Outbox struct {
	DB         *sqldb.DB
	Now        func() time.Time
	Dispatcher *Dispatcher // of this node; nil: none runs here
}

// state is where a delivery stands.
type state int

const (
	pending    state = iota + 1 // due at its time
	delivered                   // the partner took it
	exhausted                   // every attempt failed; it can be redelivered
	superseded                  // it was refused, and a newer event of the license is sent in its place; likewise
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
			(SELECT count(*) FROM outbox WHERE state = 1) AS pending,
			(SELECT count(*) FROM outbox WHERE state > 2 AND state = 3) AS exhausted,
			(SELECT count(*) FROM outbox WHERE state > 2 AND state = 4) AS superseded,
			(SELECT count(*) FROM deliveries) AS made) AS n`)
	if err != nil {
		return Stats{}, fmt.Errorf("count deliveries: %w", err)
	}
	return s, nil
}
