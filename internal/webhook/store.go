package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/sqldb"
)

// Endpoint is where a partner's deliveries go.
type Endpoint struct {
	URL      string // "": none saved yet, or the partner is paused
	Brand    string
	Strict   bool
	Secrets  courier.Secrets
	Proven   bool      // a check or a delivery has shown that the URL works
	InFlight int       // requests at most; 0: Policy.InFlight
	Until    time.Time // when one of the secrets ends; zero: none does
}

// Policy is what an installation sets.
type Policy struct {
	Schedule   Schedule
	ParkAfter  time.Duration // of nothing but failures
	ProbeEvery time.Duration // of a parked endpoint
	Supersede  Supersede     // of refused events; none where its Attempts is 0
	InFlight   int           // requests to one partner at most; 0: as many as the dispatcher allows
}

// Store is the tables as the dispatcher uses them: it finds what is to be sent, and
// records what came of it. What it writes is written only under claims that still hold.
type Store struct {
	DB         *sqldb.DB
	Now        func() time.Time
	Node       *cluster.Node
	Endpoint   func(ctx context.Context, partnerID int64) (Endpoint, error)
	Policy     Policy
	Superseded func(eventID, partnerID int64) // called after the commit for each event that made way
}

// Destination is an endpoint and how it does. It never changes: who learns more makes
// another.
type Destination struct {
	Endpoint
	Health
}

// Open reports whether the endpoint takes deliveries.
func (t *Destination) Open() bool { return t.URL != "" && !t.Parked() }

// loadEndpoint reads where a partner's deliveries go and how the endpoint does, and notes
// whether it takes any.
func (s *Store) loadEndpoint(ctx context.Context, partnerID int64) (*Destination, error) {
	// The row is read first: whoever changes the endpoint meanwhile raises changed in it.
	h, err := s.readHealth(ctx, partnerID)
	missing := errors.Is(err, sqldb.ErrNone)
	if err != nil && !missing {
		return nil, err
	}
	e, err := s.Endpoint(ctx, partnerID)
	if err != nil {
		return nil, fmt.Errorf("look up the endpoint of partner %d: %w", partnerID, err)
	}
	if closed := e.URL == ""; missing || closed != h.closed {
		err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			if missing {
				makeEndpoint(tx, partnerID, !closed, s.Now())
			}
			tx.Queue(`UPDATE endpoints SET closed = $3 WHERE partner_id = $1 AND changed = $2`, partnerID, h.Changed, closed)
			return nil
		})
	}
	return &Destination{e, h}, err
}

func (s *Store) readHealth(ctx context.Context, partnerID int64) (Health, error) {
	h, err := sqldb.One(ctx, s.DB, scanHealth, `SELECT `+healthColumns+` FROM endpoints WHERE partner_id = $1`, partnerID)
	if err != nil {
		err = fmt.Errorf("read how the endpoint of partner %d does: %w", partnerID, err)
	}
	return h, err
}

// makeEndpoint makes the row of an endpoint, under whose lock answers are recorded. A
// partner that has neither a URL nor deliveries may have been removed.
func makeEndpoint(tx *sqldb.Tx, partnerID int64, known bool, now time.Time) {
	tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at)
		SELECT CAST($1 AS bigint), 0, 0, 0, 0, 0, CAST($2 AS bigint) WHERE $3 OR EXISTS (SELECT 1 FROM outbox WHERE partner_id = $1)
		ON CONFLICT (partner_id) DO NOTHING`, partnerID, now, known)
}
