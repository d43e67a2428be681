package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/bulk"
	"claviger/internal/export"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/plural"
	"claviger/internal/profile"
	"claviger/internal/statement"
	"claviger/internal/ui"
	"claviger/internal/webhook"
)

// Partners serves the pages about the partner applications.
type Partners struct {
	section

	Partners *partner.Store
	Profiles *profile.Store
	Webhooks *webhook.Outbox
	Support  *partner.Support
	Checks   *profile.Runs
	TestMail *outage.TestMailer
	Payments *payment.Store

	Statements *statement.Store
	Exports    *export.Exporter
}

const (
	partnerPath         = partnersPath + "/{partner}"
	contactsPath        = partnerPath + "/contacts"
	productPath         = partnerPath + "/product"
	earningsPath        = partnerPath + area.EarningsPath
	partnerSettingsPath = partnerPath + "/settings"
	pausePath           = partnerPath + "/pause"
	resumePath          = partnerPath + "/resume"
)

func (p *Partners) table() []Route {
	shared := p.shared()
	return slices.Concat(
		lives(partnerPath, p.partner),
		p.urlPages().Routes(),
		shared.Contacts(),
		shared.Earnings(),
		shared.Settings(),
		shared.SingleKey(),
		shared.Product(),
		shared.Credentials("switch"),
		act(newPartnerPath, account.Admin, p.newPartner),
		act(pausePath, account.Admin, p.pause),
		act(resumePath, account.Admin, p.resume),
		act(newPlanPath, account.Admin, p.newPlan),
		act(planPath, account.Admin, p.plan),
		act(planPricePath, account.Admin, p.planPrice),
		act(removePlanPath, account.Admin, p.removePlan),
		act(supportPath, account.Support, p.enter),
		act(allowSupportPath, account.Support, p.allow),
		[]Route{
			row(Page, partnersPath, account.Read, p.list),
			row(Page, plansPath, account.Read, p.plans),
			row(Page, secretsPath, account.Read, p.secrets),
			row(Page, partnerPeoplePath, account.Read, p.people),
			row(Act, leaveSupportPath, account.Support, p.leave),
		})
}

const (
	partnersPerPage = 500  // rows read per page, before filters
	maxWaiting      = 1000 // limit of the count of a partner's waiting events
)

// partnersView is the list of partners.
type partnersView struct {
	Stats   []ui.Stat
	Of      string // subject of the figures
	Filters ui.Filters
	Results ui.Results
	Add     string   // "" if the person may not
	Acts    []ui.Tab // acts on all matching partners
	GoOn    string   // where to continue the search if nothing on this page matches
	Call    ui.Curl
}

// partnerRow is a partner of the list, with the health of its endpoint.
type partnerRow struct {
	partner.Partner
	state  webhook.EndpointState
	health webhook.EndpointHealth
}

// list shows the partners by name, with the health of their endpoints.
func (p *Partners) list(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q := r.URL.Query()
	name, state := partnerQuery(r)
	after, _ := strconv.ParseInt(q.Get("after"), 10, 64) // anything but a number means the first page
	rows, more, err := p.rows(r, after)
	if err != nil {
		return err
	}
	view := partnersView{
		Filters: ui.Filters{
			Label: "Search partners", URL: v.Path(partnersPath), Fields: partnerFilters(name, state),
			Active: name != "" || state != "", Fold: true,
		},
		Call: p.call(
			"List the partners by API", http.MethodGet, "/operator/v1/partners", ui.Param{Name: "limit", Value: 100},
		),
	}
	counts := map[webhook.EndpointState]int64{}
	var found []partnerRow
	for _, row := range rows {
		counts[row.state]++
		if row.matches(name, state) {
			found = append(found, row)
		}
	}
	if v.May(account.Admin) {
		view.Add = v.Path(newPartnerPath)
	}
	view.Stats = stateStats(v, counts)
	view.Acts = p.bulkActs(r, v, bulk.Partners)
	view.Results = ui.Results{
		Filters: view.Filters, Table: partnersTable(v, found), Pager: ui.Pager{Label: "Pages of partners"},
		Nothing: ui.Empty{Title: "No partners yet", Text: "A partner is an application for which licenses are sold."},
	}
	if after != 0 {
		view.Results.Pager.Prev = v.Path(partnersPath) + withQuery(q, "after", "")
		view.Of = "These numbers are about the partners of this page."
	}
	if more {
		next := v.Path(partnersPath) + withQuery(q, "after", strconv.FormatInt(rows[len(rows)-1].ID, 10))
		view.Results.Pager.Next = next
		view.Of = "These numbers are about the first " + plural.Of(partnersPerPage, "partner") + " of this page."
		if len(found) == 0 {
			view.GoOn = next
		}
	}
	return p.render(w, r, v, "partners", ui.View{Title: "Partners", Data: view})
}

// rows reads one page of partners with their health, and reports whether more follow.
func (p *Partners) rows(r *http.Request, after int64) (rows []partnerRow, more bool, err error) {
	list, err := p.Partners.ByName(r.Context(), after, partnersPerPage+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(list) > partnersPerPage; more {
		list = list[:partnersPerPage]
	}
	profiles, err := p.Profiles.Of(r.Context(), list)
	if err != nil {
		return nil, false, err
	}
	ids := make([]int64, len(list))
	for i, one := range list {
		ids[i] = one.ID
	}
	health, err := p.Webhooks.EndpointsHealth(r.Context(), ids, maxWaiting)
	if err != nil {
		return nil, false, err
	}
	for _, one := range list {
		h := health[one.ID]
		rows = append(rows, partnerRow{Partner: one, health: h, state: h.State(one, profiles[one.ID])})
	}
	return rows, more, nil
}

// matches reports whether the partner matches the filters: part of its name or its external id, and
// its state.
func (row partnerRow) matches(name string, state webhook.EndpointState) bool {
	return (state == "" || row.state == state) &&
		(name == "" || strings.Contains(strings.ToLower(row.Name), strings.ToLower(name)) || row.ExternalID == name)
}

// since returns the start of the state, or zero if unknown.
func (row partnerRow) since() time.Time {
	switch row.state {
	case webhook.EndpointPaused:
		return row.PausedAt
	case webhook.EndpointParked, webhook.EndpointFailing:
		return row.health.FailingSince
	case webhook.EndpointHealthy, webhook.EndpointNoURL:
	}
	return time.Time{}
}

// why returns the reason for the state.
func (row partnerRow) why() string {
	switch row.state {
	case webhook.EndpointPaused:
		return row.PauseReason
	case webhook.EndpointParked, webhook.EndpointFailing:
		return row.health.LastError
	case webhook.EndpointNoURL:
		return "Events wait until a webhook URL is set."
	case webhook.EndpointHealthy:
	}
	if row.health.LastSuccessAt.IsZero() {
		return "Nothing was sent yet."
	}
	return ""
}

// partnerQuery reads the filters of the query.
func partnerQuery(r *http.Request) (name string, state webhook.EndpointState) {
	q := r.URL.Query()
	return storable(strings.TrimSpace(q.Get("name"))), webhook.EndpointState(q.Get("state"))
}

func partnerFilters(name string, state webhook.EndpointState) []ui.Field {
	states := []ui.Option{{Value: "", Label: "All"}}
	for _, s := range webhook.EndpointStates {
		states = append(states, ui.Option{Value: string(s), Label: stateNames[s]})
	}
	return []ui.Field{
		{Name: "name", Label: "Name or external id", Value: name, Autocomplete: "off"},
		{Name: "state", Label: "State", Type: "select", Value: string(state), Options: states},
	}
}

// stateNames are the display names of states.
var stateNames = map[webhook.EndpointState]string{
	webhook.EndpointHealthy: "Healthy", webhook.EndpointFailing: "Failing", webhook.EndpointParked: "Parked",
	webhook.EndpointPaused: "Paused", webhook.EndpointNoURL: "No URL",
}

// stateStats counts the partners in each state, with links to them.
func stateStats(v *Visit, counts map[webhook.EndpointState]int64) []ui.Stat {
	tones := map[webhook.EndpointState]string{
		webhook.EndpointParked: "bad", webhook.EndpointFailing: "bad", webhook.EndpointPaused: "warn",
		webhook.EndpointNoURL: "warn",
	}
	var stats []ui.Stat
	for _, s := range webhook.EndpointStates {
		stat := ui.Stat{
			Label: stateNames[s], Value: ui.Count(counts[s]), URL: v.Path(partnersPath) + "?state=" + string(s),
		}
		if counts[s] > 0 {
			stat.Tone = tones[s]
		}
		stats = append(stats, stat)
	}
	return stats
}

func partnersTable(v *Visit, list []partnerRow) ui.Table {
	t := ui.Table{ID: "partners", Caption: "Partners by name", Lines: true, Columns: []ui.Column{
		{Label: "Partner"},
		{Label: "State"},
		{Label: "Waiting", Number: true},
		{Label: "Since"},
		{Label: "Why", Wrap: true},
		{Label: "Last success", Wide: true},
	}}
	for _, row := range list {
		t.Rows = append(t.Rows, ui.Row{ID: "partner-" + strconv.FormatInt(row.ID, 10), Cells: []ui.Cell{
			{Text: row.Name, URL: v.Path(partnersPath+"/%d", row.ID)},
			{Status: string(row.state)},
			{Text: waitingCount(row.health.Waiting, row.health.More)},
			{At: row.since()},
			{Text: row.why()},
			{At: row.health.LastSuccessAt},
		}})
	}
	return t
}

// waitingCount formats the number of waiting events for a cell.
func waitingCount(n int64, more bool) string {
	if more {
		return ui.Count(n) + "+"
	}
	return ui.Count(n)
}

// withQuery returns the query with one parameter changed; "" removes it.
func withQuery(q url.Values, name, value string) string {
	changed := url.Values{}
	for n, values := range q {
		if n != name {
			changed[n] = values
		}
	}
	if value != "" {
		changed.Set(name, value)
	}
	if len(changed) == 0 {
		return ""
	}
	return "?" + changed.Encode()
}

// About returns the visit for a page about a partner that the portal has, too.
func (p *Partners) About(r *http.Request, visit area.Visit) (*area.PartnerVisit, error) {
	one, err := p.Partners.Get(r.Context(), area.ID(r, "partner"))
	if err != nil {
		return nil, area.Missing(err)
	}
	v := visit.(*Visit)
	of := aboutPartner(v, one)
	of.Tabs = func(path string) *ui.Tabs { return new(p.tabs(v, one, path)) }
	return of, nil
}

// aboutPartner returns the visit for a page about a partner that has no tabs.
func aboutPartner(v *Visit, one partner.Partner) *area.PartnerVisit {
	return &area.PartnerVisit{
		Visit: v, Partner: one, Base: v.Path("%s", ofPartner(partnerPath, one.ID)),
		API: fmt.Sprintf("/operator/v1/partners/%d", one.ID),
	}
}

// shared returns the pages that the portal has, too.
func (p *Partners) shared() *area.PartnerPages {
	return &area.PartnerPages{
		Side: p, Prefix: partnerPath, Rule: changes(account.Admin), Plans: "/plans",
		Partners: p.Partners, Profiles: p.Profiles, TestMail: p.TestMail,
		Statements: p.Statements, Exports: p.Exports,
	}
}

// one reads the partner of the path, with its profile.
func (p *Partners) one(r *http.Request) (partner.Partner, profile.Profile, error) {
	found, err := p.Partners.Get(r.Context(), area.ID(r, "partner"))
	if err != nil {
		return found, profile.Profile{}, area.Missing(err)
	}
	f, err := p.Profiles.Read(r.Context(), p.Profiles.DB, found.ID)
	return found, f, area.Missing(err)
}
