package event

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Fact has the data of an event that package stats counts.
type Fact struct {
	ID        int64
	PartnerID int64
	Kind      Kind
	Reason    Reason
	At        time.Time
	Was       Status    // of the license before; 0 for a new one
	SoldAt    time.Time // for the first activation of a sold license: time of the sale; else zero
}

// Stable returns the id up to which all events are committed, despite running transactions.
func Stable(ctx context.Context, db *sqldb.DB) (int64, error) {
	id, err := db.StableUpTo(ctx, "event_ids")
	if err != nil {
		return 0, fmt.Errorf("read up to which id events are stable: %w", err)
	}
	return id, nil
}

// Facts returns at most limit events of all partners after an id and up to another, in the order of
// their ids. Each costs a lookup of the events of its license, except for the first event of a
// license.
func Facts(ctx context.Context, r sqldb.Reader, after, upTo int64, limit int) ([]Fact, error) {
	first := sqldb.Literal(Purchase)
	active := sqldb.Literal(Activate)
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, f *Fact) error {
		return r.Scan(&f.ID, &f.PartnerID, (*int)(&f.Kind), (*string)(&f.Reason), &f.At, (*int)(&f.Was), &f.SoldAt)
	}, `SELECT e.id, e.partner_id, e.kind, e.reason, e.created_at,
			CASE WHEN e.kind = `+first+` THEN 0 ELSE coalesce((SELECT b.kind FROM events AS b
				WHERE b.license_id = e.license_id AND b.id < e.id ORDER BY b.id DESC LIMIT 1), 0) END,
			CASE WHEN e.kind <> `+active+` OR EXISTS (SELECT 1 FROM events AS a
					WHERE a.license_id = e.license_id AND a.id < e.id AND a.kind = `+active+`) THEN 0
				ELSE (SELECT CASE
				WHEN s.reason = '`+string(Operator)+`' THEN 0 ELSE s.created_at END FROM events AS s
				WHERE s.license_id = e.license_id ORDER BY s.id LIMIT 1) END
		FROM events AS e WHERE e.id > $1 AND e.id <= $2 ORDER BY e.id LIMIT $3`, after, upTo, limit)
	if err != nil {
		return nil, fmt.Errorf("read what happened: %w", err)
	}
	return list, nil
}
