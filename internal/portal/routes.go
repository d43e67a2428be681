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

// Route is one row of the table. It needs the least role that may request it.
type Route = area.Route[partner.Role, *Visit]

// row makes a row of the table.
func row(kind area.Kind, path string, least partner.Role, serve Serve) Route {
	return Route{Kind: kind, Path: path, Needs: least, Serve: serve}
}

// Serve answers a request of a person who may make it. An error that it returns is
// shown as an error page. Only visit.Partner is theirs: every id of the path, the query
// or the form is looked up together with visit.Partner.ID.
type Serve = func(w http.ResponseWriter, r *http.Request, visit *Visit) error

// Table returns every route of a partner's portal.
func (h *Handler) Table() []Route { return slices.Concat(h.integrationTable(), h.partnerTable()) }

// integrationTable has the pages about the integration and what it does.
func (h *Handler) integrationTable() []Route {
	return []Route{
		row(Page, "", partner.Viewer, h.start),
		row(Page, setupPath, partner.Viewer, h.shows(h.setup)),
		row(Stream, setupPath+"/live", partner.Viewer, h.tells(h.setup)),
		row(Act, setupPath+"/redirect-url", partner.Developer, h.saveURL(profile.Redirect)),
		row(Act, setupPath+"/webhook-url", partner.Developer, h.saveURL(profile.Webhook)),

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
		row(Page, runsPath+"/{run}", partner.Viewer, h.run),
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

// partnerTable has the pages about the partner itself: its secrets, people and settings.
func (h *Handler) partnerTable() []Route {
	return []Route{
		row(Page, credentialsPath, partner.Viewer, h.credentials),
		row(Act, keysPath, partner.Developer, h.addKey),
		row(Act, renewPath, partner.Developer, h.renew),
		row(Page, credentialsPath+"/{credential}/rotate", partner.Developer, h.askRotate),
		row(Act, credentialsPath+"/{credential}/rotate", partner.Developer, h.rotate),
		row(Page, credentialsPath+"/{credential}/revoke", partner.Developer, h.askRevoke),
		row(Act, credentialsPath+"/{credential}/revoke", partner.Developer, h.revoke),

		row(Page, contactsPath, partner.Viewer, h.contacts),
		row(Act, contactsPath, partner.Admin, h.addContact),
		row(Page, contactsPath+"/{contact}/test", partner.Admin, h.askTestMail),
		row(Act, contactsPath+"/{contact}/test", partner.Admin, h.sendTestMail),
		row(Page, contactsPath+"/{contact}/remove", partner.Admin, h.askRemoveContact),
		row(Act, contactsPath+"/{contact}/remove", partner.Admin, h.removeContact),

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

		row(Page, settingsPath, partner.Viewer, h.settings),
		row(Act, settingsPath, partner.Admin, h.changeSetting),
		row(Page, singleKeyPath, partner.Admin, h.askSingleKey),
		row(Act, singleKeyPath, partner.Admin, h.changeSingleKey),
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
	{Label: "Simulator", Path: simulatorPath},
	{Label: "Events", Path: eventsPath},
	{Label: "Verify", Path: verifyPath},
	{Label: "Credentials", Path: "/credentials"},
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
	h.area = &area.Area[partner.Role, *Visit]{
		Name: "portal", Prefix: Prefix, Site: h.Site, Streams: h.Streams, Table: h.Table(), Navigation: navigation,
		Title: func(v *Visit) string { return v.Partner.Name }, Enter: h.visit,
	}
	return append(routes, h.area.Routes()...)
}

// visit finds out what the visitor may do for the partner of the path. Who may not see
// the page learns nothing: an unknown partner, a partner of other people and a role
// that does not suffice are answered alike.
func (h *Handler) visit(ctx context.Context, r *http.Request, v *visitor.Visitor, least partner.Role) (*Visit, error) {
	id, err := strconv.ParseInt(r.PathValue("partner"), 10, 64)
	if err != nil {
		return nil, NotFound()
	}
	access, err := h.Partners.Access(ctx, id, v.User.ID)
	switch {
	case fault.Is(err, partner.CodeUnknownPartner):
		return nil, NotFound()
	case err != nil:
		return nil, err
	case !access.Role.Covers(least):
		return nil, NotFound()
	}
	return &Visit{Visit: area.Visit[partner.Role]{Visitor: v, Needs: least}, Partner: access.Partner, Role: access.Role}, nil
}

// NotFound is the error of everything that does not exist for the person who requests
// it: ids that nobody has, ids of other partners, and pages that need another role.
func NotFound() error { return area.NotFound() }
