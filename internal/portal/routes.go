package portal

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Kind is what a row of the table serves.
type Kind string

// The kinds of rows.
const (
	Page   Kind = "page"   // answers GET with a page, a fragment or a download
	Act    Kind = "act"    // answers POST: it changes or sends something
	Stream Kind = "stream" // answers GET with server-sent events
)

// Route is one row of the table.
type Route struct {
	Kind  Kind
	Path  string       // below /portal/{partner}, such as /deliveries/{delivery}
	Role  partner.Role // the least role that may request it
	Serve Serve
}

// Serve answers a request of a person who may make it. An error that it returns is
// shown as an error page. Only visit.Partner is theirs: every id of the path, the query
// or the form is looked up together with visit.Partner.ID.
type Serve func(w http.ResponseWriter, r *http.Request, visit *Visit) error

// Table returns every route of a partner's portal.
func (h *Handler) Table() []Route { return slices.Concat(h.integrationTable(), h.partnerTable()) }

// integrationTable has the pages about the integration and what it does.
func (h *Handler) integrationTable() []Route {
	return []Route{
		{Page, "", partner.Viewer, h.start},
		{Page, setupPath, partner.Viewer, h.shows(h.setup)},
		{Stream, setupPath + "/live", partner.Viewer, h.tells(h.setup)},
		{Act, setupPath + "/redirect-url", partner.Developer, h.saveURL(profile.Redirect)},
		{Act, setupPath + "/webhook-url", partner.Developer, h.saveURL(profile.Webhook)},

		{Page, licensesPath, partner.Viewer, h.licenses},
		{Page, licensePath, partner.Viewer, h.shows(h.license)},
		{Stream, licensePath + "/live", partner.Viewer, h.tells(h.license)},
		{Page, deliveriesPath, partner.Viewer, h.deliveries},
		{Stream, livePath, partner.Viewer, h.deliveriesLive},
		{Page, deliveryPath, partner.Viewer, h.shows(h.delivery)},
		{Stream, deliveryPath + "/live", partner.Viewer, h.tells(h.delivery)},
		{Page, attemptPath, partner.Viewer, h.shows(h.delivery)},
		{Stream, attemptPath + "/live", partner.Viewer, h.tells(h.delivery)},
		{Page, sendPath, partner.Developer, h.askSend},
		{Act, sendPath, partner.Developer, h.send},
		{Page, recoverPath, partner.Viewer, h.recovery},
		{Act, recoverPath, partner.Developer, h.begin},
		{Page, jobPath, partner.Viewer, h.shows(h.job)},
		{Stream, jobPath + "/live", partner.Viewer, h.tells(h.job)},
		{Act, jobPath + "/pause", partner.Developer, h.pauseJob},
		{Act, jobPath + "/resume", partner.Developer, h.resumeJob},
		{Page, jobPath + "/cancel", partner.Developer, h.askCancelJob},
		{Act, jobPath + "/cancel", partner.Developer, h.cancelJob},

		{Page, auditPath, partner.Viewer, h.history},
		{Page, requestsPath, partner.Viewer, h.requests},
		{Page, overviewPath, partner.Viewer, h.shows(h.overview)},
		{Stream, overviewPath + "/live", partner.Viewer, h.tells(h.overview)},
		{Act, tryPath, partner.Developer, h.try},

		{Page, simulatorPath, partner.Viewer, h.simulator},
		{Act, runsPath, partner.Developer, h.startRun},
		{Page, runsPath + "/{run}", partner.Viewer, h.run},
		{Page, eventsPath, partner.Viewer, h.events},
		{Page, eventsPath + "/purchase", partner.Viewer, h.eventKind(event.Purchase)},
		{Act, eventsPath + "/purchase/test", partner.Developer, h.sendEvent(event.Purchase)},
		{Page, eventsPath + "/activate", partner.Viewer, h.eventKind(event.Activate)},
		{Act, eventsPath + "/activate/test", partner.Developer, h.sendEvent(event.Activate)},
		{Page, eventsPath + "/deactivate", partner.Viewer, h.eventKind(event.Deactivate)},
		{Act, eventsPath + "/deactivate/test", partner.Developer, h.sendEvent(event.Deactivate)},
		{Page, verifyPath, partner.Viewer, h.verify},
		{Act, verifyPath, partner.Viewer, h.findSignature},
	}
}

// partnerTable has the pages about the partner itself: its secrets, people and settings.
func (h *Handler) partnerTable() []Route {
	return []Route{
		{Page, credentialsPath, partner.Viewer, h.credentials},
		{Act, keysPath, partner.Developer, h.addKey},
		{Act, renewPath, partner.Developer, h.renew},
		{Page, credentialsPath + "/{credential}/rotate", partner.Developer, h.askRotate},
		{Act, credentialsPath + "/{credential}/rotate", partner.Developer, h.rotate},
		{Page, credentialsPath + "/{credential}/revoke", partner.Developer, h.askRevoke},
		{Act, credentialsPath + "/{credential}/revoke", partner.Developer, h.revoke},

		{Page, contactsPath, partner.Viewer, h.contacts},
		{Act, contactsPath, partner.Admin, h.addContact},
		{Page, contactsPath + "/{contact}/test", partner.Admin, h.askTestMail},
		{Act, contactsPath + "/{contact}/test", partner.Admin, h.sendTestMail},
		{Page, contactsPath + "/{contact}/remove", partner.Admin, h.askRemoveContact},
		{Act, contactsPath + "/{contact}/remove", partner.Admin, h.removeContact},

		{Page, teamPath, partner.Viewer, h.team},
		{Act, teamPath + "/invite", partner.Admin, h.invite},
		{Page, teamPath + "/invitations/{invitation}/withdraw", partner.Admin, h.askWithdraw},
		{Act, teamPath + "/invitations/{invitation}/withdraw", partner.Admin, h.withdraw},
		{Page, teamPath + "/members/{member}/role", partner.Admin, h.askRole},
		{Act, teamPath + "/members/{member}/role", partner.Admin, h.changeRole},
		{Page, teamPath + "/members/{member}/remove", partner.Admin, h.askRemoveMember},
		{Act, teamPath + "/members/{member}/remove", partner.Admin, h.removeMember},
		{Page, teamPath + "/leave", partner.Viewer, h.askLeave},
		{Act, teamPath + "/leave", partner.Viewer, h.leave},

		{Page, settingsPath, partner.Viewer, h.settings},
		{Act, settingsPath, partner.Admin, h.changeSetting},
		{Page, singleKeyPath, partner.Admin, h.askSingleKey},
		{Act, singleKeyPath, partner.Admin, h.changeSingleKey},
	}
}

// navigation lists the pages that the portal leads to, in this order. An entry is shown
// if the table has its page and the person's role may see it.
var navigation = []struct{ label, path string }{
	{"Set-up", setupPath},
	{"Overview", "/overview"},
	{"Licenses", "/licenses"},
	{"Deliveries", "/deliveries"},
	{"Recover", "/recover"},
	{"Requests", "/requests"},
	{"Simulator", simulatorPath},
	{"Events", eventsPath},
	{"Verify", verifyPath},
	{"Credentials", "/credentials"},
	{"Contacts", "/contacts"},
	{"Team", "/team"},
	{"Settings", "/settings"},
	{"Audit", "/audit"},
}

// Prefix is where the portal of a partner is.
const Prefix = "/portal/{partner}"

// Routes returns the routes for the mux: those of the table and the chooser.
func (h *Handler) Routes() []wire.Route {
	routes := []wire.Route{h.Site.Route(http.MethodGet, "/portal", visitor.SignedIn, h.choose)}
	routes = append(routes,
		h.Site.Route(http.MethodGet, partner.InvitationPath, visitor.Anyone, h.invitation),
		h.Site.Route(http.MethodPost, partner.InvitationPath, visitor.SignedIn, h.accept))
	for _, rt := range h.Table() {
		serve := func(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
			visit, err := h.visit(r.Context(), r, v, rt.Role)
			if err != nil {
				return err
			}
			return rt.Serve(w, r, visit)
		}
		switch rt.Kind {
		case Act:
			routes = append(routes, h.Site.Route(http.MethodPost, Prefix+rt.Path, visitor.SignedIn, serve))
		case Stream:
			routes = append(routes, h.Site.StreamRoute(Prefix+rt.Path, h.mayFollow(rt.Role), serve))
		case Page:
			routes = append(routes, h.Site.Route(http.MethodGet, Prefix+rt.Path, visitor.SignedIn, serve))
		}
	}
	return routes
}

// mayFollow is the access to streams that need the role least. It answers everybody
// else as somebody who is not signed in, so that their pages give up.
func (h *Handler) mayFollow(least partner.Role) visitor.Access {
	return func(r *http.Request, v *visitor.Visitor) error {
		err := visitor.SignedIn(r, v)
		if err == nil {
			_, err = h.visit(r.Context(), r, v, least)
		}
		if fault.Is(err, wire.CodeNotFound) {
			return visitor.ErrSignIn
		}
		return err
	}
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
	return &Visit{Visitor: v, Partner: access.Partner, Role: access.Role, least: least}, nil
}

// NotFound is the error of everything that does not exist for the person who requests
// it: ids that nobody has, ids of other partners, and pages that need another role.
// There is one text for all of them, so that the answer tells nothing.
func NotFound() error {
	return fault.New(fault.Missing, wire.CodeNotFound,
		"There is no page at this address, or your role does not include it. Check the address, or ask an admin of your team for access.")
}
