// Package ui is shared by all packages of pages. It has the layout around a page, the parts of
// pages, the style sheet, security headers, error pages, fragments for htmx, forms, sessions, flash
// and throttling. It also rejects forms posted by another site.
//
// It owns no page and no table and knows nothing of the domain: a package of pages writes its
// texts, and sessions go to the given store. Package wire handles requests in JSON.
//
// Pages are html/template files. A file is the content of <main>, with one <h1>. A file with a name
// that starts with "_" has templates that all pages of the package share. Each gets a Page:
// View.Data is .Data.
//
//	//go:embed pages/*.html
//	var files embed.FS
//
//	pages, err := ui.New(files, nil, "pages/*.html")
//	pages.Brand, pages.PublicURL = brand, publicURL
//
//	return pages.Render(w, r, "sign-in", ui.View{Title: "Sign in", Data: data})
//
// A page can also be shown during a wait and then redirect: see DelayedRedirect. A page can answer
// htmx with one of its templates: see View.Fragment.
//
// The parts, each a template: field, summary, button, badge, empty, key, notice, receipt, table,
// pager, tabs, timeline, stats, chart, code and curl; /dev/gallery of "claviger dev" shows them.
// Functions for templates: money, plural, time, exact, day, label, inc, link, and button, empty and
// key, which make the argument of the part with that name. {{asset "app.css"}} is the URL of an
// asset.
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

// View is a page to show.
type View struct {
	Title           string           // of the window; the brand is added
	Person          string           // signed-in person, "" for none
	Menu            []Item           // links to other pages
	Nav             *Nav             // pages of the area; nil: none
	Banner          *Banner          // marks each page of an unusual visit; nil: none
	Notice          string           // success message, shown once above the page
	Problem         string           // error message, shown once above the page
	FormTo          []string         // other origins where a form of this page may end, such as the partner's
	Status          int              // 0 is 200
	NoIndex         bool             // keep out of search engines
	Wide            bool             // wider than a column of text, for lists and tables
	DelayedRedirect *DelayedRedirect // automatic redirect; nil: none
	Refresh         int              // seconds until a browser without scripts reloads the page; 0: never
	Fragment        string           // template of this page for fragment requests; "": they get the whole page
	Stream          string           // URL of the page's stream; "": none
	Social          *Social          // metadata for other programs; nil: none
	Data            any              // the page's own data
}

// Banner says on each page in which capacity the person is there.
type Banner struct {
	Text  string
	Until time.Time
	URL   string // link for more access, with its label; "": none
	Label string
	Leave string // target of the button that ends it
}

// Item is one entry of the menu.
type Item struct {
	Group   string // in a Nav, the heading of its group; "" for none
	Label   string
	URL     string
	Current bool // the current page
}

// Nav leads to the pages of an area, beside the page or, on a narrow screen, above it.
type Nav struct {
	Title  string // subject of the area, such as the partner's name
	Items  []Item
	Search string // target of the search box, which sends q; "": none
}

// Group is the items of a Nav under one heading.
type Group struct {
	Label string
	Items []Item
}

// Groups returns the items by group. The items of a group are adjacent.
func (n Nav) Groups() []Group {
	var list []Group
	from := 0
	for i, item := range n.Items {
		if len(list) == 0 || list[len(list)-1].Label != item.Group {
			list = append(list, Group{Label: item.Group})
			from = i
		}
		list[len(list)-1].Items = n.Items[from : i+1]
	}
	return list
}

// Current returns the label of the current page.
func (n Nav) Current() string {
	for _, item := range n.Items {
		if item.Current {
			return item.Label
		}
	}
	return ""
}

// Page is the data of a template.
type Page struct {
	View
	Brand   string // name of the marketplace
	Home    string
	SignOut string
	Imprint Imprint
	Times   Times  // zone of shown times
	Path    string // of the page with its query, "" if it cannot be reopened: the answer to a form

	PublicURL string
}

// Pages are the pages of one package. Set the fields before the first page is shown.
type Pages struct {
	Brand     string // name of the marketplace; "" is Claviger
	PublicURL string // such as https://market.example; https turns HSTS on
	Home      string // target of the logo, and of error pages without Start; "" is /
	SignOut   string // target of the sign-out button; "" is /sign-out

	// Imprint names the operator of the pages.
	Imprint Imprint

	// Around returns the signed-in person and their menu for error pages, from any handler. Nil, or
	// a nil menu: none.
	Around func(r *http.Request) (person string, menu []Item)

	// Mark returns the banner of an error page, from any handler. Nil, or a nil result: none.
	Mark func(r *http.Request) *Banner

	// Start returns the start page of the area of an error page, from any handler. Nil, or "": no
	// area.
	Start func(r *http.Request) string

	pages map[string]*template.Template
}

// For returns the pages for a marketplace with a name and URL. Reading templates once makes further
// marketplaces free, as in tests.
func (p *Pages) For(brand, publicURL string) *Pages {
	own := *p
	own.Brand = brand
	own.PublicURL = publicURL
	return &own
}

// Names lists the pages, so that a test can show each of them.
func (p *Pages) Names() []string { return slices.Sorted(maps.Keys(p.pages)) }

// Render shows a page, with the session's flash as its notice unless it has its own. The page is
// complete before anything is sent, so an error can still be answered: return it to the caller of
// Fail.
//
// A fragment request (see IsFragment) gets only the template View.Fragment, with View.Problem above
// it and View.Notice for the shell's status region. The flash stays for the next whole page.
func (p *Pages) Render(w http.ResponseWriter, r *http.Request, name string, v View) error {
	shown := func() {}
	if v.Notice == "" && v.DelayedRedirect == nil && !IsFragment(r) { // no time to read a page that redirects
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

// page returns the template data of a view.
func (p *Pages) page(r *http.Request, v View) Page {
	return Page{
		View:      v,
		Brand:     or(p.Brand, "Claviger"),
		Home:      or(p.Home, "/"),
		SignOut:   or(p.SignOut, "/sign-out"),
		Imprint:   p.Imprint,
		Times:     timesOf(r),
		PublicURL: p.PublicURL,
	}
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
	shown() // before the first byte, which saves the session
	p.guard(w.Header(), policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+len(end.b)))
	if v.DelayedRedirect != nil {
		w.Header().Set("X-Accel-Buffering", "no") // a proxy such as nginx would buffer it until complete
	}
	w.WriteHeader(max(v.Status, http.StatusOK))
	if err := v.DelayedRedirect.send(w, r, body, end.b); err != nil {
		wire.RequestLogOf(r.Context()).Gone = true // the client has disconnected
		return fmt.Errorf("send page %s: %w", name, err)
	}
	return nil
}

// Headers sets the headers of answers that belong to pages but are none, such as redirects and
// downloads. Render sets its own.
func (p *Pages) Headers(h http.Header) {
	policy, _ := contentPolicy(nil) // fails only for origins
	p.guard(h, policy)
}

// guard sets the headers that prevent framing, caching, sniffing and foreign scripts.
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

// origin matches a valid source of form-action: a scheme, or a scheme and a host. It allows nothing
// that would begin another source or directive.
var origin = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:(//[A-Za-z0-9.\-_\[\]:]+)?$`)

// contentPolicy returns the Content-Security-Policy of a page. Browsers apply form-action to
// redirects after a form too, so a page must name the origins where its form may end.
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

// usualPolicy is the policy of pages with forms that end here.
const (
	policyBegins = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src " +
		"'self'; form-action 'self'"
	policyEnds  = "; frame-ancestors 'none'; base-uri 'none'"
	usualPolicy = policyBegins + policyEnds
)

// origin returns the origin of the public URL, "" if it has none.
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
