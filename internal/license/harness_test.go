package license_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// harness has the services that licenses work with.
type harness struct {
	testing.TB
	db       *sqldb.DB
	licenses *license.Store
	partners *partner.Store
	events   *event.Log
	accounts *account.Store
}

var tester = audit.System("test")

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func newHarness(t testing.TB) *harness {
	t.Helper()
	return newHarnessOn(t, sqldbtest.Open(t))
}

func newHarnessOn(t testing.TB, db *sqldb.DB) *harness {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return &harness{
		TB: t, db: db,
		licenses: &license.Store{DB: db, Now: now, Gather: &license.Gatherer{}},
		partners: &partner.Store{DB: db, Sealer: box, Now: now},
		events:   &event.Log{DB: db},
		accounts: &account.Store{DB: db, Now: now},
	}
}

// partner makes a partner that sells tiers 1 to 3.
func (h *harness) partner() int64 {
	h.Helper()
	var p partner.Partner
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		var err error
		p, _, err = h.partners.Create(h.Context(), tx, tester, partner.Draft{Name: "Partner"}, partner.Credentials{})
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	for tier := 1; tier <= 3; tier++ {
		_, _, err := h.partners.PutPlan(h.Context(), tester, p.ID, partner.Plan{Tier: tier, Name: fmt.Sprint("Tier ", tier), Currency: "USD"})
		if err != nil {
			h.Fatal(err)
		}
	}
	return p.ID
}

func (h *harness) user(name string) account.User {
	h.Helper()
	u, _, err := h.accounts.Create(h.Context(), tester, person(name))
	if err != nil {
		h.Fatal(err)
	}
	return u
}

func person(name string) account.Person { return account.Person{Email: name + "@example.com"} }

// buy buys licenses and returns them.
func (h *harness) buy(p license.Purchase) []license.License {
	h.Helper()
	sale, err := h.tryBuy(p)
	if err != nil {
		h.Fatal(err)
	}
	return sale.Licenses
}

func (h *harness) tryBuy(p license.Purchase) (license.Sale, error) {
	if p.Quantity == 0 {
		p.Quantity = 1
	}
	return h.licenses.Purchase(h.Context(), tester, p)
}

func (h *harness) license(key string) license.License {
	h.Helper()
	l, err := h.licenses.ByKey(h.Context(), key)
	if err != nil {
		h.Fatal(err)
	}
	return l
}

// history returns a license's events, oldest first.
func (h *harness) history(l license.License) []event.Event {
	h.Helper()
	list, err := h.events.OfLicense(h.Context(), l.ID, event.Filter{}, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst})
	if err != nil {
		h.Fatal(err)
	}
	return list.Events
}

// code returns the code of a fault, "" for success, and otherwise the text of the error.
func code(err error) string {
	if err == nil {
		return ""
	}
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return err.Error()
}

// count queries a number.
func (h *harness) count(sql string, args ...any) int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.db, sqldb.Value[int64], sql, args...)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// exec runs a statement on the database.
func (h *harness) exec(sql string, args ...any) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(sql, args...)
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
}

// verify checks, on the stored rows of all partners, every invariant that can be
// seen there.
func (h *harness) verify() {
	h.Helper()
	zero := func(what, sql string) {
		h.Helper()
		if n := h.count(sql); n != 0 {
			h.Errorf("%s: %d", what, n)
		}
	}
	zero("statuses that are none of the three (1)", `SELECT count(*) FROM licenses WHERE status NOT IN (1, 2, 3)`)
	zero("sales of a kind that no other node knows", `SELECT count(*) FROM purchases WHERE kind NOT IN (1, 2)`)
	zero("licenses that are not what their last event says (2, 3)", `SELECT count(*) FROM licenses AS l JOIN events AS e ON e.license_id = l.id
		WHERE e.id = (SELECT max(id) FROM events WHERE license_id = l.id) AND (e.kind <> l.status OR e.tier <> l.tier OR e.event_ms <> l.event_ms)`)
	zero("licenses without an event (4)", `SELECT count(*) FROM licenses AS l WHERE NOT EXISTS (SELECT 1 FROM events WHERE license_id = l.id)`)
	zero("events that changed nothing (4)", `SELECT count(*) FROM (SELECT kind, tier, lag(kind) OVER w AS k, lag(tier) OVER w AS t
		FROM events WINDOW w AS (PARTITION BY license_id ORDER BY id)) AS e WHERE kind = k AND tier = t`)
	zero("active licenses that are not entitled, held, released or nobody's (5)", `SELECT count(*) FROM licenses AS l WHERE status = 2 AND (
		held <> 0 OR released = TRUE OR owner_id = 0 OR ended = TRUE)`)
	zero("licenses whose end does not follow from their links", `SELECT count(*) FROM licenses AS l WHERE ended = EXISTS (
		SELECT 1 FROM purchase_links AS k WHERE k.license_id = l.id AND k.refund_id = 0 AND (k.amount + k.credit = 0 OR k.amount + k.credit <= (
			SELECT sum(o.amount) FROM purchase_links AS o WHERE o.license_id = l.id AND o.refund_id = 0 AND o.currency = k.currency)))`)
	zero("event ids or times that do not rise with the license's history (9, 10)", `SELECT count(*) FROM (
		SELECT event_ms, lag(event_ms) OVER w AS before, ord, lag(ord) OVER w AS ord_before
		FROM events WINDOW w AS (PARTITION BY license_id ORDER BY id)) AS e WHERE event_ms <= before OR ord <= ord_before`)
	zero("event ids that do not rise with the partner's ordinals (9)", `SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY partner_id ORDER BY ord) AS before
		FROM events) AS e WHERE id <= before`)
	zero("updated_at other than that of the last event (11)", `SELECT count(*) FROM licenses AS l JOIN events AS e ON e.license_id = l.id
		WHERE e.id = (SELECT max(id) FROM events WHERE license_id = l.id) AND e.created_at <> l.updated_at`)
	zero("updated_at that does not rise in commit order (11)", `SELECT count(*) FROM (SELECT created_at, lag(created_at) OVER (PARTITION BY partner_id ORDER BY ord) AS before
		FROM events) AS e WHERE created_at < before`)
	zero("events without their delivery, imports aside", `SELECT count(*) FROM events AS e WHERE reason <> 'operator' AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = e.id)`)
	zero("events beside their license's status", `SELECT count(*) FROM events AS e JOIN licenses AS l ON l.id = e.license_id WHERE e.status <> l.status`)
	for _, table := range []string{"licenses", "events"} {
		zero("gaps in the ordinals of "+table, `SELECT count(*) FROM (SELECT partner_id, max(ord) - count(*) AS gap, min(ord) AS low FROM `+table+`
			GROUP BY partner_id) AS x WHERE gap <> 0 OR low <> 1`)
		block := table[:len(table)-1] + "_blocks"
		zero("wrong counts in "+block, `SELECT count(*) FROM `+block+` AS b WHERE n <> (SELECT count(*) FROM `+table+` AS r
			WHERE r.partner_id = b.partner_id AND r.status = b.status AND (r.ord - 1) / 4096 = b.block)`)
		zero(table+" that no block counts", `SELECT count(*) FROM `+table+` AS r WHERE NOT EXISTS (SELECT 1 FROM `+block+` AS b
			WHERE r.partner_id = b.partner_id AND r.status = b.status AND (r.ord - 1) / 4096 = b.block)`)
	}
	zero("wrong counters", `SELECT count(*) FROM partner_counters AS c WHERE
		licenses <> (SELECT count(*) FROM licenses WHERE partner_id = c.partner_id) OR events <> (SELECT count(*) FROM events WHERE partner_id = c.partner_id)`)
	h.verifyLedger(zero)
}

// verifyLedger checks that each sale with an amount is posted, with the part of it that is refunded.
func (h *harness) verifyLedger(zero func(what, sql string)) {
	h.Helper()
	zero("sales without a mark", `SELECT count(*) FROM purchases WHERE posted = FALSE`)
	zero("refunds without a mark", `SELECT count(*) FROM refunds WHERE posted_at < created_at OR posted_at < reversed_at`)
	zero("sales that are posted wrongly", `SELECT count(*) FROM purchases AS p LEFT JOIN ledger_sales AS s ON s.purchase_id = p.id
		WHERE p.amount_cents <> 0 AND p.currency <> '' AND (s.gross IS NULL OR s.gross <> p.amount_cents OR s.collected <> p.collected_by)
		OR (p.amount_cents = 0 OR p.currency = '') AND s.gross IS NOT NULL`)
	zero("wrong refunds of sales that the provider was not paid for", `SELECT count(*) FROM ledger_sales AS s WHERE collected <> 'provider'
		AND back <> (SELECT s.gross * count(CASE WHEN refund_id <> 0 THEN 1 END) / count(*) FROM purchase_links AS k WHERE k.purchase_id = s.purchase_id)`)
	partners, err := sqldb.All(h.Context(), h.db, sqldb.Value[int64], `SELECT id FROM partners`)
	if err != nil {
		h.Fatal(err)
	}
	for _, id := range partners {
		for _, mistake := range h.mistakes(id) {
			h.Errorf("partner %d: %s", id, mistake)
		}
	}
}

// mistakes returns the mistakes in the ledger of a partner.
func (h *harness) mistakes(partnerID int64) (list []string) {
	h.Helper()
	err := h.db.Read(h.Context(), func(tx *sqldb.Tx) (err error) {
		list, err = ledger.Check(h.Context(), tx, partnerID)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return list
}
