package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/payment"
	"claviger/internal/ui"
)

// paymentsView is the page of payments: those with a problem, and all orders.
type paymentsView struct {
	listView
	Disputes ui.Table // open ones
	Problems ui.Table
	Requests ui.Table // refund requests that wait for a person
	Queue    string   // the page of all refund requests
	Totals   ui.Table
	More     bool // the totals leave out older orders
	API      ui.Curl
}

// orderFilter reads the filter of the query. nobody reports that no account has the email address.
func (l *Licenses) orderFilter(
	r *http.Request,
) (f payment.FindOrders, form ui.Form, email string, nobody bool, err error) {
	q := r.URL.Query()
	form = ui.Form{Fields: []ui.Field{
		{Name: "order", Label: "Reference, or an id of Stripe", Value: q.Get("order")},
		{
			Name: "state", Label: "State", Type: "select", Value: q.Get("state"),
			Options: options(payment.OrderStates()...),
		},
		{Name: "email", Label: "Buyer's email address", Value: q.Get("email")},
		{Name: "partner_id", Label: "Partner's number", Value: q.Get("partner_id")},
		{Name: "from", Label: "Begun from", Type: "datetime-local"},
		{Name: "to", Label: "Begun to", Type: "datetime-local"},
	}}
	f.PartnerID = number(r, &form, "partner_id")
	f.From, f.To = span(r, &form)
	if f.State, err = payment.ParseOrderState(q.Get("state")); err != nil {
		form.Refuse(err)
	}
	f.Users, email, nobody, err = l.people(r)
	return f, form, email, nobody, err
}

// payments lists the payments that need a person, and the orders.
func (l *Licenses) payments(w http.ResponseWriter, r *http.Request, v *Visit) error {
	f, form, email, nobody, err := l.orderFilter(r)
	if err != nil {
		return err
	}
	problems, err := l.Payments.Problems(r.Context())
	if err != nil {
		return err
	}
	// An inquiry is among the disputes.
	problems = slices.DeleteFunc(problems, func(p payment.Problem) bool { return p.Kind == payment.InquiryOpened })
	view := paymentsView{Problems: l.problemTable(v, problems), Queue: v.Path(refundRequestsPath)}
	if view.Requests, err = l.waitingRequests(r.Context(), v); err != nil {
		return err
	}
	if view.Disputes, err = l.disputesTable(r.Context(), v); err != nil {
		return err
	}
	var found payment.FoundOrders
	if !form.Failed() && !nobody {
		if found, err = l.foundOrders(r, f, &view); err != nil {
			return err
		}
	}
	table, err := ordersTable(r.Context(), v, l.Accounts, l.Payments, found.Orders)
	if err != nil {
		return err
	}
	view.listView = listView{
		Heading: "Payments",
		Lead: "Open disputes, payments that need a person, refund requests, and the orders of the shop, " +
			"newest first.",
		Form: form,
		Results: ui.Results{
			Filters: ui.Filters{Label: "Search orders", URL: v.Path(paymentsPath)},
			Table:   table,
			Pager:   pager(r, "Pages of orders", found.Next), SearchedTo: found.SearchedTo,
			Nothing: ui.Empty{
				Title: "Nothing was ordered yet", Text: "Orders appear when a buyer presses Buy in the shop.",
			},
		},
		Export: exportURL(r, v, export.Orders),
		Curl: l.call("The same orders by API", http.MethodGet, "/operator/v1/orders",
			ui.Param{Name: "state", Value: r.URL.Query().Get("state")}, ui.Param{Name: "email", Value: email},
			ui.Param{Name: "partner_id", Value: orNil(f.PartnerID)}, ui.Param{Name: "from", Value: f.From},
			ui.Param{Name: "to", Value: f.To}),
	}
	view.API = l.call("The payments that need a person, by API", http.MethodGet, "/operator/v1/payments/problems")
	status := view.finish(r)
	return l.render(w, r, v, "payments", ui.View{Title: view.Heading, Status: status, Data: view})
}

// foundOrders returns a page of the orders, or the order that the query names, and adds the totals
// to the view.
func (l *Licenses) foundOrders(
	r *http.Request, f payment.FindOrders, view *paymentsView,
) (found payment.FoundOrders, err error) {
	if id := strings.TrimSpace(r.URL.Query().Get("order")); id != "" {
		c, err := l.Payments.OrderByID(r.Context(), storable(id))
		if fault.Is(err, payment.CodeUnknownOrder) {
			return found, nil
		}
		found.Orders = []payment.Checkout{c}
		return found, err
	}
	if found, err = l.Payments.FindOrders(r.Context(), f, before(r), perPage); err != nil {
		return found, err
	}
	totals, err := l.Payments.OrderTotals(r.Context(), f)
	view.Totals = totalsTable(totals)
	view.More = totals.More
	return found, err
}

// totalsTable lists totals by currency and state.
func totalsTable(totals payment.Totals) ui.Table {
	t := ui.Table{
		ID: "totals", Caption: "Totals",
		Columns: []ui.Column{
			{Label: "State"},
			{Label: "Orders", Number: true},
			{Label: "Price", Number: true},
			{Label: "Paid", Number: true},
		},
	}
	for _, v := range totals.List {
		t.Rows = append(t.Rows, ui.Row{Cells: []ui.Cell{
			{Status: v.State.String()},
			{Text: strconv.FormatInt(v.Orders, 10)},
			{Text: money.Text(v.Amount, v.Currency)},
			{Text: money.Text(v.Paid, v.Currency)},
		}})
	}
	return t
}

// ordersTable lists orders with their buyers and problems.
func ordersTable(
	ctx context.Context, v *Visit, accounts *account.Store, payments *payment.Store, list []payment.Checkout,
) (ui.Table, error) {
	t := ui.Table{
		ID: "orders", Caption: "Orders", Cards: true,
		Columns: []ui.Column{
			{Label: "Order"}, {Label: "Buyer"}, {Label: "Price", Number: true}, {Label: "State"}, {Label: "Begun"},
		},
	}
	buyers, err := accounts.Users(ctx, ids(list, func(c *payment.Checkout) int64 { return c.UserID }))
	if err != nil {
		return t, err
	}
	problems, err := payments.ProblemsOf(ctx, ids(list, func(c *payment.Checkout) int64 { return c.ID }))
	t.Fill(len(list), func(i int, r *ui.Row) {
		c := &list[i]
		buyer := ui.Cell{Text: "–"}
		if u, ok := buyers[c.UserID]; ok {
			buyer = ui.Cell{Text: personName(u), URL: v.Path(peoplePath+"/%d", u.ID)}
		}
		r.ID = "order-" + strconv.FormatInt(c.ID, 10)
		r.Cells = append(
			r.Cells,
			ui.Cell{Text: c.Item, URL: v.Path(ordersPath+"/%s", c.Ref), Note: shortRef(c.Ref)},
			buyer,
			ui.Cell{Text: priceOf(*c)},
			ui.Cell{Status: c.Order.String(), Note: problemNote(problems[c.ID])},
			ui.Cell{At: c.CreatedAt},
		)
	})
	return t, err
}

// shortRef returns the beginning of a reference, which is enough for people.
func shortRef(ref string) string {
	const shown = len("co_01234567")
	if len(ref) <= shown {
		return ref
	}
	return ref[:shown] + "…"
}

func priceOf(c payment.Checkout) string {
	if c.Amount == 0 {
		return "free"
	}
	return money.Text(c.Amount, c.Currency)
}

// problemNote says that payments of an order need a person.
func problemNote(list []payment.Problem) string {
	for _, p := range list {
		if p.DoneAt.IsZero() {
			return "needs a person: " + strings.ReplaceAll(string(p.Kind), "_", " ")
		}
	}
	return ""
}
