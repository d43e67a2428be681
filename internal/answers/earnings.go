package answers

import (
	"context"
	"net/http"

	"claviger/internal/ledger"
	"claviger/internal/statement"
	"claviger/internal/wire"
)

// earningsAnswer is what a partner has earned, on the wire.
type earningsAnswer struct {
	Balances wire.Envelope[earnedAnswer]    `json:"balances"`
	Month    wire.Envelope[statementAnswer] `json:"month"`
	Sales    wire.Envelope[saleAnswer]      `json:"sales"`
}

// earnedAnswer is the balance of a partner in one currency on the wire.
type earnedAnswer struct {
	Currency   string       `json:"currency"`
	Pending    int64        `json:"pending"`
	Disputed   int64        `json:"disputed"`
	Payable    int64        `json:"payable"`
	InPayout   int64        `json:"in_payout"`
	Paid       int64        `json:"paid"`
	NextPayout payoutAnswer `json:"next_payout"`
}

// payoutAnswer is the next payout on the wire.
type payoutAnswer struct {
	Amount   int64  `json:"amount"`
	Smallest int64  `json:"smallest_payout"`
	Reason   string `json:"reason"` // why it is nothing
	Text     string `json:"text"`   // the same in words
}

// saleAnswer is a sale as its partner sees it, on the wire.
type saleAnswer struct {
	PurchaseID  int64     `json:"purchase_id"`
	Tier        int       `json:"tier"`
	Plan        string    `json:"plan"`
	SoldAt      wire.Time `json:"sold_at"`
	Currency    string    `json:"currency"`
	CollectedBy string    `json:"collected_by"`
	Price       int64     `json:"price"`
	Returned    int64     `json:"returned"`
	Share       int64     `json:"share"`
	Fee         *int64    `json:"fee,omitempty"` // nil: not known yet
	FeeKnown    bool      `json:"fee_known"`
	Net         int64     `json:"net"`
	State       string    `json:"state"`
	PayableAt   wire.Time `json:"payable_at,omitzero"`
}

func earnedOf(b statement.Balance) earnedAnswer {
	return earnedAnswer{
		Currency: b.Currency, Pending: b.Pending, Disputed: b.Disputed, Payable: b.Payable, InPayout: b.InPayout,
		Paid: b.Paid, NextPayout: payoutAnswer{
			Amount: b.Next, Smallest: b.Smallest, Reason: string(b.Reason), Text: b.Sentence(),
		},
	}
}

func saleOf(e ledger.Earned, plan string) saleAnswer {
	a := saleAnswer{
		PurchaseID: e.PurchaseID, Tier: e.Tier, Plan: plan, SoldAt: wire.Time(e.SoldAt), Currency: e.Currency,
		CollectedBy: string(e.Collected), Price: e.Price, Returned: e.Returned, Share: e.Share, Net: e.Net,
		FeeKnown: !e.FeeUnknown,
		State:    string(e.Standing), PayableAt: wire.Time(e.PayableAt),
	}
	if a.FeeKnown {
		a.Fee = &e.Fee
	}
	return a
}

// PlanNames returns the names of the plans of a partner, by tier.
func (c *Common) PlanNames(ctx context.Context, partnerID int64) (map[int]string, error) {
	plans, err := c.Partners.Plans(ctx, partnerID)
	names := make(map[int]string, len(plans))
	for _, p := range plans {
		names[p.Tier] = p.DisplayName()
	}
	return names, err
}

// PartnerEarnings answers with the balances of a partner, the open month, and a page of its sales, newest
// first.
func (c *Common) PartnerEarnings(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	p, before, err := numberCursor(r)
	if err != nil {
		return err
	}
	names, err := c.PlanNames(r.Context(), partnerID)
	if err != nil {
		return err
	}
	balances, err := c.Statements.Balances(r.Context(), partnerID)
	if err != nil {
		return err
	}
	month, err := c.Statements.Running(r.Context(), partnerID)
	if err != nil {
		return err
	}
	sales, next, err := c.Statements.Sales(r.Context(), partnerID, before, int(p.Limit))
	if err != nil {
		return err
	}
	numberHeaders(w, r, p, next)
	return wire.JSON(w, http.StatusOK, earningsAnswer{
		Balances: wire.ListOf(balances, earnedOf),
		Month:    wire.ListOf(month, statementOf),
		Sales:    wire.ListOf(sales, func(e ledger.Earned) saleAnswer { return saleOf(e, names[e.Tier]) }),
	})
}
