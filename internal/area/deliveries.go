package area

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/diagnose"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// DeliveriesPath is the path of the deliveries in the portal and the console; the page of one is
// below it.
const DeliveriesPath = "/deliveries"

// licensePage is the page of a license, with a verb for its key.
const licensePage = "/licenses/%s"

// DeliveriesView is the list of deliveries.
type DeliveriesView struct {
	Lead    string
	Form    ui.Form
	Filters ui.Filters
	Failed  string // number of failures, or ""
	FailURL string
	Results ui.Results
	Acts    []ui.Item // acts on the listed deliveries
	Follow  string    // URL that turns live updates on, "" if they are on or impossible
	Pause   string    // URL that turns them off
	Curl    ui.Curl
}

// ranges are the selectable spans of time.
var ranges = []ui.Option{
	{Value: "24h", Label: "Last 24 hours"},
	{Value: "7d", Label: "Last 7 days"},
	{Value: "30d", Label: "Last 30 days"},
	{Value: "all", Label: "All time"},
	{Value: "span", Label: "From and to"},
}

// days is the number of days of each range.
var days = map[string]int{"24h": 1, "7d": 7, "30d": 30}

// DeliveryQuery selects deliveries, as the URL of a page says.
type DeliveryQuery struct {
	Filter     history.Filter
	LicenseKey string // as requested; the caller looks up its owner
	Form       ui.Form
}

// ReadDeliveryQuery reads the filters of the query. Without filters, the first page has the last 24
// hours; a query for an event or a license means all time.
func ReadDeliveryQuery(r *http.Request, now time.Time) DeliveryQuery {
	query := r.URL.Query()
	text := func(name string) string { return CleanQuery(query.Get(name)) }
	q := DeliveryQuery{LicenseKey: strings.ToLower(text("license"))}
	span := text("range")
	if span == "" {
		switch {
		case text("from") != "" || text("to") != "":
			span = "span"
		case text("id") != "" || q.LicenseKey != "":
			span = "all"
		default:
			span = "24h"
		}
	}
	q.Form = ui.Form{Fields: []ui.Field{
		{Name: "state", Label: "State", Type: "select", Value: text("state"), Options: stateOptions},
		{Name: "event", Label: "Event", Type: "select", Value: text("event"), Options: kindOptions},
		{Name: "code", Label: "Status code", Value: text("code"), Hint: "404, 4xx, none or timeout"},
		{Name: "range", Label: "Time", Type: "select", Value: span, Options: ranges},
		{Name: "from", Label: "From", Type: "datetime-local"},
		{Name: "to", Label: "To", Type: "datetime-local"},
		{Name: "id", Label: "Event id or webhook-id", Value: text("id")},
		{Name: "license", Label: "License key", Value: text("license")},
	}}
	q.readFilter(text)
	q.readRange(r, span, now)
	return q
}

// CleanQuery removes characters from a query value that no filter has.
func CleanQuery(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(s), ""), "\x00", "")
}

// WithParam returns the URL of the page with one parameter changed; "" removes it.
func WithParam(r *http.Request, name, value string) string {
	q := r.URL.Query()
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return (&url.URL{Path: r.URL.Path, RawQuery: q.Encode()}).String()
}

// readFilter reads all filters except the time.
func (q *DeliveryQuery) readFilter(text func(string) string) {
	f := &q.Filter
	if f.State = history.State(text("state")); f.State != "" && !f.State.Known() {
		q.Form.Refuse(fault.Field("state", "is not one of the list."))
	}
	kind, err := event.ParseKind(text("event"))
	f.Kind = int(kind)
	if err != nil {
		q.Form.Refuse(fault.Field("event", "is not one of the list."))
	}
	if s := text("code"); s != "" {
		var ok bool
		if f.Codes, ok = history.ParseCodes(strings.ToLower(s)); !ok {
			q.Form.Refuse(fault.Field(
				"code",
				"must be a status such as 404, a class such as 4xx, none for no answer, or why there was none: %s.",
				diagnose.CauseList(),
			))
		}
	}
	if s := text("id"); s != "" {
		n, err := strconv.ParseInt(strings.TrimPrefix(s, "evt_"), 10, 64)
		f.EventID = n
		if err != nil || n < 1 {
			q.Form.Refuse(fault.Field("id", "must be an event id such as 42, or a webhook-id such as evt_42."))
		}
	}
}

// readRange reads the span of time.
func (q *DeliveryQuery) readRange(r *http.Request, span string, now time.Time) {
	for i, to := range map[int]*time.Time{4: &q.Filter.From, 5: &q.Filter.To} {
		at, err := ui.QueryTime(r, q.Form.Fields[i].Name)
		if err != nil {
			q.Form.Refuse(err)
		}
		if span == "span" {
			*to = at
			q.Form.Fields[i].SetTime(r, at)
		}
	}
	switch n := days[span]; {
	case n > 0:
		q.Filter.From = now.Add(-time.Duration(n) * 24 * time.Hour)
	case span != "all" && span != "span":
		q.Form.Refuse(fault.Field("range", "is not one of the list."))
	}
}

var stateOptions = func() []ui.Option {
	list := []ui.Option{{Value: "", Label: "All"}}
	for _, s := range history.States {
		list = append(list, ui.Option{Value: string(s), Label: stateWords[s]})
	}
	return list
}()

// stateWords describe the states.
var stateWords = map[history.State]string{
	history.Delivered: "Delivered", history.Waiting: "Waiting", history.Failing: "Failing, tried again",
	history.Exhausted:  "Exhausted, given up",
	history.Superseded: "Superseded by a newer event", history.Failed: "Failed: failing, exhausted or superseded",
}

var kindOptions = func() []ui.Option {
	list := []ui.Option{{Value: "", Label: "All"}}
	for _, k := range []event.Kind{event.Purchase, event.Activate, event.Deactivate} {
		list = append(list, ui.Option{Value: k.String(), Label: k.String()})
	}
	return list
}()

// Params returns the filters as API parameters.
func (q DeliveryQuery) Params() []ui.Param {
	f := q.Filter
	list := []ui.Param{
		{Name: "state", Value: string(f.State)},
		{Name: "event", Value: event.Kind(f.Kind).String()},
		{Name: "status_code", Value: f.Codes.String()},
		{Name: "from", Value: f.From},
		{Name: "to", Value: f.To},
		{Name: "license_key", Value: q.LicenseKey},
	}
	if f.EventID > 0 {
		list = append(list, ui.Param{Name: "event_id", Value: fmt.Sprintf("evt_%d", f.EventID)})
	}
	return list
}

// leadOn adds links to other pages of the list: next is the following page or "", first the first
// page, or "" if this is it.
func (v *DeliveriesView) leadOn(next, first string, searchedTo time.Time) {
	v.Results.Pager.Label = "Pages of deliveries"
	if searchedTo.IsZero() {
		v.Results.Pager.Next = next
	} else {
		v.Results.SearchedTo = searchedTo
		v.Results.GoOn = next
	}
	if first != "" {
		v.Results.Pager.Prev = first
		v.Results.Pager.Showing = "Older deliveries"
	}
}

// Query encodes a query without some of its parameters, with the question mark.
func Query(q url.Values, without ...string) string {
	for _, name := range without {
		q.Del(name)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// keyTail is the number of characters of a license key that a list shows.
const keyTail = 8

// Tail returns the end of a license key.
func Tail(key string) string { return "…" + key[max(0, len(key)-keyTail):] }

// deliveryTable has the links and columns of a list of deliveries.
type deliveryTable struct {
	path     func(path string, values ...any) string // of a page
	query    string                                  // of the list; a delivery's page gets it for its link back
	partners map[int64]ui.Cell                       // by id; nil if all are of one partner
}

// of lists deliveries, one line each.
func (t deliveryTable) of(list []history.OfPartner) ui.Table {
	table := ui.Table{
		ID:      "deliveries",
		Caption: "Deliveries, newest event first",
		Lines:   true,
		Columns: []ui.Column{{Label: "State"}},
	}
	if t.partners != nil {
		table.Columns = append(table.Columns, ui.Column{Label: "Partner"})
	}
	table.Columns = append(table.Columns, []ui.Column{
		{Label: "Event"},
		{Label: "License"},
		{Label: "Answer"},
		{Label: "Attempts", Number: true, Wide: true},
		{Label: "Duration", Number: true, Wide: true},
		{Label: "Next attempt", Wide: true},
		{Label: "Event time"},
	}...)
	table.Fill(len(list), func(i int, r *ui.Row) {
		id := strconv.FormatInt(list[i].EventID, 10)
		r.ID = "delivery-" + id
		r.Cells = t.cells(r.Cells, &list[i], id)
	})
	return table
}

// cells appends the cells of a delivery.
func (t deliveryTable) cells(cells []ui.Cell, d *history.OfPartner, id string) []ui.Cell {
	next := ui.Cell{At: d.NextAt}
	if d.NextAt.IsZero() {
		next = ui.Cell{Text: "–"}
	}
	cells = append(cells, ui.Cell{Status: string(d.State), URL: t.path(DeliveriesPath) + "/" + id + t.query})
	if t.partners != nil {
		cells = append(cells, t.partners[d.PartnerID])
	}
	return append(cells,
		ui.Cell{Text: event.Kind(d.Kind).String()},
		ui.Cell{Text: Tail(d.LicenseKey), Code: true, URL: t.path(licensePage, d.LicenseKey)},
		ui.Cell{Text: AnswerWords(d.Last.ID, d.Last.Status, d.Last.Success, d.Last.Words())},
		ui.Cell{Text: strconv.Itoa(d.Attempts)},
		ui.Cell{Text: Duration(d.Last.ID != 0, d.Last.Took)},
		next,
		ui.Cell{At: d.CreatedAt, Exact: true})
}
