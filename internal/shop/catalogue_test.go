package shop_test

import (
	"bytes"
	_ "embed"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html/atom"

	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

//go:embed testdata/icon.png
var icon []byte

// describe changes the product texts of the harness.
func describe(h *pagetest.Service, c partner.ProductChange) partner.Product {
	h.Helper()
	p, err := h.Shop.Partners.ChangeProduct(h.Context(), pagetest.Tester, h.Partner.ID, c)
	if err != nil {
		h.Fatal(err)
	}
	return p
}

// TestFactsOfAProduct: the texts of a product are on each page that names it.
func TestFactsOfAProduct(t *testing.T) {
	h, b, l := annAndLicense(t)
	p := describe(h, partner.ProductChange{
		Tagline: new("Tides for <sailors>"), Description: new("# Why\n\nAll **tides**. <script>x</script>"), Website: new("https://tide.example/"),
		SupportEmail: new("help@tide.example"), RefundTerms: new("30 days, no questions."), Icon: &icon,
	})
	for path, wants := range map[string][]string{
		"/":                           {"Tides for <sailors>"},
		"/products/1":                 {"Tides for <sailors>", "All tides .", "help@tide.example", "30 days, no questions.", "Sold by Harbour"},
		"/licenses":                   {},
		"/licenses/" + l.RedemptionID: {"Tides for <sailors>", "help@tide.example", "30 days, no questions."},
		pagetest.RedeemPath(l):        {},
		consentPage(l):                {},
	} {
		page := b.Get(path)
		for _, want := range wants {
			if !strings.Contains(page.Text(), want) {
				t.Errorf("%s does not say %q: %s", path, want, page.Text())
			}
		}
		if !hasIcon(page, p.IconPath()) {
			t.Errorf("%s does not show the icon %s", path, p.IconPath())
		}
	}
}

// TestSocial: a product page has a description for link previews.
func TestSocial(t *testing.T) {
	h := pagetest.New(t)
	p := describe(h, partner.ProductChange{Tagline: new("Tides \"for\" <sailors>"), Icon: &icon})
	page := h.NewBrowser().Get("/products/1")
	got := map[string]string{}
	for _, m := range page.All(atom.Meta) {
		if name := pagetest.Attr(m, "property"); name != "" {
			got[name] = pagetest.Attr(m, "content")
		}
	}
	want := map[string]string{
		"og:type": "website", "og:site_name": "Harbour", "og:title": "Tide Planner", "og:description": "Tides \"for\" <sailors>",
		"og:url": h.URL + "/products/1", "og:image": h.URL + p.IconPath(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func hasIcon(page *pagetest.Page, path string) bool {
	for _, img := range page.All(atom.Img) {
		if pagetest.Attr(img, "src") == path {
			return true
		}
	}
	return false
}

// TestIcon: an icon is cached forever under its own URL, and not at all under another.
func TestIcon(t *testing.T) {
	h := pagetest.New(t)
	get := func(path, match string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if match != "" {
			r.Header.Set("If-None-Match", match)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	if res := get("/products/1/icon/x.png", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("without an icon: %d", res.StatusCode)
	}
	first := describe(h, partner.ProductChange{Icon: &icon})
	res := get(first.IconPath(), "")
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "image/png" || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("got %d with %v", res.StatusCode, res.Header)
	}
	if _, err := png.Decode(res.Body); err != nil {
		t.Error(err)
	}
	if res.Header.Get("Set-Cookie") != "" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %v", res.Header)
	}
	if again := get(first.IconPath(), res.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("once more: %d", again.StatusCode)
	}
	if other := get("/products/1/icon/0123456789abcdef.png", ""); other.StatusCode != http.StatusOK || other.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("under another address: %d, %v", other.StatusCode, other.Header)
	}
	for _, path := range []string{"/products/2/icon/" + first.Icon + ".png", "/products/x/icon/" + first.Icon + ".png"} {
		if res := get(path, ""); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// TestRecommended: the recommended plan stands out, the others do not.
func TestRecommended(t *testing.T) {
	h := pagetest.New(t)
	filled := func() (list []string) {
		for _, button := range h.NewBrowser().Get("/products/1").All(atom.Button) {
			if strings.Contains(pagetest.Attr(button, "class"), "primary") {
				list = append(list, pagetest.Words(button))
			}
		}
		return list
	}
	if got := filled(); len(got) != 3 {
		t.Errorf("none is recommended, and filled are %q", got)
	}
	texts := partner.PlanTexts{Recommended: new(true), Features: new([]string{"Ten seats"}), Description: new("For teams.")}
	if _, err := h.Shop.Partners.DescribePlan(t.Context(), pagetest.Tester, h.Partner.ID, 2, texts); err != nil {
		t.Fatal(err)
	}
	if got := filled(); len(got) != 1 || got[0] != "Buy Plan 2 · $98.00" {
		t.Errorf("plan 2 is recommended, and filled are %q", got)
	}
	if page := h.NewBrowser().Get("/products/1"); !strings.Contains(page.Text(), "Recommended $98.00 once For teams. Ten seats Buy Plan 2 · $98.00") {
		t.Errorf("the page says %s", page.Text())
	}
}

// TestNotOnSale: a product without a plan on sale is not listed, and its page says so.
func TestNotOnSale(t *testing.T) {
	h := pagetest.New(t)
	h.Shop.TestMoney = false
	b := h.NewBrowser()
	if home := b.Get("/"); strings.Contains(home.Text(), "Tide Planner") {
		t.Errorf("the front page lists what cannot be bought: %s", home.Text())
	}
	page := b.Get("/products/1").Want(http.StatusOK, "Tide Planner")
	if n := strings.Count(page.Text(), "Currently unavailable"); n != 3 || strings.Contains(page.Text(), "What happens next") {
		t.Errorf("the page says %s", page.Text())
	}
	plan := partner.Plan{Tier: 2, Name: "Plan 2", PriceCents: 9800, Currency: "USD", CheckoutURL: "https://pay.example/2"}
	if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, h.Partner.ID, plan); err != nil {
		t.Fatal(err)
	}
	if home := b.Get("/"); !strings.Contains(home.Text(), "from $98.00") {
		t.Errorf("the front page says %s", home.Text())
	}
	if page := b.Get("/products/1"); page.Links("https://pay.example/")[plan.CheckoutURL] != "Buy Plan 2 · $98.00" || !strings.Contains(page.Text(), "You pay at pay.example .") {
		t.Errorf("the page says %s", page.Text())
	}
}

// TestSearchProducts: there is a search above twelve products.
func TestSearchProducts(t *testing.T) {
	h := pagetest.New(t)
	b := h.NewBrowser()
	for i := range 12 {
		if b.Get("/").Input("q") != nil {
			t.Fatalf("%d products have a search", i+1)
		}
		name := "Product " + string(rune('A'+i))
		var p partner.Partner
		err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
			p, _, err = h.Shop.Partners.Create(t.Context(), tx, pagetest.Tester, partner.Draft{Name: name}, partner.Credentials{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, p.ID, partner.Plan{Tier: 1, Name: "Plan"}); err != nil {
			t.Fatal(err)
		}
	}
	if b.Get("/").Input("q") == nil {
		t.Error("thirteen products have no search")
	}
	found := b.Get("/?q=+product+c%00")
	if text := found.Text(); !strings.Contains(text, "Product C") || strings.Contains(text, "Product D") || pagetest.Attr(found.Input("q"), "value") != "product c" {
		t.Errorf("the search says %s", text)
	}
	if text := b.Get("/?q=<b>").Text(); !strings.Contains(text, "Nothing matches “<b>”") {
		t.Errorf("a search for nothing says %s", text)
	}
	b.Get("/?q="+strings.Repeat("%C3%A9", 500)).Want(http.StatusOK, "Software licenses")
}

// TestIconIsNoPage: a stored picture is always redrawn by us.
func TestIconIsNoPage(t *testing.T) {
	h := pagetest.New(t)
	p := describe(h, partner.ProductChange{Icon: new(append(bytes.Clone(icon), "<script>alert(1)</script>"...))})
	stored, err := h.Shop.Partners.Icon(t.Context(), h.Partner.ID)
	if err != nil || stored.Hash != p.Icon || bytes.Contains(stored.PNG, []byte("script")) {
		t.Errorf("what came behind the picture is stored, %v", err)
	}
}
