package seed

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// The licenses are numbered i = 1…n, and event e = 1…5n is the k-th (from 0) of
// license i = (e-1) % n + 1. Everything else is a function of i, e and k, so
// that both tables are written without looking at one another. Statuses and the
// first eight digits of keys are scattered as if they were random: 60 % active,
// 25 % inactive, 15 % deactivated.
//
// Integer division, remainder and text functions are the same in both databases.
var words = strings.NewReplacer(
	"{key}", `substr(CAST(100000000 + i * 2654435761 % 100000000 AS text), 2) || '-1000-4000-8000-'
		|| substr(CAST(1000000000000 + i AS text), 2)`,
	"{redemption}", `substr(CAST(100000000 + i * 2246822519 % 100000000 AS text), 2) || '-2000-4000-8000-'
		|| substr(CAST(1000000000000 + i AS text), 2)`,
	"{status}", `(CASE WHEN i * 2654435761 % 4294967296 / 65536 % 100 < 60 THEN 2
		WHEN i * 2654435761 % 4294967296 / 65536 % 100 < 85 THEN 1 ELSE 3 END)`,
	"{tier}", `(1 + (i + 4) % 3)`,
)

// spacing is the time between two events, in nanoseconds.
const spacing = int64(5_000_123_000)

// series are the rows to write. The last event was in the past hour.
type series struct {
	partnerID, licenses int64
	begun               int64
}

func begun(licenses int64) int64 {
	return time.Now().UTC().Truncate(time.Hour).UnixNano() - licenses*EventsPerLicense*spacing
}

// addLicenses writes a range of the licenses.
func (s series) addLicenses(ctx context.Context, tx *sqldb.Tx, from, to int64) error {
	_, err := tx.Exec(ctx, words.Replace(`
		WITH RECURSIVE n (i) AS (SELECT CAST($5 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < $6)
		INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed,
		released, held, erased,
			epoch, event_ms, created_at, updated_at)
		SELECT i, CAST($1 AS bigint), i, {key}, {redemption}, {status}, {tier},
			CASE WHEN {status} = 1 THEN 0 ELSE 1000000000 + i END, {status} <> 1, 1 = 0, CASE WHEN {status} = 3 THEN 2
			ELSE 0 END, 1 = 0,
			0, ($3 + (4 * $2 + i) * $4) / 1000000, $3 + i * $4, $3 + (4 * $2 + i) * $4
		FROM n`), s.partnerID, s.licenses, s.begun, spacing, from, to)
	return err
}

// addEvents writes a range of the events. A license's first event is its purchase; the
// last one's kind is the license's status; those between are changes of the tier.
func (s series) addEvents(ctx context.Context, tx *sqldb.Tx, from, to int64) error {
	_, err := tx.Exec(ctx, words.Replace(`
		WITH RECURSIVE n (e) AS (SELECT CAST($5 AS bigint) UNION ALL SELECT e + 1 FROM n WHERE e < $6),
			numbered AS (SELECT e, (e - 1) % $2 + 1 AS i, (e - 1) / $2 AS k FROM n)
		INSERT INTO events (id, partner_id, ord, license_id, license_key, kind, tier, previous_tier, reason, event_ms,
		status, created_at)
		SELECT e, CAST($1 AS bigint), e, i, {key},
			CASE WHEN k = 0 OR {status} = 1 THEN 1 WHEN k = 4 THEN {status} ELSE 2 END,
			1 + (i + k) % 3, CASE WHEN k = 0 THEN 0 ELSE 1 + (i + k + 2) % 3 END,
			CASE WHEN k = 0 THEN 'purchased' ELSE 'plan_changed' END,
			($3 + e * $4) / 1000000, {status}, $3 + e * $4
		FROM numbered`), s.partnerID, s.licenses, s.begun, spacing, from, to)
	return err
}

// addBlocks writes the counts of the blocks of a range, which are all in it.
func (s series) addBlocks(ctx context.Context, tx *sqldb.Tx, table string, from, to int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO `+table+`_blocks (partner_id, status, block, n)
		SELECT partner_id, status, (ord - 1) / 4096, count(*) FROM `+table+`s
		WHERE partner_id = $1 AND ord >= $2 AND ord <= $3
		GROUP BY partner_id, status, (ord - 1) / 4096`, s.partnerID, from, to)
	return err
}

// count writes the service's other data about the rows: the sequences, the partner's ledger.
func (s series) count(ctx context.Context, tx *sqldb.Tx, postgres bool) error {
	events := s.licenses * EventsPerLicense
	for name, last := range map[string]int64{"license_ids": s.licenses, "event_ids": events} {
		sql := `UPDATE sequences SET last = $2 WHERE name = $1`
		if postgres {
			sql = `SELECT setval($1::text::regclass, $2)`
		}
		if _, err := tx.Exec(ctx, sql, name, last); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE partner_counters SET licenses = $2, events = $3, clock = $4 WHERE partner_id = $1`,
		s.partnerID, s.licenses, events, s.begun+events*spacing)
	return err
}

// LicenseKey returns the key of the i-th seeded license, from 1.
func LicenseKey(i int64) string {
	return fmt.Sprintf("%08d-1000-4000-8000-%012d", i*2654435761%100000000, i)
}
