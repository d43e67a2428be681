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
	"claviger/internal/profile"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// The kinds of rows.
const (
	Page   = area.Page
	Act    = area.Act
	Stream = area.Stream
)

// Needs is what a row of the table needs.
type Needs struct {
	Least   partner.Role // of a member
	Private bool         // secrets and the team: they do not exist for support
	Acts    bool         // it changes or sends something, or asks for that: for support after a second step
	Partner bool         // it changes the partner itself: by the operator API, too, only an admin may
}

// asSupport is the least role that support must have.
func (n Needs) asSupport() partner.Role {
	if n.Partner {
		return partner.Admin
	}
	return n.Least
}

// Route is one row of the table.
type Route = area.Route[Needs, *Visit]

// row makes a row of the table. What needs more than to see changes something; what
// needs an admin of the team changes the partner.
func row(kind area.Kind, path string, least partner.Role, serve Serve) Route {
	return Route{Kind: kind, Path: path, Serve: serve, Needs: Needs{
		Least: least, Acts: kind == Act || least != partner.Viewer, Partner: least == partner.Admin,
	}}
}

// private marks rows about secrets or the team.
func private(rows ...Route) []Route {
	for i := range rows {
		rows[i].Needs.Private = true
	}
	return rows
}

// ofPartner marks a row that changes the partner itself.
func ofPartner(rt Route) Route {
	rt.Needs.Partner = true
	return rt
}

// Serve answers a request of a person who may make it. An error that it returns is
// shown as an error page. Only visit.Partner is theirs: every id of the path, the query
// or the form is looked up together with visit.Partner.ID.
type Serve = func(w http.ResponseWriter, r *http.Request, visit *Visit) error

// Table returns every route of a partner's portal.
func (h *Handler) Table() []Route {
	return slices.Concat(h.integrationTable(), private(h.secretTable()...), h.exportTable(), h.contactTable(), h.productTable(), private(h.teamTable()...), h.settingTable())
}

// integrationTable has the pages about the integration and what it does.
func (h *Handler) integrationTable() []Route {
	return []Route{
		row(Page, "", partner.Viewer, h.start),
		row(Page, setupPath, partner.Viewer, h.shows(h.setup)),
		row(Stream, setupPath+"/live", partner.Viewer, h.tells(h.setup)),
		ofPartner(row(Act, setupPath+"/redirect-url", partner.Developer, h.saveURL(profile.Redirect))),
		ofPartner(row(Act, setupPath+"/webhook-url", partner.Developer, h.saveURL(profile.Webhook))),

		row(Page, licensesPath, partner.Viewer, h.licenses),
		row(Page, licensePath, partner.Viewer, h.shows(h.license)),
		row(Stream, licensePath+"/live", partner.Viewer, h.tells(h.license)),
		row(Page, deliveriesPath, partner.Viewer, h.deliveries),
		row(Stream, livePath, partner.Viewer, h.deliveriesLive),
		row(Page, deliveryPath, partner.Viewer, h.shows(h.delivery)),
		row(Stream, deliveryPath+"/live", partner.Viewer, h.tells(h.delivery)),
		row(Page, attemptPath, partner.Viewer, h.shows(h.delivery)),
		row(Stream, attemptPath+"/live", partner.Viewer, h.tells(h.delivery)),
		row(Page, sendPath, partner.Developer, h.askSend),
		row(Act, sendPath, partner.Developer, h.send),
		row(Page, recoverPath, partner.Viewer, h.recovery),
		row(Act, recoverPath, partner.Developer, h.begin),
		row(Page, jobPath, partner.Viewer, h.shows(h.job)),
		row(Stream, jobPath+"/live", partner.Viewer, h.tells(h.job)),
		row(Act, jobPath+"/pause", partner.Developer, h.pauseJob),
		row(Act, jobPath+"/resume", partner.Developer, h.resumeJob),
		row(Page, jobPath+"/cancel", partner.Developer, h.askCancelJob),
		row(Act, jobPath+"/cancel", partner.Developer, h.cancelJob),

		row(Page, auditPath, partner.Viewer, h.history),
		row(Page, requestsPath, partner.Viewer, h.requests),
		row(Page, overviewPath, partner.Viewer, h.shows(h.overview)),
		row(Stream, overviewPath+"/live", partner.Viewer, h.tells(h.overview)),
		row(Act, tryPath, partner.Developer, h.try),

		row(Page, simulatorPath, partner.Viewer, h.simulator),
		row(Act, runsPath, partner.Developer, h.startRun),
		row(Page, runsPath+"/{run}", partner.Viewer, h.shows(h.run)),
		row(Stream, runsPath+"/{run}/live", partner.Viewer, h.tells(h.run)),
		row(Page, eventsPath, partner.Viewer, h.events),
		row(Page, eventsPath+"/purchase", partner.Viewer, h.eventKind(event.Purchase)),
		row(Act, eventsPath+"/purchase/test", partner.Developer, h.sendEvent(event.Purchase)),
		row(Page, eventsPath+"/activate", partner.Viewer, h.eventKind(event.Activate)),
		row(Act, eventsPath+"/activate/test", partner.Developer, h.sendEvent(event.Activate)),
		row(Page, eventsPath+"/deactivate", partner.Viewer, h.eventKind(event.Deactivate)),
		row(Act, eventsPath+"/deactivate/test", partner.Developer, h.sendEvent(event.Deactivate)),
		row(Page, verifyPath, partner.Viewer, h.verify),
		row(Act, verifyPath, partner.Viewer, h.findSignature),
	}
}

// secretTable has the pages about the partner's secrets.
func (h *Handler) secretTable() []Route {
	return []Route{
		row(Page, credentialsPath, partner.Viewer, h.credentials),
		row(Act, keysPath, partner.Developer, h.addKey),
		row(Act, renewPath, partner.Developer, h.renew),
		row(Page, credentialsPath+"/{credential}/rotate", partner.Developer, h.askRotate),
		row(Act, credentialsPath+"/{credential}/rotate", partner.Developer, h.rotate),
		row(Page, credentialsPath+"/{credential}/revoke", partner.Developer, h.askRevoke),
		row(Act, credentialsPath+"/{credential}/revoke", partner.Developer, h.revoke),
		row(Page, singleKeyPath, partner.Admin, h.askSingleKey),
		row(Act, singleKeyPath, partner.Admin, h.changeSingleKey),
	}
}

// contactTable has the pages about the people whom we write to.
func (h *Handler) contactTable() []Route {
	return []Route{
		row(Page, contactsPath, partner.Viewer, h.contacts),
		row(Act, contactsPath, partner.Admin, h.addContact),
		row(Page, contactsPath+"/{contact}/test", partner.Admin, h.askTestMail),
		row(Act, contactsPath+"/{contact}/test", partner.Admin, h.sendTestMail),
		row(Page, contactsPath+"/{contact}/remove", partner.Admin, h.askRemoveContact),
		row(Act, contactsPath+"/{contact}/remove", partner.Admin, h.removeContact),
	}
}

// teamTable has the pages about the people who act for the partner.
func (h *Handler) teamTable() []Route {
	return []Route{
		row(Page, teamPath, partner.Viewer, h.team),
		row(Act, teamPath+"/invite", partner.Admin, h.invite),
		row(Page, teamPath+"/invitations/{invitation}/withdraw", partner.Admin, h.askWithdraw),
		row(Act, teamPath+"/invitations/{invitation}/withdraw", partner.Admin, h.withdraw),
		row(Page, teamPath+"/members/{member}/role", partner.Admin, h.askRole),
		row(Act, teamPath+"/members/{member}/role", partner.Admin, h.changeRole),
		row(Page, teamPath+"/members/{member}/remove", partner.Admin, h.askRemoveMember),
		row(Act, teamPath+"/members/{member}/remove", partner.Admin, h.removeMember),
		row(Page, teamPath+"/leave", partner.Viewer, h.askLeave),
		row(Act, teamPath+"/leave", partner.Viewer, h.leave),
	}
}

// settingTable has the settings.
func (h *Handler) settingTable() []Route {
	return []Route{
		row(Page, settingsPath, partner.Viewer, h.settings),
		row(Act, settingsPath, partner.Admin, h.changeSetting),
	}
}

// navigation lists the pages that the portal leads to, in this order.
var navigation = []area.Entry{
	{Label: "Set-up", Path: setupPath},
	{Label: "Overview", Path: "/overview"},
	{Label: "Licenses", Path: "/licenses"},
	{Label: "Deliveries", Path: "/deliveries"},
	{Label: "Recover", Path: "/recover"},
	{Label: "Requests", Path: "/requests"},
	{Label: "Exports", Path: exportsPath},
	{Label: "Simulator", Path: simulatorPath},
	{Label: "Events", Path: eventsPath},
	{Label: "Verify", Path: verifyPath},
	{Label: "Credentials", Path: "/credentials"},
	{Label: "Product", Path: productPath},
	{Label: "Contacts", Path: "/contacts"},
	{Label: "Team", Path: "/team"},
	{Label: "Settings", Path: "/settings"},
	{Label: "Audit", Path: "/audit"},
}

// Prefix is where the portal of a partner is.
const Prefix = "/portal/{partner}"

// Routes returns the routes for the mux: those of the table and the chooser.
func (h *Handler) Routes() []wire.Route {
	routes := []wire.Route{h.Site.Route(http.MethodGet, "/portal", visitor.SignedIn, h.choose)}
	routes = append(routes, h.invitations().Routes()...)
	table := h.Table()
	for i, rt := range table {
		table[i].Serve = h.acts(rt)
	}
	h.area = &area.Area[Needs, *Visit]{
		Name: "portal", Prefix: Prefix, Now: h.Now, Site: h.Site, Streams: h.Streams, Rights: h.Live.rights, Table: table, Navigation: navigation,
		Title: func(v *Visit) string { return v.Partner.Name }, Enter: h.visit, Banner: supportBanner,
	}
	return append(routes, h.area.Routes()...)
}

// visit finds out what the visitor may do for the partner of the path. Who may not see
// the page learns nothing: an unknown partner, a partner of other people and a role
// that does not suffice are answered alike.
func (h *Handler) visit(ctx context.Context, r *http.Request, v *visitor.Visitor, needs Needs) (*Visit, error) {
	id, err := strconv.ParseInt(r.PathValue("partner"), 10, 64)
	if err != nil {
		return nil, NotFound()
	}
	visit := &Visit{Visit: area.Visit[Needs]{Visitor: v, Needs: needs}}
	if v.User.Operator() {
		if found, err := h.asSupport(ctx, visit, id); found || err != nil {
			return visit, err
		}
	}
	access, err := h.Partners.Access(ctx, id, v.User.ID)
	switch {
	case fault.Is(err, partner.CodeUnknownPartner):
		return nil, NotFound()
	case err != nil:
		return nil, err
	case !access.Role.Covers(needs.Least):
		return nil, NotFound()
	}
	visit.Partner, visit.Role, visit.Serves = access.Partner, access.Role, true
	return visit, nil
}

// NotFound is the error of everything that does not exist for the person who requests
// it: ids that nobody has, ids of other partners, and pages that need another role.
func NotFound() error { return area.NotFound() }
