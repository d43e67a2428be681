package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/ui"
)

// drawnView draws the data around a page's content.
func drawnView(t *rapid.T) ui.View {
	text := func(name string) string { return hostile.Draw(t, name) }
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ui.Item {
		return ui.Item{Label: text("label"), URL: text("url"), Current: yes("current"), Group: text("group")}
	}), 0, 3)
	v := ui.View{
		Title: text("title"), Person: text("person"), Menu: items.Draw(t, "menu"), Notice: text("notice"), Problem: text("problem"),
		NoIndex: yes("no index"), Wide: yes("wide"), Refresh: rapid.IntRange(0, 3).Draw(t, "refresh"), Stream: text("stream"),
	}
	if yes("has nav") {
		v.Nav = &ui.Nav{Title: text("area"), Items: items.Draw(t, "nav"), Search: text("search")}
	}
	if yes("has banner") {
		v.Banner = &ui.Banner{Text: text("banner"), Until: sold, URL: text("more"), Label: text("label"), Leave: text("leave")}
	}
	if yes("is shown elsewhere") {
		v.Social = &ui.Social{Title: text("title"), Description: text("description"), Path: "/products/7", Image: rapid.SampledFrom([]string{"", "/products/7/icon/a.png"}).Draw(t, "image")}
	}
	if yes("redirects") {
		v.DelayedRedirect = &ui.DelayedRedirect{To: text("to"), Wait: func() {}}
	}
	return v
}

// drawnImprint draws an imprint.
func drawnImprint(t *rapid.T) ui.Imprint {
	text := func(name string) string { return hostile.Draw(t, name) }
	i := ui.Imprint{LegalName: text("legal name"), SupportURL: text("support"), TermsURL: text("terms"), PrivacyURL: text("privacy")}
	var err error
	if i.Accent, err = ui.ParseAccent(rapid.SampledFrom([]string{"", "#1b4173"}).Draw(t, "accent")); err != nil {
		t.Fatal(err)
	}
	if width := rapid.SampledFrom([]int{0, 64, 300}).Draw(t, "logo"); width > 0 {
		if i.Logo, err = ui.ReadLogo(logoPNG(width, 64)); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// content returns pages with a page that is only the frame.
func content(tb testing.TB) *ui.Pages {
	tb.Helper()
	pages, err := ui.New(fstest.MapFS{"content.html": {Data: []byte("<p>content</p>")}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return pages
}

// rendered returns a page as the browser gets it.
func rendered(tb rapid.TB, pages *ui.Pages, r *http.Request, v ui.View) string {
	tb.Helper()
	answer := httptest.NewRecorder()
	if err := pages.Render(answer, r, "content", v); err != nil {
		tb.Fatal(err)
	}
	return answer.Body.String()
}

// TestFrame compares frames from the cache with html/template, for any texts and URLs.
func TestFrame(t *testing.T) {
	pages := content(t)
	rapid.Check(t, func(t *rapid.T) {
		v := drawnView(t)
		pages.Imprint = drawnImprint(t)
		pages.PublicURL = "https://market.example"
		pages.Brand, pages.Home = hostile.Draw(t, "brand"), hostile.Draw(t, "home")
		method := rapid.SampledFrom([]string{http.MethodGet, http.MethodPost}).Draw(t, "method")
		r := httptest.NewRequestWithContext(t.Context(), method, "/portal/1?a=%22&b=<", nil)
		zone := rapid.SampledFrom([]string{"", "Europe/Berlin"}).Draw(t, "zone")
		r.AddCookie(&http.Cookie{Name: "claviger-zone", Value: zone})
		plain, err := pages.FrameByTemplate(r, v, "<p>content</p>")
		if err != nil {
			t.Fatal(err)
		}
		want := string(ui.InZone([]byte(plain), ui.Zone(r)))
		if diff := cmp.Diff(want, rendered(t, pages, r, v)); diff != "" {
			t.Fatalf("(-html/template +from the cache):\n%s", diff)
		}
	})
}

// TestFramePeople shows the same pages to two people. Neither the second one's pages nor the cache
// contain a text of the first.
func TestFramePeople(t *testing.T) {
	pages := content(t)
	of := func(name string) ui.View {
		evil := `"><script>` + name + `</script>`
		items := []ui.Item{{Group: evil, Label: evil, URL: "/" + evil}, {Label: evil, URL: "javascript:" + name, Current: true}}
		return ui.View{
			Title: evil, Person: evil, Menu: items, Notice: evil, Problem: evil, Stream: "/" + evil,
			Nav:    &ui.Nav{Title: evil, Items: items, Search: "/" + evil},
			Banner: &ui.Banner{Text: evil, Until: sold, URL: "/" + evil, Label: evil, Leave: "/" + evil},
			Social: &ui.Social{Title: evil, Description: evil, Path: "/" + evil, Image: "/" + evil},
		}
	}
	for _, name := range []string{"alice", "mallory", "alice"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/portal/?by="+name, nil)
		got := rendered(t, pages, r, of(name))
		if strings.Contains(got, "<script>") || strings.Contains(got, "javascript:") || strings.Count(got, name) < 20 {
			t.Errorf("the page of %s:\n%s", name, got)
		}
		other := map[string]string{"alice": "mallory", "mallory": "alice"}[name]
		if strings.Contains(got, other) {
			t.Errorf("the page of %s names %s:\n%s", name, other, got)
		}
	}
	if _, cached := ui.CachedFrames(); strings.Contains(cached, "alice") || strings.Contains(cached, "mallory") {
		t.Errorf("the cache names people:\n%s", cached)
	}
}

// TestFrameShapes shows pages of more shapes than the cache may have.
func TestFrameShapes(t *testing.T) {
	pages := content(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for n := range ui.MaxShapes + 50 {
		rendered(t, pages, r, ui.View{Menu: make([]ui.Item, n/4), NoIndex: n%2 == 1, Refresh: n / 2 % 2})
		if cached, _ := ui.CachedFrames(); cached > ui.MaxShapes {
			t.Fatalf("%d shapes are in the cache", cached)
		}
	}
}

// TestFrameContexts: the frame takes texts as text and as whole URLs only.
func TestFrameContexts(t *testing.T) {
	for markup, ok := range map[string]bool{
		`<p title="{{.}}">{{.}}</p><title>{{.}}</title>`: true,
		`<a href="{{.}}">`:                    true,
		`<a href="/search?q={{.}}">`:          false,
		`<p title={{.}}>`:                     false,
		`<script>var name = {{.}}</script>`:   false,
		`<p style="color: {{.}}">`:            false,
		`<button onclick="open({{.}})">`:      false,
		`<style>p { color: {{.}} }</style>`:   false,
		`<script>var name = "{{.}}"</script>`: false,
	} {
		if err := ui.CutFrame(markup); (err == nil) != ok {
			t.Errorf("%s: %v", markup, err)
		}
	}
}

// BenchmarkFrame shows a page of the console with a short content.
func BenchmarkFrame(b *testing.B) {
	pages := content(b)
	v := ui.View{
		Title: "Licenses", Person: "operator@example.com", Wide: true, NoIndex: true,
		Menu: []ui.Item{{Label: "Console", URL: "/console/", Current: true}, {Label: "My licenses", URL: "/licenses"}},
		Nav:  &ui.Nav{Title: "Console", Search: "/console/search"}, Stream: "/console/licenses/stream",
	}
	for i := range 20 {
		v.Nav.Items = append(v.Nav.Items, ui.Item{
			Group: fmt.Sprintf("Group %d", i/5), Label: fmt.Sprintf("Item %d", i),
			URL: fmt.Sprintf("/console/item%d", i), Current: i == 7,
		})
	}
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/console/licenses?page=2", nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := pages.Render(httptest.NewRecorder(), r, "content", v); err != nil {
			b.Fatal(err)
		}
	}
}
