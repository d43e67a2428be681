package console

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

const (
	pastOutagesPath = outagesPath + "/past"
	tryPath         = outagesPath + "/{partner}/try"
)

// rowsPerPage is the number of rows per page of this section's lists.
const rowsPerPage = 50

// Delivery serves the pages about deliveries, outages and emails of all partners.
type Delivery struct {
	section
	DB           *sqldb.DB
	Partners     *partner.Store
	Webhooks     *webhook.Outbox
	History      history.Reader
	Licenses     *license.Store
	Redeliveries *redelivery.Store
	Mail         *mail.Outbox
}

func (d *Delivery) table() []Route {
	pages := &area.Deliveries{Side: d, Rule: changes(account.Support), History: d.History, Webhooks: d.Webhooks}
	jobs := &area.Redeliveries{
		Side: d, Prefix: redeliverPath + "/{partner}", Rule: changes(account.Support), Store: d.Redeliveries,
	}
	return slices.Concat(pages.Routes(),
		jobs.Routes(), []Route{
			row(Page, outagesPath, account.Read, d.outages),
			row(Page, pastOutagesPath, account.Read, d.pastOutages),
			row(Act, tryPath, account.Support, d.try),
			row(Page, redeliverPath+"/{partner}", account.Support, d.askRedeliver),
			row(Act, redeliverPath+"/{partner}", account.Support, d.redeliver),
			row(Page, mailsPath, account.Read, d.mails),
			row(Page, mailPath, account.Read, d.mail),
			row(Act, mailPath+"/send", account.Support, d.sendMail),
			row(Act, mailPath+"/dismiss", account.Support, d.dismissMail),
		})
}

// recordsView is a list with its tabs or filters.
type recordsView struct {
	Heading string
	Lead    string
	Form    ui.Form
	Tabs    *ui.Tabs
	Filters *ui.Filters
	Results ui.Results
	Acts    []ui.Tab // possible acts, as buttons
	Curl    ui.Curl
}

// outageTabs returns the tabs for current and past outages.
func outageTabs(v *Visit, state history.Endpoints, past bool) *ui.Tabs {
	t := &ui.Tabs{Label: "Outages"}
	for _, item := range []struct {
		label string
		state history.Endpoints
	}{
		{"All that fail", history.AllFailing},
		{"Parked", history.OnlyParked},
		{"Failing, not parked", history.NotParked},
	} {
		url := v.Path(outagesPath)
		if item.state != "" {
			url += "?state=" + string(item.state)
		}
		t.Items = append(t.Items, ui.Tab{Label: item.label, URL: url, Current: !past && state == item.state})
	}
	t.Items = append(t.Items, ui.Tab{Label: "All outages", URL: v.Path(pastOutagesPath), Current: past})
	return t
}

// outages lists the endpoints that are failing.
func (d *Delivery) outages(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q := r.URL.Query()
	state := history.Endpoints(q.Get("state"))
	if state != history.OnlyParked && state != history.NotParked {
		state = history.AllFailing
	}
	after, _ := history.ParseKey(q.Get("after")) // an invalid key means the first page
	var list []history.Trouble
	var names map[int64]partner.Partner
	next := ""
	err := d.DB.Read(r.Context(), func(tx *sqldb.Tx) (err error) { //nolint:contextcheck // it has the request
		if list, err = history.FailingEndpoints(r.Context(), tx, state, after, rowsPerPage+1); err != nil {
			return err
		}
		next = ""
		if len(list) > rowsPerPage {
			list = list[:rowsPerPage]
			next = area.WithParam(r, "after", list[rowsPerPage-1].Key().String())
		}
		if err = history.CountWaiting(r.Context(), tx, list); err != nil {
			return err
		}
		names, err = partner.ByID(r.Context(), tx, ids(list, func(t *history.Trouble) int64 { return t.PartnerID }))
		return err
	})
	if err != nil {
		return err
	}
	view := recordsView{
		Heading: "Outages", Lead: "Endpoints whose last deliveries failed, those that fail for longest first.",
		Tabs: outageTabs(v, state, false),
		Results: ui.Results{
			Nothing: ui.Empty{
				Title: "No endpoint fails",
				Text:  "Every partner takes what it is sent, or nothing was sent to it.",
			},
			Pager: ui.Pager{Label: "Pages of endpoints", Next: next}, Table: d.endpointsTable(v, list, names),
		},
		Curl: d.call(
			"The same by API", http.MethodGet, "/operator/v1/outages", ui.Param{Name: "state", Value: string(state)},
		),
	}
	return d.render(w, r, v, "records", ui.View{Title: "Outages", Data: view})
}

// endpointsTable lists failing endpoints.
func (d *Delivery) endpointsTable(v *Visit, list []history.Trouble, names map[int64]partner.Partner) ui.Table {
	t := ui.Table{
		ID: "outages", Caption: "Endpoints that fail", Cards: true,
		Columns: []ui.Column{
			{Label: "Partner"},
			{Label: "State"},
			{Label: "Failing since", Named: true},
			{Label: "Wait", Number: true},
			{Label: "Next probe", Named: true},
			{Label: "Last error", Wrap: true},
			{Label: "Do"},
		},
	}
	for _, e := range list {
		state := "failing"
		probe := ui.Cell{Text: "–"}
		id := strconv.FormatInt(e.PartnerID, 10)
		if !e.ParkedAt.IsZero() {
			state = "parked"
			probe = ui.Cell{At: e.ProbeAt}
		}
		name := names[e.PartnerID].Name
		first := ui.Cell{Text: name, URL: d.pageOfPartner(v, e.PartnerID)}
		acts := ui.Links(ui.RowLink{
			Label: "Deliveries",
			Of:    "of " + name,
			URL:   v.Path(deliveriesPath) + "?partner=" + id + "&state=failed",
		})
		if v.May(account.Support) {
			acts.Posts = []ui.RowPost{{
				Label:  "Try now",
				Of:     name,
				Action: v.Path(outagesPath+"/%d/try", e.PartnerID),
				Hidden: []ui.Param{seenEndpoint(e.FailingSince).Param()},
			}}
			acts.Links = append(acts.Links, ui.RowLink{
				Label: "Recover…", Of: name, URL: v.Path(redeliverPath+"/%d", e.PartnerID) + "?state=failed",
			})
		}
		t.Rows = append(t.Rows, ui.Row{ID: "endpoint-" + id, Cells: []ui.Cell{
			first,
			{Status: state},
			{At: e.FailingSince},
			{Text: waitingCount(e.Waiting, e.More)},
			probe,
			{Text: sentence(e.LastError)},
			{Acts: acts},
		}})
	}
	return t
}

// seenEndpoint returns the state of an endpoint that a page showed. If it was tried in the meantime
// and still fails, it may be tried again.
func seenEndpoint(failingSince time.Time) area.Seen {
	since := "not failing"
	if !failingSince.IsZero() {
		since = failingSince.UTC().Format(time.RFC3339)
	}
	return area.Seen{Version: since, Facts: []area.Fact{{Name: "Failing since", Value: since}}}
}

// try makes the service retry a failing endpoint immediately.
func (d *Delivery) try(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	p, err := d.Partners.Get(r.Context(), area.ID(r, "partner"))
	if err != nil {
		return area.Missing(err)
	}
	health, err := d.Webhooks.EndpointHealth(r.Context(), p.ID)
	if err != nil {
		return err
	}
	seen := seenEndpoint(health.FailingSince)
	view := ui.Confirm{
		Heading: "Try the endpoint of " + p.Name, Action: v.Path(outagesPath+"/%d/try", p.ID),
		Cancel: v.Path(outagesPath), Hidden: []ui.Param{seen.Param()},
		Says: []string{
			"What waits is sent without waiting for the next attempt. If it fails again, the endpoint stays as it is.",
		},
		Button: ui.Button{Label: "Try now", Busy: "Trying…"},
	}
	if health.FailingSince.IsZero() {
		view.Action = ""
		view.Says = []string{"This endpoint does not fail any more, so there is nothing to try."}
	}
	if err := seen.Unchanged(r); err != nil {
		return d.area.Refuse(w, r, v, view, err)
	}
	if err := d.Webhooks.TryNow(r.Context(), v.Actor(), p.ID); err != nil {
		return d.area.Refuse(w, r, v, view, err)
	}
	return d.area.Done(
		w, r, v, outagesPath,
		fmt.Sprintf(
			"The endpoint of %s is tried now. If it answers well, it leaves this list within a few seconds, and "+
				"what waits is sent.",
			p.Name,
		),
	)
}

// pastOutages lists the outages of all partners, including those that have ended.
func (d *Delivery) pastOutages(w http.ResponseWriter, r *http.Request, v *Visit) error {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	list, err := outage.All(r.Context(), d.DB, max(before, 0), rowsPerPage+1)
	if err != nil {
		return err
	}
	next := ""
	if len(list) > rowsPerPage {
		list = list[:rowsPerPage]
		next = area.WithParam(r, "before", strconv.FormatInt(list[rowsPerPage-1].ID, 10))
	}
	names, err := partner.ByID(r.Context(), d.DB, ids(list, func(o *outage.Outage) int64 { return o.PartnerID }))
	if err != nil {
		return err
	}
	t := ui.Table{
		ID: "outages", Caption: "Outages, newest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Partner"},
			{Label: "Began", Named: true},
			{Label: "Ended", Named: true},
			{Label: "Events given up", Number: true},
			{Label: "Mails", Number: true},
			{Label: "First cause", Wrap: true},
		},
	}
	for _, o := range list {
		ended := ui.Cell{At: o.ClosedAt}
		if o.Open() {
			ended = ui.Cell{Status: "failing"}
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("outage-%d", o.ID), Cells: []ui.Cell{
			{Text: names[o.PartnerID].Name},
			{At: o.OpenedAt},
			ended,
			{Text: ui.Count(o.Exhausted)},
			{Text: strconv.Itoa(o.Notices)},
			{Text: sentence(o.Cause)},
		}})
	}
	view := recordsView{
		Heading: "Outages",
		Lead: "From the first failure to the next success. One that ends within a quarter of an " +
			"hour is kept only if an event was given up.",
		Tabs: outageTabs(v, "", true),
		Results: ui.Results{
			Nothing: ui.Empty{Title: "No outage yet", Text: "No partner was unreachable for long."},
			Table:   t,
			Pager:   ui.Pager{Label: "Pages of outages", Next: next},
		},
		Curl: d.call("What fails now by API", http.MethodGet, "/operator/v1/outages"),
	}
	return d.render(w, r, v, "records", ui.View{Title: "Outages", Data: view})
}

// ids returns the distinct ids of rows, without 0.
func ids[T any](rows []T, of func(*T) int64) []int64 {
	list := make([]int64, 0, len(rows))
	for i := range rows {
		if id := of(&rows[i]); id != 0 {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
