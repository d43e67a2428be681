package portal

import (
	"net/http"

	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// maxPartners is the number of partners that the chooser lists.
const maxPartners = 200

// choose redirects a person to their partner, or lists the partners if there are several. People
// without one get 404.
func (h *Handler) choose(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	list, err := h.Partners.Accesses(r.Context(), v.User.ID, maxPartners)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return NotFound()
	case len(list) == 1:
		visit := Visit{Partner: list[0].Partner}
		ui.SeeOther(w, r, visit.Path(""))
		return nil
	}
	return h.Site.Render(
		w, r, v, "chooser", ui.View{Title: "Choose an application", NoIndex: true, Data: choices(list)},
	)
}

// choice is an entry of the chooser.
type choice struct {
	Name, URL string
	Role      partner.Role
}

func choices(list []partner.Access) []choice {
	var out []choice
	for _, a := range list {
		visit := Visit{Partner: a.Partner}
		out = append(out, choice{a.Partner.Name, visit.Path(""), a.Role})
	}
	return out
}
