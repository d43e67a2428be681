package visitor

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/partner"
	"claviger/internal/ui"
)

// markTimeout bounds the wait of an error page for its mark.
const markTimeout = 2 * time.Second

// mark marks error pages below a partner's portal during a support visit, whatever their source: a
// page, a missing path, or a refusal before any page.
func (s *Site) mark(r *http.Request) *ui.Banner {
	rest, ok := strings.CutPrefix(r.URL.Path, PortalPath+"/")
	first, _, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(first, 10, 64)
	if !ok || err != nil {
		return nil
	}
	// The request's own deadline may be the error.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), markTimeout)
	defer cancel()
	v, err := s.Holder(ctx, r)
	if err != nil || !v.User.Operator() {
		return nil
	}
	a, err := s.Partners.SupportAccess(ctx, id, v.User.ID, v.Session)
	if err != nil {
		return nil
	}
	return v.SupportBanner(a)
}

// SupportBanner returns the banner of a support visit.
func (v *Visitor) SupportBanner(a partner.SupportAccess) *ui.Banner {
	at := fmt.Sprintf("%s/partners/%d/support", ConsolePath, a.Partner.ID)
	b := &ui.Banner{
		Text: fmt.Sprintf(
			"%s, you are in the portal of %s as support of the marketplace, and may only look.",
			cmp.Or(v.User.Name, v.User.Email),
			a.Partner.Name,
		),
		Until: a.Visit.ExpiresAt, URL: at + "/allow", Label: "Allow changes…", Leave: at + "/leave",
	}
	if a.Visit.Acts() {
		b.Text = fmt.Sprintf(
			"%s, you are in the portal of %s as support of the marketplace. What you do changes it, in your name.",
			cmp.Or(v.User.Name, v.User.Email),
			a.Partner.Name,
		)
		b.URL = ""
	}
	return b
}
