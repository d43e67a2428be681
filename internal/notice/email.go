package notice

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/plural"
)

// email contains the data of an email about a subject.
type email struct {
	*Mailer
	subject
	user        account.User
	application partner.Partner
	sales       map[int64]license.Sale
}

// mails returns the emails about the subject, without the kinds that are switched off.
func (l email) mails() []mail.Message {
	var list []mail.Message
	add := func(k mail.Kind, cause string, content func() mail.Content) {
		if l.Mail.Sends(k) {
			list = append(list, l.message(k, cause, content()))
		}
	}
	sale := fmt.Sprintf(aboutPurchase, l.Sale.ID)
	refund := fmt.Sprintf(aboutRefund, l.RefundID, l.OwnerID)
	event := fmt.Sprintf(aboutLicense, l.License.ID, l.At.UnixNano())
	switch l.What {
	case license.Sold:
		add(mail.LicenseReady, sale, l.ready)
	case license.Given:
		add(mail.LicenseReady, event, l.given)
	case license.PlanChanged:
		if l.Before != l.License.Tier { // the same plan was paid for again
			add(mail.PlanChanged, sale, l.planChanged)
		}
	case license.Refunded:
		add(mail.Refunded, refund, l.refunded)
	case license.RefundReversed:
		add(mail.Reinstated, refund, l.refundReversed)
	case license.OnHold:
		add(mail.OnHold, event, l.onHold)
	case license.Reinstated:
		add(mail.Reinstated, event, l.reinstated)
	}
	if l.Sale.AmountCents > 0 {
		add(mail.Receipt, sale, l.receipt)
	}
	return list
}

// message returns an email.
func (l email) message(k mail.Kind, about string, c mail.Content) mail.Message {
	c.Hello = "Hello,"
	if l.user.Name != "" {
		c.Hello = "Hello " + l.user.Name + ","
	}
	text, html := l.Mail.Render(c)
	return mail.Message{
		Kind:    k,
		Cause:   causeOf(k, about),
		To:      l.user.Email,
		Subject: c.Title,
		Text:    text,
		HTML:    html,
		Lasting: true,
	}
}

// The pages that emails link to.
func (l email) redeemURL() string {
	return l.PublicURL + "/licensing/" + l.License.RedemptionID + "/redeem/"
}
func (l email) licenseURL() string { return l.PublicURL + "/licenses/" + l.License.RedemptionID }
func (l email) listURL() string    { return l.PublicURL + "/licenses" }
func (l email) receiptURL() string {
	return l.PublicURL + "/receipts/" + strconv.FormatInt(l.Sale.ID, 10)
}

// licenseButton links to the license, or to the list if there are several.
func (l email) licenseButton() mail.Link {
	if len(l.licenses) > 1 {
		return mail.Link{Name: "See your licenses", URL: l.listURL()}
	}
	return mail.Link{Name: "See your license", URL: l.licenseURL()}
}

// plan returns the name of the tier's plan, if known.
func (l email) plan() string {
	return partner.Plan{Tier: l.License.Tier, Name: l.PlanName}.DisplayName()
}

// day formats a date for emails. The reader's time zone is unknown.
func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// foot explains the reason for an email about the reader's license.
func (l email) foot() string {
	return fmt.Sprintf("You get this mail because you have a license at %s.", l.Marketplace)
}

// these returns the licenses of the subject as a phrase with the verb.
func (l email) these(one, several string) string {
	if len(l.licenses) == 1 {
		return "Your license for " + l.application.Name + " " + one
	}
	return "Your " + plural.Of(int64(len(l.licenses)), "license") + " for " + l.application.Name + " " + several
}

func (l email) facts(more ...mail.Fact) []mail.Fact {
	facts := []mail.Fact{{Name: "Application", Value: l.application.Name}, {Name: "Plan", Value: l.plan()}}
	if len(l.licenses) > 1 {
		facts = append(facts, mail.Fact{Name: "Licenses", Value: strconv.Itoa(len(l.licenses))})
	}
	return append(facts, more...)
}

// signIn explains how to sign in: a buyer may never have been here.
const signIn = "Sign in with this email address. If you have no password, we mail you a link."

func (l email) ready() mail.Content {
	c := mail.Content{
		Title: l.these("is ready", "are ready"),
		Opening: []string{
			fmt.Sprintf("Thank you for your purchase. Activate the license to use %s.", l.application.Name),
		},
		Facts:   l.facts(mail.Fact{Name: "Bought", Value: day(l.At)}),
		Button:  mail.Link{Name: "Activate your license", URL: l.redeemURL()},
		Closing: []string{signIn},
		Links:   []mail.Link{{Name: "All your licenses", URL: l.listURL()}},
		Foot:    fmt.Sprintf("You get this mail because a license was bought for this address at %s.", l.Marketplace),
	}
	if len(l.licenses) > 1 {
		c.Opening = []string{
			fmt.Sprintf(
				"Thank you for your purchase. Each license is for one account in %s; activate them one by one.",
				l.application.Name,
			),
		}
		c.Button = l.licenseButton()
		c.Links = nil
	}
	return c
}

// given returns the email to the new owner. It does not mention the previous owner.
func (l email) given() mail.Content {
	return mail.Content{
		Title: "You have a license for " + l.application.Name,
		Opening: []string{
			fmt.Sprintf("A license for %s is now yours. Activate it to use the application.", l.application.Name),
		},
		Facts:   l.facts(),
		Button:  mail.Link{Name: "Activate your license", URL: l.redeemURL()},
		Closing: []string{signIn},
		Foot:    l.foot(),
	}
}

func (l email) receipt() mail.Content {
	what := l.application.Name + ", " + l.plan()
	if l.Sale.Kind == license.PlanUpgrade {
		what = l.application.Name + ", change to " + l.plan()
	} else if l.Sale.Quantity > 1 {
		what += ", " + plural.Of(int64(l.Sale.Quantity), "license")
	}
	number := strconv.FormatInt(l.Sale.ID, 10)
	return mail.Content{
		Title:   "Your receipt for " + l.application.Name,
		Opening: []string{"Thank you. This is the receipt for your purchase."},
		Facts: []mail.Fact{
			{Name: "Receipt", Value: number},
			{Name: "Date", Value: day(l.Sale.CreatedAt)},
			{Name: "Seller", Value: cmp.Or(l.LegalName, l.Marketplace)},
			{Name: "For", Value: what},
			{Name: "Amount", Value: money.Text(l.Sale.AmountCents, l.Sale.Currency)},
		},
		Button:  mail.Link{Name: "See the receipt", URL: l.receiptURL()},
		Closing: l.refundTerms(),
		Foot:    fmt.Sprintf("You get this mail because you bought something at %s.", l.Marketplace),
	}
}

// refundTerms says until when the buyer can ask for the money back, if they can.
func (l email) refundTerms() []string {
	if l.Sale.RefundUntil.IsZero() {
		return nil
	}
	last := l.Sale.RefundUntil.Add(-time.Microsecond)
	return []string{fmt.Sprintf("You can ask for your money back until %s.", day(last))}
}

func (l email) planChanged() mail.Content {
	return mail.Content{
		Title: fmt.Sprintf("Your plan for %s is now %s", l.application.Name, l.plan()),
		Opening: []string{
			"The plan of your license was changed. Its key stays the same, and the application learns of the change " +
				"by itself.",
		},
		Facts:  l.facts(mail.Fact{Name: "Changed", Value: day(l.At)}),
		Button: l.licenseButton(),
		Foot:   l.foot(),
	}
}

// refunded returns the email about a refund. It contains the amount only if the reader paid it, and
// only for purchases of this license alone.
func (l email) refunded() mail.Content {
	c := mail.Content{
		Title:  l.these("was refunded", "were refunded"),
		Button: l.licenseButton(),
		Foot:   l.foot(),
		Facts:  l.facts(mail.Fact{Name: "Refunded", Value: day(l.At)}),
	}
	if amount := l.paidBack(); amount != "" {
		c.Facts = append(c.Facts, mail.Fact{Name: "Amount", Value: amount})
		c.Closing = []string{"When the money arrives depends on how you paid; it can take a few days."}
	}
	switch {
	case len(l.licenses) > 1:
		c.Facts = []mail.Fact{
			{Name: "Application", Value: l.application.Name},
			{Name: "Licenses", Value: strconv.Itoa(len(l.licenses))},
			{Name: "Refunded", Value: day(l.At)},
		}
		c.Opening = []string{"What was refunded no longer works. The list of your licenses shows how each of them is."}
	case l.Whole:
		c.Opening = []string{fmt.Sprintf("The license no longer works in %s.", l.application.Name)}
	default:
		c.Title = "Your plan change for " + l.application.Name + " was refunded"
		c.Opening = []string{fmt.Sprintf("The license goes on with the plan %s.", l.plan())}
	}
	return c
}

// paidBack returns the amount of a refund, "" if it is unknown or the reader did not pay it.
func (l email) paidBack() string {
	var cents int64
	currency := ""
	old := false
	for i, id := range l.Closed {
		s, ok := l.sales[id]
		if !ok || s.UserID != l.OwnerID || s.Quantity != 1 || cmp.Or(currency, s.Currency) != s.Currency ||
			i > 0 && old != s.Hundredths {
			return ""
		}
		cents += s.AmountCents
		currency = s.Currency
		old = s.Hundredths
	}
	if cents == 0 || len(l.licenses) > 1 {
		return ""
	}
	return money.Printed(cents, currency, old)
}

func (l email) refundReversed() mail.Content {
	c := l.back("The refund for " + l.application.Name + " was reversed")
	if len(l.licenses) > 1 {
		c.Opening = []string{"The licenses are yours again. The list of your licenses shows how each of them is."}
	} else {
		c.Opening = append([]string{"The license is yours again."}, c.Opening...)
	}
	return c
}

func (l email) reinstated() mail.Content {
	return l.back(l.these("is no longer on hold", "are no longer on hold"))
}

// back returns the email about a license that can be used again.
func (l email) back(title string) mail.Content {
	c := mail.Content{
		Title: title, Facts: l.facts(), Button: l.licenseButton(), Foot: l.foot(),
		Opening: []string{"It works as before; you need not do anything."},
	}
	if l.License.Released || !l.License.Redeemed {
		c.Opening = []string{fmt.Sprintf("Activate it to use %s.", l.application.Name)}
		if len(l.licenses) == 1 {
			c.Button = mail.Link{Name: "Activate your license", URL: l.redeemURL()}
		}
	}
	return c
}

// onHold returns the email about a hold. It mentions a payment only if that is the cause.
func (l email) onHold() mail.Content {
	c := mail.Content{
		Title: l.these("is on hold", "are on hold"),
		Opening: []string{
			fmt.Sprintf("We put the license on hold. It does not work in %s until the hold ends.", l.application.Name),
		},
		Facts:  l.facts(mail.Fact{Name: "On hold since", Value: day(l.At)}),
		Button: l.licenseButton(),
		Closing: []string{
			fmt.Sprintf("To learn why, or if you think that this is a mistake, contact %s.", l.Marketplace),
		},
		Foot: l.foot(),
	}
	c.Links = l.Mail.Contact(l.Marketplace)
	if l.License.Held == license.HoldChargeback {
		c.Opening = []string{
			fmt.Sprintf(
				"The payment for the license is disputed. Until that is settled, the license does not work in %s.",
				l.application.Name,
			),
		}
		c.Closing = []string{
			fmt.Sprintf(
				"If you did not mean to dispute the payment, tell your bank or card company, and contact %s.",
				l.Marketplace,
			),
		}
	}
	return c
}
