package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/diagnose"
	"claviger/internal/sqldb"
)

// Candidates are deliveries that a job may resend.
type Candidates struct {
	EventIDs []int64 // oldest first
	Skipped  int64   // delivered since the job began, but not by it
	Looked   int64
	At       Key  // the last one examined
	Ended    bool // there are no more
}

// JobAt is the position of a job that looks for candidates.
type JobAt struct {
	JobID int64
	Begun time.Time
	After Key // events up to this one are done
}

// lookAhead is the number of deliveries examined for one batch of events to send.
const lookAhead = 2000

// Candidates examines the next deliveries of a job, oldest first, until it has most matches. If the
// filter selects failures, failed deliveries that were delivered since the job began count as
// skipped, because the job had counted them. Deliveries that succeeded earlier never belonged to
// the job.
func (f Filter) Candidates(
	ctx context.Context,
	tx *sqldb.Tx,
	partnerID int64,
	job JobAt,
	most int,
) (Candidates, error) {
	after := job.After
	if after.IsZero() {
		after = Key{f.From, 0}
	}
	sql := `deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id WHERE d.partner_id = $1`
	args := []any{partnerID, f.last().At, after.At, after.EventID, lookAhead}
	if f.LicenseID != 0 {
		sql += ` AND d.license_id = $6`
		args = append(args, f.LicenseID)
	}
	rows, err := sqldb.All(
		ctx,
		tx,
		scanDelivery,
		`SELECT `+deliveryColumns+` FROM `+sql+` AND d.created_at < $2 AND d.created_at >= $3
		AND (d.created_at, d.event_id) > ($3, $4) ORDER BY d.created_at, d.event_id LIMIT $5`,
		args...)
	if err != nil {
		return Candidates{}, fmt.Errorf("look for events to send again: %w", err)
	}
	c := Candidates{At: after, Ended: len(rows) < lookAhead}
	found, err := f.among(ctx, lastTried{tx, map[int64]counted{}}, rows)
	if err != nil {
		return Candidates{}, err
	}
	if len(found) > most {
		found = found[:most]
		c.Ended = false
		end := found[most-1].EventID
		rows = rows[:slices.IndexFunc(rows, func(d Delivery) bool { return d.EventID == end })+1]
	}
	c.Looked = int64(len(rows))
	if len(rows) > 0 {
		c.At = rows[len(rows)-1].Key()
	}
	for _, d := range found {
		c.EventIDs = append(c.EventIDs, d.EventID)
	}
	if f.OnlyFailures() {
		c.Skipped, err = deliveredSince(ctx, tx, f, job, rows)
	}
	return c, err
}

// among returns the rows that match the filter.
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
	return slices.DeleteFunc(
		found,
		func(d Delivery) bool { return d.Last.ID == 0 || !f.Codes.has(d.Last.Status, d.Last.Cause) },
	), err
}

// OnlyFailures reports whether the filter excludes everything delivered.
func (f Filter) OnlyFailures() bool {
	switch f.State {
	case Failing, Exhausted, Superseded, Failed:
		return true
	case AnyState, Delivered, Waiting:
	}
	return f.Codes.failures()
}

// deliveredSince counts deliveries that succeeded since the job began and had a failed attempt that
// matches the filter. It excludes sends by the job itself (the newest event of a license): the job
// counts those.
func deliveredSince(ctx context.Context, tx *sqldb.Tx, f Filter, job JobAt, rows []Delivery) (int64, error) {
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
	low := 0
	high := 1000
	if f.Codes.Set {
		low = f.Codes.Low
		high = f.Codes.High
	}
	type failed struct {
		eventID int64
		why     string
	}
	list, err := sqldb.All(ctx, tx, func(r *sqldb.Row, f *failed) error { return r.Scan(&f.eventID, &f.why) },
		`SELECT DISTINCT event_id, `+causeOf+` FROM webhook_responses
			WHERE event_id = ANY($1) AND success = FALSE AND response_status >= $2 AND response_status <= $3
				AND EXISTS (SELECT 1 FROM webhook_responses AS s
				LEFT JOIN manual_sends AS m ON m.generation = s.generation AND m.event_id = s.event_id
					WHERE s.event_id = webhook_responses.event_id AND s.success = TRUE AND s.created_at >= $4
					AND coalesce(m.job_id, 0) <> $5)`,
		ids, low, high, job.Begun, cmp.Or(job.JobID, -1))
	if err != nil {
		return 0, fmt.Errorf("look for events that were delivered since: %w", err)
	}
	found := map[int64]bool{}
	for _, a := range list {
		if f.Codes.Cause == "" || diagnose.CauseOf(a.why) == f.Codes.Cause {
			found[a.eventID] = true
		}
	}
	return int64(len(found)), nil
}
