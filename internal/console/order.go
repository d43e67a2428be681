package console

import (
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/money"
	"claviger/internal/payment"
	"claviger/internal/support"
	"claviger/internal/ui"
)

const (
	ordersPath = "/orders"
	orderPath  = ordersPath + "/{order}"
)

// orderView is the page of an order.
type orderView struct {
	support.OrderCase
	Name     string
	Facts    []factView
	Silent   bool // Stripe was asked just now and gave no answer
	Problems ui.Table
	Sold     ui.Table
	Story    ui.Timeline
	Refund   string // the page that refunds it, "" if it cannot be
	Curl     ui.Curl
}

// order shows an order with its whole story. It first asks Stripe about an unfinished one, because its
// webhook may be lost.
func (l *Licenses) order(w http.ResponseWriter, r *http.Request, v *Visit) error {
	id := r.PathValue("order")
	answered, err := l.Support.LookAtOrder(r.Context(), id)
	if err != nil {
		return area.Missing(err)
	}
	c, err := l.Support.Order(r.Context(), id)
	if err != nil {
		return area.Missing(err)
	}
	names, err := l.partnerNames(r.Context(), c.Licenses, nil)
	if err != nil {
		return err
	}
	var open []payment.Problem
	for _, p := range c.Problems {
		if p.DoneAt.IsZero() {
			open = append(open, p)
		}
	}
	view := orderView{
		OrderCase: c, Name: "Order " + shortRef(c.Order.Ref), Facts: l.orderFacts(v, c), Silent: !answered,
		Problems: l.problemTable(v, open), Sold: licensesTable(v, c.Licenses, names),
		Story: timelineOf(v, "What happened, newest first", c.Entries),
		Curl:  l.call("Read this order by API", http.MethodGet, "/operator/v1/orders/"+c.Order.Ref),
	}
	view.Sold.Caption = "Sold licenses"
	paid := c.Order.Order == payment.OrderPaid || c.Order.Order == payment.OrderPartlyRefunded
	if paid && c.Order.PurchaseID != 0 && v.May(account.Sell) {
		view.Refund = v.Path(purchasesPath+"/%d/refund", c.Order.PurchaseID)
	}
	return l.render(w, r, v, "order", ui.View{Title: view.Name, Data: view})
}

// orderFacts lists the facts of an order.
func (l *Licenses) orderFacts(v *Visit, c support.OrderCase) []factView {
	o := c.Order
	buyer := ui.Cell{Text: "an account that is not here"}
	if c.Buyer.ID != 0 {
		buyer = ui.Cell{Text: personName(c.Buyer), URL: v.Path(peoplePath+"/%d", c.Buyer.ID)}
	}
	facts := []factView{
		{"Buyer", buyer},
		{"Application", ui.Cell{Text: dash(c.Partner), URL: l.partnerURL(v, o.PartnerID)}},
		{"Price", ui.Cell{Text: priceOf(o)}},
		{"Begun", ui.Cell{At: o.CreatedAt, Exact: true}},
	}
	if c.Partner == "" {
		facts[1].URL = ""
	}
	if !o.PaidAt.IsZero() && !o.Free() {
		facts = append(
			facts, factView{"Paid", ui.Cell{Text: money.Text(o.Paid.Units, o.Paid.Currency)}},
			factView{"Paid at", ui.Cell{At: o.PaidAt, Exact: true}},
		)
	}
	if o.LicenseKey != "" {
		facts = append(facts, factView{"Changes the plan of", ui.Cell{
			Text: "license " + o.LicenseKey[len(o.LicenseKey)-4:], URL: v.Path(licensesPath+"/%s", o.LicenseKey),
		}})
	}
	if o.PurchaseID != 0 {
		facts = append(facts, factView{"Sold as", ui.Cell{
			Text: fmt.Sprintf("purchase %d", o.PurchaseID), URL: v.Path(purchasesPath+"/%d", o.PurchaseID),
		}})
	}
	for _, f := range []factView{
		{"Reference", ui.Cell{Text: o.Ref, Code: true}},
		{"Stripe's session", ui.Cell{Text: o.SessionID, Code: true}},
		{"Stripe's payment", ui.Cell{Text: o.IntentID, Code: true}},
		{"Stripe's charge", ui.Cell{Text: o.ChargeID, Code: true}},
	} {
		if f.Text != "" {
			facts = append(facts, f)
		}
	}
	return facts
}
