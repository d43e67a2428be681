package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/ui"
)

// auditKinds are the kinds of actors.
var auditKinds = []ui.Option{
	{Value: "", Label: "Everybody"},
	{Value: audit.ByUser, Label: "People"},
	{Value: audit.ByToken, Label: "Operator tokens"},
	{Value: audit.ByPartner, Label: "Partners' programs"},
	{Value: audit.BySystem, Label: "The service"},
}

// auditFilter reads the filters of the query.
func auditFilter(r *http.Request) (audit.Filter, ui.Form) {
	q := r.URL.Query()
	text := func(name string) string { return strings.TrimSpace(strings.ToValidUTF8(q.Get(name), "")) }
	form := ui.Form{Fields: []ui.Field{
		{Name: "actor", Label: "Who", Type: "select", Value: text("actor"), Options: auditKinds},
		{Name: "id", Label: "Their id", Value: text("id"), Hint: "of the person, token or partner"},
		{Name: "action", Label: "Action", Value: text("action"), Hint: "such as license.hold"},
		{Name: "subject", Label: "Subject", Value: text("subject"), Hint: "such as partner:1 or license:<key>"},
		{Name: "from", Label: "From", Type: "datetime-local"},
		{Name: "to", Label: "To", Type: "datetime-local"},
	}}
	f := audit.Filter{ActorKind: text("actor"), Action: text("action"), Subject: text("subject")}
	if !slices.ContainsFunc(auditKinds, func(o ui.Option) bool { return o.Value == f.ActorKind }) {
		form.Refuse(fault.Field("actor", "is not one of the list."))
	}
	if s := text("id"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		f.ActorID = n
		if err != nil || n < 1 {
			form.Refuse(fault.Field("id", "must be a number such as 3."))
		} else if f.ActorKind == "" || f.ActorKind == audit.BySystem {
			form.Refuse(fault.Field("id", "goes with people, tokens or partners: choose whose it is."))
		}
	}
	for i, to := range map[int]*time.Time{4: &f.From, 5: &f.To} {
		at, err := ui.QueryTime(r, form.Fields[i].Name)
		if err != nil {
			form.Refuse(err)
			continue
		}
		*to = at
		form.Fields[i].SetTime(r, at)
	}
	return f, form
}

// audit lists the audit entries.
func (s *System) audit(w http.ResponseWriter, r *http.Request, v *Visit) error {
	f, form := auditFilter(r)
	actor := f.ActorKind
	if f.ActorID != 0 {
		actor += ":" + strconv.FormatInt(f.ActorID, 10)
	}
	view := recordsView{
		Heading: "Audit",
		Lead:    "Who did what, newest first. Entries are never removed; the address of a client is, after 90 days.",
		Form:    form,
		Filters: &ui.Filters{
			Label: "Filter entries", URL: v.Path(auditPath), Fields: form.Fields, Active: r.URL.RawQuery != "",
			Fold: true,
		},
		Curl: s.call("The same by API", http.MethodGet, "/operator/v1/audit", ui.Param{Name: "actor", Value: actor},
			ui.Param{Name: "action", Value: f.Action},
			ui.Param{Name: "subject", Value: f.Subject}, ui.Param{Name: "from", Value: f.From},
			ui.Param{Name: "to", Value: f.To}),
	}
	if form.Failed() {
		return s.render(w, r, v, "records", ui.View{Title: "Audit", Status: http.StatusBadRequest, Data: view})
	}
	view.Acts = []ui.Tab{{Label: "Export…", URL: exportURL(r, v, export.Audit)}}
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // anything but a number means the first page
	found, err := s.Audit.Search(r.Context(), f, max(before, 0), rowsPerPage)
	if err != nil {
		return err
	}
	names, err := s.Site.Accounts.Names(r.Context(), ids(found.Entries, actingUser))
	if err != nil {
		return err
	}
	partners, err := s.Site.Partners.Names(
		r.Context(), ids(found.Entries, func(e *audit.Entry) int64 { return e.Actor.ActingFor }),
	)
	if err != nil {
		return err
	}
	view.Results = ui.Results{
		Filters: *view.Filters,
		Nothing: ui.Empty{Title: "No entry yet", Text: "Everything that is changed leaves one."},
		Table:   auditTable(v, found.Entries, names, partners),
	}
	switch next := area.WithParam(r, "before", strconv.FormatInt(found.Next, 10)); {
	case found.Next == 0:
	case found.SearchedTo.IsZero():
		view.Results.Pager = ui.Pager{Label: "Pages of entries", Next: next}
	default:
		view.Results.SearchedTo = found.SearchedTo
		view.Results.GoOn = next
	}
	return s.render(w, r, v, "records", ui.View{Title: "Audit", Data: view})
}

// actingUser returns the id of the acting person, or 0.
func actingUser(e *audit.Entry) int64 {
	if e.Actor.Kind != audit.ByUser {
		return 0
	}
	return e.Actor.ID
}

// actedFor names the partner that an actor acted for and says if it was in a support visit; "" for
// none.
func actedFor(a audit.Actor, partners map[int64]string) string {
	if a.ActingFor == 0 {
		return ""
	}
	name := partners[a.ActingFor]
	if name == "" {
		name = "partner " + strconv.FormatInt(a.ActingFor, 10)
	}
	if a.SupportVisit != 0 {
		return ", in support visit " + strconv.FormatInt(a.SupportVisit, 10) + " at " + name
	}
	return ", for " + name
}

func auditTable(v *Visit, list []audit.Entry, names, partners map[int64]string) ui.Table {
	t := ui.Table{
		ID: "entries", Caption: "Entries, newest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Time", Wrap: true},
			{Label: "Who", Wrap: true},
			{Label: "Action"},
			{Label: "Subject", Wrap: true},
			{Label: "Before", Wrap: true},
			{Label: "After", Wrap: true},
			{Label: "From", Wrap: true},
		},
	}
	at := v.Path(auditPath)
	t.Fill(len(list), func(i int, r *ui.Row) {
		e := &list[i]
		a := &e.Actor
		who := ui.Cell{Text: a.Name, Note: a.Kind, URL: at + "?actor=" + a.Kind}
		if a.Kind == audit.ByUser {
			who.Text = names[a.ID]
			if who.Text == "" {
				who.Text = "somebody who was erased"
			}
		}
		if a.ID != 0 {
			id := strconv.FormatInt(a.ID, 10)
			who.Note += " " + id
			who.URL += "&id=" + id
		}
		who.Note += actedFor(*a, partners)
		from := ui.Cell{Text: a.Client}
		if a.Session != "" {
			from.Note = "session " + a.Session
		}
		r.ID = "entry-" + strconv.FormatInt(e.ID, 10)
		r.Cells = append(r.Cells, ui.Cell{At: e.At, Exact: true}, who, ui.Cell{Text: e.Action, Code: true},
			ui.Cell{Text: e.Subject, Code: true, URL: at + "?subject=" + url.QueryEscape(e.Subject)},
			ui.Cell{Text: e.Before}, ui.Cell{Text: e.After}, from)
	})
	return t
}
