package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/sqldb"
)

// Sender is who has events sent again: a person or a program, and the job by which
// they do (0: none).
type Sender struct {
	By    audit.Actor
	JobID int64
}

// Candidates are deliveries that a job may send again.
type Candidates struct {
	EventIDs []int64 // oldest first
	Skipped  int64   // failed once and were delivered since
	Looked   int64
	At       Key  // the last that was looked at
	Ended    bool // there are no more
}

// lookAhead is how many deliveries are looked at for one batch of events to send.
const lookAhead = 2000

// Candidates looks at the next deliveries behind a key, oldest first, until it has most
// that the filter means. Where it means failures, what failed in that way and was
// delivered since is skipped.
func (o *Outbox) Candidates(ctx context.Context, tx *sqldb.Tx, partnerID int64, f Filter, after Key, most int) (Candidates, error) {
	if after.IsZero() {
		after = Key{f.From, 0}
	}
	sql, args := `deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id WHERE d.partner_id = $1`,
		[]any{partnerID, f.last().At, after.At, after.EventID, lookAhead}
	if f.LicenseID != 0 {
		sql += ` AND d.license_id = $6`
		args = append(args, f.LicenseID)
	}
	rows, err := sqldb.All(ctx, tx, scanDelivery, `SELECT `+deliveryColumns+` FROM `+sql+` AND d.created_at < $2 AND d.created_at >= $3
		AND (d.created_at, d.event_id) > ($3, $4) ORDER BY d.created_at, d.event_id LIMIT $5`, args...)
	if err != nil {
		return Candidates{}, fmt.Errorf("look for events to send again: %w", err)
	}
	c := Candidates{At: after, Ended: len(rows) < lookAhead}
	found, err := f.among(ctx, lastTried{tx, map[int64]counted{}}, rows)
	if err != nil {
		return Candidates{}, err
	}
	if len(found) > most {
		found, c.Ended = found[:most], false
		end := found[most-1].EventID
		rows = rows[:slices.IndexFunc(rows, func(d Delivery) bool { return d.EventID == end })+1]
	}
	if c.Looked = int64(len(rows)); len(rows) > 0 {
		c.At = rows[len(rows)-1].Key()
	}
	for _, d := range found {
		c.EventIDs = append(c.EventIDs, d.EventID)
	}
	if f.OnlyFailures() {
		c.Skipped, err = deliveredSince(ctx, tx, f, rows)
	}
	return c, err
}

// among returns those of the rows that the filter means.
func (f Filter) among(ctx context.Context, tried lastTried, rows []Delivery) ([]Delivery, error) {
	var found []Delivery
	for i := range rows {
		if f.matches(&rows[i]) && (!f.Codes.Set || rows[i].State != Waiting) {
			found = append(found, rows[i])
		}
	}
	if !f.Codes.Set {
		return found, nil
	}
	err := tried.addAttempts(ctx, found)
	return slices.DeleteFunc(found, func(d Delivery) bool { return d.Last.ID == 0 || !f.Codes.has(d.Last.Status) }), err
}

// OnlyFailures reports whether the filter means nothing that is delivered.
func (f Filter) OnlyFailures() bool {
	switch f.State {
	case Failing, Exhausted, Superseded, Failed:
		return true
	case AnyState, Delivered, Waiting:
	}
	return f.Codes.failures()
}

// deliveredSince counts those that are delivered and had a failed attempt of the kind
// that the filter means.
func deliveredSince(ctx context.Context, tx *sqldb.Tx, f Filter, rows []Delivery) (int64, error) {
	var ids []int64
	f.State = Delivered
	for i := range rows {
		if f.matches(&rows[i]) {
			ids = append(ids, rows[i].EventID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	low, high := 0, 1000
	if f.Codes.Set {
		low, high = f.Codes.Low, f.Codes.High
	}
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(DISTINCT event_id) FROM webhook_responses
		WHERE event_id = ANY($1) AND success = FALSE AND response_status >= $2 AND response_status <= $3`, ids, low, high)
	if err != nil {
		return 0, fmt.Errorf("look for events that were delivered since: %w", err)
	}
	return n, nil
}

// Reopen makes events of a partner due now, and after them the newest of each of their
// licenses; the caller has locked the partner. onlyFailed leaves alone what is delivered
// by now. What is due already stays as it is; a parked endpoint is probed. It returns how
// many are made due, and how many were delivered in the meantime.
func (o *Outbox) Reopen(ctx context.Context, tx *sqldb.Tx, by Sender, partnerID int64, ids []int64, onlyFailed bool) (sent, skipped int64, err error) {
	now := o.Now()
	o.touch(tx, partnerID, `, probe_at = CASE WHEN parked_at <> 0 THEN $2 ELSE probe_at END`, now)
	if len(ids) == 0 {
		return 0, 0, nil
	}
	if onlyFailed {
		open, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT event_id FROM outbox WHERE event_id = ANY($1)`, ids)
		if err != nil {
			return 0, 0, fmt.Errorf("look for what is not delivered: %w", err)
		}
		if skipped = int64(len(ids) - len(open)); len(open) == 0 {
			return 0, skipped, nil
		}
		ids = open
	}
	markManual(tx, now, by, `d.event_id = ANY($6)`, ids)
	const notDue = ` WHERE (NOT outbox.`
	licenses, err := sqldb.All(ctx, tx, sqldb.Value[int64], reopen+`d.event_id = ANY($2) AND d.partner_id = $3`+reopened+notDue+isPending+` OR outbox.due_at > $1)
		RETURNING license_id`, now, ids, partnerID)
	if err != nil {
		return 0, 0, fmt.Errorf("send events again: %w", err)
	}
	if len(licenses) == 0 {
		return 0, skipped, nil
	}
	newest := `d.event_id IN (SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id = ANY($`
	markManual(tx, now, by, newest+`6) GROUP BY newest.license_id)`, licenses)
	after, err := tx.Exec(ctx, reopen+newest+`2) GROUP BY newest.license_id)
		AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.event_id = d.event_id AND o.`+isPending+` AND o.updated_at = $1)`+
		reopened, now, licenses)
	if err != nil {
		return 0, 0, fmt.Errorf("send the newest events of licenses again: %w", err)
	}
	tx.Queue(`UPDATE outbox SET due_at = $1 WHERE license_id = ANY($2) AND `+isPending+` AND due_at > $1`, now, licenses)
	tx.Queue(markRedelivered, licenses)
	tx.AfterCommit(func() {
		for _, id := range licenses {
			o.Tell.hint(partnerID, id)
		}
	})
	return int64(len(licenses)) + after, skipped, nil
}

// markRedelivered has the pruning look at the attempts of what is open of licenses.
var markRedelivered = `INSERT INTO redelivered (event_id) SELECT event_id FROM outbox WHERE license_id = ANY($1) AND ` + isPending + `
	ON CONFLICT (event_id) DO NOTHING`

// markManual stores who has events sent under the generation now, and what was
// scheduled for them; the sources follow as a condition on deliveries d.
func markManual(tx *sqldb.Tx, now time.Time, by Sender, condition string, args ...any) {
	tx.Queue(`INSERT INTO manual_sends (generation, event_id, actor_kind, actor_id, job_id, scheduled_at)
		SELECT CAST($1 AS bigint), d.event_id, CAST($2 AS text), CAST($3 AS bigint), CAST($4 AS bigint),
			CASE WHEN o.`+isPending+` AND o.due_at > CAST($5 AS bigint) THEN o.due_at ELSE 0 END
		FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id WHERE `+condition+`
		ON CONFLICT (generation, event_id) DO NOTHING`, append([]any{now, by.By.Kind, by.By.ID, by.JobID, now}, args...)...)
}
