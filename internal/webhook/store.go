package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/fault"
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

// Schedule is the wait after each failed attempt. Its length is the number of retries before an
// event is exhausted.
type Schedule []time.Duration

// jitter spreads the retries after an outage by 10% to either side, so that they do not all come
// back in the same second.
const jitter = 0.1

// Next returns the wait after attempt n failed; ok is false if it was the last. The partner's
// Retry-After can make the wait longer, not shorter. random is from [0,1).
func (s Schedule) Next(n int, retryAfter time.Duration, random float64) (wait time.Duration, ok bool) {
	if n > len(s) {
		return 0, false
	}
	wait = s[n-1]
	wait += time.Duration(float64(wait) * jitter * (2*random - 1))
	return max(wait, retryAfter), true
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
			tx.Queue(`UPDATE endpoints SET closed = $3 WHERE partner_id = $1 AND changed = $2`,
				partnerID, h.Changed, closed)
			return nil
		})
	}
	return &Destination{e, h}, err
}

// LookUp returns the URL and the signing secrets of a partner's webhooks.
func (s *Store) LookUp(ctx context.Context, partnerID int64) (Endpoint, error) {
	if s.Endpoint != nil {
		return s.Endpoint(ctx, partnerID)
	}
	p, err := s.Partners.Get(ctx, partnerID)
	if fault.Is(err, partner.CodeUnknownPartner) {
		return Endpoint{}, nil // deleted: nothing to send, and no error
	}
	if err != nil || p.Paused() {
		return Endpoint{}, err // deliveries to a paused partner wait
	}
	urls, _, err := s.Profiles.Get(ctx, partnerID)
	if err != nil || urls.WebhookURL == "" {
		return Endpoint{}, err
	}
	secrets, err := s.Partners.WebhookSecrets(ctx, partnerID)
	if err != nil {
		return Endpoint{}, err
	}
	until, err := s.Partners.SigningUntil(ctx, partnerID)
	if err != nil {
		return Endpoint{}, err
	}
	return Endpoint{
		URL: urls.WebhookURL, Brand: p.Brand, Strict: p.Strict, Secrets: courier.NewSecrets(secrets...),
		Proven: !urls.WebhookValidAt.IsZero(), Until: until, InFlight: p.Webhooks,
	}, nil
}

func (s *Store) readHealth(ctx context.Context, partnerID int64) (Health, error) {
	h, err := sqldb.One(ctx, s.DB, scanHealth, selectHealth+`= $1`, partnerID)
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
