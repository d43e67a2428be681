package history

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/courier"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// lastTried caches the last attempts of rows.
type lastTried struct {
	tx *sqldb.Tx
	of map[int64]counted
}

// walk reads a partner's deliveries in the order of their keys, newest first, from the smallest
// source that contains all matches of the filter.
type walk struct {
	lastTried
	partnerID int64
	filter    Filter
	source    string
	at        Key // the last row read
	looked    int // rows
	ended     bool
}

// counted is the last attempt of an event and the number of its attempts.
type counted struct {
	eventID int64
	n       int
	last    LastAttempt
}

// fewWaiting is the largest number of pending deliveries that are sorted to list those that wait.
// No index has them in list order, because every event would pay for it.
const fewWaiting = 2000

// The sources. Each yields rows before a key ($3, $4) of a partner ($1) since a time ($2). The plus
// signs in fromLicense leave SQLite only one index: without statistics it would read all of the
// partner's deliveries.
var (
	fromDeliveries = `(SELECT event_id, created_at, license_id, license_key, kind FROM deliveries
		WHERE partner_id = $1 AND created_at >= $2 AND created_at <= $3 AND (created_at, event_id) < ($3, $4)
		ORDER BY created_at DESC, event_id DESC LIMIT $5) AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id`
	fromLicense = `(SELECT event_id, created_at, license_id, license_key, kind FROM deliveries
		WHERE license_id = $6 AND +partner_id = $1 AND +created_at >= $2 AND (+created_at, event_id) < ($3, $4)
		ORDER BY event_id DESC LIMIT $5) AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id`
	fromEvent = `(SELECT event_id, created_at, license_id, license_key, kind FROM deliveries
		WHERE event_id = $6 AND partner_id = $1 AND created_at >= $2 AND (created_at, event_id) < ($3, $4)
		LIMIT $5) AS d
		LEFT JOIN outbox AS o ON o.event_id = d.event_id`
	fromFailing = fromOutbox(openOf(webhook.IsPending + ` AND attempts > 0`))
	fromGivenUp = fromOutbox(openOf(webhook.IsGivenUp))
	fromFailed  = fromOutbox(
		`SELECT * FROM (` + openOf(
			webhook.IsPending+` AND attempts > 0`,
		) + `) AS failing UNION ALL SELECT * FROM (` + openOf(webhook.IsGivenUp) + `) AS given_up`,
	)
	fromWaiting = fromOutbox(openOf(webhook.IsPending + ` AND attempts = 0`))
)

// openOf selects rows of the outbox.
func openOf(condition string) string {
	return `SELECT event_id, state, attempts, due_at FROM outbox WHERE partner_id = $1 AND ` + condition + `
		AND created_at >= $2 AND created_at <= $3 AND (created_at, event_id) < ($3, $4)
		ORDER BY created_at DESC, event_id DESC LIMIT $5`
}

func fromOutbox(open string) string {
	return `(` + open + `) AS o JOIN deliveries AS d ON d.event_id = o.event_id`
}

// newWalk starts after a key; the zero key is before the newest row.
func newWalk(ctx context.Context, tx *sqldb.Tx, partnerID int64, f Filter, after Key) (*walk, error) {
	w := &walk{lastTried: lastTried{tx: tx, of: map[int64]counted{}}, partnerID: partnerID, filter: f, at: after}
	if last := f.last(); after.IsZero() || after.At.After(last.At) {
		w.at = last
	}
	switch {
	case f.EventID != 0:
		w.source = fromEvent
	case f.LicenseID != 0:
		w.source = fromLicense
	case f.State == Failing:
		w.source = fromFailing
	case f.State == Exhausted, f.State == Superseded:
		w.source = fromGivenUp
	case f.State == Failed, f.Codes.failures():
		w.source = fromFailed
	case f.State == Waiting:
		n, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM (
			SELECT 1 FROM outbox WHERE partner_id = $1 AND `+webhook.IsPending+`
			LIMIT `+strconv.Itoa(fewWaiting+1)+`) AS open`, partnerID)
		if err != nil {
			return nil, err
		}
		w.source = fromDeliveries
		if n <= fewWaiting {
			w.source = fromWaiting
		}
	default:
		w.source = fromDeliveries
	}
	return w, nil
}

// deliveryState is the outbox part of a delivery.
type deliveryState struct {
	state, attempts int
	due             time.Time
}

// targets returns the scan targets of deliveryColumns.
func (s *deliveryState) targets(d *Delivery) []any {
	return []any{&d.EventID, &d.CreatedAt, &d.LicenseID, &d.LicenseKey, &d.Kind, &s.state, &s.attempts, &s.due}
}

func (s *deliveryState) apply(d *Delivery) {
	switch {
	case s.state == int(webhook.Exhausted):
		d.State = Exhausted
	case s.state == int(webhook.Superseded):
		d.State = Superseded
	case s.state != int(webhook.Pending):
		d.State = Delivered
	case s.attempts > 0:
		d.State = Failing
		d.NextAt = s.due
	default:
		d.State = Waiting
		d.NextAt = s.due
	}
}

// scanDelivery reads a row without its attempts.
func scanDelivery(r *sqldb.Row, d *Delivery) error {
	var s deliveryState
	err := r.Scan(s.targets(d)...)
	s.apply(d)
	return err
}

var deliveryColumns = `d.event_id, d.created_at, d.license_id, d.license_key, d.kind,
	coalesce(o.state, ` + strconv.Itoa(int(webhook.Delivered)) + `),
	coalesce(o.attempts, 0), coalesce(o.due_at, 0)`

// query returns the statement for the next rows.
func (w *walk) query(n int) (sql string, args []any) {
	args = []any{w.partnerID, w.filter.From, w.at.At, w.at.EventID, n}
	switch w.source {
	case fromEvent:
		args = append(args, w.filter.EventID)
	case fromLicense:
		args = append(args, w.filter.LicenseID)
	}
	return `SELECT ` + deliveryColumns + ` FROM ` + w.source + `
		ORDER BY d.created_at DESC, d.event_id DESC LIMIT $5`, args
}

// next reads n more rows and returns the matches.
func (w *walk) next(ctx context.Context, n int) ([]Delivery, error) {
	sql, args := w.query(n)
	rows, err := sqldb.All(ctx, w.tx, scanDelivery, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	w.looked += len(rows)
	w.ended = len(rows) < n
	if len(rows) > 0 {
		w.at = rows[len(rows)-1].Key()
	}
	return w.filter.among(ctx, w.lastTried, rows)
}

func scanCounted(r *sqldb.Row, c *counted) error {
	var ms int64
	a := &c.last
	err := r.Scan(&c.eventID, &c.n, &a.ID, &a.Status, &a.Success, &ms, &a.Cause, &a.Diagnosis, &a.At)
	a.Took = time.Duration(ms) * time.Millisecond
	a.Cause = courier.Clean(a.Cause, maxCause)
	return err
}

// causeOf selects the reason for no answer, or "".
var causeOf = `CASE WHEN response_status = 0 THEN substr(response_body, 1, ` + strconv.Itoa(maxCause) + `) ELSE '' END`

// lastAttempts finds the last attempt of each event by its highest id.
var lastAttempts = `SELECT r.event_id, n.attempts, r.id, r.response_status, r.success, r.response_time,
		CASE WHEN r.response_status = 0 THEN substr(r.response_body, 1, ` + strconv.Itoa(maxCause) + `)
		ELSE '' END, r.diagnosis, r.created_at
	FROM (SELECT event_id, max(id) AS id, count(*) AS attempts FROM webhook_responses WHERE event_id = ANY($1)
	GROUP BY event_id) AS n
	JOIN webhook_responses AS r ON r.id = n.id`

// addAttempts adds the last attempts, in a single statement.
func (w lastTried) addAttempts(ctx context.Context, rows []Delivery) error {
	var missing []int64
	for _, d := range rows {
		if _, ok := w.of[d.EventID]; !ok {
			missing = append(missing, d.EventID)
		}
	}
	if len(missing) > 0 {
		list, err := sqldb.All(ctx, w.tx, scanCounted, lastAttempts, missing)
		if err != nil {
			return fmt.Errorf("read the last attempts: %w", err)
		}
		for _, c := range list {
			w.of[c.eventID] = c
		}
	}
	for i := range rows {
		c := w.of[rows[i].EventID]
		rows[i].Attempts = c.n
		if rows[i].State != Waiting {
			rows[i].Last = c.last
		}
	}
	return nil
}
