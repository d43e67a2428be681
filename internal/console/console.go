// Package console serves the pages of the marketplace's own people. It has one page so
// far, which says so: operators use the command line and the operator API meanwhile.
package console

import (
	"embed"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Handler serves the pages.
type Handler struct {
	Site *visitor.Site // with pages made by NewPages
}

//go:embed pages
var files embed.FS

// NewPages reads the templates, for a marketplace of that name at that URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := ui.New(files, nil, "pages/*.html")
	if err != nil {
		return nil, err
	}
	p.Brand, p.PublicURL = brand, publicURL
	return p, nil
}

// Routes returns the routes of the pages.
func (h *Handler) Routes() []wire.Route {
	return []wire.Route{h.Site.Route(http.MethodGet, visitor.ConsolePath, operators, h.start)}
}

// operators is the access to the console. Everybody else learns nothing of it.
func operators(r *http.Request, v *visitor.Visitor) error {
	if err := visitor.SignedIn(r, v); err != nil {
		return err
	}
	if !v.User.Operator {
		return fault.New(fault.Missing, wire.CodeNotFound,
			"There is no page at this address, or your account does not include it. Check the address.")
	}
	return nil
}

func (h *Handler) start(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.Site.Render(w, r, v, "start", ui.View{Title: "Console", NoIndex: true})
}
