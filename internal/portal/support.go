package portal

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// asSupport makes a visit one as support, if the operator has begun one in this session,
// and reports whether it is. Secrets, the team, and what the operator may not do for the
// marketplace either do not exist for it.
func (h *Handler) asSupport(ctx context.Context, visit *Visit, partnerID int64) (bool, error) {
	a, err := h.Partners.SupportAccess(ctx, partnerID, visit.User.ID, visit.Session)
	switch {
	case fault.Is(err, partner.CodeUnknownPartner):
		return false, nil
	case err != nil:
		return false, err
	}
	visit.Partner, visit.Role, visit.Support = a.Partner, a.Role, &a
	if visit.Needs.Private || !a.Ceiling.Covers(visit.Needs.asSupport()) {
		return false, NotFound()
	}
	return true, nil
}

// acts serves a row. What changes something is refused to support until they have taken
// the second step.
func (h *Handler) acts(rt Route) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		if rt.Needs.Acts && v.Support != nil && !v.Support.Visit.Acts() {
			return h.refuseActs(w, r, v)
		}
		return rt.Serve(w, r, v)
	}
}

// refuseActs says that nothing can be changed yet, and where to ask for it.
func (h *Handler) refuseActs(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view := confirmView{
		Heading: "Nothing was changed",
		Says:    []string{"You are here as support and may only look. To change something, choose “Allow changes” above, then do it again."},
		Cancel:  v.Path(overviewPath),
	}
	return h.confirm(w, r, v, http.StatusForbidden, view)
}

// markTimeout bounds how long an error page waits to know whether it is marked.
const markTimeout = 2 * time.Second

// Mark marks error pages below the portal of a partner where the person is support,
// whatever answers with them: a page, a path that does not exist, a refusal before any page.
func (h *Handler) Mark(r *http.Request) *ui.Banner {
	rest, ok := strings.CutPrefix(r.URL.Path, "/portal/")
	first, _, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(first, 10, 64)
	if !ok || err != nil {
		return nil
	}
	// What failed may be that the time of the request is over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), markTimeout)
	defer cancel()
	v, err := h.Site.Holder(ctx, r)
	if err != nil || !v.User.Operator() {
		return nil
	}
	a, err := h.Partners.SupportAccess(ctx, id, v.User.ID, v.Session)
	if err != nil {
		return nil
	}
	return supportBanner(&Visit{Visit: area.Visit[Needs]{Visitor: v}, Partner: a.Partner, Support: &a})
}

// supportBanner marks the pages of a visit as support.
func supportBanner(v *Visit) *ui.Banner {
	if v.Support == nil {
		return nil
	}
	at := fmt.Sprintf("%s/partners/%d/support", visitor.ConsolePath, v.Partner.ID)
	b := &ui.Banner{
		Text:  fmt.Sprintf("%s, you are in the portal of %s as support of the marketplace, and may only look.", cmp.Or(v.User.Name, v.User.Email), v.Partner.Name),
		Until: v.Support.Visit.ExpiresAt, URL: at + "/allow", Label: "Allow changes…", Leave: at + "/leave",
	}
	if v.Support.Visit.Acts() {
		b.Text = fmt.Sprintf("%s, you are in the portal of %s as support of the marketplace. What you do changes it, in your name.", cmp.Or(v.User.Name, v.User.Email), v.Partner.Name)
		b.URL = ""
	}
	return b
}
