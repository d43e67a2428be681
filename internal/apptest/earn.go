package apptest

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
	"claviger/internal/statement"
)

// Post posts in the ledger of a partner at a time, which may be long ago.
func (h *Harness) Post(partnerID int64, at time.Time, do func(context.Context, *ledger.Journal) error) {
	h.Helper()
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		j, err := ledger.Queue(tx, partnerID, ledger.Defaults{}).Open(h.Context(), at)
		if err != nil {
			return err
		}
		if err := do(h.Context(), j); err != nil {
			return err
		}
		return j.Save()
	}))
}

// Earn posts a few sales of each partner, with terms, in the month before a time and in its month, and
// closes the first month. The purchases have no license; their ids begin with 1000 times the partner's.
func (h *Harness) Earn(now time.Time, partners ...int64) {
	h.Helper()
	before := now.AddDate(0, -1, 0)
	for _, id := range partners {
		h.Post(id, before, func(_ context.Context, j *ledger.Journal) error {
			return j.AddTerms(ledger.Terms{
				ShareBP: 7000, Bears: ledger.PartnerBears, Days: 14, Smallest: map[string]int64{"EUR": 5000},
			})
		})
		first := 1000*id + 1
		h.Post(id, before, func(ctx context.Context, j *ledger.Journal) error {
			j.Sell(ledger.Purchase{
				ID: first, Tier: 1, Amount: 5900, Currency: "EUR", Collected: ledger.ByMarketplace, SoldAt: before,
			})
			if err := j.Return(ctx, first, 1, 2, fmt.Sprintf("return_%d", first), before); err != nil {
				return err
			}
			return j.MakePayable(ctx, first)
		})
	}
	h.Must(h.Statements.CloseMonths(h.Context()))
	for _, id := range partners {
		h.Post(id, now, func(_ context.Context, j *ledger.Journal) error {
			j.Sell(ledger.Purchase{
				ID: 1000*id + 2, Tier: 1, Amount: 5900, Currency: "EUR", Collected: ledger.ByProvider, SoldAt: now,
			})
			return nil
		})
	}
}

// Statement closes the open month of a partner as if it were over, and returns its statements. The
// service's job leaves the months before now alone.
func (h *Harness) Statement(partnerID int64) []statement.Statement {
	h.Helper()
	list, err := h.Statements.Running(h.Context(), partnerID)
	h.Must(err)
	all, _, err := h.Statements.List(h.Context(), partnerID, 0, 1)
	h.Must(err)
	var number int64
	if len(all) > 0 {
		number = all[0].Number
	}
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		var rows [][]any
		for i := range list {
			s := &list[i]
			number++
			s.Number = number
			s.CreatedAt = s.EndsAt
			rows = append(rows, []any{
				s.PartnerID, s.Number, s.Currency, int(s.Month), s.BeginsAt, s.EndsAt, s.First, s.Last, s.Opening,
				s.Sales, s.Settled, s.Refunds, s.Disputes, s.Fees, s.Adjustments, s.Payouts, s.Closing, s.CreatedAt,
			})
			tx.Queue(`DELETE FROM statement_months WHERE partner_id = $1`, partnerID)
			tx.Queue(`INSERT INTO statement_months (partner_id, month, ended_at, last_posting)
				VALUES ($1, $2, $3, $4)`, partnerID, int(s.Month), s.EndsAt, s.Last)
		}
		tx.Insert("statements", []string{
			"partner_id", "number", "currency", "month", "begins_at", "ends_at", "first_posting", "last_posting",
			"opening", "sales", "settled", "refunds", "disputes", "fees", "adjustments", "payouts", "closing",
			"created_at",
		}, rows)
		return nil
	}))
	return list
}
