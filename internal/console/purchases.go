package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/bulk"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/ui"
)

// salesFilter reads the filter of the query. nobody reports that no account has the email address.
func (l *Licenses) salesFilter(
	r *http.Request,
) (f license.FindSales, form ui.Form, email string, nobody bool, err error) {
	q := r.URL.Query()
	form = ui.Form{Fields: []ui.Field{
		{Name: "external_id", Label: "Reference", Value: q.Get("external_id")},
		{Name: "email", Label: "Buyer's email address", Value: q.Get("email")},
		{Name: "partner_id", Label: "Partner's number", Value: q.Get("partner_id")},
		{Name: "from", Label: "Bought from", Type: "datetime-local"},
		{Name: "to", Label: "Bought to", Type: "datetime-local"},
	}}
	f = license.FindSales{
		ExternalID: storable(strings.TrimSpace(q.Get("external_id"))), PartnerID: number(r, &form, "partner_id"),
	}
	f.From, f.To = span(r, &form)
	f.Users, email, nobody, err = l.people(r)
	return f, form, email, nobody, err
}

func (l *Licenses) purchases(w http.ResponseWriter, r *http.Request, v *Visit) error {
	f, form, email, nobody, err := l.salesFilter(r)
	if err != nil {
		return err
	}
	var found license.FoundSales
	if !form.Failed() && !nobody {
		if found, err = l.Licenses.FindSales(r.Context(), f, before(r), perPage); err != nil {
			return err
		}
	}
	names, err := l.partnerNames(r.Context(), nil, found.Sales)
	if err != nil {
		return err
	}
	return l.showList(w, r, v, listView{
		Heading: "Purchases", Lead: "Purchases and plan changes of all partners, newest first.", Form: form,
		Results: ui.Results{
			Filters: ui.Filters{Label: "Search purchases", URL: v.Path(purchasesPath)},
			Table:   purchasesTable(v, found.Sales, names),
			Pager:   pager(r, "Pages of purchases", found.Next), SearchedTo: found.SearchedTo,
			Nothing: ui.Empty{Title: "Nothing was sold yet", Text: "Purchases appear when your checkout records them."},
		},
		Acts: l.bulkActs(r, v, bulk.Purchases), Export: exportURL(r, v, export.Purchases),
		Curl: l.call("The same by API", http.MethodGet, "/operator/v1/purchases/search",
			ui.Param{Name: "external_id", Value: f.ExternalID},
			ui.Param{Name: "email", Value: email}, ui.Param{Name: "partner_id", Value: orNil(f.PartnerID)},
			ui.Param{Name: "from", Value: f.From}, ui.Param{Name: "to", Value: f.To}),
	})
}

// purchaseView is a purchase with its licenses.
type purchaseView struct {
	Sale     license.Sale
	What     string
	Amount   string
	Partner  factView
	Buyer    factView
	Licenses ui.Table
	Chains   []ui.Table
	Refunds  ui.Table
	Payments ui.Timeline // with refunds and disputes
	Refund   string      // the page that refunds it, "" if it cannot be
	Curl     ui.Curl
}

func (l *Licenses) purchase(w http.ResponseWriter, r *http.Request, v *Visit) error {
	s, err := l.Licenses.Sale(r.Context(), area.ID(r, "purchase"))
	if err != nil {
		return area.Missing(err)
	}
	names, err := l.partnerNames(r.Context(), s.Licenses, []license.Sale{s.Sale})
	if err != nil {
		return err
	}
	view := purchaseView{
		Sale: s.Sale, What: saleWords(&s.Sale), Amount: paid(&s.Sale),
		Partner:  factView{"Application", ui.Cell{Text: names[s.PartnerID], URL: l.partnerURL(v, s.PartnerID)}},
		Buyer:    factView{"Buyer", ui.Cell{Text: "none was named"}},
		Licenses: licensesTable(v, s.Licenses, names),
		Curl:     l.call("The same by API", http.MethodGet, fmt.Sprintf("/operator/v1/purchases/%d", s.ID)),
	}
	if s.UserID != 0 {
		u, err := l.Accounts.Get(r.Context(), s.UserID)
		if err != nil {
			return err
		}
		view.Buyer.Cell = ui.Cell{Text: personName(u), URL: v.Path(peoplePath+"/%d", u.ID)}
	}
	open := false
	refunds := map[int64]bool{}
	var list []license.Refund
	for i, d := range s.Items {
		t := chainTable(v, d)
		t.ID = fmt.Sprintf("chain-%d", i)
		t.Caption = "What was paid for license " + d.Key[len(d.Key)-4:]
		for n := range t.Rows {
			t.Rows[n].ID = "" // a purchase of several licenses is in several tables
		}
		view.Chains = append(view.Chains, t)
		for _, k := range d.Links {
			open = open || k.Sale.ID == s.ID && k.Refundable
		}
		for _, f := range d.Refunds {
			if !refunds[f.ID] {
				refunds[f.ID] = true
				list = append(list, f)
			}
		}
	}
	view.Refunds = refundsTable(v, list)
	entries, err := l.Support.Paid(r.Context(), []int64{s.ID})
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].PurchaseID = 0 // it would link to this page
	}
	view.Payments = timelineOf(v, "Payments, newest first", entries)
	if open && v.May(account.Sell) {
		view.Refund = v.Path(purchasesPath+"/%d/refund", s.ID)
	}
	return l.render(w, r, v, "purchase", ui.View{Title: fmt.Sprintf("Purchase %d", s.ID), Data: view})
}

// send sends an event of a license again.
func (l *Licenses) send(r *http.Request, v *Visit) (area.Action, error) {
	d, err := l.Licenses.ByKey(r.Context(), r.PathValue("license"))
	if err != nil {
		return area.Action{}, area.Missing(err)
	}
	id := area.ID(r, "event")
	e, err := l.Support.Events.Get(r.Context(), id)
	if err != nil || e.LicenseID != d.ID {
		return area.Action{}, area.NotFound()
	}
	call := l.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/events/%d/redeliver", id))
	view := ui.Confirm{
		Heading: fmt.Sprintf("Send event %d again", id), Cancel: v.Path(licensesPath+"/%s", d.Key), Call: &call,
		Says: []string{
			"It is sent now to the partner's webhook URL, with the same body and the same webhook-id, signed anew. " +
				"After it comes the newest event of the license, so that the application is not left in the past.",
		},
		Button: ui.Button{Label: "Send it again", Busy: "Sending…"},
	}
	return area.Action{Ask: view, Do: func(ctx context.Context) (string, error) {
		return "The event is on its way. Reload the page to see what the partner's server answered.",
			l.Webhooks.Redeliver(ctx, v.Actor(), d.PartnerID, id)
	}}, nil
}
