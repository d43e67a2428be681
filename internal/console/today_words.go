package console

import (
	"fmt"
	"strings"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/payment"
	"claviger/internal/plural"
	"claviger/internal/today"
	"claviger/internal/ui"
)

// todayWords has the title and explanation of each kind, and the page that lists all its items.
var todayWords = map[today.Kind]struct{ title, why, all, query string }{
	today.QueueOld: {
		title: "A queue is old", why: "What is due is not sent: the service does not keep up, or no node sends.",
	},
	today.DiskFull: {
		title: "The disk is nearly full",
		why: "When it is full nothing can be sold any more. Make space, or keep the records of deliveries for a " +
			"shorter time.",
		all: settingsPath,
	},
	today.BackupOld: {
		title: "The last backup is old", why: "If the database were lost now, everything since would be lost, too.",
	},
	today.JobFailed: {
		title: "Jobs that failed", why: "A background job failed the last time, or did not run when it should have.",
		all: jobsPath,
	},
	today.EndpointParked: {
		title: "Parked endpoints",
		why:   "They did nothing but fail, so they get one event now and then, and the rest waits.", all: outagesPath,
		query: "?state=parked",
	},
	today.EndpointFailing: {
		title: "Failing endpoints", why: "Their last deliveries failed and are tried again.", all: outagesPath,
		query: "?state=failing",
	},
	today.EventsGivenUp: {
		title: "Events that were given up",
		why: "Every attempt failed, or a newer event of the license was sent instead. The partner does not know of " +
			"them.",
		all: deliveriesPath, query: "?state=exhausted&range=all",
	},
	today.CannotRedeem: {
		title: "Buyers who cannot redeem", why: "They have paid, and there is no redirect URL to send them to.",
	},
	today.PlanUnchecked: {
		title: "Plans whose price must be checked",
		why: "Prices in these currencies were once entered with two digits after the point that the currency does " +
			"not have. They are not on sale until you save them with the right price.",
	},
	today.DisputeOpen: {
		title: "Open disputes",
		why:   "A bank asks for the money of a buyer back. A dispute without evidence is lost, with its fee.",
		all:   paymentsPath,
	},
	today.PaymentProblem: {
		title: "Payments that need a person",
		why:   "Somebody paid and has no license, or a refund failed.", all: paymentsPath,
	},
	today.RefundRequested: {
		title: "Refund requests",
		why:   "Buyers ask for their money back, in the time that the product gives them. Refund or decline each.",
		all:   refundRequestsPath, query: "?state=requested",
	},
	today.RefundedWorking: {
		title: "Refunded but still working",
		why: "The payment for the plan went back, but a later plan change that cost nothing keeps the license " +
			"working. Refund the free plan change to end it.",
	},
	today.Undivided: {
		title: "Sales that are not divided",
		why:   "The partner has no terms, and there is no default-share, so nobody knows what they earn. Add terms.",
	},
	today.MailGivenUp: {title: "Mails that were given up", why: "They did not reach the person.", all: mailsPath},
	today.CertificateEnds: {
		title: "Certificates near their end", why: "When it has ended, deliveries to this webhook URL fail.",
	},
	today.KeyEnds: {
		title: "Signing keys near their end", why: "A key should not sign identity tokens for more than a year.",
		all: keysPath,
	},
	today.URLUnproven: {title: "URLs that were never validated", why: "Nobody knows whether they work."},
	today.NoContacts:  {title: "Partners without contacts", why: "Nobody is told when deliveries to them fail."},
}

// pageOfPartner returns the URL of a partner's page, or "" if there is no partner or no such page.
func (s *Shell) pageOfPartner(v *Visit, id int64) string {
	if id == 0 || !s.area.Has(partnerPath, v) {
		return ""
	}
	return v.Path(partnersPath+"/%d", id)
}

// item describes one item.
func (t *Today) item(v *Visit, i today.Item) todayItem {
	out := todayItem{
		Title: i.Partner, Of: i.Partner, Since: i.Since, Text: i.Text, URL: t.pageOfPartner(v, i.PartnerID),
	}
	switch i.Kind {
	case today.QueueOld, today.DiskFull, today.BackupOld, today.JobFailed, today.KeyEnds:
		t.ofService(v, i, &out)
	case today.MailGivenUp, today.DisputeOpen, today.PaymentProblem, today.RefundRequested, today.RefundedWorking:
		ofSubject(v, i, &out)
	case today.EndpointParked, today.EndpointFailing:
		out.Text = fmt.Sprintf("%s %s", sentence(i.Text), area.Waiting(i.Count, i.More))
		if i.Kind == today.EndpointParked {
			out.Until = i.Until
			out.Ends = "Next probe"
		}
		if v.May(account.Support) {
			out.Button = "Try now"
			out.Action = v.Path(outagesPath+"/%d/try", i.PartnerID)
			out.Hidden = []ui.Param{seenEndpoint(i.Since).Param()}
		}
	case today.EventsGivenUp:
		out.Text = area.AtLeast(i.Count, i.More, "event") + ": " + i.Text + "."
		if v.May(account.Support) {
			out.Button = "Send them again"
			out.Link = v.Path(redeliverPath+"/%d", i.PartnerID) + "?state=failed"
		}
	case today.CannotRedeem:
		out.Text = plural.Of(i.Count, "license is", "licenses are") + " sold and not redeemed."
		out.Button, out.Link = t.linkTo(v, "Set the redirect URL", urlsPath, i.PartnerID)
	case today.PlanUnchecked:
		out.Button, out.Link = t.linkTo(v, "Check the price", plansPath, i.PartnerID)
	case today.CertificateEnds:
		out.Until = i.Until
		out.Ends = "Valid until"
		out.Button, out.Link = t.linkTo(v, "Tell the partner", contactsPath, i.PartnerID)
	case today.URLUnproven:
		out.Text = "The " + strings.ReplaceAll(strings.TrimSuffix(i.Subject, "_url"), "_", " ") + " URL."
		out.Button, out.Link = t.linkTo(v, "Check it", urlsPath, i.PartnerID)
	case today.Undivided:
		out.Button, out.Link = t.linkTo(v, "Add terms", partnerLedgerPath, i.PartnerID)
	case today.NoContacts:
		out.Button, out.Link = t.linkTo(v, "Add a contact", contactsPath, i.PartnerID)
	}
	return out
}

// ofSubject describes items about a mail, a payment or a license.
func ofSubject(v *Visit, i today.Item, out *todayItem) {
	switch i.Kind { //nolint:exhaustive // the others have no page of their own
	case today.MailGivenUp:
		out.Title = "Mail " + i.Subject
		out.Of = "mail " + i.Subject
		out.Button = "Look at it"
		out.Link = v.Path(mailsPath+"/%s", i.Subject)
	case today.DisputeOpen:
		out.Title = "Dispute " + i.Subject
		out.Of = "dispute " + i.Subject
		out.URL = v.Path(disputesPath+"/%s", i.Subject)
		out.Until = i.Until
		out.Ends = "Answer by"
		out.Button = "See the evidence"
		out.Link = out.URL
	case today.PaymentProblem:
		kind, _, refundable := strings.Cut(i.Text, " ")
		out.Title = "Payment problem " + i.Subject
		out.Of = "payment problem " + i.Subject
		out.Text = problemWords[payment.ProblemKind(kind)]
		if v.May(account.Sell) && refundable {
			out.Button = "Refund"
			out.Link = v.Path(paymentsPath+"/%s/refund", i.Subject)
		} else if v.May(account.Sell) {
			out.Button = "Look at it"
			out.Link = v.Path(paymentsPath)
		}
	case today.RefundRequested:
		out.Title = "Refund request " + i.Subject
		out.Of = "refund request " + i.Subject
		out.URL = v.Path(refundRequestsPath+"/%s", i.Subject)
		out.Text = i.Partner + ", " + i.Text
		out.Button = "Look at it"
		out.Link = out.URL
	case today.RefundedWorking:
		out.Title = "License " + i.Subject
		out.Of = "license " + i.Subject
		out.URL = v.Path(licensesPath+"/%s", i.Subject)
		out.Text = "Sold for " + i.Partner + "."
		if v.May(account.Sell) {
			out.Button = "Refund"
			out.Link = v.Path(licensesPath+"/%s/refund", i.Subject) + "?only=free"
		}
	}
}

// ofService describes items about the service itself.
func (t *Today) ofService(v *Visit, i today.Item, out *todayItem) {
	out.Title = i.Subject
	switch i.Kind { //nolint:exhaustive // the others concern a partner
	case today.QueueOld:
		out.Title = "Deliveries"
		out.Button = "See what is due"
		out.Link = v.Path(deliveriesPath) + "?state=waiting&range=all"
		if i.Subject == today.Mails {
			out.Title = "Mails"
			out.Link = v.Path(mailsPath)
		}
		out.Text = "The oldest is due since then and not sent."
	case today.DiskFull:
		out.Title = "The database's disk"
		out.Button = "See the settings"
		out.Link = v.Path(settingsPath)
		if !t.area.Has(settingsPath, v) {
			out.Button = ""
			out.Link = ""
		}
	case today.BackupOld:
		out.Title = "The last good backup"
		out.Text = "Make a new one, and find out why none was made since."
	case today.JobFailed:
		out.Button = "See the job"
		out.Link = v.Path(jobsPath)
	case today.KeyEnds:
		out.Title = "Key " + i.Subject
		out.Text = "It signs with " + i.Text + "."
		out.Until = i.Until
		out.Ends = "A year is over"
		if v.May(account.Admin) {
			out.Button = "Rotate it"
			out.Link = v.Path(keysPath+"/rotate") + "?alg=" + i.Text
		}
	}
	out.Of = out.Title
}

// linkTo returns the label and link of a page about a partner, if the person may see it.
func (t *Today) linkTo(v *Visit, label, path string, partnerID int64) (mend, link string) {
	if !t.area.Has(path, v) {
		return "", ""
	}
	return label, v.Path("%s", ofPartner(path, partnerID))
}

// sentence capitalizes a text and ends it with a full stop.
func sentence(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ".")
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
