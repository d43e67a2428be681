package portal

import (
	"context"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// asSupport turns a visit into a support visit, if the operator has started one in this session,
// and reports whether it did. Secrets, the team and pages beyond the operator's own role do not
// exist for it.
func (h *Handler) asSupport(ctx context.Context, visit *Visit, partnerID int64) (bool, error) {
	a, err := h.Partners.SupportAccess(ctx, partnerID, visit.User.ID, visit.Session)
	switch {
	case fault.Is(err, partner.CodeUnknownPartner):
		return false, nil
	case err != nil:
		return false, err
	}
	visit.Partner = a.Partner
	visit.Role = a.Role
	visit.Support = &a
	needs := visit.Needs.(Needs)
	if needs.Private || !a.Ceiling.Covers(needs.asSupport()) {
		return false, NotFound()
	}
	return true, nil
}

// onlyLooks refuses changes to support before the second step, and says where to allow them.
func (h *Handler) onlyLooks(w http.ResponseWriter, r *http.Request, visit area.Visit) (refused bool, err error) {
	v := visit.(*Visit)
	if !v.Needs.(Needs).Acts || v.Support == nil || v.Support.Visit.Acts() {
		return false, nil
	}
	view := ui.Confirm{
		Heading: "Nothing was changed",
		Says: []string{
			"You are here as support and may only look. To change something, choose “Allow changes” above, then " +
				"do it again.",
		},
		Cancel: v.Path(overviewPath),
	}
	return true, h.area.Confirm(w, r, v, http.StatusForbidden, view)
}

// banner returns the banner of a support visit; nil for members.
func (v *Visit) banner() *ui.Banner {
	if v.Support == nil {
		return nil
	}
	return v.SupportBanner(*v.Support)
}
