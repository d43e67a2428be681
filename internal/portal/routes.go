package portal

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Kinds of rows.
const (
	Page   = area.Page
	Act    = area.Act
	Stream = area.Stream
)

// Needs is the access that a row of the table needs.
type Needs struct {
	Least   partner.Role // of a member
	Private bool         // secrets and the team: support gets 404
	Acts    bool         // changes or sends something, or asks for that: for support after a second step
	Partner bool         // changes the partner itself: admins only, as in the operator API
}

// asSupport returns the least role of the operator in a support visit.
func (n Needs) asSupport() partner.Role {
	if n.Partner {
		return partner.Admin
	}
	return n.Least
}

// Route is one row of the table. Its access is a Needs.
type Route = area.Route

// needs returns the access of a row. Rows above viewer change something; rows for admins of the
// team change the partner.
func needs(kind area.Kind, least partner.Role) Needs {
	return Needs{Least: least, Acts: kind == Act || least != partner.Viewer, Partner: least == partner.Admin}
}

// changes returns the rule of shared pages: viewers look, and the role changes something.
func changes(least partner.Role) area.Rule {
	return func(kind area.Kind, changes bool) any {
		if !changes {
			return needs(kind, partner.Viewer)
		}
		return needs(kind, least)
	}
}

// row returns a row of the table.
func row(kind area.Kind, path string, least partner.Role, serve Serve) Route {
	return Route{
		Kind: kind, Path: path, Needs: needs(kind, least),
		Serve: func(w http.ResponseWriter, r *http.Request, v area.Visit) error {
			return serve(w, r, v.(*Visit))
		},
	}
}

// of makes a function of the portal one of its area.
func of[T any](read func(r *http.Request, v *Visit) (T, error)) func(*http.Request, area.Visit) (T, error) {
	return func(r *http.Request, v area.Visit) (T, error) { return read(r, v.(*Visit)) }
}

// lives returns the rows of a page that is updated live.
func lives(path string, find func(r *http.Request, v *Visit) (area.Shown, error)) []Route {
	return area.Lives(path, changes(partner.Viewer), of(find))
}

// act returns the rows of an act with a page that asks.
func act(path string, least partner.Role, read func(r *http.Request, v *Visit) (area.Action, error)) []Route {
	return area.Actions(path, changes(least), of(read))
}

// private marks rows about secrets or the team.
func private(rows ...Route) []Route {
	for i := range rows {
		n := rows[i].Needs.(Needs)
		n.Private = true
		rows[i].Needs = n
	}
	return rows
}

// ofPartner returns the rule for acts that change the partner itself.
func ofPartner(rule area.Rule) area.Rule {
	return func(kind area.Kind, changes bool) any {
		n := rule(kind, changes).(Needs)
		n.Partner = true
		return n
	}
}

// Serve handles a request of a person with access. A returned error is shown as an error page. The
// person may only use visit.Partner: look up every id of the path, query or form together with
// visit.Partner.ID.
type Serve = func(w http.ResponseWriter, r *http.Request, visit *Visit) error

// Table returns every route of a partner's portal.
func (h *Handler) Table() []Route {
	pages := h.partnerPages(partner.Admin)
	return slices.Concat(
		h.integrationTable(),
		private(h.secretTable()...),
		private(pages.SingleKey()...),
		h.exportPages().Routes(changes(partner.Viewer)),
		pages.Contacts(),
		pages.Earnings(),
		pages.Product(),
		act(productPlanPath, partner.Admin, h.planTexts),
		private(h.teamTable()...),
		private(h.payoutDetailsTable()...),
		pages.Settings(),
	)
}

// integrationTable returns the rows of the integration and its activity.
func (h *Handler) integrationTable() []Route {
	return slices.Concat(
		[]Route{
			row(Page, "", partner.Viewer, h.start),
			row(Page, licensesPath, partner.Viewer, h.licenses),
			row(Page, redeliverPath, partner.Viewer, h.redelivery),
			row(Act, redeliverPath, partner.Developer, h.begin),
			row(Page, auditPath, partner.Viewer, h.history),
			row(Page, requestsPath, partner.Viewer, h.requests),
			row(Page, refundRequestsPath, partner.Viewer, h.refundRequests),
			row(Act, tryPath, partner.Developer, h.try),
			row(Page, simulatorPath, partner.Viewer, h.simulator),
			row(Act, runsPath, partner.Developer, h.startRun),
			row(Page, eventsPath, partner.Viewer, h.events),
			row(Page, verifyPath, partner.Viewer, h.verify),
			row(Act, verifyPath, partner.Viewer, h.findSignature),
		},
		h.urlPages().Routes(),
		lives(overviewPath, h.overview),
		lives(licensePath, h.license),
		h.deliveryPages().Routes(),
		h.redeliveries().Routes(),
		lives(runsPath+"/{run}", h.run),
		h.eventTable(event.Purchase),
		h.eventTable(event.Activate),
		h.eventTable(event.Deactivate),
	)
}

// eventTable returns the rows of a kind of event.
func (h *Handler) eventTable(k event.Kind) []Route {
	at := eventsPath + "/" + k.String()
	return []Route{
		row(Page, at, partner.Viewer, h.eventKind(k)),
		row(Act, at+"/test", partner.Developer, h.sendEvent(k)),
	}
}

// secretTable returns the rows of the partner's secrets.
func (h *Handler) secretTable() []Route {
	return slices.Concat([]Route{
		row(Page, credentialsPath, partner.Viewer, h.credentials),
		row(Act, keysPath, partner.Developer, h.addKey),
		row(Act, renewPath, partner.Developer, h.renew),
	}, h.partnerPages(partner.Developer).Credentials("revoke"))
}

// teamTable returns the rows of the partner's team.
func (h *Handler) teamTable() []Route {
	return slices.Concat(
		(&area.TeamPages{Side: h, Rule: changes(partner.Admin)}).Routes(),
		act(teamPath+"/invitations/{invitation}/withdraw", partner.Admin, h.withdraw),
		act(teamPath+"/members/{member}/role", partner.Admin, h.changeRole),
		act(teamPath+"/members/{member}/remove", partner.Admin, h.removeMember),
		act(teamPath+"/leave", partner.Viewer, h.leave),
	)
}

// navigation lists the pages of the portal, in order.
var navigation = []area.Entry{
	{Label: "Set-up", Path: setupPath},
	{Label: "Overview", Path: "/overview"},
	{Label: "Licenses", Path: "/licenses"},
	{Label: "Refund requests", Path: refundRequestsPath},
	{Label: "Earnings", Path: area.EarningsPath},
	{Label: "Deliveries", Path: "/deliveries"},
	{Label: "Recover", Path: "/recover"},
	{Label: "Requests", Path: "/requests"},
	{Label: "Exports", Path: exportsPath},
	{Label: "Simulator", Path: simulatorPath},
	{Label: "Events", Path: eventsPath},
	{Label: "Verify", Path: verifyPath},
	{Label: "Credentials", Path: "/credentials"},
	{Label: "Product", Path: productPath},
	{Label: "Payout details", Path: payoutDetailsPath},
	{Label: "Contacts", Path: "/contacts"},
	{Label: "Team", Path: "/team"},
	{Label: "Settings", Path: "/settings"},
	{Label: "Audit", Path: "/audit"},
}

// Prefix is the path of a partner's portal.
const Prefix = "/portal/{partner}"

// Routes returns the routes for the mux: those of the table and the chooser.
func (h *Handler) Routes() []wire.Route {
	routes := []wire.Route{h.Site.Route(http.MethodGet, "/portal", visitor.SignedIn, h.choose)}
	routes = append(routes, h.invitations().Routes()...)
	h.area = &area.Area{
		Name: "portal", Prefix: Prefix, Now: h.Now, Site: h.Site, Streams: h.Streams, Rights: h.Live.rights,
		Table: h.Table(), Navigation: navigation,
		Title: func(v area.Visit) string { return v.(*Visit).Partner.Name }, Enter: h.visit, Before: h.onlyLooks,
		Banner: func(v area.Visit) *ui.Banner { return v.(*Visit).banner() },
	}
	return append(routes, h.area.Routes()...)
}

// visit reads the visitor's access to the partner of the path. An unknown partner, a foreign one
// and an insufficient role get the same answer, so that it reveals nothing.
func (h *Handler) visit(ctx context.Context, r *http.Request, c area.Admitted) (area.Visit, error) {
	id, err := strconv.ParseInt(r.PathValue("partner"), 10, 64)
	if err != nil {
		return nil, NotFound()
	}
	visit := &Visit{Admitted: c}
	if c.User.Operator() {
		if found, err := h.asSupport(ctx, visit, id); found || err != nil {
			return visit, err
		}
	}
	access, err := h.Partners.Access(ctx, id, c.User.ID)
	switch {
	case fault.Is(err, partner.CodeUnknownPartner):
		return nil, NotFound()
	case err != nil:
		return nil, err
	case !access.Role.Covers(c.Needs.(Needs).Least):
		return nil, NotFound()
	}
	visit.Partner = access.Partner
	visit.Role = access.Role
	visit.Serves = true
	return visit, nil
}

// NotFound is the error for everything that does not exist for this person: unknown ids, ids of
// other partners, and pages that need another role.
func NotFound() error { return area.NotFound() }
