// Package docsite serves the guides of docs/ and the API reference at /docs/, so they are available
// with the program, without a network. It owns these pages, their search, and /llms.txt. The text
// of the guides belongs to package docs, the descriptions of the APIs to the packages that serve
// them.
package docsite

import (
	"cmp"
	"embed"
	"net/http"
	"strings"
	"sync"

	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Path is the root of the documentation.
const Path = "/docs"

// API is an API in the reference.
type API struct {
	Title       string
	URL         string // of its description
	Description []byte // OpenAPI, as JSON
}

// slug returns a title for URLs of the reference.
func slug(title string) string { return strings.ReplaceAll(strings.ToLower(title), " ", "-") }

// Handler serves the pages.
type Handler struct {
	Site *visitor.Site // with pages made by NewPages
	APIs []API

	once  sync.Once
	found texts
}

//go:embed all:templates
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) { return ui.New(files, nil, "templates/*.html") })

// NewPages returns the pages for a marketplace with a name and URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}

// Routes returns the routes of the pages.
func (h *Handler) Routes() []wire.Route {
	page := func(path string, handle visitor.Handler) wire.Route {
		return h.Site.Route(http.MethodGet, Path+path, visitor.Anyone, handle)
	}
	return []wire.Route{
		page("", h.home),
		page("/search", h.search),
		page("/api", h.operations),
		page("/reference", h.reference),
		page("/{name}", h.guide),
		wire.Public(http.MethodGet, Path+"/pictures/{name}", picture),
		wire.Public(http.MethodGet, Path+"/assets/{version}/{name}", asset),
		wire.Public(http.MethodGet, "/llms.txt", h.llms),
	}
}

// texts returns all texts, read once: they are part of the program.
func (h *Handler) texts() *texts {
	h.once.Do(func() { h.found = newTexts(h.APIs) })
	return &h.found
}

// brand returns the name of the marketplace.
func (h *Handler) brand() string { return cmp.Or(h.Site.Pages.Brand, "Claviger") }

// render shows a page beside the list of all pages.
func (h *Handler) render(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, name string, view ui.View) error {
	at := strings.TrimSuffix(r.URL.Path, "/")
	item := func(group, label, path string) ui.Item {
		return ui.Item{Group: group, Label: label, URL: path, Current: path == at || path == at+"/"}
	}
	items := []ui.Item{item("", "Overview", Path+"/")}
	for _, g := range h.texts().guides {
		items = append(items, item("Guides", g.Short, Path+"/"+g.Name))
	}
	items = append(items, item("API", "Reference", Path+"/reference"), item("API", "List of calls", Path+"/api"))
	view.Nav = &ui.Nav{Title: "Documentation", Items: items, Search: Path + "/search"}
	return h.Site.Render(w, r, v, name, view)
}

// home lists the guides and APIs.
func (h *Handler) home(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.render(w, r, v, "home", ui.View{Title: "Documentation", Data: struct {
		Guides []guide
		APIs   []API
	}{h.texts().guides, h.APIs}})
}

// guide shows a guide, or its Markdown if the name ends in .md.
func (h *Handler) guide(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	name, raw := strings.CutSuffix(r.PathValue("name"), ".md")
	for _, g := range h.texts().guides {
		switch {
		case g.Name != name:
		case raw:
			return sendTagged(w, r, "text/markdown; charset=utf-8", tag(g.source), g.source)
		default:
			return h.render(w, r, v, "guide", ui.View{Title: g.Title, Data: g})
		}
	}
	return fault.New(
		fault.Missing,
		wire.CodeNotFound,
		"There is no such guide. Documentation lists all of them, at /docs/.",
	)
}

// search shows the sections of the guides and the calls that contain the searched words.
func (h *Handler) search(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	if len(query) > maxQuery {
		return fault.Field("q", "must have at most %d bytes.", maxQuery)
	}
	hits := h.texts().search(query)
	return h.render(w, r, v, "search", ui.View{Title: "Search the documentation", NoIndex: true, Data: struct {
		Query string
		Hits  []hit
		More  bool
	}{query, hits[:min(len(hits), maxHits)], len(hits) > maxHits}})
}

// llms lists all texts for programs, in the form of llms.txt.
func (h *Handler) llms(w http.ResponseWriter, r *http.Request) error {
	var b strings.Builder
	base := h.Site.Pages.PublicURL
	b.WriteString(
		"# " + h.brand() + "\n\n> A marketplace that sells licenses for partner applications, tells them by signed " +
			"webhooks what happens to a license, and connects buyers by OAuth.\n\n## Guides\n\n",
	)
	for _, g := range h.texts().guides {
		b.WriteString("- [" + g.Title + "](" + base + Path + "/" + g.Name + ".md): " + g.About + "\n")
	}
	b.WriteString("\n## APIs, described by OpenAPI 3.1\n\n")
	for _, a := range h.APIs {
		b.WriteString("- [" + a.Title + "](" + base + a.URL + ")\n")
	}
	return sendTagged(w, r, "text/plain; charset=utf-8", tag(b.String()), b.String())
}
