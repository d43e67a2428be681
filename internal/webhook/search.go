package webhook

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
)

// Cursor is a position in the search order: after a delivery that is due at that time.
type Cursor struct {
	DueAt   time.Time
	EventID int64
}

// Search is a query of a lane.
type Search struct {
	PartnerID int64
	Claim     cluster.Claim
	To        *Destination // as known; unused if Reload is set
	Reload    bool         // also load the endpoint
	Due       bool         // search for due deliveries
	Hints     []int64      // licenses to check
	Held      int          // deliveries in memory, which may be found again
	Space     int          // space for more deliveries
	After     Cursor       // start of the search
}

// Found is the result of a Search.
type Found struct {
	To       *Destination
	Items    []*Item // due deliveries first, then hinted ones
	Due      int     // number of due Items
	Searched bool    // for due deliveries
	More     bool    // there are more than were asked for
}

// Find reads a partner's endpoint and the deliveries that can be sent now.
func (s *Store) Find(ctx context.Context, q Search) (Found, error) {
	f := Found{To: q.To}
	if err := s.fill(ctx, q, &f); err != nil {
		return Found{}, err
	}
	return f, nil
}

func (s *Store) fill(ctx context.Context, q Search, f *Found) error {
	if err := s.findEndpoint(ctx, q, f); err != nil || f.To.URL == "" || q.Space == 0 {
		return err
	}
	heads, err := s.findHeads(ctx, q, f)
	if err != nil {
		return err
	}
	found := make(map[int64]bool, len(heads))
	for i := range heads {
		it := &heads[i].Item
		it.Probe = f.To.Parked()
		if !found[it.EventID] { // may be both hinted and due
			f.Items = append(f.Items, it)
		}
		found[it.EventID] = true
	}
	return nil
}

func (s *Store) findEndpoint(ctx context.Context, q Search, f *Found) (err error) {
	if q.Reload {
		f.To, err = s.loadEndpoint(ctx, q.PartnerID)
		return err
	}
	h, err := s.readHealth(ctx, q.PartnerID)
	if h != q.To.Health {
		f.To = &Destination{q.To.Endpoint, h}
	}
	return err
}

// findHeads finds due and hinted deliveries, or a probe for a parked endpoint.
func (s *Store) findHeads(ctx context.Context, q Search, f *Found) ([]head, error) {
	now := s.Now()
	if f.To.Parked() {
		if q.Held > 0 || f.To.probeAt.After(now) {
			return nil, nil
		}
		return s.findProbe(ctx, q.PartnerID, f.To.probed)
	}
	found, err := s.findHinted(ctx, q, f.To.draining, now)
	if err == nil && q.Due {
		q.Space -= len(found)
		var due []head
		due, err = s.findDue(ctx, q, f, now)
		f.Due = len(due)
		found = append(due, found...)
	}
	for i := range found {
		found[i].Early = found[i].Attempts > 0 && found[i].DueAt.After(now)
	}
	return found, err
}

// head is the first pending delivery of a license.
type head struct {
	Item
	refusals
	notBefore time.Time
}

const headColumns = `h.event_id, h.partner_id, h.license_id, h.attempts, h.uncounted, h.generation, h.due_at,
	h.not_before, h.refusals, h.refused_since, h.refused_alone`

// newestOpen selects the newest pending event of the license of h.
var newestOpen = `(SELECT max(n.event_id) FROM outbox AS n WHERE n.license_id = h.license_id AND n.` + IsPending + `)`

func scanHead(r *sqldb.Row, h *head) error {
	return r.Scan(&h.EventID, &h.PartnerID, &h.LicenseID, &h.Attempts, &h.Uncounted, &h.Generation, &h.DueAt,
		&h.notBefore, &h.n, &h.since, &h.alone, &h.newest)
}

// sentColumn selects the body of h. As a subquery it is looked up for each h found; with a join
// PostgreSQL may read every delivery ever made.
const sentColumn = `(SELECT d.body FROM deliveries AS d WHERE d.event_id = h.event_id)`

func scanSent(r *sqldb.Row, h *head) error {
	return r.Scan(&h.EventID, &h.PartnerID, &h.LicenseID, &h.Attempts, &h.Uncounted, &h.Generation, &h.DueAt,
		&h.notBefore, &h.n, &h.since, &h.alone, &h.newest, &h.Body)
}

// isFirst is true if h is the first pending delivery of its license. PostgreSQL looks up the
// preceding event for each h; with NOT EXISTS it may read everything pending. It estimates that IS
// NOT TRUE matches every second row, and reads in order up to the limit. For IS NULL it would
// estimate almost no matches, and read and sort everything due for each search.
var isFirst = `(SELECT TRUE FROM outbox AS e
	WHERE e.license_id = h.license_id AND e.` + IsPending + ` AND e.event_id < h.event_id
	ORDER BY e.event_id LIMIT 1) IS NOT TRUE`

// selectDue returns the search for due deliveries by a condition on h: only the head of each
// license's queue.
func selectDue(condition string) string {
	return `SELECT ` + headColumns + `, 0, ` + sentColumn + ` FROM outbox AS h
		WHERE h.partner_id = $1 AND h.` + IsPending + ` AND ` + condition + ` AND (h.due_at, h.event_id) > ($4, $5)
		AND ` + isFirst + `
		ORDER BY h.due_at, h.event_id LIMIT $3`
}

// findDue searches for due deliveries. While the endpoint drains, waiting retries count as due.
func (s *Store) findDue(ctx context.Context, q Search, f *Found, now time.Time) ([]head, error) {
	due := `h.due_at <= $2`
	until := now
	if f.To.draining != drainNothing {
		due = `h.not_before <= $2`
	}
	if f.To.draining == drainAll {
		until = time.Unix(0, math.MaxInt64)
	}
	limit := q.Space
	if q.After == (Cursor{}) {
		limit += q.Held // they may be found again
	}
	found, err := sqldb.All(ctx, s.DB, scanSent, selectDue(due), q.PartnerID, until, limit, q.After.DueAt,
		q.After.EventID)
	if err != nil {
		return nil, fmt.Errorf("search for due deliveries: %w", err)
	}
	f.Searched = true
	f.More = len(found) == limit
	if len(found) == 0 && q.Held == 0 && q.After == (Cursor{}) {
		return nil, s.nothingDue(ctx, q, f.To.Health, now)
	}
	return found, nil
}

// nothingDue ends the draining of an endpoint with nothing waiting. It delays deliveries behind a
// head that waits, so that the poll skips them until then.
func (s *Store) nothingDue(ctx context.Context, q Search, h Health, now time.Time) error {
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if h.draining != drainNothing {
			tx.Queue(`UPDATE endpoints SET draining = $3 WHERE partner_id = $1 AND changed = $2 AND draining = $4`,
				q.PartnerID, h.Changed, int(drainNothing), int(h.draining))
		}
		tx.Queue(`UPDATE outbox SET due_at = (SELECT e.due_at FROM outbox AS e
			WHERE e.license_id = outbox.license_id AND e.`+IsPending+`
				ORDER BY e.event_id LIMIT 1)
			WHERE partner_id = $1 AND `+IsPending+` AND due_at <= $2 AND $2 < (SELECT e.due_at FROM outbox AS e
				WHERE e.license_id = outbox.license_id AND e.`+IsPending+`
				ORDER BY e.event_id LIMIT 1)`, q.PartnerID, now)
		return nil
	})
}

// findHinted reads the first pending delivery of hinted licenses. An untried delivery is sent
// regardless of its due time, which may come from another node's clock. One that was refused often
// enough is superseded by a newer one, unless it is due: then its next answer decides.
func (s *Store) findHinted(ctx context.Context, q Search, draining drain, now time.Time) ([]head, error) {
	if len(q.Hints) == 0 {
		return nil, nil
	}
	found, err := s.headsOf(ctx, q.Hints)
	if err != nil {
		return nil, err
	}
	refused := slices.DeleteFunc(slices.Clone(found), func(h head) bool {
		return !h.DueAt.After(now) || !s.Policy.Supersede.applies(h, now)
	})
	if len(refused) > 0 {
		if err := s.supersedeWaiting(ctx, q.Claim, refused, now); err != nil {
			return nil, err
		}
		if found, err = s.headsOf(ctx, q.Hints); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(h head) bool {
		early := h.Attempts == 0 || draining != drainNothing
		return h.DueAt.After(now) && (!early || h.notBefore.After(now) && draining != drainAll)
	}), nil
}

// headsOf reads the first pending deliveries of licenses.
func (s *Store) headsOf(ctx context.Context, licenses []int64) ([]head, error) {
	found, err := sqldb.All(ctx, s.DB, scanSent, `SELECT `+headColumns+`, `+newestOpen+`, `+sentColumn+`
		FROM outbox AS h
		WHERE h.license_id = ANY($1) AND h.`+IsPending+` AND `+isFirst, licenses)
	if err != nil {
		return nil, fmt.Errorf("look at the next events of licenses: %w", err)
	}
	return found, nil
}

// findProbe returns the head of the license after the last probed one, so that one event that
// always fails cannot keep an endpoint parked.
func (s *Store) findProbe(ctx context.Context, partnerID, probed int64) ([]head, error) {
	found, err := sqldb.All(ctx, s.DB, scanSent, `SELECT `+headColumns+`, 0, `+sentColumn+` FROM outbox AS h
		WHERE h.partner_id = $1 AND h.`+IsPending+` AND `+isFirst+`
		ORDER BY CASE WHEN h.license_id > $2 THEN 0 ELSE 1 END, h.license_id LIMIT 1`, partnerID, probed)
	if err != nil {
		return nil, fmt.Errorf("look for a probe: %w", err)
	}
	return found, nil
}

// PutOff delays deliveries that were cut off when a shard was handed over, without a counted
// attempt: the endpoint may still be processing them. An early retry keeps its own time.
func (s *Store) PutOff(ctx context.Context, c cluster.Claim, events []int64, wait time.Duration) error {
	due := s.Now().Add(wait)
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		held, err := s.Node.Fence(tx, []cluster.Claim{c}).Held(ctx)
		if err != nil || !held(c) {
			return err
		}
		tx.Queue(`UPDATE outbox SET due_at = CASE WHEN due_at > $2 THEN due_at ELSE $2 END, not_before = $2
			WHERE event_id = ANY($1) AND `+IsPending, events, due)
		return nil
	})
}
