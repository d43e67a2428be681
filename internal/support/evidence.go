package support

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/notice"
	"claviger/internal/partner"
	"claviger/internal/payment"
)

// maxLog is the number of characters of a log in evidence. All fields together have
// payment.MaxEvidence.
const maxLog = 50_000

// DisputeCase is a dispute with everything that speaks about it.
type DisputeCase struct {
	payment.DisputeDetail
	License  license.License // zero if nothing was sold
	Partner  partner.Partner
	Buyer    account.User     // zero if they were erased
	Evidence payment.Evidence // as an operator saved it, or else as collected
}

// Dispute returns a dispute with its evidence. Without saved texts it collects them.
func (d *Store) Dispute(ctx context.Context, id string) (DisputeCase, error) {
	var c DisputeCase
	var err error
	if c.DisputeDetail, err = d.Payments.Dispute(ctx, id); err != nil {
		return DisputeCase{}, err
	}
	if c.Partner, err = d.Partners.Get(ctx, c.Checkout.PartnerID); err != nil &&
		!fault.Is(err, partner.CodeUnknownPartner) {
		return DisputeCase{}, err
	}
	if c.Buyer, err = d.buyer(ctx, c.Checkout.UserID); err != nil {
		return DisputeCase{}, err
	}
	list, err := d.Licenses.OfSale(ctx, c.Checkout.PurchaseID)
	if err != nil {
		return DisputeCase{}, err
	}
	if len(list) > 0 { // an order of the shop is for one license
		c.License = list[0]
	}
	if c.Saved.Kept() {
		c.Evidence = c.Saved.Texts
		return c, nil
	}
	c.Evidence, err = d.CollectEvidence(ctx, c)
	return c, err
}

// buyer returns a person who is not erased, or the zero value.
func (d *Store) buyer(ctx context.Context, id int64) (account.User, error) {
	u, err := d.Accounts.Get(ctx, id)
	if fault.Is(err, account.CodeUnknownUser) || err == nil && !u.ErasedAt.IsZero() {
		return account.User{}, nil
	}
	return u, err
}

// withMerged returns the id of a person and of everyone merged into them, such as the guest who bought;
// none for id 0.
func (d *Store) withMerged(ctx context.Context, id int64) ([]int64, error) {
	if id == 0 {
		return nil, nil
	}
	merged, err := account.Merged(ctx, d.DB, id)
	return append(merged, id), err
}

// CollectEvidence writes the evidence that the service has, whatever an operator saved. Entries about
// people other than the buyer are left out, because the license may have been transferred since.
func (d *Store) CollectEvidence(ctx context.Context, dispute DisputeCase) (payment.Evidence, error) {
	product, err := d.Partners.Product(ctx, dispute.Checkout.PartnerID)
	if err != nil {
		return nil, err
	}
	c := Case{Partner: dispute.Partner}
	if dispute.License.Key != "" {
		if c, err = d.Case(ctx, dispute.License.Key); err != nil {
			return nil, err
		}
	}
	var personal []Entry
	if dispute.Buyer.ID != 0 {
		personal, err = d.ofPerson(ctx, dispute.Buyer, func(m mail.Record) bool {
			return m.CreatedAt.Before(dispute.CreatedAt) &&
				(c.License.Key == "" || !notice.AboutAnother(m.Cause, c.License))
		})
		if err != nil {
			return nil, err
		}
	}
	buyers, err := d.withMerged(ctx, dispute.Buyer.ID)
	if err != nil {
		return nil, err
	}
	entries := append(c.ofLicense(buyers, dispute.CreatedAt), personal...)
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.At.Compare(b.At), slices.Index(entryOrder, a.Kind)-slices.Index(entryOrder, b.Kind))
	})
	isMail := func(e Entry) bool { return e.Kind == Mail }
	isNoMail := func(e Entry) bool { return e.Kind != Mail }
	bought := dispute.bought()
	return payment.Evidence{
		payment.ProductDescription: dispute.product(product),
		payment.CustomerEmail:      dispute.Buyer.Address(),
		payment.CustomerName:       dispute.Buyer.Name,
		payment.ServiceDate:        serviceDate(c, bought).UTC().Format("2 January 2006"),
		payment.ActivityLog:        evidenceLog(slices.DeleteFunc(slices.Clone(entries), isMail), c.More),
		payment.RefundPolicy:       dispute.refundTerms(product),
		payment.OtherText:          dispute.order(bought, slices.DeleteFunc(entries, isNoMail)),
	}, nil
}

// ofLicense returns the entries about the license that say how it was used: its purchases and
// connections, what the buyer did, and its activations and deliveries until a dispute.
func (c *Case) ofLicense(buyers []int64, disputed time.Time) []Entry {
	var list []Entry
	for _, e := range c.Entries {
		switch e.Kind {
		case Purchased:
			list = append(list, e)
		case Connection:
			if !e.Failed {
				list = append(list, e)
			}
		case Event:
			if e.became == event.Active && e.At.Before(disputed) {
				e.Title = fmt.Sprintf("The license was activated (event %d)", e.EventID)
				list = append(list, e)
			}
		case Delivery:
			if !e.Failed && e.At.Before(disputed) {
				e.Title = fmt.Sprintf("The server of %s confirmed event %d of the license", c.Partner.Name, e.EventID)
				list = append(list, e)
			}
		case Act:
			if e.by.Kind == audit.ByUser && slices.Contains(buyers, e.by.ID) {
				e.By = "the buyer"
				list = append(list, e)
			}
		case Payment, SignIn, Mail: // the dispute itself, and entries of a person
		}
	}
	return list
}

// bought returns the time of the payment.
func (c *DisputeCase) bought() time.Time {
	if c.Checkout.PaidAt.IsZero() {
		return c.Checkout.CreatedAt
	}
	return c.Checkout.PaidAt
}

// serviceDate returns the time of the first activation, or of the payment.
func serviceDate(c Case, bought time.Time) time.Time {
	first := time.Time{}
	for _, e := range c.Entries {
		if e.Kind == Event && e.became == event.Active && (first.IsZero() || e.At.Before(first)) {
			first = e.At
		}
	}
	if first.IsZero() {
		return bought
	}
	return first
}

// product describes what was bought.
func (c *DisputeCase) product(p partner.Product) string {
	name := cmp.Or(c.Partner.Name, "the application")
	lines := []string{
		fmt.Sprintf("%s: a software license for %s, plan %s.", c.Checkout.Item, name,
			cmp.Or(c.Checkout.PlanName, fmt.Sprintf("of tier %d", c.Checkout.Tier))),
	}
	if p.Tagline != "" {
		lines = append(lines, name+": "+p.Tagline)
	}
	if p.Website != "" {
		lines = append(lines, "Website: "+p.Website)
	}
	return strings.Join(append(lines,
		"It was paid for once; there is no subscription. Nothing is shipped: the license is available online as "+
			"soon as it is paid for, and works when the buyer connects it to the application."), "\n")
}

// refundTerms returns the terms that buyers read, and until when this payment could be returned.
func (c *DisputeCase) refundTerms(product partner.Product) string {
	var says []string
	if until := c.Checkout.RefundUntil; !until.IsZero() {
		says = append(says, "The buyer could request a refund of this payment on the page of the license, until the "+
			"end of "+payment.LastDay(until)+".")
	}
	if product.RefundTerms != "" {
		says = append(says, fmt.Sprintf("The page of %s shows these refund terms before the purchase, and the page of "+
			"the license shows them after it:\n\n%s", c.Partner.Name, product.RefundTerms))
	}
	return strings.Join(says, "\n\n")
}

// order describes the payment and the emails to the buyer.
func (c *DisputeCase) order(bought time.Time, mails []Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Order %s\n", c.Checkout.Ref)
	fmt.Fprintf(&b, "Ordered: %s\n", stamp(c.Checkout.CreatedAt))
	if !c.Checkout.PaidAt.IsZero() {
		fmt.Fprintf(&b, "Paid: %s, %s\n", money.Text(c.Checkout.Paid.Units, c.Checkout.Paid.Currency), stamp(bought))
	}
	if c.Checkout.PurchaseID != 0 {
		fmt.Fprintf(&b, "Purchase and receipt number: %d\n", c.Checkout.PurchaseID)
	}
	if c.License.Key != "" {
		fmt.Fprintf(&b, "License key: ends in %s\n", c.License.Key[len(c.License.Key)-4:])
	}
	if len(mails) > 0 {
		b.WriteString("\nReceipts and emails to the buyer (times in UTC)\n" + evidenceLog(mails, false))
	}
	return strings.TrimSpace(b.String())
}

// evidenceLog writes entries as lines, oldest first. It drops the oldest ones of a long log.
func evidenceLog(entries []Entry, more bool) string {
	lines := make([]string, 0, len(entries))
	length := 0
	for _, e := range slices.Backward(entries) {
		line := e.At.UTC().Format("2006-01-02 15:04:05") + "  " + e.Title
		if e.By != "" {
			line += ", by " + e.By
		}
		line = strings.TrimSpace(line + ". " + e.Text)
		if length += utf8.RuneCountInString(line) + 1; length > maxLog {
			more = true
			break
		}
		lines = append(lines, line)
	}
	if more {
		lines = append(lines, "Earlier entries are left out.")
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}
