package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// MaxCauses is the number of failed deliveries that Causes examines.
const MaxCauses = MaxTold

// Cause groups failed deliveries by the result of their last attempt.
type Cause struct {
	Status     int            // 0: no HTTP answer
	Cause      diagnose.Cause // if there was no answer
	Text       string         // of the group's last attempt
	Diagnosis  string         // the likely mistake, of the group's last attempt; may be ""
	Deliveries int            // failing, exhausted or superseded
	Oldest     time.Time
	Newest     time.Time // of their events
	LastAt     time.Time // of the group's last attempt

	last int64 // the id of that attempt
}

// causesOf groups the newest $2 failed deliveries of a partner ($1) by the result of their last
// attempt. Deliveries without a stored attempt form their own group. The database groups, because
// reading hundreds of rows took most of the page's time. Each half has its own limit: PostgreSQL
// sorts the whole union, however many failed.
var causesOf = `SELECT coalesce(r.response_status, ` + noAttempt + `), ` + causeOf + `, count(*), min(f.created_at),
	max(f.created_at), max(coalesce(r.id, 0))
	FROM (
		SELECT event_id, created_at FROM (` + newestOf(
	webhook.IsPending+` AND attempts > 0`,
) + `) AS failing
		UNION ALL SELECT event_id, created_at FROM (` + newestOf(
	webhook.IsGivenUp,
) + `) AS given_up
		ORDER BY created_at DESC, event_id DESC LIMIT $2) AS f
	LEFT JOIN webhook_responses AS r ON r.id = (SELECT max(id) FROM webhook_responses WHERE event_id = f.event_id)
	GROUP BY 1, 2`

// noAttempt is the status of deliveries with pruned attempts.
const noAttempt = `-1`

func newestOf(condition string) string {
	return `SELECT event_id, created_at FROM outbox WHERE partner_id = $1
		AND ` + condition + ` ORDER BY created_at DESC, event_id DESC LIMIT $2`
}

// Causes groups the failed deliveries of a partner by the result of their last attempt, the largest
// group first. It examines the newest MaxCauses; more reports that there are others.
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
		causes = joined(groups)
		more = looked >= MaxCauses
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

// joined merges groups with equivalent texts and drops deliveries without an attempt.
func joined(groups []Cause) []Cause {
	type key struct {
		status int
		cause  diagnose.Cause
	}
	at := map[key]int{}
	var causes []Cause
	for _, c := range groups {
		if c.last == 0 {
			continue
		}
		if c.Status == 0 {
			c.Cause = diagnose.CauseOf(courier.Clean(c.Text, maxCause))
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

// addLast adds the details of each group's last attempt.
func addLast(ctx context.Context, tx *sqldb.Tx, causes []Cause) error {
	if len(causes) == 0 {
		return nil
	}
	ids := make([]int64, len(causes))
	at := map[int64]*Cause{}
	for i := range causes {
		ids[i] = causes[i].last
		at[causes[i].last] = &causes[i]
	}
	list, err := sqldb.All(
		ctx,
		tx,
		func(r *sqldb.Row, c *Cause) error { return r.Scan(&c.last, &c.Text, &c.Diagnosis, &c.LastAt) },
		`SELECT r.id, `+causeOf+`, r.diagnosis, r.created_at FROM webhook_responses AS r WHERE r.id = ANY($1)`,
		ids,
	)
	for _, l := range list {
		c := at[l.last]
		c.Text = courier.Clean(l.Text, maxCause)
		c.Diagnosis = l.Diagnosis
		c.LastAt = l.LastAt
	}
	return err
}
