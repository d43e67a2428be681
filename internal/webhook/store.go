package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// Endpoint is the destination of a partner's deliveries.
type Endpoint struct {
	URL      string // "": none saved yet, or the partner is paused
	Brand    string
	Strict   bool
	Secrets  courier.Secrets
	Proven   bool      // a check or a delivery has succeeded
	InFlight int       // maximum concurrent requests; 0: Policy.InFlight
	Until    time.Time // end of a secret's validity; zero: none ends
}

// Policy contains the settings of an installation.
type Policy struct {
	Schedule   Schedule
	ParkAfter  time.Duration // time with failures only
	ProbeEvery time.Duration // of a parked endpoint
	Supersede  Supersede     // of refused events; off if its Attempts is 0
	InFlight   int           // maximum concurrent requests per partner; 0: the dispatcher's limit
}

// Store is the dispatcher's access to the tables: it finds deliveries to send and records the
// results. Results take effect only under claims that still hold.
type Store struct {
	DB         *sqldb.DB
	Now        func() time.Time
	Node       *cluster.Node
	Partners   *partner.Store
	Profiles   *profile.Store
	Policy     Policy
	Superseded func(eventID, partnerID int64) // called after the commit for each superseded event

	// Endpoint replaces the lookup in Partners and Profiles, for benchmarks and tests; nil: none.
	Endpoint func(ctx context.Context, partnerID int64) (Endpoint, error)
}

// Destination is an endpoint with its health. It is immutable: new knowledge makes a new one.
type Destination struct {
	Endpoint
	Health
}

// Open reports whether the endpoint accepts deliveries.
func (t *Destination) Open() bool { return t.URL != "" && !t.Parked() }

// loadEndpoint reads a partner's endpoint and its health, and stores whether it accepts deliveries.
func (s *Store) loadEndpoint(ctx context.Context, partnerID int64) (*Destination, error) {
	// The row is read first: a concurrent change of the endpoint increments changed in it.
	h, err := s.readHealth(ctx, partnerID)
	missing := errors.Is(err, sqldb.ErrNone)
	if err != nil && !missing {
		return nil, err
	}
	e, err := s.LookUp(ctx, partnerID)
	if err != nil {
		return nil, fmt.Errorf("look up the endpoint of partner %d: %w", partnerID, err)
	}
	if closed := e.URL == ""; missing || closed != h.closed {
		err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			if missing {
				makeEndpoint(tx, partnerID, !closed, s.Now())
			}
			tx.Queue(`UPDATE endpoints SET closed = $3 WHERE partner_id = $1
				AND changed = $2`, partnerID, h.Changed, closed)
			return nil
		})
	}
	return &Destination{e, h}, err
}

func (s *Store) readHealth(ctx context.Context, partnerID int64) (Health, error) {
	h, err := sqldb.One(ctx, s.DB, scanHealth, `SELECT `+healthColumns+` FROM endpoints
		WHERE partner_id = $1`, partnerID)
	if err != nil {
		err = fmt.Errorf("read how the endpoint of partner %d does: %w", partnerID, err)
	}
	return h, err
}

// makeEndpoint inserts the row of an endpoint; answers are recorded under its lock. A partner with
// neither a URL nor deliveries may have been removed.
func makeEndpoint(tx *sqldb.Tx, partnerID int64, known bool, now time.Time) {
	tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at)
		SELECT CAST($1 AS bigint), 0, 0, 0, 0, 0, CAST($2 AS bigint)
		WHERE $3 OR EXISTS (SELECT 1 FROM outbox WHERE partner_id = $1)
		ON CONFLICT (partner_id) DO NOTHING`, partnerID, now, known)
}
