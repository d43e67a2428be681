package portal

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

const (
	licensesPath = "/licenses"
	licensePath  = licensesPath + "/{license}"
)

const licensesPerPage = 50

// licensesView is the list of licenses.
type licensesView struct {
	Form    ui.Form
	Filters ui.Filters
	Results ui.Results
	Export  string
	Curl    ui.Curl
}

// licenseFind reads the search, and builds its form.
func licenseFind(r *http.Request, tiers int) (license.Find, ui.Form) {
	q := r.URL.Query()
	text := func(name string) string { return area.CleanQuery(q.Get(name)) }
	f := license.Find{Key: text("key")}
	statuses := []ui.Option{{Value: "", Label: "All"}}
	levels := []ui.Option{{Value: "", Label: "All"}}
	for _, s := range []event.Status{event.Inactive, event.Active, event.Deactivated} {
		statuses = append(statuses, ui.Option{Value: s.String(), Label: s.String()})
	}
	for n := 1; n <= tiers; n++ {
		levels = append(levels, ui.Option{Value: strconv.Itoa(n), Label: strconv.Itoa(n)})
	}
	form := ui.Form{Fields: []ui.Field{
		{Name: "key", Label: "License key or its end", Value: f.Key},
		{Name: "license_status", Label: "Status", Type: "select", Value: text("license_status"), Options: statuses},
		{Name: "tier", Label: "Tier", Type: "select", Value: text("tier"), Options: levels},
		{Name: "from", Label: "Purchased from", Type: "datetime-local"},
		{Name: "to", Label: "Purchased to", Type: "datetime-local"},
	}}
	var err error
	if f.Status, err = event.ParseStatus(text("license_status")); err != nil {
		form.Refuse(fault.Field("license_status", "is not one of the list."))
	}
	if s := text("tier"); s != "" {
		if f.Tier, err = strconv.Atoi(s); err != nil || f.Tier < 1 {
			form.Refuse(fault.Field("tier", "must be a whole number from 1."))
		}
	}
	for i, to := range map[int]*time.Time{3: &f.From, 4: &f.To} {
		if *to, err = ui.QueryTime(r, form.Fields[i].Name); err != nil {
			form.Refuse(err)
		}
		form.Fields[i].SetTime(r, *to)
	}
	return f, form
}

// licenses lists the licenses of a partner.
func (h *Handler) licenses(w http.ResponseWriter, r *http.Request, v *Visit) error {
	tiers, err := h.Partners.HighestTier(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	find, form := licenseFind(r, tiers)
	view := licensesView{
		Curl:   h.call("Search these licenses by API", http.MethodGet, "/v2/licenses/search", licenseParams(find)...),
		Export: exportURL(r, v, export.Licenses),
	}
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // anything but a number means the first page
	var found license.Found
	if !form.Failed() {
		if found, err = h.Licenses.Find(r.Context(), v.Partner.ID, find, before, licensesPerPage); err != nil &&
			!form.Refuse(err) {
			return err
		}
	}
	status := http.StatusOK
	if form.Failed() {
		status = http.StatusBadRequest
	}
	view.Form = form
	view.Filters = ui.Filters{
		Label:  "Search licenses",
		URL:    v.Path(licensesPath),
		Fields: form.Fields,
		Active: area.Query(r.URL.Query(), "before") != "",
		Fold:   true,
	}
	view.Results = ui.Results{
		Filters: view.Filters, Table: licensesTable(v, found.Licenses), Pager: ui.Pager{Label: "Pages of licenses"},
		Nothing: ui.Empty{
			Title:  "No license was sold yet",
			Text:   "Finish the set-up, so that the first buyer can connect.",
			URL:    v.Path(setupPath),
			Action: "Go to Set-up",
		},
	}
	next := ""
	if found.Next > 0 {
		next = area.WithParam(r, "before", strconv.FormatInt(found.Next, 10))
	}
	if found.SearchedTo.IsZero() {
		view.Results.Pager.Next = next
	} else {
		view.Results.SearchedTo = found.SearchedTo
		view.Results.GoOn = next
	}
	if before > 0 {
		view.Results.Pager.Prev = area.WithParam(r, "before", "")
		view.Results.Pager.Showing = "Older licenses"
	}
	return h.render(w, r, v, "licenses", ui.View{Title: "Licenses", Status: status, Data: view})
}

// licenseParams returns the API parameters of a search.
func licenseParams(find license.Find) []ui.Param {
	return []ui.Param{
		{Name: "key", Value: find.Key},
		{Name: "status", Value: find.Status.String()},
		{Name: "tier", Value: formTier(find.Tier)},
		{Name: "from", Value: find.From},
		{Name: "to", Value: find.To},
	}
}

func formTier(tier int) any {
	if tier == 0 {
		return nil
	}
	return tier
}

// licensesTable lists licenses, one line each.
func licensesTable(v *Visit, list []license.License) ui.Table {
	t := ui.Table{
		ID: "licenses", Caption: "Licenses, newest first", Cards: true,
		Columns: []ui.Column{
			{Label: "License key"},
			{Label: "Status"},
			{Label: "Tier", Number: true},
			{Label: "Purchased", Named: true},
			{Label: "Last change", Named: true},
		},
	}
	below := v.Path(licensesPath) + "/"
	t.Fill(len(list), func(i int, r *ui.Row) {
		l := &list[i]
		r.ID = "license-" + l.Key
		r.Cells = append(
			r.Cells,
			ui.Cell{Text: l.Key, Code: true, URL: below + l.Key},
			ui.Cell{Status: l.Status.String()},
			ui.Cell{Text: strconv.Itoa(l.Tier)},
			ui.Cell{At: l.CreatedAt},
			ui.Cell{At: l.UpdatedAt},
		)
	})
	return t
}

// licenseView is a license with its history.
type licenseView struct {
	Key        string
	Status     string
	Tier       int
	CreatedAt  time.Time
	SoldAt     time.Time // elsewhere; zero if sold here
	UpdatedAt  time.Time
	Explain    []string
	Entries    []licenseEntry
	More       bool // there are older events
	Deliveries string
	Curl       ui.Curl
}

// licenseEntry is an event with its delivery attempts.
type licenseEntry struct {
	EventID  int64
	At       time.Time
	Title    string
	Text     string
	State    string
	URL      string // of its delivery; "" if none, as for most imports
	Send     string // "" if the person may not
	NextAt   time.Time
	Attempts []licenseAttempt
	Earlier  int // attempts that are not listed
}

// licenseAttempt is an attempt in one line.
type licenseAttempt struct {
	URL, Answer, Took, By string
	At                    time.Time
	Success               bool
}

// Limits of a license's page.
const (
	maxLicenseEvents   = 50
	maxLicenseAttempts = 5 // of each event
)

// license shows a license, the reason for its status, and its events and attempts side by side.
func (h *Handler) license(r *http.Request, v *Visit) (area.Shown, error) {
	l, err := h.Licenses.OfPartner(r.Context(), v.Partner.ID, r.PathValue("license"))
	if err != nil {
		return area.Shown{}, missing(err)
	}
	return area.Shown{
		Versions: h.Live.licenses, Topic: l.ID, Page: "license",
		View: func(r *http.Request) (ui.View, string, error) { return h.licenseView(r, v, l.Key) },
	}, nil
}

func (h *Handler) licenseView(r *http.Request, v *Visit, key string) (page ui.View, says string, err error) {
	l, err := h.Licenses.OfPartner(r.Context(), v.Partner.ID, key)
	if err != nil {
		return page, "", missing(err)
	}
	view := licenseView{
		Key: l.Key, Status: l.Status.String(), Tier: l.Tier, CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
		Deliveries: v.Path(deliveriesPath) + "?license=" + l.Key,
		Curl:       h.call("Read this license by API", http.MethodGet, "/v2/licenses/"+l.Key+"/events"),
	}
	if view.Explain, err = h.Licenses.Explain(r.Context(), l); err != nil {
		return page, "", err
	}
	if view.SoldAt, err = h.Licenses.SoldElsewhere(r.Context(), l); err != nil {
		return page, "", err
	}
	events, err := h.Events.OfLicense(
		r.Context(), l.ID, event.Filter{}, paging.Page{Number: 1, Limit: maxLicenseEvents},
	)
	if err != nil {
		return page, "", err
	}
	deliveries, err := h.History.List(
		r.Context(), v.Partner.ID, history.Filter{LicenseID: l.ID}, history.Key{}, maxLicenseEvents,
	)
	if err != nil {
		return page, "", err
	}
	view.More = events.More
	tries, known, err := h.licenseTries(r, v, deliveries.Deliveries)
	if err != nil {
		return page, "", err
	}
	of := map[int64]history.Delivery{}
	for _, d := range deliveries.Deliveries {
		of[d.EventID] = d
	}
	for _, e := range events.Events {
		view.Entries = append(view.Entries, licenseEntryOf(v, l, e, of[e.ID], tries[e.ID], known))
	}
	if len(view.Entries) > 0 && view.Entries[0].State != "" {
		says = fmt.Sprintf("Event %d is %s", view.Entries[0].EventID, view.Entries[0].State)
	}
	return ui.View{Title: "License " + area.Tail(l.Key), Fragment: "license-now", Data: view}, says, nil
}

// licenseTries reads the attempts of deliveries and their senders.
func (h *Handler) licenseTries(
	r *http.Request, v *Visit, list []history.Delivery,
) (map[int64][]history.Try, knownPeople, error) {
	ids := make([]int64, len(list))
	for i, d := range list {
		ids[i] = d.EventID
	}
	tries, err := h.History.Tries(r.Context(), ids)
	if err != nil {
		return nil, knownPeople{}, err
	}
	var senders []int64
	for _, of := range tries {
		senders = append(senders, area.Senders(history.Detail{Tries: of})...)
	}
	known, err := h.peopleOf(r.Context(), v, senders)
	return tries, known, err
}

func licenseEntryOf(
	v *Visit, l license.License, e event.Event, d history.Delivery, tries []history.Try, known knownPeople,
) licenseEntry {
	out := licenseEntry{
		EventID: e.ID, At: e.At, Title: fmt.Sprintf("%s, tier %d", e.Kind, e.Tier), Text: e.Reason.Sentence(),
		State: string(d.State),
		URL:   v.Path(deliveriesPath+"/%d", e.ID), NextAt: d.NextAt,
	}
	if e.Imported(l.CreatedAt) {
		out.Text = fmt.Sprintf("Imported as %s. %s", e.Kind.Status(), event.ImportedSentence)
		if d.EventID == 0 {
			out.URL = ""
			return out
		}
	}
	if v.Covers(partner.Developer) {
		out.Send = v.Path(deliveriesPath+"/%d/send", e.ID)
	}
	for i := len(tries) - 1; i >= 0; i-- {
		if len(out.Attempts) == maxLicenseAttempts {
			out.Earlier = i + 1
			break
		}
		t := tries[i]
		a := licenseAttempt{
			URL:     v.Path(deliveriesPath+"/%d/attempts/%d", e.ID, t.ID),
			Answer:  area.AnswerWords(t.ID, t.Status, t.Success, t.Words()),
			Took:    area.Duration(true, t.Took),
			At:      t.At,
			Success: t.Success,
		}
		if !t.Manual.IsZero() {
			a.By = known.who(t.Manual.By)
		}
		out.Attempts = append(out.Attempts, a)
	}
	return out
}
