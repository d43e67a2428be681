package portal

import (
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// Visit is a request by a person who acts for a partner.
type Visit struct {
	area.Visit[Needs]
	Partner partner.Partner        // what they act for: a parameter of every query
	Role    partner.Role           // as it was stored when the request came
	Support *partner.SupportAccess // the visit as support; nil: they are a member
}

// Actor returns the person as the audit names them: as a member of the partner, or as
// its support.
func (v *Visit) Actor() audit.Actor {
	by := v.Visitor.Actor()
	by.ActingFor = v.Partner.ID
	if v.Support != nil {
		by.SupportVisit = v.Support.Visit.ID
	}
	return by
}

// Path returns the address of a page of the partner: a path of the table, and values
// for its verbs, as for fmt.Sprintf.
func (v *Visit) Path(path string, values ...any) string {
	return "/portal/" + strconv.FormatInt(v.Partner.ID, 10) + fmt.Sprintf(path, values...)
}

// Covers reports whether the person may do what needs the role least; pages ask it
// before they show a form.
func (v *Visit) Covers(least partner.Role) bool { return v.Role.Covers(least) }

// May reports whether the person may request a row that needs that.
func (v *Visit) May(needs Needs) bool {
	if v.Support != nil {
		return !needs.Private && v.Role.Covers(needs.asSupport())
	}
	return v.Role.Covers(needs.Least)
}

// render shows a page of the portal, with the navigation. A visit as support is marked.
func (h *Handler) render(w http.ResponseWriter, r *http.Request, v *Visit, name string, view ui.View) error {
	return h.area.Render(w, r, v, name, view)
}

// call is the call of the partner API that does what a page shows or does, for the
// part "curl".
func (h *Handler) call(what, method, path string, query ...ui.Param) ui.Curl {
	return ui.Curl{What: what, Method: method, URL: h.Site.Pages.PublicURL + path, Query: query}
}

// has reports whether the portal has a page that the person may see.
func (h *Handler) has(path string, v *Visit) bool { return h.area.Has(path, v) }

// start leads to the first page of the navigation.
func (h *Handler) start(w http.ResponseWriter, r *http.Request, v *Visit) error {
	ui.SeeOther(w, r, h.area.Items(r, v)[0].URL)
	return nil
}
