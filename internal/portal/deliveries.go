package portal

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/area"
	"claviger/internal/courier"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

const (
	deliveriesPath = "/deliveries"
	deliveryPath   = deliveriesPath + "/{event}"
	attemptPath    = deliveryPath + "/attempts/{attempt}"
	sendPath       = deliveryPath + "/send"
	livePath       = deliveriesPath + "/live"
)

const (
	deliveriesPerPage = 50
	defaultRange      = 24 * time.Hour
	maxFailed         = 1000 // how far failures are counted
)

// deliveriesView is the list of deliveries.
type deliveriesView struct {
	Form    ui.Form
	Filters ui.Filters
	Failed  string // how many, "" for none
	FailURL string
	Results ui.Results
	Recover string // the page that sends these again, "" if the person may not
	Follow  string // where it does, "" if it does or cannot
	Pause   string // where it does not
	Curl    ui.Curl
}

// ranges are the spans of time that can be chosen.
var ranges = []ui.Option{
	{Value: "24h", Label: "Last 24 hours"},
	{Value: "7d", Label: "Last 7 days"},
	{Value: "30d", Label: "Last 30 days"},
	{Value: "all", Label: "All time"},
	{Value: "span", Label: "From and to"},
}

// asked is which deliveries a page is about, as its address says.
type asked struct {
	filter     history.Filter
	licenseKey string // what was asked for
	form       ui.Form
}

// askedFor reads the filters of the query. The first page without filters has the last
// 24 hours; who asks for an event or a license means all time.
func (h *Handler) askedFor(r *http.Request, v *Visit) (asked, error) {
	q := r.URL.Query()
	text := func(name string) string { return cleanQuery(q.Get(name)) }
	a := asked{licenseKey: text("license")}
	span := text("range")
	if span == "" {
		switch {
		case text("from") != "" || text("to") != "":
			span = "span"
		case text("id") != "" || a.licenseKey != "":
			span = "all"
		default:
			span = "24h"
		}
	}
	a.form = ui.Form{Fields: []ui.Field{
		{Name: "state", Label: "State", Type: "select", Value: text("state"), Options: stateOptions()},
		{Name: "event", Label: "Event", Type: "select", Value: text("event"), Options: kindOptions()},
		{Name: "code", Label: "Status code", Value: text("code"), Hint: "404, 4xx, none or timeout"},
		{Name: "range", Label: "Time", Type: "select", Value: span, Options: ranges},
		{Name: "from", Label: "From", Type: "datetime-local"},
		{Name: "to", Label: "To", Type: "datetime-local"},
		{Name: "id", Label: "Event id or webhook-id", Value: text("id")},
		{Name: "license", Label: "License key", Value: a.licenseKey},
	}}
	f := &a.filter
	if f.State = history.State(text("state")); f.State != "" && !f.State.Known() {
		a.form.Refuse(fault.Field("state", "is not one of the list."))
	}
	kind, err := event.ParseKind(text("event"))
	if f.Kind = int(kind); err != nil {
		a.form.Refuse(fault.Field("event", "is not one of the list."))
	}
	if s := text("code"); s != "" {
		var ok bool
		if f.Codes, ok = history.ParseCodes(strings.ToLower(s)); !ok {
			a.form.Refuse(fault.Field("code", "must be a status such as 404, a class such as 4xx, none for no answer, or why there was none: %s.", courier.CauseList()))
		}
	}
	if s := text("id"); s != "" {
		n, err := strconv.ParseInt(strings.TrimPrefix(s, "evt_"), 10, 64)
		if f.EventID = n; err != nil || n < 1 {
			a.form.Refuse(fault.Field("id", "must be an event id such as 42, or a webhook-id such as evt_42."))
		}
	}
	h.readRange(r, &a, span)
	return a, h.readLicense(r, v, &a)
}

// readRange reads the span of time.
func (h *Handler) readRange(r *http.Request, a *asked, span string) {
	now := h.Now()
	for i, to := range map[int]*time.Time{4: &a.filter.From, 5: &a.filter.To} {
		at, err := ui.QueryTime(r, a.form.Fields[i].Name)
		if err != nil {
			a.form.Refuse(err)
		}
		if span == "span" {
			*to = at
			a.form.Fields[i].Value = ui.InputTime(r, at)
		}
	}
	switch span {
	case "24h":
		a.filter.From = now.Add(-defaultRange)
	case "7d":
		a.filter.From = now.Add(-7 * defaultRange)
	case "30d":
		a.filter.From = now.Add(-30 * defaultRange)
	}
}

// readLicense looks the license up. One that the partner does not have matches nothing.
func (h *Handler) readLicense(r *http.Request, v *Visit, a *asked) error {
	if a.licenseKey == "" {
		return nil
	}
	l, err := h.Licenses.OfPartner(r.Context(), v.Partner.ID, strings.ToLower(a.licenseKey))
	switch {
	case fault.Is(err, license.CodeUnknownLicense):
		a.filter.LicenseID = -1
		return nil
	case err != nil:
		return err
	}
	a.filter.LicenseID, a.licenseKey = l.ID, l.Key
	return nil
}

func stateOptions() []ui.Option {
	list := []ui.Option{{Value: "", Label: "All"}}
	for _, s := range history.States {
		list = append(list, ui.Option{Value: string(s), Label: stateWords[s]})
	}
	return list
}

// stateWords say what the states mean.
var stateWords = map[history.State]string{
	history.Delivered: "Delivered", history.Waiting: "Waiting", history.Failing: "Failing, tried again", history.Exhausted: "Exhausted, given up",
	history.Superseded: "Superseded by a newer event", history.Failed: "Failed: the three before",
}

func kindOptions() []ui.Option {
	list := []ui.Option{{Value: "", Label: "All"}}
	for _, k := range []event.Kind{event.Purchase, event.Activate, event.Deactivate} {
		list = append(list, ui.Option{Value: k.String(), Label: k.String()})
	}
	return list
}

// params are the filters as the API takes them.
func (a asked) params() []ui.Param {
	f := a.filter
	list := []ui.Param{
		{Name: "state", Value: string(f.State)},
		{Name: "event", Value: event.Kind(f.Kind).String()},
		{Name: "status_code", Value: f.Codes.String()},
		{Name: "from", Value: f.From},
		{Name: "to", Value: f.To},
		{Name: "license_key", Value: a.licenseKey},
	}
	if f.EventID > 0 {
		list = append(list, ui.Param{Name: "event_id", Value: fmt.Sprintf("evt_%d", f.EventID)})
	}
	return list
}

// deliveries lists the deliveries of a partner.
func (h *Handler) deliveries(w http.ResponseWriter, r *http.Request, v *Visit) error {
	a, err := h.askedFor(r, v)
	if err != nil {
		return err
	}
	view := deliveriesView{
		Form: a.form,
		Filters: ui.Filters{
			Label: "Filter deliveries", URL: v.Path(deliveriesPath), Fields: a.form.Fields, Active: query(r.URL.Query(), "live", "after") != "", Fold: true,
		},
		Curl: h.call("List these deliveries by API", http.MethodGet, "/v2/deliveries", a.params()...),
	}
	if a.form.Failed() {
		return h.render(w, r, v, "deliveries", ui.View{Title: "Deliveries", Status: http.StatusBadRequest, Data: view})
	}
	newest, err := h.History.NewestAttempt(r.Context()) // before the list is read: what comes meanwhile is told of
	if err != nil {
		return err
	}
	after, _ := history.ParseKey(r.URL.Query().Get("after")) // what is none begins at the newest
	list, err := h.History.List(r.Context(), v.Partner.ID, a.filter, after, deliveriesPerPage)
	if err != nil {
		return err
	}
	view.Results = ui.Results{Filters: view.Filters, Table: deliveriesTable(v, list.Deliveries, query(r.URL.Query(), "live"))}
	h.leadOn(r, v, &view, list, after)
	if view.Results.Empty() && !view.Filters.Active {
		if view.Results.Nothing, err = h.noDelivery(r, v); err != nil {
			return err
		}
	}
	if err := h.countFailed(r, v, a, &view); err != nil {
		return err
	}
	stream := ""
	if after.IsZero() && a.filter.To.IsZero() {
		if r.URL.Query().Get("live") == "off" {
			view.Follow = withQuery(r, "live", "")
		} else {
			stream, view.Pause = v.Path(livePath)+"?"+liveQuery(r, newest), withQuery(r, "live", "off")
		}
	}
	return h.render(w, r, v, "deliveries", ui.View{Title: "Deliveries", Stream: stream, Data: view})
}

// noDelivery says why a list without filters is empty.
func (h *Handler) noDelivery(r *http.Request, v *Visit) (ui.Empty, error) {
	some, err := h.History.List(r.Context(), v.Partner.ID, history.Filter{}, history.Key{}, 1)
	if err != nil {
		return ui.Empty{}, err
	}
	if len(some.Deliveries) > 0 {
		return ui.Empty{
			Title: "Nothing in the last 24 hours", Text: "There were events before that.",
			URL: v.Path(deliveriesPath) + "?range=all", Action: "Show all time",
		}, nil
	}
	return ui.Empty{
		Title: "Nothing yet", Text: "Events are sent here as soon as a license is sold. Save your webhook URL first, and send yourself a test event.",
		URL: v.Path(setupPath), Action: "Go to Set-up",
	}, nil
}

// leadOn adds what leads to other pages.
func (h *Handler) leadOn(r *http.Request, v *Visit, view *deliveriesView, list history.List, after history.Key) {
	next := ""
	if !list.Next.IsZero() {
		next = withQuery(r, "after", list.Next.String())
	}
	view.Results.Pager.Label = "Pages of deliveries"
	if list.SearchedTo.IsZero() {
		view.Results.Pager.Next = next
	} else {
		view.Results.SearchedTo, view.Results.GoOn = list.SearchedTo, next
	}
	if !after.IsZero() {
		view.Results.Pager.Prev, view.Results.Pager.Showing = withQuery(r, "after", ""), "Older deliveries"
	}
	if v.Covers(partner.Developer) {
		view.Recover = v.Path(recoverPath) + query(r.URL.Query(), "after")
	}
}

// query is a query without some of its parameters, with its question mark.
func query(q url.Values, without ...string) string {
	for _, name := range without {
		q.Del(name)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// countFailed adds how many deliveries of the same span of time failed.
func (h *Handler) countFailed(r *http.Request, v *Visit, a asked, view *deliveriesView) error {
	n, more, err := h.History.Count(r.Context(), v.Partner.ID, history.Filter{State: history.Failed, From: a.filter.From, To: a.filter.To}, maxFailed)
	if err != nil || n == 0 {
		return err
	}
	view.Failed = fmt.Sprintf("%d failed", n)
	if more {
		view.Failed = fmt.Sprintf("More than %d failed", n)
	}
	q := url.Values{"state": {string(history.Failed)}}
	for _, name := range []string{"range", "from", "to"} {
		if s := r.URL.Query().Get(name); s != "" {
			q.Set(name, s)
		}
	}
	view.FailURL = v.Path(deliveriesPath) + "?" + q.Encode()
	return nil
}

// keyTail is how much of a license key a list shows.
const keyTail = 8

// tail is the end of a license key.
func tail(key string) string { return "…" + key[max(0, len(key)-keyTail):] }

// deliveriesTable lists deliveries, one line each. The page of a delivery gets the query of
// the list, so that it leads back to it.
func deliveriesTable(v *Visit, list []history.Delivery, query string) ui.Table {
	t := ui.Table{
		ID: "deliveries", Caption: "Deliveries, newest event first", Lines: true,
		Columns: []ui.Column{
			{Label: "State"},
			{Label: "Event"},
			{Label: "License"},
			{Label: "Answer"},
			{Label: "Attempts", Number: true, Wide: true},
			{Label: "Duration", Number: true, Wide: true},
			{Label: "Next attempt", Wide: true},
			{Label: "Event time"},
		},
	}
	for _, d := range list {
		t.Rows = append(t.Rows, deliveryRow(v, d, query))
	}
	return t
}

func deliveryRow(v *Visit, d history.Delivery, query string) ui.Row {
	next := ui.Cell{At: d.NextAt}
	if d.NextAt.IsZero() {
		next = ui.Cell{Text: "–"}
	}
	return ui.Row{ID: fmt.Sprintf("delivery-%d", d.EventID), Cells: []ui.Cell{
		{Status: string(d.State), URL: v.Path(deliveriesPath+"/%d", d.EventID) + query},
		{Text: event.Kind(d.Kind).String()},
		{Text: tail(d.LicenseKey), Code: true, URL: v.Path(licensesPath+"/%s", d.LicenseKey)},
		{Text: area.AnswerWords(d.Last.ID, d.Last.Status, d.Last.Success, d.Last.Words())},
		{Text: strconv.Itoa(d.Attempts)},
		{Text: area.Duration(d.Last.ID != 0, d.Last.Took)},
		next,
		{At: d.CreatedAt, Exact: true},
	}}
}
