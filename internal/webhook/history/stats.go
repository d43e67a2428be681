package history

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// AttemptFact is an attempt as package stats counts it.
type AttemptFact struct {
	ID        int64
	PartnerID int64
	At        time.Time
	Success   bool
	Status    int // 0: no HTTP answer
	Took      time.Duration
}

// StableAttempts returns an id up to which all attempts are committed; running transactions write
// only later ones.
func StableAttempts(ctx context.Context, db *sqldb.DB) (int64, error) {
	id, err := db.StableRows(ctx, "webhook_responses")
	if err != nil {
		return 0, fmt.Errorf("read up to which id attempts are stable: %w", err)
	}
	return id, nil
}

// AttemptFacts returns at most limit attempts of all partners after an id and up to another,
// ordered by id.
func AttemptFacts(ctx context.Context, r sqldb.Reader, after, upTo int64, limit int) ([]AttemptFact, error) {
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, f *AttemptFact) error {
		var ms int64
		err := r.Scan(&f.ID, &f.PartnerID, &f.At, &f.Success, &f.Status, &ms)
		f.Took = time.Duration(ms) * time.Millisecond
		return err
	}, `SELECT r.id, d.partner_id, r.created_at, r.success, r.response_status, r.response_time
		FROM (SELECT id, event_id, created_at, success, response_status, response_time FROM webhook_responses
			WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) AS r
		JOIN deliveries AS d ON d.event_id = r.event_id ORDER BY r.id`, after, upTo, limit)
	if err != nil {
		return nil, fmt.Errorf("read what attempts met: %w", err)
	}
	return list, nil
}
