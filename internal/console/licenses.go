package console

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/bulk"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/support"
	"claviger/internal/ui"
	"claviger/internal/webhook"
)

// Licenses serves the pages about licenses, purchases and refunds, and their acts.
type Licenses struct {
	section
	Accounts *account.Store
	Partners *partner.Store
	Licenses *license.Store
	Webhooks *webhook.Outbox
	Support  *support.Store
	Payments *payment.Store
}

const (
	licensePath  = licensesPath + "/{license}"
	purchasePath = purchasesPath + "/{purchase}"
	refundsPath  = "/refunds"
	refundPath   = refundsPath + "/{refund}"
)

func (l *Licenses) table() []Route {
	rows := slices.Concat(
		[]Route{
			row(Page, licensesPath, account.Read, l.licenses),
			row(Page, licensePath, account.Read, l.license),
			row(Page, licensePath+"/text", account.Read, l.text),
			row(Page, purchasesPath, account.Read, l.purchases),
			row(Page, purchasePath, account.Read, l.purchase),
			row(Page, refundPath, account.Read, l.showRefund),
		},
		act(licensePath+"/refund", account.Sell, l.refund),
		act(licensePath+"/events/{event}/send", account.Support, l.send),
		act(purchasePath+"/refund", account.Sell, l.refundPurchase),
		act(refundPath+"/reverse", account.Sell, l.reverse),
	)
	for _, a := range licenseActs {
		rows = append(rows, act(licensePath+"/"+a.name, a.scope, l.action(a))...)
	}
	return slices.Concat(rows, l.paymentTable(), l.disputeTable(), l.refundRequestTable())
}

// people reads the email address of the query and returns its users, guests included. nobody reports
// that there is none.
func (l *Licenses) people(r *http.Request) (ids []int64, email string, nobody bool, err error) {
	if email = storable(strings.TrimSpace(r.URL.Query().Get("email"))); email == "" {
		return nil, "", false, nil
	}
	ids, err = l.Accounts.FindAll(r.Context(), email)
	return ids, email, len(ids) == 0, err
}

// number reads an optional integer of the query.
func number(r *http.Request, form *ui.Form, name string) int64 {
	s := strings.TrimSpace(r.URL.Query().Get(name))
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 1 {
		form.Refuse(fault.Field(name, "must be a whole number from 1."))
	}
	return n
}

// span reads the times of the query into the form's fields.
func span(r *http.Request, form *ui.Form) (from, to time.Time) {
	for i, field := range form.Fields {
		if field.Type != "datetime-local" {
			continue
		}
		at, err := ui.QueryTime(r, field.Name)
		if err != nil {
			form.Refuse(err)
		}
		form.Fields[i].SetTime(r, at)
		if field.Name == "from" {
			from = at
		} else {
			to = at
		}
	}
	return from, to
}

// licenseFilters returns the form of the list of licenses, with the typed values.
func licenseFilters(r *http.Request) ui.Form {
	q := r.URL.Query()
	statuses := []ui.Option{{Value: "", Label: "All"}}
	for _, s := range []event.Status{event.Inactive, event.Active, event.Deactivated} {
		statuses = append(statuses, ui.Option{Value: s.String(), Label: s.String()})
	}
	return ui.Form{Fields: []ui.Field{
		{Name: "key", Label: "License key or its end", Value: q.Get("key")},
		{Name: "email", Label: "Owner's email address", Value: q.Get("email")},
		{Name: "partner_id", Label: "Partner's number", Value: q.Get("partner_id")},
		{Name: "license_status", Label: "Status", Type: "select", Value: q.Get("license_status"), Options: statuses},
		{Name: "tier", Label: "Tier", Value: q.Get("tier")},
		{Name: "from", Label: "Purchased from", Type: "datetime-local"},
		{Name: "to", Label: "Purchased to", Type: "datetime-local"},
	}}
}

// licenseFilter reads the filter of the query. nobody reports that no account has the email
// address.
func (l *Licenses) licenseFilter(
	r *http.Request,
) (f license.FindAny, form ui.Form, email string, nobody bool, err error) {
	form = licenseFilters(r)
	f = license.FindAny{
		Find:      license.Find{Key: storable(r.URL.Query().Get("key"))},
		PartnerID: number(r, &form, "partner_id"),
	}
	f.Tier = int(number(r, &form, "tier"))
	f.From, f.To = span(r, &form)
	if f.Status, err = event.ParseStatus(r.URL.Query().Get("license_status")); err != nil {
		form.Refuse(fault.Field("license_status", "is not one of the list."))
	}
	f.Owners, email, nobody, err = l.people(r)
	return f, form, email, nobody, err
}

func (l *Licenses) licenses(w http.ResponseWriter, r *http.Request, v *Visit) error {
	f, form, email, nobody, err := l.licenseFilter(r)
	if err != nil {
		return err
	}
	var found license.Found
	if !form.Failed() && !nobody {
		if found, err = l.Licenses.FindAny(r.Context(), f, before(r), perPage); err != nil && !form.Refuse(err) {
			return err
		}
	}
	names, err := l.partnerNames(r.Context(), found.Licenses, nil)
	if err != nil {
		return err
	}
	return l.showList(w, r, v, listView{
		Heading: "Licenses", Lead: "The licenses of all partners, newest first.", Form: form,
		Results: ui.Results{
			Filters:    ui.Filters{Label: "Search licenses", URL: v.Path(licensesPath)},
			Table:      licensesTable(v, found.Licenses, names),
			Pager:      pager(r, "Pages of licenses", found.Next),
			SearchedTo: found.SearchedTo,
			Nothing:    ui.Empty{Title: "No license was sold yet", Text: "Licenses appear with the first purchase."},
		},
		Acts: l.bulkActs(r, v, bulk.Licenses), Export: exportURL(r, v, export.Licenses),
		Curl: l.call(
			"The same by API",
			http.MethodGet,
			"/operator/v1/licenses/search",
			ui.Param{Name: "key", Value: f.Key},
			ui.Param{Name: "email", Value: email},
			ui.Param{Name: "partner_id", Value: orNil(f.PartnerID)},
			ui.Param{Name: "status", Value: f.Status.String()},
			ui.Param{Name: "tier", Value: orNil(int64(f.Tier))},
			ui.Param{Name: "from", Value: f.From},
			ui.Param{Name: "to", Value: f.To},
		),
	})
}

// orNil returns nil for 0, to leave a number out of a call.
func orNil(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// licenseView is the page of a license.
type licenseView struct {
	*support.Case
	Status    string
	OwnerName string
	OwnerURL  string
	Partner   factView
	Chain     ui.Table
	Refunds   ui.Table
	Timeline  ui.Timeline
	Acts      []choice
	Reply     ui.Code
	TextURL   string
	Curl      ui.Curl
}

// license shows a license: its history, the reasons for its status, the last webhook and the
// possible acts.
func (l *Licenses) license(w http.ResponseWriter, r *http.Request, v *Visit) error {
	c, err := l.Support.Case(r.Context(), r.PathValue("license"))
	if err != nil {
		return area.Missing(err)
	}
	key := c.License.Key
	view := licenseView{
		Case:      &c,
		Status:    c.License.Status.String(),
		OwnerName: "Nobody has claimed it yet",
		Partner:   factView{"Application", ui.Cell{Text: c.Partner.Name, URL: l.partnerURL(v, c.Partner.ID)}},
		Chain:     chainTable(v, c.License),
		Refunds:   refundsTable(v, c.License.Refunds),
		Timeline:  timelineOf(v, "What happened, newest first", c.Entries),
		Acts:      append(l.acts(v, c.License), sendAct(v, c)),
		Reply:     ui.Code{Label: "text for the reply", Text: c.Text()},
		TextURL:   v.Path(licensesPath+"/%s/text", key),
		Curl:      l.call("The same by API", http.MethodGet, "/operator/v1/licenses/"+key+"/timeline"),
	}
	switch {
	case c.Owner.ID != 0:
		view.OwnerName = personName(c.Owner)
		view.OwnerURL = v.Path(peoplePath+"/%d", c.Owner.ID)
	case c.License.OwnerID != 0:
		view.OwnerName = "A person who was erased"
	}
	return l.render(w, r, v, "license", ui.View{Title: "License " + key[len(key)-4:], Data: view})
}

// sendAct returns the link that resends the newest event.
func sendAct(v *Visit, c support.Case) choice {
	if !v.May(account.Support) {
		return choice{Label: "Send the newest event again", Why: "Needs the role support or admin."}
	}
	for _, e := range c.Entries {
		if e.Kind == support.Event {
			return choice{
				Label: "Send the newest event again…",
				URL:   v.Path(licensesPath+"/%s/events/%d/send", c.License.Key, e.EventID),
			}
		}
	}
	return choice{Label: "Send the newest event again", Why: "There is none."}
}

// text serves the case as plain text, for a reply.
func (l *Licenses) text(w http.ResponseWriter, r *http.Request, _ *Visit) error {
	c, err := l.Support.Case(r.Context(), r.PathValue("license"))
	if err != nil {
		return area.Missing(err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, err = fmt.Fprint(w, c.Text())
	return err
}

// chainTable lists the purchases of a license, oldest first.
func chainTable(v *Visit, d license.Detail) ui.Table {
	t := ui.Table{
		ID: "chain", Caption: "What was paid for it", Cards: true,
		Columns: []ui.Column{
			{Label: "Purchase"},
			{Label: "What"},
			{Label: "Amount", Number: true},
			{Label: "Reference", Wrap: true},
			{Label: "Time"},
			{Label: "State"},
		},
	}
	for _, k := range d.Links {
		what := saleWords(&k.Sale)
		state := ui.Cell{Text: "paid"}
		switch {
		case !k.Open():
			state = ui.Cell{
				Text: fmt.Sprintf("refunded (refund %d)", k.Refund.ID),
				URL:  v.Path(refundsPath+"/%d", k.Refund.ID),
			}
		case k.Refundable && v.May(account.Sell):
			state.Acts = ui.Links(ui.RowLink{
				Label: "Refund…",
				Of:    "purchase " + strconv.FormatInt(k.Sale.ID, 10),
				URL:   v.Path(licensesPath+"/%s/refund?purchase=%d", d.Key, k.Sale.ID),
			})
		case !k.Refundable:
			state.Note = "a later one is open; refund that first"
		}
		if k.Open() && !k.Stands {
			state.Text = "paid, but not enough is left for this plan"
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("purchase-%d", k.Sale.ID), Cells: []ui.Cell{
			{Text: fmt.Sprintf("Purchase %d", k.Sale.ID), URL: v.Path(purchasesPath+"/%d", k.Sale.ID)},
			{Text: what},
			{Text: paid(&k.Sale)},
			{Text: dash(k.Sale.ExternalID)},
			{At: k.Sale.CreatedAt},
			state,
		}})
	}
	return t
}

// timelineOf converts the entries of a timeline.
func timelineOf(v *Visit, label string, entries []support.Entry) ui.Timeline {
	t := ui.Timeline{Label: label}
	for _, e := range entries {
		out := ui.TimelineEntry{At: e.At, Title: e.Title, Text: e.Text}
		if e.By != "" {
			out.Text = strings.TrimSpace(out.Text + " By " + strings.TrimSuffix(e.By, ".") + ".")
		}
		if e.Failed {
			out.Status = "failed"
		}
		switch {
		case e.DisputeID != "":
			out.URL = v.Path(disputesPath+"/%s", e.DisputeID)
		case e.PurchaseID != 0:
			out.URL = v.Path(purchasesPath+"/%d", e.PurchaseID)
		}
		t.Entries = append(t.Entries, out)
	}
	return t
}
