package shop

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"claviger/internal/fault"
	"claviger/internal/markdown"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

const (
	productsPerPage = 48
	searchAbove     = 12  // products above which there is a search
	maxSearch       = 100 // maximum length of its text
)

// homeView is the front page.
type homeView struct {
	Offers []partner.Offer
	Pager  ui.Pager
	Search bool   // there is a search field
	Text   string // the search text
}

func (s *Shop) home(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	q := r.URL.Query()
	p := paging.Page{Number: 1, Limit: productsPerPage}
	if n, err := strconv.ParseInt(q.Get("page"), 10, 32); err == nil && n > 1 {
		p.Number = n
	}
	text := searchText(q.Get("q"))
	offers, more, err := s.Partners.Offers(r.Context(), partner.OfferFilter{Text: text, WithoutCheckout: s.sells()}, p)
	if err != nil {
		return err
	}
	view := homeView{Offers: offers, Text: text, Search: text != "" || p.Number > 1 || len(offers) > searchAbove}
	at := func(number int64) string {
		to := url.Values{"page": {strconv.FormatInt(number, 10)}}
		if text != "" {
			to.Set("q", text)
		}
		return "/?" + to.Encode()
	}
	if p.Number > 1 {
		view.Pager.Prev = at(p.Number - 1)
	}
	if more {
		view.Pager.Next = at(p.Number + 1)
	}
	return s.Site.Render(w, r, v, "home", ui.View{Title: "Software licenses", Wide: true, Data: view})
}

// searchText cleans a search text: it removes characters that no name has and limits its length.
func searchText(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if utf8.RuneCountInString(text) > maxSearch {
		text = string([]rune(text)[:maxSearch])
	}
	return text
}

// iconView is the icon of a product, or the first letter of its name in place of one.
type iconView struct {
	URL    string
	Letter string
}

// iconOf returns the icon for templates.
func iconOf(p partner.Partner, product partner.Product) iconView {
	first, _ := utf8.DecodeRuneInString(p.Name)
	return iconView{URL: product.IconPath(), Letter: string(unicode.ToUpper(first))}
}

// productView is a product with its plans.
type productView struct {
	Partner     partner.Partner
	Product     partner.Product
	Description template.HTML
	Tiers       []tierView
	OnSale      bool   // a plan is on sale
	Test        bool   // sold for test money
	Pays        bool   // paid at Stripe
	Checkout    string // host of the checkout, if all plans have the same
}

func (s *Shop) product(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	p, err := s.partnerInPath(r)
	if err != nil {
		return err
	}
	product, err := s.Partners.Product(r.Context(), p.ID)
	if err != nil {
		return err
	}
	plans, err := s.Partners.Plans(r.Context(), p.ID)
	if err != nil {
		return err
	}
	view := productView{
		Partner: p, Product: product, Description: markdown.HTML(product.Description),
		Tiers: s.tiers(p, plans, nil, partner.ProductPath(p.ID)+"/buy"),
	}
	if err := s.markOwned(r, v, p, view.Tiers); err != nil {
		return err
	}
	view.arrange()
	return s.Site.Render(w, r, v, "product", ui.View{
		Title: p.Name, Wide: true, FormTo: s.formTo(), Data: view,
		Social: &ui.Social{
			Title: p.Name, Description: product.Tagline, Path: partner.ProductPath(p.ID), Image: product.IconPath(),
		},
	})
}

// arrange sets the fields that concern all plans.
func (v *productView) arrange() {
	recommended := slices.ContainsFunc(v.Tiers, func(t tierView) bool { return t.Recommended && t.OnSale() })
	hosts := map[string]bool{}
	for i, t := range v.Tiers {
		if !t.OnSale() {
			continue
		}
		v.OnSale = true
		v.Test = v.Test || t.Test
		v.Pays = v.Pays || t.Pays
		v.Tiers[i].Filled = t.Recommended || !recommended
		if u, err := url.Parse(t.Checkout); err == nil {
			hosts[u.Hostname()] = true
			v.Checkout = u.Hostname()
		}
	}
	if len(hosts) != 1 {
		v.Checkout = ""
	}
}

// icon sends the icon of a product. Its URL has a hash, so browsers may cache it forever; an older
// URL gets the current icon, uncached.
func (s *Shop) icon(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return errNoIcon()
	}
	icon, err := s.Partners.Icon(r.Context(), id)
	if fault.Is(err, partner.CodeUnknownIcon) {
		return errNoIcon()
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.PathValue("name") != icon.Hash+".png" {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("Content-Type", "image/png")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", `"`+icon.Hash+`"`)
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+icon.Hash+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(icon.PNG)))
	if _, err := w.Write(icon.PNG); err != nil {
		wire.RequestLogOf(r.Context()).Gone = true
		return fmt.Errorf("send an icon: %w", err)
	}
	return nil
}

func errNoIcon() error {
	return fault.New(fault.Missing, partner.CodeUnknownIcon, "There is no such icon.")
}
