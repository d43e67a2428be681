package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// feeFact is a fee of the provider, in the currency in which it settles with us.
type feeFact struct {
	source string // the provider's id
	fee    Amount // negative: returned
	of     Amount // the payment or the dispute
	moved  int64  // the same money in the currency of the settlement; negative: taken from us
	at     time.Time
}

// errNoRate is the error for a fee in another currency when the provider moved no money in it.
var errNoRate = errors.New("the provider gives no rate for the currency of the fee")

// posting returns the fee as the ledger posts it for a sale in a currency.
func (f feeFact) posting(currency string, dispute bool) (ledger.Fee, error) {
	fee := ledger.Fee{
		Source: f.source, Amount: f.fee.Units, Currency: f.fee.Currency, Rate: ledger.Ratio{Num: 1, Den: 1},
		Dispute: dispute, At: f.at,
	}
	if f.fee.Currency == currency {
		return fee, nil
	}
	if f.of.Currency != currency || f.of.Units <= 0 || f.moved == 0 {
		return fee, errNoRate
	}
	fee.Rate = ledger.Ratio{Num: f.of.Units, Den: max(f.moved, -f.moved)}
	return fee, nil
}

// askFees retrieves fees of payments that the ledger does not have.
func (b *Store) askFees(ctx context.Context) (int, error) {
	due, err := ledger.FeesDue(ctx, b.DB, b.Now(), jobBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	ids := make([]int64, len(due))
	for i, d := range due {
		ids[i] = d.PurchaseID
	}
	list, err := b.OfPurchases(ctx, ids)
	if err != nil {
		return 0, err
	}
	paid := make(map[int64]Checkout, len(list))
	for _, c := range list {
		if c.IntentID != "" {
			paid[c.PurchaseID] = c
		}
	}
	var errs []error
	for _, d := range due {
		err := b.askFee(ctx, d, paid[d.PurchaseID])
		errs = append(errs, err)
		if unreached(err) {
			break // the others would wait for their timeouts, too
		}
	}
	return len(due), errors.Join(errs...)
}

// askFee posts the fee of a sale, or schedules the next question. A refusal of our key never ends the
// questions, because the operator can correct the key.
func (b *Store) askFee(ctx context.Context, d ledger.DueSale, c Checkout) error {
	if c.IntentID == "" {
		return b.giveUpFee(ctx, d, errors.New("it has no payment"))
	}
	f, known, err := b.Stripe.paymentFee(ctx, c.IntentID)
	if known {
		err = b.postFee(ctx, d, c, f)
	}
	if known && err == nil {
		return nil
	}
	age := b.Now().Sub(c.PaidAt)
	_, refused := finally(err)
	if refused || errors.Is(err, errNoRate) || age > giveUpAge && !refusesKey(err) {
		return b.giveUpFee(ctx, d, err)
	}
	next := b.Now().Add(pause(age))
	return errors.Join(err, b.changeFee(ctx, d, func(j *ledger.Journal) error {
		return j.AskFeeLater(ctx, d.PurchaseID, next)
	}))
}

// postFee posts a fee. Without an amount there is nothing to post, and nothing more to ask.
func (b *Store) postFee(ctx context.Context, d ledger.DueSale, c Checkout, f feeFact) error {
	fee, err := f.posting(c.Currency, false)
	if fee.Amount != 0 && err != nil {
		return err
	}
	return b.changeFee(ctx, d, func(j *ledger.Journal) error {
		if fee.Amount == 0 {
			return j.AskFeeLater(ctx, d.PurchaseID, time.Time{})
		}
		return j.TakeFee(ctx, d.PurchaseID, fee)
	})
}

// giveUpFee ends the questions about the fee of a sale.
func (b *Store) giveUpFee(ctx context.Context, d ledger.DueSale, cause error) error {
	if cause == nil {
		cause = errors.New("the provider has not computed it")
	}
	err := b.changeFee(ctx, d, func(j *ledger.Journal) error {
		return j.AskFeeLater(ctx, d.PurchaseID, time.Time{})
	})
	if err == nil {
		b.Log.Warn("the fee of a payment is not in the ledger, and is not asked for again",
			"partner", d.PartnerID, "purchase", d.PurchaseID, "err", cause)
	}
	return err
}

// changeFee changes the ledger of a sale.
func (b *Store) changeFee(ctx context.Context, d ledger.DueSale, change func(*ledger.Journal) error) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := ledger.Lock(ctx, tx, d.PartnerID); err != nil {
			return err
		}
		journal := ledger.New(tx, d.PartnerID, b.Now())
		if err := change(journal); err != nil {
			return err
		}
		return journal.Save()
	})
	if err != nil {
		return fmt.Errorf("post the fee of purchase %d: %w", d.PurchaseID, err)
	}
	return nil
}

// addFees adds the fees of a dispute to those that the ledger gets.
func (w *work) addFees(f disputeFact) {
	for _, fact := range f.fees {
		if fact.fee.Units == 0 {
			continue
		}
		fee, err := fact.posting(w.Currency, true)
		if err != nil {
			w.book.Log.Warn("a fee of a dispute is not in the ledger", "dispute", f.id, "fee", fact.source, "err", err)
			continue
		}
		w.fees = append(w.fees, fee)
	}
}

// findEarlierFees has the disputes retrieved again that came before the sale: the ledger had no sale
// then, and no fee of theirs.
func (w *work) findEarlierFees() {
	if !w.Unsettled || w.PurchaseID == 0 {
		return
	}
	for _, d := range w.disputes {
		addLookup(w.tx, d.ID, w.now)
	}
}
