package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // a format of logos
	_ "image/png"  // a format of logos
	"net/http"
	"strconv"

	_ "golang.org/x/image/webp" // a format of logos

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// Imprint names the operator of the pages and sets their look. Each member may be empty.
type Imprint struct {
	LegalName  string // of the seller
	SupportURL string // help for buyers: a page or mailto:
	TermsURL   string
	PrivacyURL string
	Accent     Accent
	Logo       Logo
}

// Logo is an operator's logo. The zero value is ours.
type Logo struct {
	data  []byte
	kind  string // content type
	path  string
	width int // at a height of logoHeight
}

// Limits of a logo, and its height on the page, in pixels.
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
		return Logo{}, fmt.Errorf(
			"has %d × %d pixels; use a picture of at most %d on each side",
			c.Width,
			c.Height,
			maxLogoSide,
		)
	}
	return Logo{
		data:  data,
		kind:  "image/" + format,
		path:  brandPath("logo."+format, data),
		width: min(max(logoHeight*c.Width/c.Height, 1), maxLogoWidth),
	}, nil
}

// Path returns the path of the logo, "" for ours.
func (l Logo) Path() string { return l.path }

// Width returns the width on the page in pixels.
func (l Logo) Width() int { return l.width }

// Wide reports whether the logo is wider than a mark. Such a logo contains the name, so the name is
// not written beside it.
func (l Logo) Wide() bool { return l.width > logoHeight*3/2 }

// brandPath returns the path of an imprint file; it depends on the contents.
func brandPath(name string, data []byte) string {
	sum := sha256.Sum256(data)
	return "/brand/" + hex.EncodeToString(sum[:8]) + "/" + name
}

// Routes serves the files of the imprint, which browsers may cache forever.
func (i Imprint) Routes() []wire.Route {
	return []wire.Route{wire.Public(http.MethodGet, "/brand/{version}/{name}", i.serve)}
}

func (i Imprint) serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	body := []byte(nil)
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

// Seller returns the legal name, or the name of the marketplace.
func (p Page) Seller() string { return or(p.Imprint.LegalName, p.Brand) }

// Footer returns the footer links of a page without an area.
func (p Page) Footer() []Item {
	items := []Item{{Label: "Products", URL: "/"}}
	for _, item := range []Item{
		{Label: "Support", URL: p.Imprint.SupportURL},
		{Label: "Terms", URL: p.Imprint.TermsURL},
		{Label: "Privacy", URL: p.Imprint.PrivacyURL},
	} {
		if item.URL != "" {
			items = append(items, item)
		}
	}
	return items
}

// Social is the metadata of a page for search engines and link previews.
type Social struct {
	Title       string
	Description string
	Path        string // of the page
	Image       string // path of a picture; "": none
}
