package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/courier"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// MaxCauses is how many failed deliveries Causes looks at.
const MaxCauses = MaxTold

// Cause is what stands in the way of deliveries: those whose last attempt met the same.
type Cause struct {
	Status     int           // 0: no HTTP answer
	Cause      courier.Cause // where there was no answer
	Text       string        // that in words, of the last attempt of all
	Diagnosis  string        // the likely mistake, of the last attempt of all; may be ""
	Deliveries int           // failing, exhausted or superseded
	Oldest     time.Time
	Newest     time.Time // of their events
	LastAt     time.Time // of the last attempt of all

	last int64 // the id of that attempt
}

// causesOf groups the newest failed deliveries of a partner ($1), $2 of them, by what their
// last attempt met. Those without an attempt on record are a group of their own. The
// database groups, because to read hundreds of rows took most of the time of the page. Each half
// has a bound of its own: PostgreSQL sorts all of a union, however many failed.
var causesOf = `SELECT coalesce(r.response_status, ` + noAttempt + `), ` + causeOf + `, count(*), min(f.created_at), max(f.created_at), max(coalesce(r.id, 0))
	FROM (
		SELECT event_id, created_at FROM (` + newestOf(webhook.IsPending+` AND attempts > 0`) + `) AS failing
		UNION ALL SELECT event_id, created_at FROM (` + newestOf(webhook.IsGivenUp) + `) AS given_up
		ORDER BY created_at DESC, event_id DESC LIMIT $2) AS f
	LEFT JOIN webhook_responses AS r ON r.id = (SELECT max(id) FROM webhook_responses WHERE event_id = f.event_id)
	GROUP BY 1, 2`

// noAttempt is the status of deliveries whose attempts are not on record any more.
const noAttempt = `-1`

func newestOf(condition string) string {
	return `SELECT event_id, created_at FROM outbox WHERE partner_id = $1 AND ` + condition + ` ORDER BY created_at DESC, event_id DESC LIMIT $2`
}

// Causes groups the failed deliveries of a partner by what their last attempt met, the
// largest group first. It looks at the newest MaxCauses; more says that there are others.
func (r Reader) Causes(ctx context.Context, partnerID int64) (causes []Cause, more bool, err error) {
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		groups, err := sqldb.All(ctx, tx, scanCause, causesOf, partnerID, MaxCauses)
		if err != nil {
			return err
		}
		looked := 0
		for _, c := range groups {
			looked += c.Deliveries
		}
		causes, more = joined(groups), looked >= MaxCauses
		return addLast(ctx, tx, causes)
	})
	if err != nil {
		return nil, false, fmt.Errorf("group failed deliveries: %w", err)
	}
	return causes, more, nil
}

func scanCause(r *sqldb.Row, c *Cause) error {
	return r.Scan(&c.Status, &c.Text, &c.Deliveries, &c.Oldest, &c.Newest, &c.last)
}

// joined joins the groups of texts that mean the same, and leaves out deliveries without an
// attempt.
func joined(groups []Cause) []Cause {
	type key struct {
		status int
		cause  courier.Cause
	}
	at := map[key]int{}
	var causes []Cause
	for _, c := range groups {
		if c.last == 0 {
			continue
		}
		if c.Status == 0 {
			c.Cause = courier.CauseOf(courier.Clean(c.Text, maxCause))
		}
		k := key{c.Status, c.Cause}
		i, ok := at[k]
		if !ok {
			at[k] = len(causes)
			causes = append(causes, c)
			continue
		}
		all := &causes[i]
		all.Deliveries += c.Deliveries
		all.last = max(all.last, c.last)
		if c.Oldest.Before(all.Oldest) {
			all.Oldest = c.Oldest
		}
		if c.Newest.After(all.Newest) {
			all.Newest = c.Newest
		}
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Deliveries, a.Deliveries), b.Newest.Compare(a.Newest), cmp.Compare(b.last, a.last))
	})
	return causes
}

// addLast adds what the last attempts of all say.
func addLast(ctx context.Context, tx *sqldb.Tx, causes []Cause) error {
	if len(causes) == 0 {
		return nil
	}
	ids, at := make([]int64, len(causes)), map[int64]*Cause{}
	for i := range causes {
		ids[i], at[causes[i].last] = causes[i].last, &causes[i]
	}
	list, err := sqldb.All(ctx, tx, func(r *sqldb.Row, c *Cause) error { return r.Scan(&c.last, &c.Text, &c.Diagnosis, &c.LastAt) },
		`SELECT r.id, `+causeOf+`, r.diagnosis, r.created_at FROM webhook_responses AS r WHERE r.id = ANY($1)`, ids)
	for _, l := range list {
		c := at[l.last]
		c.Text, c.Diagnosis, c.LastAt = courier.Clean(l.Text, maxCause), l.Diagnosis, l.LastAt
	}
	return err
}
