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

// Visit is a request by a person on behalf of a partner.
type Visit struct {
	area.Admitted
	Partner partner.Partner        // a parameter of every query
	Role    partner.Role           // as stored when the request came
	Support *partner.SupportAccess // the support visit; nil for a member
}

// Actor returns the person as the audit names them: a member of the partner, or its support.
func (v *Visit) Actor() audit.Actor {
	by := v.Visitor.Actor()
	by.ActingFor = v.Partner.ID
	if v.Support != nil {
		by.SupportVisit = v.Support.Visit.ID
	}
	return by
}

// Path returns the URL of a page of the partner: a path of the table, and values for its verbs, as
// for fmt.Sprintf.
func (v *Visit) Path(path string, values ...any) string {
	return "/portal/" + strconv.FormatInt(v.Partner.ID, 10) + fmt.Sprintf(path, values...)
}

// Covers reports whether the person has at least this role. Pages ask before they show a form.
func (v *Visit) Covers(least partner.Role) bool { return v.Role.Covers(least) }

// Meets reports whether the person may request a row with these Needs.
func (v *Visit) Meets(needs any) bool { return v.May(needs.(Needs)) }

// May reports whether the person may request a row with these needs.
func (v *Visit) May(needs Needs) bool {
	if v.Support != nil {
		return !needs.Private && v.Role.Covers(needs.asSupport())
	}
	return v.Role.Covers(needs.Least)
}

// About returns the visit for a page that the console has, too.
func (h *Handler) About(_ *http.Request, visit area.Visit) (*area.PartnerVisit, error) {
	return h.about(visit.(*Visit)), nil
}

func (h *Handler) about(v *Visit) *area.PartnerVisit {
	return &area.PartnerVisit{Visit: v, Partner: v.Partner, Own: true, Base: v.Path(""), API: "/v2"}
}

// partnerPages returns the pages that the console has, too; the role changes what they show.
func (h *Handler) partnerPages(least partner.Role) *area.PartnerPages {
	return &area.PartnerPages{
		Side: h, Rule: changes(least), Plans: plansPath,
		Partners: h.Partners, Profiles: h.Profiles, TestMail: h.TestMail,
		Statements: h.Statements, Exports: h.Exports,
	}
}

// render shows a page of the portal, with the navigation and the banner of a support visit.
func (h *Handler) render(w http.ResponseWriter, r *http.Request, v *Visit, name string, view ui.View) error {
	return h.area.Render(w, r, v, name, view)
}

// call returns the partner API call for a page or act, for the template "curl".
func (h *Handler) call(what, method, path string, query ...ui.Param) ui.Curl {
	return h.area.Call(what, method, path, query...)
}

// has reports whether the portal has a page that the person may see.
func (h *Handler) has(path string, v *Visit) bool { return h.area.Has(path, v) }

// start redirects to the first page of the navigation.
func (h *Handler) start(w http.ResponseWriter, r *http.Request, v *Visit) error {
	ui.SeeOther(w, r, h.area.Items(r, v)[0].URL)
	return nil
}
