package seed

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/sqldb"
)

// buyersPer is the number of licenses of each buyer of Shop.
const buyersPer = 3

// Shop fills an empty database for searches of the console: partners that share the licenses, each
// license with its purchase and its buyer. It has no events.
func Shop(ctx context.Context, url string, partners int, licenses int64) error {
	db, err := sqldb.Open(ctx, url, sqldb.Options{})
	if err != nil {
		return err
	}
	_, err = db.Migrate(ctx)
	if err == nil {
		_, err = Partners(ctx, db, partners)
	}
	postgres := IsPostgres(url)
	parts := int64(60) // SQLite stores the changes of a transaction in memory
	for i := int64(0); err == nil && i < parts; i++ {
		err = db.Write(ctx, func(tx *sqldb.Tx) error {
			return errors.Join(prepare(ctx, tx, postgres), addShop(ctx, tx, int64(partners), licenses*i/parts+1,
				licenses*(i+1)/parts))
		})
	}
	if err == nil {
		err = Vacuum(ctx, db, url)
	}
	if err != nil {
		err = fmt.Errorf("seed a shop of %d licenses: %w", licenses, err)
	}
	return errors.Join(err, db.Close())
}

// addShop writes the licenses of a range of numbers with their purchases and buyers.
func addShop(ctx context.Context, tx *sqldb.Tx, partners, from, to int64) error {
	const buyer = `1 + i / 3` // see buyersPer; there are more users than buyers
	const n = `WITH RECURSIVE n (i) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < $2) `
	at := begun(to)
	for _, sql := range []string{
		n + `INSERT INTO users (id, email, email_key, name, external_id, operator, password_hash, proven_at, created_at,
			updated_at, erased_at)
			SELECT i, 'Buyer-' || i || '@example.com', 'buyer-' || i || '@example.com', '', 'customer-' || i, 1 = 0, '',
			0, CAST($3 AS bigint), CAST($3 AS bigint), 0
			FROM n WHERE CAST($4 AS bigint) > 0`,
		n + `INSERT INTO purchases (id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id,
			content, created_at, posted)
			SELECT i, 1 + i % CAST($4 AS bigint), 1, 'order-' || i, 1, 1, 4900, 'USD', ` + buyer + `, '',
			CAST($3 AS bigint) + i, 1 = 1 FROM n`,
		n + `INSERT INTO purchase_links (license_id, seq, purchase_id, tier, refund_id) SELECT i, 1, i, 1, 0 FROM n
			WHERE CAST($3 AS bigint) > 0 AND CAST($4 AS bigint) > 0`,
		words.Replace(n + `INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier,
			owner_id, redeemed, released, held, erased,
				epoch, event_ms, created_at, updated_at)
			SELECT i, 1 + i % CAST($4 AS bigint), 1 + i / CAST($4 AS bigint), {key}, {redemption}, 1, 1, ` + buyer + `,
			1 = 0, 1 = 0, 0, 1 = 0, 0, 0, CAST($3 AS bigint) + i, CAST($3 AS bigint) + i FROM n`),
	} {
		if _, err := tx.Exec(ctx, sql, from, to, at, partners); err != nil {
			return err
		}
	}
	return nil
}

// Email returns the address of the buyer of the i-th license of Shop, in another letter case than
// stored.
func Email(i int64) string { return fmt.Sprintf("BUYER-%d@example.com", 1+i/buyersPer) }

// Customer returns the external id of the buyer of the i-th license of Shop.
func Customer(i int64) string { return fmt.Sprintf("customer-%d", 1+i/buyersPer) }

// Reference returns the external id of the purchase of the i-th license of Shop.
func Reference(i int64) string { return fmt.Sprintf("order-%d", i) }
