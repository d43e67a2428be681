//go:build unix

package system_test

import (
	"testing"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// books is the ledger of a database.
type books struct {
	*testing.T
	db *sqldb.DB
}

// checkLedger waits until the service has posted what nodes of the previous release wrote. Then it compares
// the ledger with the sales and refunds.
func checkLedger(t *testing.T, url string) {
	t.Helper()
	b := books{t, sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})}
	t.Logf("%d sales and %d refunds are not posted yet", b.count(unpostedSales), b.count(unpostedRefunds))
	await(t, "everything is posted", func() bool { return b.count(unpostedSales)+b.count(unpostedRefunds) == 0 })
	b.sound()
	b.equal(`SELECT count(*) FROM ledger_sales`, `SELECT count(*) FROM purchases WHERE amount_cents <> 0`)
	b.equal(`SELECT CAST(sum(gross) AS bigint) FROM ledger_sales`,
		`SELECT CAST(sum(amount_cents) AS bigint) FROM purchases`)
	b.none("sales without a posted state like theirs", `SELECT count(*) FROM purchases AS p
		LEFT JOIN ledger_sales AS s ON s.purchase_id = p.id
			AND s.partner_id = p.partner_id AND s.gross = p.amount_cents AND s.currency = p.currency
		WHERE p.amount_cents <> 0 AND s.purchase_id IS NULL`)
	b.none("sales with another part back than is refunded", `SELECT count(*) FROM ledger_sales AS s
		JOIN (`+refunded+`) AS k ON k.purchase_id = s.purchase_id
		WHERE s.back <> s.gross * k.back / k.links`)
	b.none("sales from before the ledger that count, or later ones that do not", `SELECT count(*) FROM ledger_sales
		WHERE (settled >= 0) <> (sold_at < (SELECT began_at FROM ledger_state))`)
	b.some("sales from before the ledger", `SELECT count(*) FROM ledger_sales WHERE settled >= 0`)
	b.some("later sales of the previous release", `SELECT count(*) FROM purchases AS p
		JOIN ledger_sales AS s ON s.purchase_id = p.id WHERE p.collected_by = '' AND s.settled < 0`)
	b.some("sales of this release", `SELECT count(*) FROM purchases WHERE collected_by <> '' AND amount_cents <> 0`)
	b.some("sales that are refunded in part", `SELECT count(*) FROM (`+refunded+`) AS k
		WHERE k.back > 0 AND k.back < k.links`)
	b.some("sales that are refunded", `SELECT count(*) FROM (`+refunded+`) AS k WHERE k.back = k.links`)
	b.some("reversed refunds", `SELECT count(*) FROM refunds WHERE reversed_at <> 0`)
}

const (
	unpostedSales   = `SELECT count(*) FROM purchases WHERE posted = FALSE AND amount_cents <> 0`
	unpostedRefunds = `SELECT count(*) FROM refunds WHERE posted_at < created_at OR posted_at < reversed_at`

	// refunded counts the licenses of each sale, and those that are refunded.
	refunded = `SELECT purchase_id, count(*) AS links, count(CASE WHEN refund_id <> 0 THEN 1 END) AS back
		FROM purchase_links GROUP BY purchase_id`
)

// sound checks the ledger of each partner.
func (b books) sound() {
	b.Helper()
	partners, err := ledger.Partners(b.Context(), b.db)
	if err != nil || len(partners) == 0 {
		b.Fatalf("the partners of the ledger are %v, %v", partners, err)
	}
	for _, id := range partners {
		err := b.db.Read(b.Context(), func(tx *sqldb.Tx) error {
			mistakes, err := ledger.Check(b.Context(), tx, id)
			for _, m := range mistakes[:min(len(mistakes), 10)] {
				b.Errorf("partner %d: %s", id, m)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func (b books) count(query string) int64 {
	b.Helper()
	n, err := sqldb.One(b.Context(), b.db, sqldb.Value[int64], query)
	if err != nil {
		b.Fatalf("%v\n%s", err, query)
	}
	return n
}

func (b books) equal(one, other string) {
	b.Helper()
	if n, m := b.count(one), b.count(other); n != m {
		b.Errorf("%d and %d differ:\n%s\n%s", n, m, one, other)
	}
}

func (b books) none(what, query string) {
	b.Helper()
	if n := b.count(query); n != 0 {
		b.Errorf("%d %s", n, what)
	}
}

// some checks that the load had a case at all.
func (b books) some(what, query string) {
	b.Helper()
	n := b.count(query)
	b.Logf("%d %s", n, what)
	if n == 0 {
		b.Errorf("no %s", what)
	}
}
