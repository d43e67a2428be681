package console

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/ui"
	"claviger/internal/validate"
)

// refundFields returns the fields of a refund.
func refundFields(r *http.Request) []ui.Field {
	return []ui.Field{
		{Name: "external_id", Label: "Your reference", Value: ui.FormText(r, "external_id")},
		{Name: "reason", Label: "Note, for your own people", Value: ui.FormText(r, "reason")},
	}
}

// refundPage builds the page of a refund with its effects.
func (l *Licenses) refundPage(
	r *http.Request,
	v *Visit,
	heading, at, back string,
	order license.RefundOrder,
	of []license.Detail,
) (ui.Confirm, error) {
	call := l.call(
		"See what it would do by API; without /preview it is done",
		http.MethodPost,
		"/operator/v1/refunds/preview",
	)
	view := ui.Confirm{
		Heading: heading, Action: at, Cancel: back,
		Button: ui.Button{Label: "Record the refund", Busy: "Recording…", Kind: "danger"},
		Hidden: []ui.Param{
			seenLicense(of...).Param(),
			area.Nonce(),
		}, Call: &call, Form: ui.Form{Fields: refundFields(r)},
	}
	list, err := l.Licenses.Preview(func(dry *license.Store) error {
		_, err := dry.Refund(r.Context(), v.Actor(), order)
		return err
	})
	if err != nil {
		view.Action = ""
		view.Fields = nil
		view.Hidden = nil
		return view, err
	}
	view.Says = effects(list)
	if here, err := l.paidHere(r, order, &view); err != nil || here {
		return view, err
	}
	view.Says = append(
		view.Says,
		"This records the refund. It moves no money: your checkout does that. A refund can be reversed.",
	)
	return view, nil
}

// doRefund records the refund of a page.
func (l *Licenses) doRefund(
	w http.ResponseWriter,
	r *http.Request,
	v *Visit,
	view ui.Confirm,
	failed error,
	order license.RefundOrder,
	of []license.Detail,
) error {
	err := seenLicense(of...).Unchanged(r)
	if err == nil {
		err = failed
	}
	if err == nil {
		order.ExternalID, err = validate.Line("external_id", ui.FormText(r, "external_id"), 0, 255)
	}
	if err == nil {
		order.Reason, err = validate.Line("reason", ui.FormText(r, "reason"), 0, 255)
	}
	if err == nil {
		order.Idempotency, err = l.area.Once(r, v)
	}
	if err == nil && ui.FormText(r, "record_only") == "" {
		asked, here, aerr := l.Payments.AskRefunds(
			r.Context(),
			v.Actor(),
			order,
			cmp.Or(order.ExternalID, order.Idempotency.Key),
		)
		if err = aerr; here && err == nil {
			return l.area.Done(
				w,
				r,
				v,
				fmt.Sprintf(purchasesPath+"/%d", asked[0].PurchaseID),
				"Stripe is asked to pay it back. The license is refunded when Stripe has done it.",
			)
		}
	}
	var f license.Refund
	if err == nil {
		f, err = l.Licenses.IfUnchanged(versions(of...)).Refund(r.Context(), v.Actor(), order)
	}
	if err != nil {
		return l.area.Refuse(w, r, v, view, err)
	}
	return l.area.Done(w, r, v, fmt.Sprintf(refundsPath+"/%d", f.ID), "The refund is recorded.")
}

// licenseRefund builds the page of a refund of a license: of one purchase in its chain, named by
// the query; of the free ones (only=free); or of all.
func (l *Licenses) licenseRefund(r *http.Request, v *Visit) (ui.Confirm, license.RefundOrder, []license.Detail, error) {
	d, err := l.Licenses.Inspect(r.Context(), r.PathValue("license"))
	if err != nil {
		return ui.Confirm{}, license.RefundOrder{}, nil, area.Missing(err)
	}
	order := license.RefundOrder{LicenseKey: d.Key}
	heading := "Refund all of the license"
	at := v.Path(licensesPath+"/%s/refund", d.Key)
	if text := r.URL.Query().Get("purchase"); text != "" {
		if order.PurchaseID, err = strconv.ParseInt(text, 10, 64); err != nil || order.PurchaseID < 1 {
			return ui.Confirm{}, order, nil, area.NotFound()
		}
		heading, at = fmt.Sprintf(
			"Refund purchase %d of the license",
			order.PurchaseID,
		), at+fmt.Sprintf(
			"?purchase=%d",
			order.PurchaseID,
		)
	}
	if r.URL.Query().Get("only") == "free" {
		order.FreeOnly = true
		heading = "Refund the plan changes that cost nothing"
		at += "?only=free"
	}
	of := []license.Detail{d}
	back := v.Path(licensesPath+"/%s", d.Key)
	view, err := l.refundPage(r, v, heading, at, back, order, of) //nolint:contextcheck // it has the request
	return view, order, of, err
}

func (l *Licenses) askRefund(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := l.licenseRefund(r, v)
	return l.ask(w, r, v, view, err)
}

func (l *Licenses) refund(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, order, of, err := l.licenseRefund(r, v)
	if of == nil {
		return err
	}
	return l.doRefund(w, r, v, view, err, order, of)
}

// purchaseRefund builds the page that refunds a purchase on all its licenses.
func (l *Licenses) purchaseRefund(
	r *http.Request,
	v *Visit,
) (ui.Confirm, license.RefundOrder, []license.Detail, error) {
	s, err := l.Licenses.Sale(r.Context(), area.ID(r, "purchase"))
	if err != nil {
		return ui.Confirm{}, license.RefundOrder{}, nil, area.Missing(err)
	}
	order := license.RefundOrder{PurchaseID: s.ID}
	heading := fmt.Sprintf("Refund purchase %d", s.ID)
	at := v.Path(purchasesPath+"/%d/refund", s.ID)
	back := v.Path(purchasesPath+"/%d", s.ID)
	view, err := l.refundPage(r, v, heading, at, back, order, s.Items) //nolint:contextcheck // it has the request
	return view, order, s.Items, err
}

func (l *Licenses) askRefundPurchase(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := l.purchaseRefund(r, v)
	return l.ask(w, r, v, view, err)
}

func (l *Licenses) refundPurchase(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, order, of, err := l.purchaseRefund(r, v)
	if of == nil {
		return err
	}
	return l.doRefund(w, r, v, view, err, order, of)
}

// refundView is a refund with its licenses.
type refundView struct {
	license.Refund
	Table   ui.Table
	Reverse string // the page that reverses it, "" if it cannot be
	Curl    ui.Curl
}

func (l *Licenses) showRefund(w http.ResponseWriter, r *http.Request, v *Visit) error {
	f, err := l.Licenses.RefundByID(r.Context(), area.ID(r, "refund"))
	if err != nil {
		return area.Missing(err)
	}
	names, err := l.partnerNames(r.Context(), f.Licenses, nil)
	if err != nil {
		return err
	}
	view := refundView{
		Refund: f.Refund, Table: licensesTable(v, f.Licenses, names),
		Curl: l.call("The same by API", http.MethodGet, fmt.Sprintf("/operator/v1/refunds/%d", f.ID)),
	}
	if path := refundPath + "/reverse"; f.ReversedAt.IsZero() && l.area.Has(path, v) {
		view.Reverse = v.Path(refundsPath+"/%d/reverse", f.ID)
	}
	return l.render(w, r, v, "refund", ui.View{Title: fmt.Sprintf("Refund %d", f.ID), Data: view})
}

// reversePage builds the page that reverses a refund.
func (l *Licenses) reversePage(r *http.Request, v *Visit) (ui.Confirm, license.RefundDetail, error) {
	f, err := l.Licenses.RefundByID(r.Context(), area.ID(r, "refund"))
	if err != nil {
		return ui.Confirm{}, f, area.Missing(err)
	}
	call := l.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/refunds/%d/reverse", f.ID))
	view := ui.Confirm{
		Heading: fmt.Sprintf("Reverse refund %d", f.ID), Cancel: v.Path(refundsPath+"/%d", f.ID), Call: &call,
		Action: v.Path(
			refundsPath+"/%d/reverse",
			f.ID,
		), Button: ui.Button{Label: "Reverse the refund", Busy: "Reversing…"},
		Hidden: []ui.Param{seenLicense(f.Items...).Param()},
	}
	if !f.ReversedAt.IsZero() {
		view.Action = ""
		view.Hidden = nil
		return view, f, fault.New(
			fault.Conflict,
			license.CodeLicenseChanged,
			"This cannot be done now. The refund was reversed before.",
		)
	}
	list, err := l.Licenses.Preview(func(dry *license.Store) error { //nolint:contextcheck // it has the request
		_, err := dry.ReverseRefund(r.Context(), v.Actor(), f.ID)
		return err
	})
	view.Says = append(
		effects(list),
		"What the refund closed counts as paid again. A license that is held or released besides stays so.",
	)
	return view, f, err
}

func (l *Licenses) askReverse(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := l.reversePage(r, v)
	return l.ask(w, r, v, view, err)
}

func (l *Licenses) reverse(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, f, err := l.reversePage(r, v)
	if f.ID == 0 {
		return err
	}
	if unchanged := seenLicense(f.Items...).Unchanged(r); unchanged != nil {
		err = unchanged
	}
	if err == nil {
		_, err = l.Licenses.IfUnchanged(versions(f.Items...)).ReverseRefund(r.Context(), v.Actor(), f.ID)
	}
	if err != nil {
		return l.area.Refuse(w, r, v, view, err)
	}
	return l.area.Done(w, r, v, fmt.Sprintf(refundsPath+"/%d", f.ID), "The refund is reversed.")
}
