package support

import (
	"fmt"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment"
)

// next returns what happens next with the order, and what to do.
func (c *OrderCase) next() []string {
	o := c.Order
	var says []string
	switch o.Order {
	case payment.OrderBegun:
		says = c.nextBegun()
	case payment.OrderPending:
		says = []string{
			"The buyer has finished, and the bank has not confirmed the payment. This can take days, up to two weeks " +
				"with some bank debits and transfers.",
			"Nobody has to do anything. When the bank confirms, the license is sold and the buyer gets an email. " +
				"If it " +
				"refuses, the order becomes failed and nothing is charged.",
			"The buyer must not pay again. Their page My licenses shows the order.",
		}
	case payment.OrderFailed:
		says = []string{
			"The payment was refused and nothing was charged. The buyer can order again and pay another way.",
		}
	case payment.OrderExpired:
		says = []string{
			"Nobody paid before the payment page ended, and nothing was charged. The buyer can order again.",
		}
	case payment.OrderDisputed:
		says = c.nextDisputed()
	case payment.OrderRefunded:
		says = []string{"The money went back, so the license ended. The buyer can buy again."}
		if o.State == payment.Unsold {
			says = []string{"The money went back, and nothing was sold. The buyer can order again."}
		}
	case payment.OrderPaid, payment.OrderPartlyRefunded:
		says = c.nextPaid()
	}
	if c.open() > 0 {
		says = append(says, "The payment has an open problem, which needs a person.")
	}
	return append(says, c.address()...)
}

func (c *OrderCase) nextDisputed() []string {
	says := []string{"The buyer's bank asks for the money back, and the license is on hold until the dispute ends."}
	for _, f := range c.Disputes {
		switch {
		case !f.Unanswered():
		case f.DueBy.IsZero():
			says = append(says, "Send the evidence on the page of dispute "+f.ID+".")
		default:
			says = append(says, "Send the evidence on the page of dispute "+f.ID+" by "+stamp(f.DueBy)+".")
		}
	}
	if len(says) == 1 {
		says = append(says, "The evidence was sent, and the bank decides.")
	}
	return says
}

func (c *OrderCase) nextBegun() []string {
	if c.Order.SessionID == "" {
		return []string{
			"The payment page was not opened, because Stripe did not answer. Nothing can be charged, and the order " +
				"ends " +
				"by itself. The buyer can order again.",
		}
	}
	return []string{
		"Stripe has reported no payment. The buyer can pay until " + stamp(c.Order.ExpiresAt) +
			"; then the order ends by itself.",
		"If the buyer has paid and the webhook was lost, this service finds out by asking Stripe: within minutes, or " +
			"when this order's page is opened in the console.",
	}
}

func (c *OrderCase) nextPaid() []string {
	var says []string
	if c.Order.State == payment.Unsold {
		return []string{"The payment could not be turned into a license. Refund it, or sell the license by hand."}
	}
	for _, l := range c.Licenses {
		says = append(says, c.licenseSays(l))
	}
	if c.Gone {
		says = append(says, "The plan is no longer for sale. The license keeps it and works as before.")
	}
	if c.Order.Order == payment.OrderPartlyRefunded {
		says = append(says, "A part of the money went back. The license works until all of it has.")
	}
	return says
}

// licenseSays says whose a sold license is and how it is.
func (c *OrderCase) licenseSays(l license.License) string {
	name := "The license ending in " + l.Key[len(l.Key)-6:]
	switch {
	case l.OwnerID != c.Buyer.ID:
		return name + " was sold, and belongs to another person now."
	case l.Status == event.Active:
		return name + " was sold and is connected to the buyer's account in the application."
	case l.Status == event.Deactivated:
		return name + " was sold and does not work now. Its page says why."
	}
	if c.Buyer.Guest() {
		return fmt.Sprintf("%s was sold and is not activated yet. The buyer paid without an account, and activates "+
			"it in "+
			"the browser that paid, or after opening the link that was mailed to %s.", name, c.Buyer.GuestEmail)
	}
	who := "with the account of this order"
	if c.Buyer.Email != "" {
		who = "as " + c.Buyer.Email
	}
	return fmt.Sprintf("%s was sold and is not activated yet. The buyer signs in %s, and activates it on My licenses.",
		name, who)
}

// address says that the buyer's email address may be wrong.
func (c *OrderCase) address() []string {
	if c.Buyer.ID == 0 || !c.Buyer.ProvenAt.IsZero() || !c.Buyer.ErasedAt.IsZero() || c.Buyer.Address() == "" {
		return nil
	}
	return []string{
		"Nobody has proven the address " + c.Buyer.Address() + ". If it is mistyped, our emails reach somebody " +
			"else: see the " +
			"person's page.",
	}
}

// open returns the number of open problems.
func (c *OrderCase) open() int {
	n := 0
	for _, p := range c.Problems {
		if p.DoneAt.IsZero() {
			n++
		}
	}
	return n
}
