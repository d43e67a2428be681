package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/ui"
	"claviger/internal/validate"
)

// refunding returns the act that records a refund. Its page lists the effects.
func (l *Licenses) refunding(
	r *http.Request, v *Visit, view ui.Confirm, order license.RefundOrder, of []license.Detail,
) (area.Action, error) {
	call := l.call(
		"See what it would do by API; without /preview it is done", http.MethodPost, "/operator/v1/refunds/preview",
	)
	view.Call = &call
	view.Button = ui.Button{Label: "Record the refund", Busy: "Recording…", Kind: "danger"}
	view.Hidden = []ui.Param{area.Nonce()}
	view.Fields = []ui.Field{
		{Name: "external_id", Label: "Your reference"},
		{Name: "reason", Label: "Note, for your own people"},
	}
	list, err := l.Licenses.Preview(func(dry *license.Store) error {
		_, err := dry.Refund(r.Context(), v.Actor(), order)
		return err
	})
	here := false
	if err == nil {
		var says string
		says, err = l.refundSays(r, v, order, of)
		view.Says = append([]string{says}, effects(list)...)
	}
	if err == nil {
		here, err = l.paidHere(r, order, &view)
	}
	if err == nil && !here {
		view.Says = append(
			view.Says, "This records the refund. It moves no money: your checkout does that. A refund can be reversed.",
		)
	}
	create := func(ctx context.Context) (to, done string, err error) { return l.doRefund(ctx, r, v, order, of) }
	return area.Action{Ask: view, Seen: seenLicense(of...), Refused: err, Create: create}, nil
}

// doRefund records the refund of a form, or asks Stripe to pay it back.
func (l *Licenses) doRefund(
	ctx context.Context, r *http.Request, v *Visit, order license.RefundOrder, of []license.Detail,
) (to, done string, err error) {
	order.ExternalID, err = validate.Line("external_id", ui.FormText(r, "external_id"), 0, 255)
	if err == nil {
		order.Reason, err = validate.Line("reason", ui.FormText(r, "reason"), 0, 255)
	}
	if err == nil {
		order.Idempotency, err = l.area.Once(r, v)
	}
	if err != nil {
		return "", "", err
	}
	if ui.FormText(r, "record_only") == "" {
		key := cmp.Or(order.ExternalID, order.Idempotency.Key)
		asked, here, err := l.Payments.AskRefunds(ctx, v.Actor(), order, key)
		if err != nil {
			return "", "", err
		}
		if here {
			return v.Path(purchasesPath+"/%d", asked[0].PurchaseID),
				"Stripe is asked to pay it back. The license is refunded when Stripe has done it.", nil
		}
	}
	f, err := l.Licenses.IfUnchanged(versions(of...)).Refund(ctx, v.Actor(), order)
	return v.Path(refundsPath+"/%d", f.ID), "The refund is recorded.", err
}

// refund refunds a license: one purchase in its chain, named by the query; the free ones
// (only=free); or all.
func (l *Licenses) refund(r *http.Request, v *Visit) (area.Action, error) {
	d, err := l.Licenses.Inspect(r.Context(), r.PathValue("license"))
	if err != nil {
		return area.Action{}, area.Missing(err)
	}
	order := license.RefundOrder{LicenseKey: d.Key}
	back := v.Path(licensesPath+"/%s", d.Key)
	view := ui.Confirm{Heading: "Refund all of the license", Action: back + "/refund", Cancel: back}
	if text := r.URL.Query().Get("purchase"); text != "" {
		if order.PurchaseID, err = strconv.ParseInt(text, 10, 64); err != nil || order.PurchaseID < 1 {
			return area.Action{}, area.NotFound()
		}
		view.Heading = fmt.Sprintf("Refund purchase %d of the license", order.PurchaseID)
		view.Action += fmt.Sprintf("?purchase=%d", order.PurchaseID)
	}
	if r.URL.Query().Get("only") == "free" {
		order.FreeOnly = true
		view.Heading = "Refund the plan changes that cost nothing"
		view.Action += "?only=free"
	}
	return l.refunding(r, v, view, order, []license.Detail{d}) //nolint:contextcheck // it has the request
}

// refundPurchase refunds a purchase on all its licenses.
func (l *Licenses) refundPurchase(r *http.Request, v *Visit) (area.Action, error) {
	s, err := l.Licenses.Sale(r.Context(), area.ID(r, "purchase"))
	if err != nil {
		return area.Action{}, area.Missing(err)
	}
	view := ui.Confirm{Heading: fmt.Sprintf("Refund purchase %d", s.ID), Cancel: v.Path(purchasesPath+"/%d", s.ID)}
	order := license.RefundOrder{PurchaseID: s.ID}
	return l.refunding(r, v, view, order, s.Items) //nolint:contextcheck // it has the request
}

// refundView is a refund with its licenses.
type refundView struct {
	license.Refund
	Amount  string
	Buyers  []ui.Cell
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
	buyers, err := l.buyersOf(r.Context(), v, f.Closed)
	if err != nil {
		return err
	}
	view := refundView{
		Refund: f.Refund, Amount: refundedAmount(f.Closed), Buyers: buyers, Table: licensesTable(v, f.Licenses, names),
		Curl: l.call("The same by API", http.MethodGet, fmt.Sprintf("/operator/v1/refunds/%d", f.ID)),
	}
	if path := refundPath + "/reverse"; f.ReversedAt.IsZero() && l.area.Has(path, v) {
		view.Reverse = v.Path(refundsPath+"/%d/reverse", f.ID)
	}
	return l.render(w, r, v, "refund", ui.View{Title: fmt.Sprintf("Refund %d", f.ID), Data: view})
}

// reverse reverses the refund of the path.
func (l *Licenses) reverse(r *http.Request, v *Visit) (area.Action, error) {
	f, err := l.Licenses.RefundByID(r.Context(), area.ID(r, "refund"))
	if err != nil {
		return area.Action{}, area.Missing(err)
	}
	call := l.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/refunds/%d/reverse", f.ID))
	act := area.Action{Seen: seenLicense(f.Items...), Ask: ui.Confirm{
		Heading: fmt.Sprintf("Reverse refund %d", f.ID), Cancel: v.Path(refundsPath+"/%d", f.ID), Call: &call,
		Button: ui.Button{Label: "Reverse the refund", Busy: "Reversing…"},
	}}
	if !f.ReversedAt.IsZero() {
		act.Refused = fault.New(
			fault.Conflict, license.CodeLicenseChanged, "This cannot be done now. The refund was reversed before.",
		)
		return act, nil
	}
	list, err := l.Licenses.Preview(func(dry *license.Store) error { //nolint:contextcheck // it has the request
		_, err := dry.ReverseRefund(r.Context(), v.Actor(), f.ID)
		return err
	})
	act.Refused = err
	act.Ask.Says = append(
		effects(list),
		"What the refund closed counts as paid again. A license that is held or released besides stays so.",
	)
	act.Do = func(ctx context.Context) (string, error) {
		_, err := l.Licenses.IfUnchanged(versions(f.Items...)).ReverseRefund(ctx, v.Actor(), f.ID)
		return "The refund is reversed.", err
	}
	return act, nil
}
