package seed

import (
	"context"
	"errors"
	"fmt"
	"math"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// Look opens a seeded database, checks it and describes its content. A state that the service would
// not produce is an error: measurements on it would be worthless.
func Look(ctx context.Context, url string) (Market, error) {
	db, err := sqldb.Open(ctx, url, sqldb.Options{})
	if err != nil {
		return Market{}, err
	}
	m, err := look(ctx, db)
	m.URL = url
	return m, errors.Join(err, db.Close())
}

func look(ctx context.Context, db *sqldb.DB) (Market, error) {
	var m Market
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		if m.Partners, err = sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT id FROM partners ORDER BY id`); err != nil {
			return err
		}
		if len(m.Partners) == 0 {
			return errors.New("there is no partner")
		}
		if m.Licenses, err = Check(ctx, tx, "license", m.Partners[0]); err != nil {
			return err
		}
		if m.Events, err = Check(ctx, tx, "event", m.Partners[0]); err != nil {
			return err
		}
		m.Active, err = sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT CAST(coalesce(sum(n), 0) AS bigint)
			FROM license_blocks
			WHERE partner_id = $1 AND status = $2`, m.Partners[0], int(event.Active))
		return err
	})
	if err != nil {
		return m, fmt.Errorf("check the database: %w", err)
	}
	return m, nil
}

// Check checks the licenses or the events of a partner (what: "license" or "event") and returns
// their number. Ordinals must be dense from 1, the ledger must have the last, and the block counts
// must match the rows.
func Check(ctx context.Context, tx *sqldb.Tx, what string, partnerID int64) (int64, error) {
	type numbers struct{ n, low, high, ledger int64 }
	s, err := sqldb.One(ctx, tx, func(r *sqldb.Row, s *numbers) error {
		return r.Scan(&s.n, &s.low, &s.high, &s.ledger)
	},
		`SELECT (SELECT count(*) FROM `+what+`s WHERE partner_id = $1), (SELECT coalesce(min(ord), 1) FROM `+what+`s
			WHERE partner_id = $1),
			(SELECT coalesce(max(ord), 0) FROM `+what+`s WHERE partner_id = $1), `+what+`s
		FROM partner_counters WHERE partner_id = $1`, partnerID)
	if err != nil {
		return 0, err
	}
	// Ordinals are unique, so they are dense if their number equals the span.
	if s.low != 1 || s.high != s.n || s.ledger != s.n {
		return 0, fmt.Errorf("%d %ss have the ordinals %d to %d, and the ledger has %d", s.n, what, s.low, s.high,
			s.ledger)
	}
	last := (s.n/partRows + 1) * partRows
	for r := range ranges(last, false) {
		if r.to == last {
			r.to = math.MaxInt64 // including blocks without rows
		}
		wrong, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM (
				SELECT status, (ord - 1) / 4096 AS block, count(*) AS n FROM `+what+`s
				WHERE partner_id = $1 AND ord >= $2 AND ord <= $3 GROUP BY status, (ord - 1) / 4096
			) AS t FULL JOIN (SELECT status, block, n FROM `+what+`_blocks WHERE partner_id = $1 AND n <> 0
				AND block >= ($2 - 1) / 4096 AND block <= ($3 - 1) / 4096) AS b
				ON b.status = t.status AND b.block = t.block
			WHERE t.n IS NULL OR b.n IS NULL OR t.n <> b.n`, partnerID, r.from, r.to)
		if err != nil {
			return 0, err
		}
		if wrong > 0 {
			return 0, fmt.Errorf("%d blocks of %ss have another count than their rows", wrong, what)
		}
	}
	return s.n, nil
}
