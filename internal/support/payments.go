package support

import (
	"context"

	"claviger/internal/money"
	"claviger/internal/payment"
)

// addPayments adds Stripe's reports about the purchases of the license.
func (d *Store) addPayments(ctx context.Context, c *Case) error {
	var purchases []int64
	for _, k := range c.License.Links {
		purchases = append(purchases, k.Sale.ID)
	}
	entries, err := d.Paid(ctx, purchases)
	c.Entries = append(c.Entries, entries...)
	return err
}

// Paid returns the payments of purchases, with their refunds and disputes, newest first.
func (d *Store) Paid(ctx context.Context, purchases []int64) ([]Entry, error) {
	list, err := d.Payments.OfPurchases(ctx, purchases)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids := make([]int64, len(list))
	of := map[int64]payment.Checkout{}
	var c Case
	for i, p := range list {
		ids[i] = p.ID
		of[p.ID] = p
		c.Entries = append(c.Entries, Entry{
			At: p.PaidAt, Kind: Payment, PurchaseID: p.PurchaseID,
			Title: "Stripe took the payment of " + money.Text(p.Paid.Units, p.Paid.Currency),
		})
	}
	refunds, disputes, err := d.Payments.Facts(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, f := range refunds {
		c.Entries = append(c.Entries, refundEntry(of[f.CheckoutID], f))
	}
	for _, f := range disputes {
		c.Entries = append(c.Entries, disputeEntry(of[f.CheckoutID], f))
	}
	c.sort()
	return c.Entries, nil
}

// refundEntry returns the entry of a refund. A partial refund changes no license.
func refundEntry(c payment.Checkout, f payment.Refund) Entry {
	e := Entry{
		At:         f.CreatedAt,
		Kind:       Payment,
		PurchaseID: c.PurchaseID,
		Title:      "A refund of " + money.Text(f.Amount, f.Currency) + " was begun at Stripe",
	}
	if f.Ours() {
		e.Title = "Stripe was asked to pay " + money.Text(f.Amount, f.Currency) + " back"
	}
	part := f.Amount < c.Paid.Units || f.Currency != c.Paid.Currency
	if part {
		e.Title += ", a part of the payment"
	}
	switch f.Status {
	case payment.RefundAsked:
		e.Text = "Stripe has not answered yet."
	case payment.RefundPending:
		e.Text = "The money is on its way back."
	case payment.RefundSucceeded:
		e.Text = "The money went back."
		if part && c.RefundID == 0 {
			e.Text += " The license works as before: it is refunded when all that was paid went back."
		}
	case payment.RefundFailed:
		e.Text = "It failed, and the money did not go back."
		e.Failed = true
	}
	return e
}

// disputeWords explain Stripe's states of a dispute.
var disputeWords = map[string]string{
	"warning_needs_response": "It is an inquiry, which holds no license. The marketplace has to answer it.",
	"warning_under_review":   "It is an inquiry, which holds no license. The bank looks at the answer.",
	"warning_closed":         "It was an inquiry, and it ended without a dispute.",
	"needs_response":         "The license is on hold. The marketplace has to answer it.",
	"under_review":           "The license is on hold. The bank looks at the answer.",
	"won":                    "It ended for the marketplace, and the hold with it.",
	"lost":                   "It ended for the buyer: the money went back, and the purchase is refunded.",
	"prevented":              "The money went back to the buyer, and the purchase is refunded.",
}

func disputeEntry(c payment.Checkout, f payment.Dispute) Entry {
	e := Entry{
		At: f.CreatedAt, Kind: Payment, PurchaseID: c.PurchaseID, DisputeID: f.ID, Text: disputeWords[f.Status],
		Title: "The buyer's bank asked for " + money.Text(f.Amount, f.Currency) + " back",
	}
	if e.Text == "" {
		e.Text = "Stripe says: " + f.Status + "."
	}
	if f.Unanswered() && !f.DueBy.IsZero() {
		e.Text += " Evidence is due by " + stamp(f.DueBy) + "."
	}
	return e
}
