package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/webhook"
)

// partnerView is the page of a partner.
type partnerView struct {
	Partner  partner.Partner
	Profile  profile.Profile
	Tabs     ui.Tabs
	Badge    string
	Title    string // state of the endpoint
	Text     []string
	Since    time.Time // start of that state; zero if unknown
	Success  time.Time
	Probe    time.Time // of a parked endpoint
	Links    []ui.Item // other pages about the partner
	PauseURL string    // "" if the person may not
	Resume   string
	Enter    string
	Calls    []ui.Curl
}

// partnerTabs are the pages about one partner.
var partnerTabs = []area.Entry{
	{Label: "State", Path: partnerPath},
	{Label: "URLs", Path: urlsPath},
	{Label: "Earnings", Path: earningsPath},
	{Label: "Contacts", Path: contactsPath},
	{Label: "Settings", Path: partnerSettingsPath},
	{Label: "Product", Path: productPath},
	{Label: "Plans", Path: plansPath},
	{Label: "Ledger", Path: partnerLedgerPath},
	{Label: "Credentials", Path: secretsPath},
	{Label: "People", Path: partnerPeoplePath},
}

// tabs returns the tabs of a partner's pages that the person may see.
func (s *Shell) tabs(v *Visit, one partner.Partner, current string) ui.Tabs {
	t := ui.Tabs{Label: "Pages about " + one.Name}
	for _, tab := range partnerTabs {
		if s.area.Has(tab.Path, v) {
			t.Items = append(
				t.Items,
				ui.Tab{Label: tab.Label, URL: v.Path("%s", ofPartner(tab.Path, one.ID)), Current: tab.Path == current},
			)
		}
	}
	return t
}

// ofPartner fills a partner's id into a path of the table.
func ofPartner(path string, id int64) string {
	return strings.Replace(path, "{partner}", strconv.FormatInt(id, 10), 1)
}

// partner shows the state of a partner, updated live, and links to its other pages.
func (p *Partners) partner(r *http.Request, v *Visit) (area.Shown, error) {
	one, _, err := p.one(r)
	if err != nil {
		return area.Shown{}, err
	}
	return area.Shown{
		Versions: p.Live.partners, Topic: one.ID, Page: "partner",
		View: func(r *http.Request) (ui.View, string, error) {
			view, err := p.partnerView(r, v)
			return ui.View{Title: one.Name, Fragment: "partner-now", Data: view}, one.Name + ": " + view.Title, err
		},
	}, nil
}

// partnerView reads the state of a partner.
func (p *Partners) partnerView(r *http.Request, v *Visit) (partnerView, error) {
	one, f, err := p.one(r)
	if err != nil {
		return partnerView{}, err
	}
	e, err := p.Webhooks.EndpointHealth(r.Context(), one.ID)
	if err != nil {
		return partnerView{}, err
	}
	row := partnerRow{Partner: one, health: e, state: e.State(one, f)}
	view := partnerView{
		Partner: one, Profile: f, Tabs: p.tabs(v, one, partnerPath), Links: p.links(v, one),
		Badge: string(row.state), Since: row.since(), Success: e.LastSuccessAt,
		Calls: []ui.Curl{
			p.call("Read this partner by API", http.MethodGet, fmt.Sprintf("/operator/v1/partners/%d", one.ID)),
		},
	}
	view.Title, view.Text = row.words()
	if row.state == webhook.EndpointParked {
		view.Probe = e.ProbeAt
	}
	if v.May(account.Admin) {
		if one.Paused() {
			view.Resume = v.Path("%s", ofPartner(resumePath, one.ID))
		}
		view.PauseURL = v.Path("%s", ofPartner(pausePath, one.ID))
	}
	if v.May(account.Support) {
		view.Enter = v.Path("%s", ofPartner(supportPath, one.ID))
	}
	return view, nil
}

// words describes the state of the endpoint.
func (row partnerRow) words() (title string, text []string) {
	wait := area.Waiting(row.health.Waiting, row.health.More)
	switch row.state {
	case webhook.EndpointPaused:
		return "Paused", []string{
			"Reason: " + row.PauseReason,
			"Nothing is sold, redeemed or authorized, and nothing is sent. " + wait,
		}
	case webhook.EndpointNoURL:
		return "No webhook URL is set", []string{wait}
	case webhook.EndpointParked:
		return "Parked", []string{
			"Its server fails: " + row.health.LastError,
			"One event is sent now and then to see whether it is back; the first success opens it. " + wait,
		}
	case webhook.EndpointFailing:
		return "Failing", []string{"Its server fails: " + row.health.LastError, wait}
	case webhook.EndpointHealthy:
	}
	if row.health.LastSuccessAt.IsZero() {
		return "Ready, and nothing was sent yet", []string{wait}
	}
	return "Healthy", []string{wait}
}

// links returns links to the console's other pages about a partner.
func (p *Partners) links(v *Visit, one partner.Partner) []ui.Item {
	var list []ui.Item
	for _, to := range []area.Entry{
		{Label: "Licenses", Path: licensesPath},
		{Label: "Deliveries", Path: deliveriesPath},
		{Label: "Audit", Path: auditPath},
	} {
		if p.area.Has(to.Path, v) {
			list = append(list, ui.Item{Label: to.Label, URL: v.Path("%s?partner=%d", to.Path, one.ID)})
		}
	}
	return list
}
