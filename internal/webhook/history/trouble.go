package history

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Trouble is a failing endpoint.
type Trouble struct {
	PartnerID    int64
	FailingSince time.Time
	ParkedAt     time.Time // zero: not parked
	ProbeAt      time.Time // next probe, if parked
	LastError    string
	Waiting      int64 // deliveries, up to MaxTold
	More         bool  // there are more
}

// MaxTold is the limit up to which waiting and given-up deliveries of one partner are counted.
const MaxTold = 500

// waitingOf counts the waiting deliveries of a partner ($1), up to $2.
var waitingOf = `SELECT count(*) FROM (
			SELECT 1 FROM outbox WHERE partner_id = $1 AND ` + webhook.IsPending + ` LIMIT $2) AS waiting`

// givenUpPartners jumps from partner to partner in the index.
var givenUpPartners = `WITH RECURSIVE p (id) AS (
			SELECT min(partner_id) FROM outbox WHERE ` + webhook.IsGivenUp + `
			UNION ALL SELECT (SELECT min(o.partner_id) FROM outbox AS o
			WHERE o.` + webhook.IsGivenUp + ` AND o.partner_id > p.id) FROM p WHERE p.id IS NOT NULL)
		SELECT p.id FROM p WHERE p.id IS NOT NULL LIMIT $1`

// givenUpOf counts the given-up deliveries of a partner ($1), up to $2.
var givenUpOf = `SELECT state, count(*), min(created_at) FROM (SELECT state, created_at FROM outbox
				WHERE partner_id = $1
				AND ` + webhook.IsGivenUp + ` ORDER BY created_at LIMIT $2) AS given_up GROUP BY state`

// oldestDue finds the delivery that has been due longest. It also jumps from partner to partner.
var oldestDue = `WITH RECURSIVE p (id) AS (
			SELECT min(partner_id) FROM outbox WHERE ` + webhook.IsPending + `
			UNION ALL SELECT (SELECT min(o.partner_id) FROM outbox AS o
			WHERE o.` + webhook.IsPending + ` AND o.partner_id > p.id) FROM p WHERE p.id IS NOT NULL)
		SELECT coalesce(min(due.at), 0) FROM (
			SELECT (SELECT min(o.due_at) FROM outbox AS o WHERE o.partner_id = p.id
			AND o.` + webhook.IsPending + `) AS at
			FROM p LEFT JOIN endpoints AS e ON e.partner_id = p.id
			WHERE p.id IS NOT NULL AND coalesce(e.failing_since, 0) = 0 AND coalesce(e.closed, FALSE) = FALSE) AS due
		WHERE due.at <= $1`

func scanTrouble(r *sqldb.Row, t *Trouble) error {
	return r.Scan(&t.PartnerID, &t.FailingSince, &t.ParkedAt, &t.ProbeAt, &t.LastError)
}

// Key returns the position of the endpoint in a list.
func (t Trouble) Key() Key { return Key{t.FailingSince, t.PartnerID} }

// Endpoints selects failing endpoints.
type Endpoints string

// The values of Endpoints.
const (
	AllFailing Endpoints = ""
	OnlyParked Endpoints = "parked"
	NotParked  Endpoints = "failing"
)

func (e Endpoints) query() string {
	parked := map[Endpoints]string{OnlyParked: ` AND parked_at <> 0`, NotParked: ` AND parked_at = 0`}[e]
	return `SELECT partner_id, failing_since, parked_at, probe_at, last_error FROM endpoints
		WHERE failing_since <> 0 AND closed = FALSE AND failing_since >= $1
		AND (failing_since, partner_id) > ($1, $2)` + parked + `
		ORDER BY failing_since, partner_id LIMIT $3`
}

// FailingEndpoints returns failing endpoints that are not closed, the longest failing first, after
// a key. It returns at most limit, without counts of waiting deliveries; CountWaiting adds them.
func FailingEndpoints(ctx context.Context, r sqldb.Reader, which Endpoints, after Key, limit int) ([]Trouble, error) {
	list, err := sqldb.All(ctx, r, scanTrouble, which.query(), after.At, after.EventID, limit)
	if err != nil {
		return nil, fmt.Errorf("list failing endpoints: %w", err)
	}
	return list, nil
}

// CountWaiting adds the number of waiting deliveries to each endpoint.
func CountWaiting(ctx context.Context, tx *sqldb.Tx, list []Trouble) error {
	counts := make([]*sqldb.Result[int64], len(list))
	for i, t := range list {
		counts[i] = sqldb.QueueQuery(tx, sqldb.Value[int64], waitingOf, t.PartnerID, MaxTold+1)
	}
	for i, count := range counts {
		n, err := count.One(ctx)
		if err != nil {
			return fmt.Errorf("count what waits: %w", err)
		}
		list[i].Waiting = min(n, MaxTold)
		list[i].More = n > MaxTold
	}
	return nil
}

// GivenUp counts a partner's events that were given up and not delivered since.
type GivenUp struct {
	PartnerID  int64
	Exhausted  int64 // of the oldest MaxTold
	Superseded int64
	Oldest     time.Time
	More       bool // there are more
}

// PartnersGivenUp returns at most limit partners with given-up events, ordered by id. It jumps from
// partner to partner in the index.
func PartnersGivenUp(ctx context.Context, r sqldb.Reader, limit int) ([]int64, error) {
	ids, err := sqldb.All(ctx, r, sqldb.Value[int64], givenUpPartners, limit)
	if err != nil {
		return nil, fmt.Errorf("look for events that were given up: %w", err)
	}
	return ids, nil
}

// CountGivenUp counts the given-up events of partners.
func CountGivenUp(ctx context.Context, tx *sqldb.Tx, partnerIDs []int64) ([]GivenUp, error) {
	type count struct {
		state  int
		n      int64
		oldest time.Time
	}
	counts := make([]*sqldb.Result[count], len(partnerIDs))
	for i, id := range partnerIDs {
		counts[i] = sqldb.QueueQuery(
			tx,
			func(r *sqldb.Row, c *count) error { return r.Scan(&c.state, &c.n, &c.oldest) },
			givenUpOf,
			id,
			MaxTold+1,
		)
	}
	list := make([]GivenUp, len(partnerIDs))
	for i, query := range counts {
		rows, err := query.All(ctx)
		if err != nil {
			return nil, fmt.Errorf("count events that were given up: %w", err)
		}
		g := GivenUp{PartnerID: partnerIDs[i]}
		for _, c := range rows {
			if c.state == int(webhook.Superseded) {
				g.Superseded = c.n
			} else {
				g.Exhausted = c.n
			}
			if g.Oldest.IsZero() || c.oldest.Before(g.Oldest) {
				g.Oldest = c.oldest
			}
		}
		if g.Exhausted+g.Superseded > MaxTold {
			g.More = true
			g.Exhausted = min(g.Exhausted, MaxTold-g.Superseded)
		}
		list[i] = g
	}
	return list, nil
}

// OldestDue returns the due time of the delivery that has been due longest, or zero. It covers only
// healthy endpoints: failing, parked and closed ones have their own queue.
func OldestDue(ctx context.Context, r sqldb.Reader, now time.Time) (time.Time, error) {
	at, err := sqldb.One(ctx, r, sqldb.Value[time.Time], oldestDue, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the age of the queue: %w", err)
	}
	return at, nil
}
