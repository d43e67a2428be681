package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // a form that logos come in
	_ "image/png"  // a form that logos come in
	"net/http"
	"strconv"
	"strings"

	_ "golang.org/x/image/webp" // a form that logos come in

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// Imprint says who is behind the pages, and gives them a look of their own. Each member
// may be empty.
type Imprint struct {
	LegalName  string // of who sells
	SupportURL string // where buyers ask: a page, or mailto:
	TermsURL   string
	PrivacyURL string
	Accent     Accent
	Logo       Logo
}

// Logo is a picture in place of ours. The zero value is ours.
type Logo struct {
	data  []byte
	kind  string // its content type
	path  string
	width int // of a picture that is logoHeight high
}

// The bounds of a logo, and how high it is shown, in pixels.
const (
	maxLogoBytes = 512 << 10
	maxLogoSide  = 2048
	logoHeight   = 32
	maxLogoWidth = 200
)

// ReadLogo reads a PNG, JPEG or WebP.
func ReadLogo(data []byte) (Logo, error) {
	if len(data) > maxLogoBytes {
		return Logo{}, fmt.Errorf("has %d bytes; use a picture of at most %d KiB", len(data), maxLogoBytes>>10)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || format != "png" && format != "jpeg" && format != "webp" {
		return Logo{}, errors.New("is not a picture that we can read; use a PNG, JPEG or WebP")
	}
	if min(c.Width, c.Height) < 1 || max(c.Width, c.Height) > maxLogoSide {
		return Logo{}, fmt.Errorf("has %d × %d pixels; use a picture of at most %d on each side", c.Width, c.Height, maxLogoSide)
	}
	return Logo{data: data, kind: "image/" + format, path: brandPath("logo."+format, data), width: min(max(logoHeight*c.Width/c.Height, 1), maxLogoWidth)}, nil
}

// Path is where the logo is served, "" if it is ours.
func (l Logo) Path() string { return l.path }

// Width is how wide it is shown, in pixels.
func (l Logo) Width() int { return l.width }

// Wide reports whether the logo is wider than a mark: it has the name in it then, and the
// name is not written beside it.
func (l Logo) Wide() bool { return l.width > logoHeight*3/2 }

// brandPath is the address of a file of the imprint: another file has another one.
func brandPath(name string, data []byte) string {
	sum := sha256.Sum256(data)
	return "/brand/" + hex.EncodeToString(sum[:8]) + "/" + name
}

// Routes serve the files of the imprint, which browsers may keep for ever.
func (i Imprint) Routes() []wire.Route {
	return []wire.Route{wire.Public(http.MethodGet, "/brand/{version}/{name}", i.serve)}
}

func (i Imprint) serve(w http.ResponseWriter, r *http.Request) error {
	h, body := w.Header(), []byte(nil)
	switch r.URL.Path {
	case i.Accent.path:
		body = []byte(i.Accent.css)
		h.Set("Content-Type", "text/css; charset=utf-8")
	case i.Logo.path:
		body = i.Logo.data
		h.Set("Content-Type", i.Logo.kind)
	default:
		return fault.New(fault.Missing, wire.CodeNotFound, "There is no such file.")
	}
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if _, err := w.Write(body); err != nil {
		wire.RequestLogOf(r.Context()).Gone = true
		return fmt.Errorf("send a file of the imprint: %w", err)
	}
	return nil
}

// Seller is who sells: the legal name, or else the name of the marketplace.
func (p Page) Seller() string { return or(p.Imprint.LegalName, p.Brand) }

// Footer lists where the footer of a page without an area leads.
func (p Page) Footer() []Item {
	items := []Item{{Label: "Products", URL: "/"}}
	for _, item := range []Item{{Label: "Support", URL: p.Imprint.SupportURL}, {Label: "Terms", URL: p.Imprint.TermsURL}, {Label: "Privacy", URL: p.Imprint.PrivacyURL}} {
		if item.URL != "" {
			items = append(items, item)
		}
	}
	return items
}

// writeFooter writes who sells and where to ask.
func (p *Page) writeFooter(m *markup) {
	m.raw("\n    <p>")
	m.text(p.Seller())
	m.raw("</p>\n    <nav class=\"foot-nav\" aria-label=\"Footer\">\n      <ul>")
	for _, item := range p.Footer() {
		m.raw("\n        ")
		m.item(item)
	}
	m.raw("\n      </ul>\n    </nav>")
}

// writeLogo writes the logo and the name in the header.
func (p *Page) writeLogo(m *markup) {
	logo := p.Imprint.Logo
	if logo.path == "" {
		m.raw(frameLogo)
		m.text(p.Brand)
		m.raw("</span></a>")
		return
	}
	m.raw("><img")
	m.address("src", logo.path)
	if logo.Wide() {
		m.attribute("alt", p.Brand)
	} else {
		m.raw(` alt=""`)
	}
	m.raw(` width="`, strconv.Itoa(logo.width), `" height="32">`)
	if !logo.Wide() {
		m.raw("<span>")
		m.text(p.Brand)
		m.raw("</span>")
	}
	m.raw("</a>")
}

// Social is what a page says about itself to search engines and to programs that show a
// link to it.
type Social struct {
	Title       string
	Description string
	Path        string // of the page
	Image       string // the path of a picture; "": none
}

// writeSocial writes that. Addresses begin with the public URL: such programs need whole
// ones.
func (p *Page) writeSocial(m *markup) {
	s := p.Social
	meta := func(kind, name, value string) {
		if value == "" {
			return
		}
		m.raw("\n<meta ", kind, `="`, name, `"`)
		m.attribute("content", value)
		m.raw(">")
	}
	at := strings.TrimSuffix(p.PublicURL, "/")
	meta("name", "description", s.Description)
	meta("property", "og:type", "website")
	meta("property", "og:site_name", p.Brand)
	meta("property", "og:title", s.Title)
	meta("property", "og:description", s.Description)
	meta("property", "og:url", at+s.Path)
	if s.Image != "" {
		meta("property", "og:image", at+s.Image)
		meta("name", "twitter:card", "summary")
	}
	m.raw("\n<link rel=\"canonical\"")
	m.href(at + s.Path)
	m.raw(">")
}
