package payment

import (
	"context"

	"claviger/internal/ledger"
)

// facts returns the refunds and disputes of a payment as the ledger posts them.
func facts(paid Amount, refunds []*Refund, disputes []*Dispute) []ledger.Fact {
	var list []ledger.Fact
	for _, f := range refunds {
		if f.ProviderID == "" || f.Currency != paid.Currency {
			continue // the provider has no such refund, or not of this payment
		}
		fact := ledger.Fact{Source: f.ProviderID, Amount: f.Amount, At: f.UpdatedAt}
		if f.Status == RefundSucceeded {
			fact.State = ledger.MoneyBack
		}
		list = append(list, fact)
	}
	back := returned(paid.Currency, refunds)
	for _, d := range disputes {
		list = append(list, ledger.Fact{Source: d.ID, State: d.money(), Amount: d.takes(paid, back), At: d.UpdatedAt})
	}
	return list
}

// money returns the effect of a dispute on the money. An inquiry has none.
func (d *Dispute) money() ledger.State {
	switch {
	case d.holds():
		return ledger.UnderReview
	case d.lost():
		return ledger.MoneyLost
	}
	return ledger.NoMoney
}

// takes returns the part of a payment that a dispute is about; back was refunded. A dispute in
// another currency is about all of it.
func (d *Dispute) takes(paid Amount, back int64) int64 {
	switch {
	case d.Currency != paid.Currency:
		return paid.Units
	case d.Status == prevented: // by a refund of what was left
		return max(0, paid.Units-back)
	}
	return d.Amount
}

// post posts the changes of refunds and disputes, and the fees of disputes. The sale of the same
// transaction is posted before.
func (w *work) post(ctx context.Context) error {
	if w.PurchaseID == 0 || len(w.refunds)+len(w.disputes) == 0 {
		return nil
	}
	journal := ledger.New(w.tx, w.PartnerID, w.now)
	if err := journal.Follow(ctx, w.PurchaseID, facts(w.Paid, w.refunds, w.disputes)); err != nil {
		return err
	}
	for _, fee := range w.fees {
		if err := journal.TakeFee(ctx, w.PurchaseID, fee); err != nil {
			return err
		}
	}
	return journal.Save()
}
