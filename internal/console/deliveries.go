package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// deliverySpans are the times that can be chosen.
var deliverySpans = []ui.Option{
	{Value: "24h", Label: "Last 24 hours"}, {Value: "7d", Label: "Last 7 days"}, {Value: "30d", Label: "Last 30 days"}, {Value: "all", Label: "All time"},
}

// deliveryStates are the states that can be chosen.
var deliveryStates = []ui.Option{
	{Value: "", Label: "All"},
	{Value: string(history.Delivered), Label: "Delivered"},
	{Value: string(history.Waiting), Label: "Waiting"},
	{Value: string(history.Failing), Label: "Failing, tried again"},
	{Value: string(history.Exhausted), Label: "Exhausted, given up"},
	{Value: string(history.Superseded), Label: "Superseded by a newer event"},
	{Value: string(history.Failed), Label: "Failed: the three before"},
}

// deliveryFilter reads the filters of the address.
func (d *Delivery) deliveryFilter(r *http.Request) (f history.Filter, partnerID int64, form ui.Form) {
	q := r.URL.Query()
	text := func(name string) string { return strings.TrimSpace(strings.ToValidUTF8(q.Get(name), "")) }
	span := text("range")
	if span == "" {
		span = deliverySpans[0].Value
	}
	form = ui.Form{Fields: []ui.Field{
		{Name: "partner", Label: "Partner's id", Value: text("partner")},
		{Name: "state", Label: "State", Type: "select", Value: text("state"), Options: deliveryStates},
		{Name: "code", Label: "Status code", Value: text("code"), Hint: "404, 4xx or none"},
		{Name: "range", Label: "Time", Type: "select", Value: span, Options: deliverySpans},
	}}
	if s := text("partner"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if partnerID = n; err != nil || n < 1 {
			form.Refuse(fault.Field("partner", "must be the id of a partner, such as 1."))
		}
	}
	if f.State = history.State(text("state")); f.State != "" && !f.State.Known() {
		form.Refuse(fault.Field("state", "is not one of the list."))
	}
	if s := text("code"); s != "" {
		var ok bool
		if f.Codes, ok = history.ParseCodes(strings.ToLower(s)); !ok {
			form.Refuse(fault.Field("code", "must be a status such as 404, a class such as 4xx, or none for no answer."))
		}
	}
	switch days := map[string]int{"24h": 1, "7d": 7, "30d": 30}[span]; {
	case days > 0:
		f.From = d.Now().Add(-time.Duration(days) * 24 * time.Hour)
	case span != "all":
		form.Refuse(fault.Field("range", "is not one of the list."))
	}
	return f, partnerID, form
}

// deliveries lists the deliveries of all partners, or of one.
func (d *Delivery) deliveries(w http.ResponseWriter, r *http.Request, v *Visit) error {
	f, partnerID, form := d.deliveryFilter(r)
	view := recordsView{
		Heading: "Deliveries", Lead: "Every event on its way to a partner, with its last attempt, newest event first.", Form: form,
		Filters: &ui.Filters{Label: "Filter deliveries", URL: v.Path(deliveriesPath), Fields: form.Fields, Active: r.URL.RawQuery != "", Fold: true},
		Curl: d.call("The deliveries of one partner by API", http.MethodGet, fmt.Sprintf("/operator/v1/partners/%d/deliveries", max(partnerID, 1)),
			ui.Param{Name: "state", Value: string(f.State)}, ui.Param{Name: "status_code", Value: f.Codes.String()}, ui.Param{Name: "from", Value: f.From}),
	}
	if form.Failed() {
		return d.render(w, r, v, "records", ui.View{Title: "Deliveries", Status: http.StatusBadRequest, Data: view})
	}
	view.Results.Filters, view.Results.Nothing = *view.Filters, ui.Empty{Title: "Nothing in the last 24 hours", Text: "Choose another time to see older events."}
	list, next, err := d.page(r, f, partnerID, &view.Results)
	if err != nil {
		return err
	}
	if next != "" && view.Results.SearchedTo.IsZero() {
		view.Results.Pager = ui.Pager{Label: "Pages of deliveries", Next: next}
	} else {
		view.Results.GoOn = next
	}
	names, err := partner.ByID(r.Context(), d.DB, ids(list, func(o history.OfPartner) int64 { return o.PartnerID }))
	if err != nil {
		return err
	}
	view.Results.Table = d.deliveriesTable(v, list, names)
	if partnerID != 0 && v.May(account.Support) && len(list) > 0 {
		view.Acts = []ui.Tab{{Label: "Recover what failed…", URL: v.Path(recoverPath+"/%d", partnerID) + "?state=failed"}}
	}
	return d.render(w, r, v, "records", ui.View{Title: "Deliveries", Data: view})
}

// page reads a page of the list, of all partners or of one.
func (d *Delivery) page(r *http.Request, f history.Filter, partnerID int64, results *ui.Results) (list []history.OfPartner, next string, err error) {
	q := r.URL.Query()
	if partnerID == 0 {
		before, _ := strconv.ParseInt(q.Get("before"), 10, 64) // what is no number is the first page
		all, err := d.History.ListAll(r.Context(), f, max(before, 0), rowsPerPage)
		if all.Next != 0 {
			next = withParam(r, "before", strconv.FormatInt(all.Next, 10))
		}
		results.SearchedTo = all.SearchedTo
		return all.Deliveries, next, err
	}
	after, _ := history.ParseKey(q.Get("after"))
	one, err := d.History.List(r.Context(), partnerID, f, after, rowsPerPage)
	for _, delivery := range one.Deliveries {
		list = append(list, history.OfPartner{PartnerID: partnerID, Delivery: delivery})
	}
	if !one.Next.IsZero() {
		next = withParam(r, "after", one.Next.String())
	}
	results.SearchedTo = one.SearchedTo
	return list, next, err
}

// deliveriesTable lists deliveries, one line each.
func (d *Delivery) deliveriesTable(v *Visit, list []history.OfPartner, names map[int64]partner.Partner) ui.Table {
	t := ui.Table{
		ID: "deliveries", Caption: "Deliveries, newest event first", Cards: true,
		Columns: []ui.Column{{Label: "Event"}, {Label: "State"}, {Label: "Partner"}, {Label: "License"}, {Label: "Answer"}, {Label: "Attempts", Number: true}, {Label: "Duration", Number: true}, {Label: "Next attempt"}, {Label: "Event time"}},
	}
	for _, o := range list {
		next := ui.Cell{At: o.NextAt}
		if o.NextAt.IsZero() {
			next = ui.Cell{Text: "–"}
		}
		last := o.Last
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("delivery-%d", o.EventID), Cells: []ui.Cell{
			{Text: fmt.Sprintf("%d %s", o.EventID, event.Kind(o.Kind))},
			{Status: string(o.State)},
			{Text: names[o.PartnerID].Name, URL: d.pageOfPartner(v, o.PartnerID)},
			{Text: "…" + o.LicenseKey[max(0, len(o.LicenseKey)-8):], Code: true, URL: d.pageOfLicense(v, o.LicenseKey)},
			{Text: area.AnswerWords(last.ID, last.Status, last.Success, last.Words())},
			{Text: strconv.Itoa(o.Attempts)},
			{Text: area.Duration(last.ID != 0, last.Took)},
			next,
			{At: o.CreatedAt, Exact: true},
		}})
	}
	return t
}

// pageOfLicense is the address of a license's page; "" where there is no such page.
func (d *Delivery) pageOfLicense(v *Visit, key string) string {
	if !d.area.Has(licensesPath+"/{license}", v) && !d.area.Has(licensesPath+"/{key}", v) {
		return ""
	}
	return v.Path(licensesPath+"/%s", key)
}
