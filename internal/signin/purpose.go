package signin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
)

// purpose is the purpose of a sign-in.
type purpose struct {
	Text      string // a sentence; "": no special purpose
	LinkFirst bool   // the user has no password: the emailed link is offered first
}

// purposeOf derives the purpose from the page that sign-in leads to. The link of a license reveals
// the name of its application, and about its owner only how they sign in.
func (h *Handler) purposeOf(r *http.Request, next string, req oauth.Request) (purpose, error) {
	path, query, _ := strings.Cut(next, "?")
	words := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case req.Partner.ID != 0:
		return purpose{Text: "Sign in to continue to " + req.Partner.Name + "."}, nil
	case len(words) == 3 && words[0] == "licensing":
		return h.licensePurpose(r, words[1], words[2])
	case len(words) == 2 && words[0] == "products":
		return h.productPurpose(r, words[1], "")
	case len(words) == 3 && words[0] == "products" && words[2] == "buy":
		q, err := url.ParseQuery(query)
		if err != nil {
			return purpose{}, nil //nolint:nilerr // it names no plan
		}
		return h.productPurpose(r, words[1], q.Get("tier"))
	}
	return purpose{}, nil
}

// productPurpose returns the purpose for a product, or one of its plans.
func (h *Handler) productPurpose(r *http.Request, product, tier string) (purpose, error) {
	id, err := strconv.ParseInt(product, 10, 64)
	if err != nil {
		return purpose{}, nil //nolint:nilerr // there is no such product
	}
	p, err := h.Partners.Get(r.Context(), id)
	if fault.Is(err, partner.CodeUnknownPartner) {
		return purpose{}, nil
	}
	if err != nil {
		return purpose{}, err
	}
	of := purpose{Text: "Sign in to buy " + p.Name + "."}
	n, err := strconv.Atoi(tier)
	if err != nil {
		return of, nil //nolint:nilerr // it names no plan
	}
	plan, err := h.Partners.Plan(r.Context(), id, n)
	if fault.Is(err, partner.CodeUnknownPlan) {
		return of, nil
	}
	return purpose{Text: "Sign in to buy " + p.Name + ", " + plan.DisplayName() + "."}, err
}

func (h *Handler) licensePurpose(r *http.Request, id, page string) (purpose, error) {
	l, err := h.Licenses.ByRedemption(r.Context(), id)
	if fault.Is(err, license.CodeUnknownLicense) || l.Erased {
		return purpose{}, nil
	}
	if err != nil {
		return purpose{}, err
	}
	p, err := h.Partners.Get(r.Context(), l.PartnerID)
	if err != nil {
		return purpose{}, err
	}
	of := purpose{Text: "Sign in to activate your license for " + p.Name + "."}
	if page == "change_plan" {
		of.Text = "Sign in to change the plan of your license for " + p.Name + "."
	}
	if l.OwnerID != 0 {
		d, err := h.Accounts.Data(r.Context(), l.OwnerID)
		if err != nil {
			return purpose{}, err
		}
		of.LinkFirst = !d.HasPassword
	}
	return of, nil
}
