package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/refundrequest"
	"claviger/internal/ui"
)

const refundRequestPath = refundRequestsPath + "/{request}"

// refundRequestTable returns the rows of the buyers' requests to have money back.
func (l *Licenses) refundRequestTable() []Route {
	return slices.Concat(
		[]Route{
			row(Page, refundRequestsPath, account.Read, l.refundRequests),
			row(Page, refundRequestPath, account.Read, l.refundRequest),
		},
		act(refundRequestPath+"/refund", account.Sell, l.grantRequest),
		act(refundRequestPath+"/decline", account.Sell, l.declineRequest),
	)
}

// waitingRequests lists the requests that wait for a person, the oldest first.
func (l *Licenses) waitingRequests(ctx context.Context, v *Visit) (ui.Table, error) {
	list, err := refundrequest.Waiting(ctx, l.Payments.DB, perPage)
	if err != nil {
		return ui.Table{}, err
	}
	t, err := l.requestsTable(ctx, v, list)
	t.Caption = "Refund requests that wait"
	return t, err
}

// requestFilters returns the form of the list.
func requestFilters(r *http.Request) (refundrequest.Filter, ui.Form) {
	q := r.URL.Query()
	states := []ui.Option{{Value: "", Label: "All"}}
	for _, s := range refundrequest.States {
		states = append(states, ui.Option{Value: s.String(), Label: s.String()})
	}
	form := ui.Form{Fields: []ui.Field{
		{Name: "state", Label: "State", Type: "select", Value: q.Get("state"), Options: states},
		{Name: "partner_id", Label: "Partner's number", Value: q.Get("partner_id")},
	}}
	f := refundrequest.Filter{Before: before(r), PartnerID: number(r, &form, "partner_id")}
	var err error
	if f.State, err = refundrequest.ParseState(q.Get("state")); err != nil {
		form.Refuse(fault.Field("state", "is not one of the list."))
	}
	return f, form
}

// refundRequests lists the requests, the newest first.
func (l *Licenses) refundRequests(w http.ResponseWriter, r *http.Request, v *Visit) error {
	f, form := requestFilters(r)
	var list []refundrequest.Request
	var more bool
	var err error
	if !form.Failed() {
		if list, more, err = l.Payments.Requests.List(r.Context(), f, perPage); err != nil {
			return err
		}
	}
	table, err := l.requestsTable(r.Context(), v, list)
	if err != nil {
		return err
	}
	next := int64(0)
	if more {
		next = list[len(list)-1].ID
	}
	view := recordsView{
		Heading: "Refund requests", Lead: "Buyers who asked for their money back in time, the newest first.",
		Form: form,
		Filters: &ui.Filters{
			Label: "Filter refund requests", URL: v.Path(refundRequestsPath), Fields: form.Fields, Active: narrowed(r),
			Fold: true,
		},
		Results: ui.Results{
			Table: table, Pager: pager(r, "Pages of refund requests", next),
			Filters: ui.Filters{URL: v.Path(refundRequestsPath), Active: narrowed(r)},
			Nothing: ui.Empty{
				Title: "No refund requests",
				Text:  "They appear when a buyer asks for a refund. A product's refund days say until when they can.",
			},
		},
		Curl: l.call(
			"The same by API", http.MethodGet, "/operator/v1/refund-requests",
			ui.Param{Name: "state", Value: f.State.String()}, ui.Param{Name: "partner_id", Value: orNil(f.PartnerID)},
		),
	}
	status := http.StatusOK
	if form.Failed() {
		status = http.StatusBadRequest
	}
	return l.render(w, r, v, "records", ui.View{Title: "Refund requests", Status: status, Data: view})
}

// requestsTable lists requests with their acts.
func (l *Licenses) requestsTable(ctx context.Context, v *Visit, list []refundrequest.Request) (ui.Table, error) {
	t := ui.Table{
		ID: "refund-requests", Caption: "Refund requests", Cards: true,
		Columns: []ui.Column{
			{Label: "Request"},
			{Label: "State"},
			{Label: "Buyer"},
			{Label: "Amount", Number: true},
			{Label: "Reason", Wrap: true},
			{Label: "Requested"},
		},
	}
	partners, people, err := l.requestNames(ctx, list)
	if err != nil {
		return t, err
	}
	for i := range list {
		q := &list[i]
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("request-%d", q.ID), Cells: []ui.Cell{
			{
				Text: fmt.Sprintf("Request %d", q.ID), URL: v.Path(refundRequestsPath+"/%d", q.ID),
				Note: partners[q.PartnerID].Name, Acts: ui.Links(requestActs(v, q)...),
			},
			requestState(q),
			{Text: buyerName(people, q.UserID), URL: v.Path(peoplePath+"/%d", q.UserID)},
			{Text: q.Total()},
			{Text: dash(q.Reason)},
			{At: q.CreatedAt},
		}})
	}
	return t, nil
}

// requestNames returns the partners and buyers of requests.
func (l *Licenses) requestNames(
	ctx context.Context, list []refundrequest.Request,
) (map[int64]partner.Partner, map[int64]account.User, error) {
	partners, err := partner.ByID(
		ctx, l.Payments.DB, ids(list, func(q *refundrequest.Request) int64 { return q.PartnerID }),
	)
	if err != nil {
		return nil, nil, err
	}
	people, err := account.ByID(
		ctx, l.Payments.DB, ids(list, func(q *refundrequest.Request) int64 { return q.UserID }),
	)
	return partners, people, err
}

func buyerName(people map[int64]account.User, id int64) string {
	if u, ok := people[id]; ok {
		return personName(u)
	}
	return "A person who was erased"
}

// requestState returns the badge of a request, and why it is here again.
func requestState(q *refundrequest.Request) ui.Cell {
	cell := ui.Cell{Status: q.State.String()}
	switch {
	case q.UnderWay():
		cell.Note = "the refund is under way"
	case q.Waits() && q.Failure != "":
		cell.Note = "the refund failed: " + q.Failure
	}
	return cell
}

// requestActs returns the links of a request that waits for a person.
func requestActs(v *Visit, q *refundrequest.Request) []ui.RowLink {
	if !v.May(account.Sell) || !q.Waits() {
		return nil
	}
	of := fmt.Sprintf("request %d", q.ID)
	return []ui.RowLink{
		{Label: "Refund…", Of: of, URL: v.Path(refundRequestsPath+"/%d/refund", q.ID)},
		{Label: "Decline…", Of: of, URL: v.Path(refundRequestsPath+"/%d/decline", q.ID)},
	}
}

// refundRequestView is the page of a request.
type refundRequestView struct {
	*refundrequest.Request
	Application string
	Buyer       string
	BuyerURL    string
	LicenseURL  string
	Acts        []ui.RowLink
	Table       ui.Table
	Curl        ui.Curl
}

// request reads the request of the path, with the name of its partner and buyer.
func (l *Licenses) request(r *http.Request) (q refundrequest.Request, application, buyer string, err error) {
	if q, err = l.Payments.Requests.Get(r.Context(), area.ID(r, "request")); err != nil {
		return q, "", "", area.Missing(err)
	}
	partners, people, err := l.requestNames(r.Context(), []refundrequest.Request{q})
	return q, partners[q.PartnerID].Name, buyerName(people, q.UserID), err
}

// refundRequest shows a request.
func (l *Licenses) refundRequest(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q, application, buyer, err := l.request(r)
	if err != nil {
		return err
	}
	view := refundRequestView{
		Request: &q, Application: application, Buyer: buyer, BuyerURL: v.Path(peoplePath+"/%d", q.UserID),
		LicenseURL: v.Path(licensesPath+"/%s", q.LicenseKey), Acts: requestActs(v, &q), Table: requestPayments(v, &q),
		Curl: l.call("The same by API", http.MethodGet, fmt.Sprintf("/operator/v1/refund-requests/%d", q.ID)),
	}
	return l.render(w, r, v, "refund-request", ui.View{Title: fmt.Sprintf("Refund request %d", q.ID), Data: view})
}

// requestPayments lists the payments that a request covers.
func requestPayments(v *Visit, q *refundrequest.Request) ui.Table {
	t := ui.Table{
		ID: "payments", Caption: "Payments that it covers", Cards: true,
		Columns: []ui.Column{{Label: "Purchase"}, {Label: "Item", Wrap: true}, {Label: "Amount", Number: true}},
	}
	for _, p := range q.Payments {
		id := strconv.FormatInt(p.PurchaseID, 10)
		t.Rows = append(t.Rows, ui.Row{ID: "purchase-" + id, Cells: []ui.Cell{
			{Text: "Purchase " + id, URL: v.Path(purchasesPath+"/%d", p.PurchaseID)},
			{Text: p.Item},
			{Text: refundrequest.Total([]refundrequest.Payment{p})},
		}})
	}
	return t
}

// seenRequest returns the state of a request that a page showed.
func seenRequest(q *refundrequest.Request) area.Seen {
	state := requestState(q)
	text := state.Status
	if state.Note != "" {
		text += ", " + state.Note
	}
	return area.Seen{Version: text, Facts: []area.Fact{{Name: "State", Value: text}}}
}

// grantRequest asks Stripe for the refund of a request.
func (l *Licenses) grantRequest(r *http.Request, v *Visit) (area.Action, error) {
	q, application, buyer, err := l.request(r)
	if err != nil {
		return area.Action{}, err
	}
	call := l.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/refund-requests/%d/refund", q.ID))
	says := []string{
		fmt.Sprintf("Stripe pays %s for %s back to %s. This cannot be undone.", q.Total(), application, buyer),
	}
	effect, err := l.requestEffect(r.Context(), q)
	if err != nil {
		return area.Action{}, err
	}
	return area.Action{
		Ask: ui.Confirm{
			Heading: fmt.Sprintf("Refund %s to %s", q.Total(), buyer), Says: append(says, effect), Call: &call,
			Cancel: v.Path(refundRequestsPath+"/%d", q.ID),
			Button: ui.Button{Label: "Refund " + q.Total(), Busy: "Asking Stripe…", Kind: "danger"},
		},
		Seen: seenRequest(&q),
		Do: func(ctx context.Context) (string, error) {
			_, err := l.Payments.GrantRequest(ctx, v.Actor(), q.ID)
			return "Stripe is asked to pay it back. The license is refunded when Stripe has done it.", err
		},
	}, nil
}

// requestEffect says what the refund does to the license.
func (l *Licenses) requestEffect(ctx context.Context, q refundrequest.Request) (string, error) {
	of, err := l.Licenses.ByKey(ctx, q.LicenseKey)
	if err != nil {
		return "", err
	}
	after, err := l.Licenses.AfterRefund(ctx, of, q.Purchases())
	switch {
	case err != nil:
		return "", err
	case after.Ended:
		return "The license then no longer works, and the partner gets a deactivate.", nil
	}
	return fmt.Sprintf("Older payments stay: the license then continues on tier %d.", after.Tier), nil
}

// declineRequest declines a request, with a reason for the buyer.
func (l *Licenses) declineRequest(r *http.Request, v *Visit) (area.Action, error) {
	q, application, buyer, err := l.request(r)
	if err != nil {
		return area.Action{}, err
	}
	call := l.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/refund-requests/%d/decline", q.ID))
	call.JSON = `{"reason":"You have used it for a year."}`
	return area.Action{
		Ask: ui.Confirm{
			Heading: "Decline the refund request", Call: &call, Cancel: v.Path(refundRequestsPath+"/%d", q.ID),
			Says: []string{
				fmt.Sprintf("%s asked for %s back for %s.", buyer, q.Total(), application),
				"No money moves, and the license stays as it is. The buyer gets an email with your reason.",
			},
			Form: ui.Form{Fields: []ui.Field{{
				Name: "reason", Label: "Reason", Type: "textarea", Rows: 4, Required: true,
				Hint: fmt.Sprintf("The buyer reads it. Up to %d characters.", refundrequest.MaxAnswer),
			}}},
			Button: ui.Button{Label: "Decline", Busy: "Declining…", Kind: "danger"},
		},
		Seen: seenRequest(&q),
		Do: func(ctx context.Context) (string, error) {
			_, err := l.Payments.Requests.Decline(ctx, v.Actor(), q.ID, ui.FormText(r, "reason"))
			return "The request is declined.", err
		},
	}, nil
}
