// Package ui is what all packages of pages share: the layout around a page, the parts
// that pages are made of, the style sheet, security headers, error pages, fragments
// for htmx, forms, sessions, flash and throttling, and the refusal of forms that
// another site posts.
//
// It owns no page and no table and knows nothing of the domain: a package of pages
// writes its texts, and sessions are stored by the store that it is given. Package
// wire handles requests in JSON.
//
// Pages are html/template files. A file is the content of <main>, with one <h1>; a
// file whose name begins with "_" holds templates that all pages of the package share.
// Each sees a Page: View.Data is .Data.
//
//	//go:embed pages/*.html
//	var files embed.FS
//
//	pages, err := ui.New(files, nil, "pages/*.html")
//	pages.Brand, pages.PublicURL = brand, publicURL
//
//	return pages.Render(w, r, "sign-in", ui.View{Title: "Sign in", Data: data})
//
// A page can also be shown during a wait and then redirect: see DelayedRedirect. A
// page can answer htmx with one of its templates: see View.Fragment.
//
// The parts, each a template: field, summary, button, badge, empty, key, notice,
// receipt, table, pager, tabs, timeline, stats, chart, code and curl; /dev/gallery of
// "claviger dev" shows them. Functions for templates: money, plural, time, exact, day,
// label, inc, link, and button, empty and key, which make the argument of the part of that name.
// {{asset "app.css"}} is the address of an asset.
package ui

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/wire"
)

// View is a page to be shown.
type View struct {
	Title           string           // of the window; the brand is added
	Person          string           // who is signed in, "" when nobody is
	Menu            []Item           // ways to other pages
	Nav             *Nav             // the pages of the area that the page belongs to; nil: none
	Banner          *Banner          // marks each page of a visit that is not the usual one; nil: there is none
	Notice          string           // what was just done, shown once above the page
	Problem         string           // what could not be done, shown once above the page
	FormTo          []string         // origins besides our own where a form of this page may end, such as the partner's
	Status          int              // 0 is 200
	NoIndex         bool             // search engines should leave the page alone
	Wide            bool             // for lists and tables: the page is wider than a column of text
	DelayedRedirect *DelayedRedirect // where the browser goes on to by itself; nil: nowhere
	Refresh         int              // seconds after which a browser without scripts loads the page again; 0: never
	Fragment        string           // the template of this page that answers fragment requests; "": they get the whole page
	Stream          string           // the URL of the page's stream; "": it has none
	Social          *Social          // what the page says about itself to other programs; nil: nothing
	Data            any              // the page's own
}

// Banner says on each page in which capacity the person is there.
type Banner struct {
	Text  string
	Until time.Time
	URL   string // where more can be asked for, with its label; "": nowhere
	Label string
	Leave string // where the form of the button that ends it is sent
}

// Item is one entry of the menu.
type Item struct {
	Group   string // in a Nav, the heading of its group; "" for none
	Label   string
	URL     string
	Current bool // it is the page that is shown
}

// Nav leads to the pages of an area, beside the page or, on a narrow screen, above it.
type Nav struct {
	Title  string // what the area is about, such as the partner's name
	Items  []Item
	Search string // where a search box sends its q; "": there is none
}

// Group is the items of a Nav that stand below one heading.
type Group struct {
	Label string
	Items []Item
}

// Groups returns the items by their groups, which stand one after another.
func (n Nav) Groups() []Group {
	var list []Group
	from := 0
	for i, item := range n.Items {
		if len(list) == 0 || list[len(list)-1].Label != item.Group {
			list, from = append(list, Group{Label: item.Group}), i
		}
		list[len(list)-1].Items = n.Items[from : i+1]
	}
	return list
}

// Current returns the label of the page that is shown.
func (n Nav) Current() string {
	for _, item := range n.Items {
		if item.Current {
			return item.Label
		}
	}
	return ""
}

// Page is what templates see.
type Page struct {
	View
	Brand   string // what the marketplace is called
	Home    string
	SignOut string
	Imprint Imprint
	Times   Times  // in which zone times are shown
	Path    string // of the page with its query, "" if it cannot be opened again: the answer to a form

	PublicURL string
}

// Pages are the pages of one package. Set the fields before the first page is shown.
type Pages struct {
	Brand     string // what the marketplace is called; "" is Claviger
	PublicURL string // where browsers find us, such as https://market.example; https turns HSTS on
	Home      string // where the logo leads, and error pages that have no Start; "" is /
	SignOut   string // where the form of the sign-out button posts to; "" is /sign-out

	// Imprint says who is behind the pages.
	Imprint Imprint

	// Around returns who is signed in and their menu, for pages of errors, whoever answers
	// with one; nil, or a menu that is nil: they have none.
	Around func(r *http.Request) (person string, menu []Item)

	// Mark returns the banner of an error page, whoever answers with it; nil, or its answer
	// nil: there is none.
	Mark func(r *http.Request) *Banner

	// Start returns where the area of an error page begins, whoever answers with it; nil, or
	// its answer "": it belongs to no area.
	Start func(r *http.Request) string

	pages map[string]*template.Template
}

// For returns the pages for a marketplace of that name at that URL. Who reads templates
// once and takes them from there starts a second marketplace, as tests do, at no cost.
func (p *Pages) For(brand, publicURL string) *Pages {
	own := *p
	own.Brand, own.PublicURL = brand, publicURL
	return &own
}

// Names lists the pages, so that a test can show each of them.
func (p *Pages) Names() []string { return slices.Sorted(maps.Keys(p.pages)) }

// Render shows a page, with the session's flash as its notice unless it has one of
// its own. It is made whole before anything is sent, so an error can still be
// answered: return it to where Fail is called.
//
// A fragment request (see IsFragment) gets the template View.Fragment alone, with
// View.Problem above it and View.Notice for the shell's status region. It leaves the
// flash for the next whole page.
func (p *Pages) Render(w http.ResponseWriter, r *http.Request, name string, v View) error {
	shown := func() {}
	if v.Notice == "" && v.DelayedRedirect == nil && !IsFragment(r) { // nobody has time to read a page that redirects
		v.Notice, shown = flash(r.Context())
	}
	return p.render(w, r, name, v, shown)
}

// Part returns the template View.Fragment of a page, for a message of its stream.
func (p *Pages) Part(r *http.Request, name string, v View) (string, error) {
	t, ok := p.pages[name]
	if !ok {
		return "", fmt.Errorf("show a part of page %s: there is none", name)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, v.Fragment, p.page(r, v)); err != nil {
		return "", fmt.Errorf("show a part of page %s: %w", name, err)
	}
	return string(inZone(b.Bytes(), Zone(r))), nil
}

// page is what templates see of a view.
func (p *Pages) page(r *http.Request, v View) Page {
	return Page{View: v, Brand: or(p.Brand, "Claviger"), Home: or(p.Home, "/"), SignOut: or(p.SignOut, "/sign-out"), Imprint: p.Imprint, Times: timesOf(r), PublicURL: p.PublicURL}
}

// render shows a page and calls shown when it is sure to be sent.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, name string, v View, shown func()) error {
	t, ok := p.pages[name]
	if !ok {
		return fmt.Errorf("show page %s: there is none", name)
	}
	policy, err := contentPolicy(v.FormTo)
	if err != nil {
		return fmt.Errorf("show page %s: %w", name, err)
	}
	m := getMarkup()
	defer m.release()
	page := p.page(r, v)
	if r.Method == http.MethodGet {
		page.Path = r.URL.RequestURI()
	}
	var end markup
	if v.Fragment != "" && IsFragment(r) {
		err = fragment(m, t, page)
	} else {
		err = whole(m, &end, t, &page)
	}
	if err != nil {
		return fmt.Errorf("show page %s: %w", name, err)
	}
	body := inZone(m.b, Zone(r))
	shown() // before the first byte, with which the session is saved
	p.guard(w.Header(), policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+len(end.b)))
	if v.DelayedRedirect != nil {
		w.Header().Set("X-Accel-Buffering", "no") // a proxy such as nginx would buffer it until it is complete
	}
	w.WriteHeader(max(v.Status, http.StatusOK))
	if err := v.DelayedRedirect.send(w, r, body, end.b); err != nil {
		wire.RequestLogOf(r.Context()).Gone = true // the client has disconnected
		return fmt.Errorf("send page %s: %w", name, err)
	}
	return nil
}

// whole writes a page, its end apart.
func whole(m, end *markup, t *template.Template, page *Page) error {
	page.writeHead(m)
	if err := t.Execute(m, *page); err != nil {
		return err
	}
	page.writeFoot(m)
	return page.writeEnd(end)
}

// Headers sets the headers of every answer that belongs to pages and is none, such as
// redirects and downloads. Render sets its own.
func (p *Pages) Headers(h http.Header) {
	policy, _ := contentPolicy(nil) // which fails only for origins
	p.guard(h, policy)
}

// guard sets the headers that keep a page from being framed, cached, sniffed, or
// made to run what is not ours.
func (p *Pages) guard(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	varyByFragment(h)
	if strings.HasPrefix(p.PublicURL, "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// origin is a valid source of form-action: a scheme, or a scheme and a host. It has
// nothing that would begin another source or directive.
var origin = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:(//[A-Za-z0-9.\-_\[\]:]+)?$`)

// contentPolicy is the Content-Security-Policy of a page. Browsers hold redirects
// after a form to form-action too, which is why a page names where its form may end.
func contentPolicy(formTo []string) (string, error) {
	if len(formTo) == 0 {
		return usualPolicy, nil
	}
	var extra strings.Builder
	for _, o := range formTo {
		if !origin.MatchString(o) {
			return "", fmt.Errorf("%q is no origin", o)
		}
		extra.WriteString(" " + o)
	}
	return policyBegins + extra.String() + policyEnds, nil
}

// usualPolicy is that of pages whose forms end here.
const (
	policyBegins = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'"
	policyEnds   = "; frame-ancestors 'none'; base-uri 'none'"
	usualPolicy  = policyBegins + policyEnds
)

// origin of the public URL, "" when it has none.
func (p *Pages) origin() string {
	u, err := url.Parse(p.PublicURL)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// or returns s, or otherwise if s is empty.
func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
