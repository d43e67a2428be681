package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/payment"
	"claviger/internal/ui"
)

const problemPath = paymentsPath + "/{problem}"

func (l *Licenses) paymentTable() []Route {
	return slices.Concat(
		[]Route{
			row(Page, paymentsPath, account.Read, l.payments),
			row(Page, orderPath, account.Read, l.order),
		},
		act(problemPath+"/refund", account.Sell, l.problem(refundPayment)),
		act(problemPath+"/dismiss", account.Sell, l.problem(dismissPayment)),
	)
}

// problemWords describes each problem of a payment and its remedy.
var problemWords = map[payment.ProblemKind]string{
	payment.PaidUnknown: "It was paid, and its order is not here: it was made after the last backup, or its " +
		"license or partner is no longer here. Refund it, or sell it by hand and mark it as dealt with.",
	payment.PaidTwice:       "Another payment bought the same already. Refund this one.",
	payment.PaidOtherAmount: "Another amount or currency was paid than was asked for, so nothing was sold. Refund it.",
	payment.PaidRefunded:    "It was paid for a change of plan, and the license was refunded meanwhile. Refund it.",
	payment.PaidErased: "The buyer's account was deleted while they paid, so there is nobody to give the " +
		"license to. Refund it.",
	payment.PaidUnsold: "It was paid and could not be sold. Refund it, or sell it by hand and mark it as dealt with.",
	payment.PaidNotStanding: "Earlier money of the license was refunded or lost to a dispute, so what is left does " +
		"not pay for this plan. Refund it.",
	payment.RefundRefused: "A refund failed, so the money is still here. See at Stripe why, and pay it back another " +
		"way if need be.",
	payment.InquiryOpened: "The buyer's bank asks about the payment, which may become a dispute. Answer it; " +
		"nothing is on hold yet.",
	payment.NotAnswered: "Stripe gives no answer about this dispute or refund, so we stopped asking. See at Stripe " +
		"how it ended, and refund or reinstate the license if needed.",
}

// problemTable lists problems of payments.
func (l *Licenses) problemTable(v *Visit, list []payment.Problem) ui.Table {
	t := ui.Table{
		ID: "payments", Caption: "Payments that need a person", Cards: true,
		Columns: []ui.Column{
			{Label: "Payment"},
			{Label: "What is wrong", Wrap: true},
			{Label: "Amount", Number: true},
			{Label: "Since"},
			{Label: "What you can do"},
		},
	}
	for _, p := range list {
		t.Rows = append(
			t.Rows,
			ui.Row{ID: fmt.Sprintf("problem-%d", p.ID), Cells: []ui.Cell{
				problemName(v, p),
				{Text: problemWords[p.Kind]},
				{Text: money.Text(p.Amount, p.Currency)},
				{At: p.CreatedAt},
				l.problemActs(v, p),
			}},
		)
	}
	return t
}

// problemName names a payment, and leads to its order.
func problemName(v *Visit, p payment.Problem) ui.Cell {
	cell := ui.Cell{Text: p.ObjectID, Code: true}
	if p.CheckoutID != 0 && payment.IsOrderID(p.ObjectID) {
		cell.URL = v.Path(ordersPath+"/%s", p.ObjectID)
	}
	return cell
}

// problemActs returns the links of a problem.
func (l *Licenses) problemActs(v *Visit, p payment.Problem) ui.Cell {
	if !v.May(account.Sell) {
		return ui.Cell{}
	}
	var links []ui.RowLink
	if p.Refundable() {
		links = append(
			links, ui.RowLink{Label: "Refund…", Of: p.ObjectID, URL: v.Path(paymentsPath+"/%d/refund", p.ID)},
		)
	}
	links = append(links, ui.RowLink{
		Label: "Mark as dealt with…", Of: p.ObjectID, URL: v.Path(paymentsPath+"/%d/dismiss", p.ID),
	})
	return ui.Cell{Acts: ui.Links(links...)}
}

// problemAct is an act on a payment with a problem.
type problemAct struct {
	name, heading, label, busy, kind, did string
	says                                  []string
	do                                    func(ctx context.Context, l *Licenses, v *Visit, id int64) error
}

var refundPayment = problemAct{
	name: "refund", heading: "Refund the payment", label: "Refund it", busy: "Asking Stripe…", kind: "danger",
	did:  "Stripe is asked to pay it back.",
	says: []string{"Stripe pays the whole amount back to the buyer. This cannot be undone."},
	do: func(ctx context.Context, l *Licenses, v *Visit, id int64) error {
		_, err := l.Payments.RefundProblem(ctx, v.Actor(), id)
		return err
	},
}

var dismissPayment = problemAct{
	name: "dismiss", heading: "Mark the payment as dealt with", label: "Mark it", busy: "Marking…",
	did:  "The payment is marked as dealt with.",
	says: []string{"Nothing else happens: no money moves, and no license changes."},
	do: func(ctx context.Context, l *Licenses, v *Visit, id int64) error {
		return l.Payments.Dismiss(ctx, v.Actor(), id)
	},
}

// problem returns the act on the problem of the path.
func (l *Licenses) problem(a problemAct) func(r *http.Request, v *Visit) (area.Action, error) {
	return func(r *http.Request, v *Visit) (area.Action, error) {
		p, err := l.Payments.Problem(r.Context(), area.ID(r, "problem"))
		if err != nil {
			return area.Action{}, area.Missing(err)
		}
		call := l.call(
			"The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/payments/problems/%d/%s", p.ID, a.name),
		)
		view := ui.Confirm{
			Heading: a.heading, Cancel: v.Path(paymentsPath), Call: &call,
			Says: append([]string{
				fmt.Sprintf("%s, %s.", p.ObjectID, money.Text(p.Amount, p.Currency)), problemWords[p.Kind],
			}, a.says...),
			Button: ui.Button{Label: a.label, Busy: a.busy, Kind: a.kind},
		}
		return area.Action{Ask: view, Seen: seenProblem(p), Do: func(ctx context.Context) (string, error) {
			return a.did, a.do(ctx, l, v, p.ID)
		}}, nil
	}
}

// seenProblem returns the state of a problem that a page showed.
func seenProblem(p payment.Problem) area.Seen {
	state := "open"
	if !p.DoneAt.IsZero() {
		state = "dealt with"
	}
	return area.Seen{Version: state, Facts: []area.Fact{{Name: "State", Value: state}}}
}

// paidHere adapts the page of a refund to a payment by Stripe: the refund also returns the money.
func (l *Licenses) paidHere(r *http.Request, order license.RefundOrder, view *ui.Confirm) (bool, error) {
	list, err := l.Payments.PaidHere(r.Context(), order)
	if err != nil || len(list) == 0 {
		return false, err
	}
	view.Button = ui.Button{Label: "Refund", Busy: "Asking Stripe…", Kind: "danger"}
	for _, c := range list {
		view.Says = append(
			view.Says,
			fmt.Sprintf(
				"Stripe is asked to pay %s for %s back to the buyer. What is said above happens when Stripe has "+
					"done it.",
				money.Text(c.Paid.Units, c.Paid.Currency),
				c.Item,
			),
		)
	}
	view.Fields = append(view.Fields, ui.Field{
		Name: "record_only", Type: "checkbox", Label: "Only record it: the money went back another way",
	})
	return true, nil
}
