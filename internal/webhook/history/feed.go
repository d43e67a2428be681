package history

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// Fresh is a new attempt, for open pages.
type Fresh struct {
	ID        int64
	PartnerID int64
	Delivery  // as it is now
}

// maxGap is the number of attempts of all partners that one read of the feed examines.
const maxGap = 20_000

// NewestAttempt returns an id up to which all attempts are committed.
func (r Reader) NewestAttempt(ctx context.Context) (int64, error) {
	id, err := r.DB.StableRows(ctx, "webhook_responses")
	if err != nil {
		return 0, fmt.Errorf("read the newest attempt: %w", err)
	}
	return id, nil
}

// AttemptsAfter returns at most limit attempts after an id, oldest first, and the id up to which it
// has looked. No partnerIDs means all partners. It stops before ids that a running transaction of
// another node may still commit. lost reports that there were too many to examine.
func (r Reader) AttemptsAfter(
	ctx context.Context,
	partnerIDs []int64,
	after int64,
	limit int,
) (list []Fresh, upTo int64, lost bool, err error) {
	upTo, err = r.NewestAttempt(ctx)
	switch {
	case err != nil:
		return nil, after, false, err
	case upTo <= after:
		return nil, after, false, nil
	case upTo-after > maxGap:
		return nil, upTo, true, nil
	}
	list, err = sqldb.All(ctx, r.DB, func(r *sqldb.Row, f *Fresh) error {
		var d Delivery
		var err error
		f.ID, f.PartnerID, d, err = scanFresh(r)
		f.Delivery = d
		return err
	}, `SELECT r.id, r.response_status, r.success, r.cause, d.partner_id, `+deliveryColumns+`
		FROM (SELECT id, event_id, response_status, success, `+causeOf+` AS cause FROM webhook_responses
		WHERE id > $1 AND id <= $2) AS r
		JOIN deliveries AS d ON d.event_id = r.event_id LEFT JOIN outbox AS o ON o.event_id = d.event_id
		WHERE $5 = 0 OR d.partner_id = ANY($3) ORDER BY r.id LIMIT $4`, after, upTo, partnerIDs, limit, len(partnerIDs))
	if err != nil {
		return nil, after, false, fmt.Errorf("read new attempts: %w", err)
	}
	if len(list) == limit {
		upTo = list[limit-1].ID
	}
	return list, upTo, false, nil
}

func scanFresh(r *sqldb.Row) (id, partnerID int64, d Delivery, err error) {
	var last LastAttempt
	var state deliveryState
	err = r.Scan(append([]any{&id, &last.Status, &last.Success, &last.Cause, &partnerID}, state.targets(&d)...)...)
	last.ID = id
	state.apply(&d)
	if d.State != Waiting {
		d.Last = last
	}
	return id, partnerID, d, err
}

// Means reports whether the filter matches a delivery with its last attempt.
func (f Filter) Means(d Delivery) bool {
	return f.matches(&d) && (!f.Codes.Set || d.Last.ID != 0 && f.Codes.has(d.Last.Status, d.Last.Cause))
}
