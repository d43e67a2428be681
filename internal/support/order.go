package support

import (
	"context"
	"slices"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/notice"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/payment"
)

// OrderCase is everything known about an order, to help with a request.
type OrderCase struct {
	Order    payment.Checkout
	Buyer    account.User // zero if the account is not there
	Partner  string       // the name; "" if the partner was removed
	Gone     bool         // the plan is no longer sold
	Licenses []license.License
	Problems []payment.Problem // oldest first, also those that are dealt with
	Refunds  []payment.Refund
	Disputes []payment.Dispute
	Entries  []Entry  // newest first
	Next     []string // what happens next, and what to do

	details []license.Detail
}

// Order returns the case of an order with an id: our reference, or an id of Stripe.
func (d *Store) Order(ctx context.Context, id string) (OrderCase, error) {
	var c OrderCase
	var err error
	if c.Order, err = d.Payments.OrderByID(ctx, id); err != nil {
		return OrderCase{}, err
	}
	for _, add := range []func(context.Context, *OrderCase) error{
		d.addParties, d.addOrderFacts, d.addSale, d.addOrderActs, d.addOrderMails,
	} {
		if err := add(ctx, &c); err != nil {
			return OrderCase{}, err
		}
	}
	c.addBeginning()
	all := Case{Owner: c.Buyer, Entries: c.Entries}
	all.sort()
	err = d.addNames(ctx, &all)
	c.Entries = all.Entries
	c.Next = c.next()
	return c, err
}

// addParties adds the buyer, the partner and whether the plan is still there.
func (d *Store) addParties(ctx context.Context, c *OrderCase) error {
	var err error
	if c.Buyer, err = d.Accounts.Get(ctx, c.Order.UserID); err != nil && !fault.Is(err, account.CodeUnknownUser) {
		return err
	}
	p, err := d.Partners.Get(ctx, c.Order.PartnerID)
	if fault.Is(err, partner.CodeUnknownPartner) {
		c.Gone = true
		return nil
	}
	if err != nil {
		return err
	}
	c.Partner = p.Name
	_, err = d.Partners.Plan(ctx, p.ID, c.Order.Tier)
	if c.Gone = fault.Is(err, partner.CodeUnknownPlan); c.Gone {
		return nil
	}
	return err
}

// addOrderFacts adds refunds, disputes and problems.
func (d *Store) addOrderFacts(ctx context.Context, c *OrderCase) error {
	ids := []int64{c.Order.ID}
	var err error
	if c.Refunds, c.Disputes, err = d.Payments.Facts(ctx, ids); err != nil {
		return err
	}
	for _, f := range c.Refunds {
		c.Entries = append(c.Entries, refundEntry(c.Order, f))
	}
	for _, f := range c.Disputes {
		c.Entries = append(c.Entries, disputeEntry(c.Order, f))
	}
	for i := range c.Entries {
		c.Entries[i].PurchaseID = 0
	}
	problems, err := d.Payments.ProblemsOf(ctx, ids)
	c.Problems = problems[c.Order.ID]
	for _, p := range c.Problems {
		e := Entry{At: p.CreatedAt, Kind: Payment, Title: problemTitles[p.Kind], Failed: p.DoneAt.IsZero()}
		if !p.DoneAt.IsZero() {
			e.Text = "It was dealt with: " + stamp(p.DoneAt) + "."
		}
		c.Entries = append(c.Entries, e)
	}
	return err
}

// problemTitles describe the problems of a payment in a timeline.
var problemTitles = map[payment.ProblemKind]string{
	payment.PaidUnknown:     "A payment came for something that is not here",
	payment.PaidTwice:       "A second payment came for the same item",
	payment.PaidOtherAmount: "Another amount was paid than was asked for, so nothing was sold",
	payment.PaidRefunded:    "The license was refunded before its change of plan was paid",
	payment.PaidErased:      "The buyer's account was deleted before the payment came",
	payment.PaidUnsold:      "The payment came and could not be sold",
	payment.PaidNotStanding: "Earlier money of the license went back, so this payment buys nothing now",
	payment.RefundRefused:   "A refund failed",
	payment.InquiryOpened:   "The buyer's bank asked about the payment",
	payment.NotAnswered:     "Stripe gave no answer about a refund or a dispute for weeks",
}

// addSale adds the sold licenses.
func (d *Store) addSale(ctx context.Context, c *OrderCase) error {
	if c.Order.PurchaseID == 0 {
		return nil
	}
	s, err := d.Licenses.Sale(ctx, c.Order.PurchaseID)
	if fault.Is(err, license.CodeUnknownPurchase) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Licenses = s.Licenses
	c.details = s.Items
	if s.CreatedAt.Before(c.Order.PaidAt) {
		c.Order.PaidAt = s.CreatedAt // the payment is recorded a moment after the sale that it causes
	}
	c.Entries = append(c.Entries, Entry{At: s.CreatedAt, Kind: Purchased, PurchaseID: s.ID, Title: saleTitle(s.Sale)})
	return nil
}

// addOrderActs adds the acts of people on the payment.
func (d *Store) addOrderActs(ctx context.Context, c *OrderCase) error {
	list, _, err := d.Audit.List(
		ctx, audit.Filter{Subject: "checkout:" + c.Order.Ref}, paging.Page{Number: 1, Limit: maxActs},
	)
	for _, e := range list {
		if e.Action == "payment.refund" {
			c.Entries = append(c.Entries, Entry{At: e.At, Kind: Act, Title: "A refund was ordered", by: e.Actor})
		}
	}
	return err
}

// addOrderMails adds the emails to the buyer about the sold licenses.
func (d *Store) addOrderMails(ctx context.Context, c *OrderCase) error {
	if c.Buyer.Address() == "" || len(c.details) == 0 {
		return nil
	}
	buyers, err := d.withMerged(ctx, c.Buyer.ID)
	if err != nil {
		return err
	}
	mails, err := mail.To(ctx, d.DB, c.Buyer.Address(), maxMailsRead)
	n := 0
	for _, m := range mails {
		for _, l := range c.details {
			toGuest := slices.ContainsFunc(buyers, func(id int64) bool { return account.ToGuest(m.Cause, id) })
			if n < maxMails && (toGuest || notice.About(m.Cause, l)) && !m.CreatedAt.Before(c.Order.CreatedAt) {
				n++
				c.Entries = append(c.Entries, mailEntry(m))
				break
			}
		}
	}
	return err
}

// addBeginning adds the begin of the order, its payment, and its end without one.
func (c *OrderCase) addBeginning() {
	o := c.Order
	price := money.Text(o.Amount, o.Currency)
	add := func(e Entry) { c.Entries = append(c.Entries, e) }
	switch {
	case o.Free() && o.Amount == 0:
		add(Entry{At: o.CreatedAt, Kind: Payment, Title: "The buyer ordered " + o.Item + ", which is free"})
		return
	case o.Free():
		add(Entry{
			At: o.CreatedAt, Kind: Payment,
			Title: "The buyer ordered " + o.Item + " for " + price + " of test money",
		})
		return
	}
	begun := Entry{At: o.CreatedAt, Kind: Payment, Title: "The buyer ordered " + o.Item + " for " + price}
	switch {
	case o.SessionID == "":
		begun.Text = "The payment page at Stripe was not opened."
	case o.Order == payment.OrderBegun:
		begun.Text = "The payment page is open until " + stamp(o.ExpiresAt) + "."
	}
	add(begun)
	switch {
	case !o.PaidAt.IsZero():
		add(Entry{
			At: o.PaidAt, Kind: Payment,
			Title: "Stripe took the payment of " + money.Text(o.Paid.Units, o.Paid.Currency),
		})
	case o.Order == payment.OrderPending:
		add(Entry{
			At: o.UpdatedAt, Kind: Payment, Title: "The buyer finished the payment page",
			Text: "The bank has not confirmed the payment yet.",
		})
	case o.Order == payment.OrderFailed:
		add(Entry{
			At: o.UpdatedAt, Kind: Payment, Failed: true, Title: "The payment was refused",
			Text: "Nothing was charged.",
		})
	case o.Order == payment.OrderExpired:
		add(Entry{At: o.UpdatedAt, Kind: Payment, Title: "The payment page ended unpaid", Text: "Nothing was charged."})
	}
}

// LookAtOrder asks Stripe about an unfinished order, and sells it if it was paid. It returns false
// if Stripe gave no answer.
func (d *Store) LookAtOrder(ctx context.Context, id string) (answered bool, err error) {
	c, err := d.Payments.OrderByID(ctx, id)
	if err != nil {
		return false, err
	}
	return d.Payments.Ask(ctx, c)
}
