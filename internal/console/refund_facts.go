package console

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/ui"
)

// refundedAmount adds up what was paid for links, per currency; "–" if no amount was recorded.
func refundedAmount(links []license.Link) string {
	type kind struct {
		currency   string
		hundredths bool
	}
	var order []kind
	sums := map[kind]int64{}
	counts := map[int64]int{} // of licenses, by purchase
	for _, k := range links {
		counts[k.Sale.ID]++
		amount := k.Amount
		if counts[k.Sale.ID] == k.Sale.Quantity { // the whole purchase: the parts are rounded down
			amount = k.Sale.AmountCents - k.Amount*int64(k.Sale.Quantity-1)
		}
		of := kind{k.Sale.Currency, k.Sale.Hundredths}
		if amount == 0 {
			continue
		}
		if !slices.Contains(order, of) {
			order = append(order, of)
		}
		sums[of] += amount
	}
	parts := make([]string, len(order))
	for i, of := range order {
		parts[i] = money.Printed(sums[of], of.currency, of.hundredths)
	}
	return dash(strings.Join(parts, " and "))
}

// buyersOf returns the buyers of links.
func (l *Licenses) buyersOf(ctx context.Context, v *Visit, links []license.Link) ([]ui.Cell, error) {
	var list []ui.Cell
	var known []int64
	for _, k := range links {
		id := k.Sale.UserID
		if id == 0 || slices.Contains(known, id) {
			continue
		}
		known = append(known, id)
		u, err := l.Accounts.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, ui.Cell{Text: personName(u), URL: v.Path(peoplePath+"/%d", id)})
	}
	return list, nil
}

// refundSays names the amount and the buyer of an order.
func (l *Licenses) refundSays(
	r *http.Request, v *Visit, order license.RefundOrder, of []license.Detail,
) (string, error) {
	named, err := l.Licenses.Named(r.Context(), order)
	if err != nil {
		return "", err
	}
	var links []license.Link
	for _, d := range of {
		for _, k := range d.Links {
			if k.Open() && slices.Contains(named.Open, k.Sale.ID) {
				links = append(links, k)
			}
		}
	}
	buyers, err := l.buyersOf(r.Context(), v, links)
	if err != nil {
		return "", err
	}
	names := make([]string, len(buyers))
	for i, b := range buyers {
		names[i] = b.Text
	}
	who := "No buyer was named"
	if len(names) > 0 {
		who = "Buyer: " + strings.Join(names, ", ")
	}
	amount := refundedAmount(links)
	if amount == dash("") {
		amount = "none was recorded"
	}
	return "Amount: " + amount + ". " + who + ".", nil
}
