package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/sqldb"
)

// Sender is a person or program that resends events, with its job (0: none).
type Sender struct {
	By    audit.Actor
	JobID int64
}

// RedeliverMany makes events of a partner due now, and then the newest event of each of their licenses.
// The caller must have locked the partner. onlyFailed skips events that have been delivered. Events
// that are already due do not change; a parked endpoint is probed. It returns the number made due
// and the number delivered meanwhile.
func (o *Outbox) RedeliverMany(
	ctx context.Context, tx *sqldb.Tx, by Sender, partnerID int64, ids []int64, onlyFailed bool,
) (sent, skipped int64, err error) {
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
		skipped = int64(len(ids) - len(open))
		if len(open) == 0 {
			return 0, skipped, nil
		}
		ids = open
	}
	markManual(tx, now, by, `d.event_id = ANY($6)`, ids)
	const notDue = ` WHERE (NOT outbox.`
	licenses, err := sqldb.All(ctx, tx, sqldb.Value[int64], putBack+`d.event_id = ANY($2)
		AND d.partner_id = $3`+putBackDue+notDue+IsPending+` OR outbox.due_at > $1)
		RETURNING license_id`, now, ids, partnerID)
	if err != nil {
		return 0, 0, fmt.Errorf("send events again: %w", err)
	}
	if len(licenses) == 0 {
		return 0, skipped, nil
	}
	newest := `d.event_id IN (SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id = ANY($`
	markManual(tx, now, by, newest+`6) GROUP BY newest.license_id)`, licenses)
	after, err := tx.Exec(ctx, putBack+newest+`2) GROUP BY newest.license_id)
		AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.event_id = d.event_id AND o.`+IsPending+`
		AND o.updated_at = $1)`+
		putBackDue, now, licenses)
	if err != nil {
		return 0, 0, fmt.Errorf("send the newest events of licenses again: %w", err)
	}
	tx.Queue(`UPDATE outbox SET due_at = $1 WHERE license_id = ANY($2) AND `+IsPending+`
		AND due_at > $1`, now, licenses)
	tx.Queue(markRedelivered, licenses)
	tx.AfterCommit(func() {
		for _, id := range licenses {
			o.tell(News{PartnerID: partnerID, LicenseID: id})
		}
	})
	return int64(len(licenses)) + after, skipped, nil
}

// markRedelivered schedules a pruning check of the licenses' pending events.
var markRedelivered = `INSERT INTO redelivered (event_id) SELECT event_id FROM outbox
	WHERE license_id = ANY($1) AND ` + IsPending + `
	ON CONFLICT (event_id) DO NOTHING`

// markManual stores the sender of events under the generation now, and the schedule that it
// replaces. A condition on deliveries d follows.
func markManual(tx *sqldb.Tx, now time.Time, by Sender, condition string, args ...any) {
	tx.Queue(`INSERT INTO manual_sends (generation, event_id, actor_kind, actor_id, job_id, scheduled_at)
		SELECT CAST($1 AS bigint), d.event_id, CAST($2 AS text), CAST($3 AS bigint), CAST($4 AS bigint),
			CASE WHEN o.`+IsPending+` AND o.due_at > CAST($5 AS bigint) THEN o.due_at ELSE 0 END
		FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id WHERE `+condition+`
		ON CONFLICT (generation, event_id) DO NOTHING`, append([]any{now, by.By.Kind, by.By.ID, by.JobID, now},
		args...)...)
}
