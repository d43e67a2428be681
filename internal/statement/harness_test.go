package statement_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/ledger"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/statement"
)

var tester = audit.System("test")

// harness has the ledgers of two partners, at a time that the test sets.
type harness struct {
	testing.TB
	db      *sqldb.DB
	at      time.Time
	store   *statement.Store
	profile *profile.Store
	partner int64
	other   int64
	sales   int64
	facts   int
}

func newHarness(t testing.TB, o sqldb.Options) *harness {
	t.Helper()
	h := &harness{
		TB: t, db: sqldbtest.OpenWith(t, sqldbtest.URL(t), o), at: time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC),
	}
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return h.at }
	partners := &partner.Store{DB: h.db, Sealer: box, Now: now}
	h.profile = &profile.Store{DB: h.db, Partners: partners, Now: now}
	h.store = &statement.Store{
		DB: h.db, Now: now, Zone: time.UTC, Log: slog.New(slog.DiscardHandler), Mail: &mail.Outbox{Sealer: box},
		Marketplace: "Acme", PublicURL: "https://shop.example",
	}
	for _, id := range []*int64{&h.partner, &h.other} {
		made, err := h.profile.EnrolOnce(t.Context(), tester, profile.Enrolment{Draft: partner.Draft{Name: "App"}})
		if err != nil {
			t.Fatal(err)
		}
		*id = made.Partner.ID
		h.post(*id, func(_ context.Context, j *ledger.Journal) error {
			return j.AddTerms(ledger.Terms{
				ShareBP: 7000, Bears: ledger.PartnerBears, Days: 14, Smallest: map[string]int64{"USD": 5000},
			})
		})
	}
	return h
}

// post posts in a transaction.
func (h *harness) post(partnerID int64, do func(context.Context, *ledger.Journal) error) {
	h.Helper()
	if err := h.tryPost(partnerID, do); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) tryPost(partnerID int64, do func(context.Context, *ledger.Journal) error) error {
	ctx := context.WithoutCancel(h.Context())
	return h.db.Write(ctx, func(tx *sqldb.Tx) error {
		if err := ledger.Lock(ctx, tx, partnerID); err != nil {
			return err
		}
		j, err := ledger.Queue(tx, partnerID, ledger.Defaults{}).Open(ctx, h.at)
		if err != nil {
			return err
		}
		if err := do(ctx, j); err != nil {
			return err
		}
		return j.Save()
	})
}

// sell sells at the provider, and returns the purchase.
func (h *harness) sell(partnerID, amount int64, currency string) int64 {
	h.Helper()
	h.sales++
	id := h.sales
	h.post(partnerID, func(_ context.Context, j *ledger.Journal) error {
		j.Sell(ledger.Purchase{
			ID: id, Tier: 1, Amount: amount, Currency: currency, Collected: ledger.ByProvider, SoldAt: h.at,
		})
		return nil
	})
	return id
}

// follow posts a refund or a dispute.
func (h *harness) follow(partnerID, purchase int64, f ledger.Fact) {
	h.Helper()
	if f.Source == "" {
		h.facts++
		f.Source = fmt.Sprintf("fact_%d", h.facts)
	}
	if f.At.IsZero() {
		f.At = h.at
	}
	h.post(partnerID, func(ctx context.Context, j *ledger.Journal) error {
		return j.Follow(ctx, purchase, []ledger.Fact{f})
	})
}

func (h *harness) refund(partnerID, purchase, amount int64) {
	h.Helper()
	h.follow(partnerID, purchase, ledger.Fact{State: ledger.MoneyBack, Amount: amount})
}

func (h *harness) adjust(partnerID, amount int64, currency string) {
	h.Helper()
	h.facts++
	h.post(partnerID, func(_ context.Context, j *ledger.Journal) error {
		return j.Adjust(fmt.Sprintf("adjustment_%d", h.facts), amount, currency, "A prize")
	})
}

// to moves the time, never back.
func (h *harness) to(year int, month time.Month, day int) {
	h.at = time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

func (h *harness) close() {
	h.Helper()
	if err := h.store.CloseMonths(context.WithoutCancel(h.Context())); err != nil {
		h.Fatal(err)
	}
}

// list returns the statements of a partner, oldest first, and checks that their numbers have no gap and
// that each begins with the balance with which the last one in its currency ended.
func (h *harness) list(partnerID int64) []statement.Statement {
	h.Helper()
	found, next, err := h.store.List(h.Context(), partnerID, 0, 1000)
	if err != nil || next != 0 {
		h.Fatal(next, err)
	}
	closing := map[string]int64{}
	month := map[string]statement.Month{}
	list := make([]statement.Statement, len(found))
	for i := range found {
		s := found[len(found)-1-i]
		list[i] = s
		if s.Number != int64(i+1) {
			h.Errorf("statement %d has the number %d", i+1, s.Number)
		}
		if s.Opening != closing[s.Currency] || s.Closing != s.Opening+s.Total() {
			h.Errorf("the last one ended with %d: %+v", closing[s.Currency], s)
		}
		if closing[s.Currency] != 0 && s.Month != month[s.Currency]+1 {
			h.Errorf("a month is missing before %+v", s)
		}
		closing[s.Currency] = s.Closing
		month[s.Currency] = s.Month
	}
	return list
}

// count reads a number.
func (h *harness) count(sql string) int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.db, sqldb.Value[int64], sql)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// payOut posts a payout from beginning to end, as a run will.
func (h *harness) payOut(partnerID, amount int64, currency string) {
	h.Helper()
	h.facts++
	move := func(kind ledger.Kind, from, to ledger.Account) {
		h.exec(fmt.Sprintf(`INSERT INTO ledger_postings
			(partner_id, kind, source, purchase_id, tier, gross, currency, lines, reason, at, created_at)
			VALUES (%d, '%s', 'payout_%d', 0, 0, 0, '%s',
			'[{"Account":"%s","Amount":%d,"Currency":"%s"},{"Account":"%s","Amount":%d,"Currency":"%s"}]', '', %d, %d)`,
			partnerID, kind, h.facts, currency, from, amount, currency, to, -amount, currency, h.at.UnixNano(),
			h.at.UnixNano()))
	}
	move(ledger.PayoutReserved, ledger.Payable, ledger.InPayout)
	move(ledger.PayoutPaid, ledger.InPayout, ledger.Paid)
	h.exec(fmt.Sprintf(`UPDATE ledger_balances SET amount = amount + %d
		WHERE partner_id = %d AND account = 'payable' AND currency = '%s'`, amount, partnerID, currency))
}

func (h *harness) exec(sql string) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(sql)
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
}
