package portal

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/area"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/plural"
	"claviger/internal/requestlog"
	"claviger/internal/ui"
)

const requestsPath = "/requests"

// requestsPerPage is the number of rejected calls per page.
const requestsPerPage = 50

// requestsView is the page of rejected calls.
type requestsView struct {
	Form    ui.Form
	Filters ui.Filters
	Stats   []ui.Stat
	Table   ui.Table
	Pager   ui.Pager
	Export  string
	Curl    ui.Curl
}

// Empty reports whether there is nothing to list.
func (v requestsView) Empty() bool { return v.Table.Len() == 0 }

// requests lists the partner's rejected calls with the reasons.
func (h *Handler) requests(w http.ResponseWriter, r *http.Request, v *Visit) error {
	filter, form := requestFilter(r)
	view := requestsView{Form: form, Filters: ui.Filters{
		Label: "Filter refused calls", URL: v.Path(requestsPath), Fields: form.Fields, Active: r.URL.RawQuery != "",
		Fold: true,
	}}
	status := 0
	if form.Failed() {
		status = http.StatusBadRequest
	} else {
		list, err := h.Requests.List(r.Context(), v.Partner.ID, filter)
		if err != nil {
			return err
		}
		view.Table = requestsTable(v, list.Entries)
		if list.Next != (requestlog.Position{}) {
			view.Pager = ui.Pager{Label: "Pages of refused calls", Next: area.WithParam(r, "after", list.Next.String())}
		}
		if filter.After != (requestlog.Position{}) {
			view.Pager.Prev = area.WithParam(r, "after", "")
			view.Pager.Showing = "Older calls"
		}
	}
	var err error
	if view.Stats, err = h.requestStats(r, v); err != nil {
		return err
	}
	view.Curl = ui.Curl{
		What: "List these calls by API", URL: h.Site.Pages.PublicURL + "/v2/requests",
		Query: requestParams(r, filter),
	}
	view.Export = exportURL(r, v, export.Requests)
	return h.render(w, r, v, "requests", ui.View{Title: "Requests", Status: status, Data: view})
}

// requestParams returns the API parameters of the filters.
func requestParams(r *http.Request, f requestlog.Filter) []ui.Param {
	return []ui.Param{
		{Name: "status", Value: area.CleanQuery(r.URL.Query().Get("http_status"))},
		{Name: "code", Value: f.Code},
		{Name: "path", Value: f.Path},
		{Name: "request_id", Value: f.RequestID},
		{Name: "license_key", Value: f.License},
		{Name: "from", Value: f.From},
		{Name: "to", Value: f.To},
	}
}

// requestFilter reads the filters of the query and builds their form.
func requestFilter(r *http.Request) (requestlog.Filter, ui.Form) {
	q := r.URL.Query()
	text := func(name string) string { return area.CleanQuery(q.Get(name)) }
	f := requestlog.Filter{
		Code: text("code"), Path: text("path"), RequestID: text("request_id"), License: text("license_key"),
		Limit: requestsPerPage,
	}
	form := ui.Form{Fields: []ui.Field{
		{Name: "http_status", Label: "Status", Value: text("http_status")},
		{Name: "code", Label: "Code or cause", Value: f.Code},
		{Name: "path", Label: "Path", Value: f.Path},
		{Name: "request_id", Label: "Request id", Value: f.RequestID},
		{Name: "license_key", Label: "License key", Value: f.License},
		{Name: "from", Label: "From", Type: "datetime-local"},
		{Name: "to", Label: "To", Type: "datetime-local"},
	}}
	if s := text("http_status"); s != "" {
		n, err := strconv.Atoi(s)
		f.Status = n
		if err != nil || n < 300 || n > 599 {
			form.Refuse(fault.Field("http_status", "must be an HTTP status from 300 to 599."))
		}
	}
	for i, to := range map[int]*time.Time{5: &f.From, 6: &f.To} {
		var err error
		if *to, err = ui.QueryTime(r, form.Fields[i].Name); err != nil {
			form.Refuse(err)
		}
		form.Fields[i].SetTime(r, *to)
	}
	f.After, _ = requestlog.ParsePosition(q.Get("after")) // an invalid position means the newest
	return f, form
}

// requestsTable lists calls, one line each.
func requestsTable(v *Visit, entries []requestlog.Entry) ui.Table {
	t := ui.Table{
		ID: "calls", Caption: "Refused calls, newest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Time"},
			{Label: "Answer"},
			{Label: "What was wrong, and what to do", Wrap: true},
			{Label: "Call", Wrap: true},
			{Label: "License"},
		},
	}
	for _, e := range entries {
		at := ui.Cell{At: e.At, Exact: true}
		if e.Grouped {
			at.Note = timesSince(e)
		}
		answer := ui.Cell{Text: strconv.Itoa(e.Status) + " " + e.Code, Code: true, Note: e.Cause}
		license := ui.Cell{}
		if e.License != "" {
			license = ui.Cell{
				Text: "…" + e.License[len(e.License)-4:], Code: true, URL: v.Path("/licenses/%s", e.License),
			}
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("call-%d", e.Seq), Cells: []ui.Cell{
			at, answer,
			{Text: e.Message, Note: e.RequestID},
			{Text: e.Method + " " + e.Path, Code: true, Note: sender(e)},
			license,
		}})
	}
	return t
}

// timesSince describes the number of calls in a group, and its start.
func timesSince(e requestlog.Entry) string {
	if e.Count == 1 {
		return "Once on this day"
	}
	return plural.Of(e.Count, "time") + " since " + ui.ExactInSentence(e.FirstAt)
}

// sender describes the sender of a call that is not proven to be the partner's.
func sender(e requestlog.Entry) string {
	switch {
	case e.Proven:
		return ""
	case strings.HasPrefix(e.Path, "/openid/authorize"):
		return "A browser, with your client id"
	default:
		return "Not authenticated"
	}
}

// requestStats counts the calls of the last seven days.
func (h *Handler) requestStats(r *http.Request, v *Visit) ([]ui.Stat, error) {
	sum, err := h.Requests.Sum(r.Context(), v.Partner.ID, h.Now().Add(-requestlog.Kept))
	if err != nil {
		return nil, err
	}
	refused := ui.Stat{Label: "Refused in 7 days", Value: ui.Count(sum.Refused)}
	if sum.Refused > 0 {
		refused.Tone = "warn"
	}
	stats := []ui.Stat{
		{Label: "Answered in 7 days", Value: ui.Count(sum.Answered), Note: "They are counted, not listed."}, refused,
	}
	if sum.Dropped > 0 {
		stats = append(
			stats, ui.Stat{Label: "Not listed", Value: ui.Count(sum.Dropped), Note: "Too many came at once."},
		)
	}
	return stats, nil
}
