package portal

import (
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/refundrequest"
	"claviger/internal/ui"
)

const refundRequestsPath = "/refund-requests"

// refundRequestsPerPage is the number of requests per page.
const refundRequestsPerPage = 50

// refundRequestsView is the page of the refund requests for the partner's product.
type refundRequestsView struct {
	Table ui.Table
	Pager ui.Pager
}

// refundRequests lists the refund requests for the partner's product. It has nothing about the
// buyer: the reason is their own text, and may name them.
func (h *Handler) refundRequests(w http.ResponseWriter, r *http.Request, v *Visit) error {
	before, err := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	if err != nil || before < 0 {
		before = 0 // the first page
	}
	list, more, err := h.RefundRequests.List(
		r.Context(), refundrequest.Filter{PartnerID: v.Partner.ID, Before: before}, refundRequestsPerPage,
	)
	if err != nil {
		return err
	}
	view := refundRequestsView{Table: refundRequestsTable(v, list)}
	view.Pager = ui.Pager{Label: "Pages of refund requests"}
	if more {
		next := strconv.FormatInt(list[len(list)-1].ID, 10)
		view.Pager.Next = area.WithParam(r, "before", next)
	}
	if before > 0 {
		view.Pager.Prev = area.WithParam(r, "before", "")
		view.Pager.Showing = "Older requests"
	}
	return h.render(w, r, v, "refund-requests", ui.View{Title: "Refund requests", Data: view})
}

func refundRequestsTable(v *Visit, list []refundrequest.Request) ui.Table {
	t := ui.Table{
		ID: "refund-requests", Caption: "Refund requests, newest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Request"},
			{Label: "State"},
			{Label: "License key"},
			{Label: "Amount", Number: true},
			{Label: "Requested", Named: true},
			{Label: "Decided", Named: true},
		},
	}
	for i := range list {
		q := &list[i]
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("request-%d", q.ID), Cells: []ui.Cell{
			{Text: fmt.Sprintf("Request %d", q.ID)},
			{Status: q.State.String()},
			{Text: q.LicenseKey, Code: true, URL: v.Path(licensesPath) + "/" + q.LicenseKey},
			{Text: q.Total()},
			{At: q.CreatedAt},
			{At: q.DecidedAt},
		}})
	}
	return t
}
