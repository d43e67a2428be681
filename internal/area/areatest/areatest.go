// Package areatest is what the isolation tests of the portal and the console share: it
// fills the placeholders and forms of a route table with things that exist or do not,
// requests them as somebody, and holds the table of a document to the routes.
package areatest

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/area"
	"claviger/internal/visitor/pagetest"
)

// Registry says how the rows of a table are filled. H is the harness of the test, O
// whose things are meant. Who adds a route with a new placeholder, or an act, adds it
// here; the isolation test fails without it.
type Registry[H, O any] struct {
	Placeholders map[string]func(h H, of O) string     // by name, such as "license"
	Forms        map[string]func(h H, of O) url.Values // of every act, by path
	Queries      map[string]func(h H, of O) url.Values // of pages and streams that take ids besides those of their path
	Leads        map[string]string                     // rows that redirect elsewhere than into their area: how that address begins
}

var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// Target is a row with its placeholders filled.
type Target struct {
	Kind area.Kind
	Row  string // its path in the table
	Path string
	Form url.Values // nil for a GET

	Leads string // how the address begins that a person who may is redirected to
}

// Each returns a target for each request: one for all of a page or stream, and a new one
// for each act, which may remove what it is about.
func Each(kind area.Kind, fill func() Target) func() Target {
	var last *Target
	return func() Target {
		if last == nil || kind == area.Act {
			to := fill()
			last = &to
		}
		return *last
	}
}

// At fills a row of the area at base.
func (g Registry[H, O]) At(t testing.TB, h H, kind area.Kind, path, base string, of O) Target {
	t.Helper()
	to := Target{Kind: kind, Row: path, Leads: cmp.Or(g.Leads[path], base)}
	to.Path = base + placeholder.ReplaceAllStringFunc(path, func(name string) string {
		fill, ok := g.Placeholders[strings.Trim(name, "{}")]
		if !ok {
			t.Fatalf("%s: add %s to the placeholders of the isolation test", path, name)
		}
		return url.PathEscape(fill(h, of))
	})
	switch {
	case kind == area.Act:
		fill, ok := g.Forms[path]
		if !ok {
			t.Fatalf("%s: add the act to the forms of the isolation test", path)
		}
		to.Form = fill(h, of)
	case g.Queries[path] != nil:
		to.Path += "?" + g.Queries[path](h, of).Encode()
	}
	return to
}

// TakesIDs reports whether a row names things by its path, form or query.
func (g Registry[H, O]) TakesIDs(path string) bool {
	return HasPlaceholder(path) || g.Forms[path] != nil || g.Queries[path] != nil
}

// HasPlaceholder reports whether a path has one.
func HasPlaceholder(path string) bool { return placeholder.MatchString(path) }

// Send requests a target as the person of a browser, from a page of that site. A stream
// that opens is not read.
func Send(b *pagetest.Browser, to Target, site string) *pagetest.Page {
	b.Helper()
	method := http.MethodGet
	if to.Kind == area.Act {
		method = http.MethodPost
	}
	answer := b.Send(b.Context(), method, to.Path, to.Form, site)
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		_ = answer.Body.Close()
		return &pagetest.Page{TB: b.TB, Status: answer.StatusCode, Header: answer.Header}
	}
	return b.Read(answer)
}

// Refused is how a row answers people who may not have it. The page of a stream gives up
// at 401.
func Refused(kind area.Kind) int {
	if kind == area.Stream {
		return http.StatusUnauthorized
	}
	return http.StatusNotFound
}

// WantSame checks that somebody gets the answer of what does not exist, byte for byte.
func WantSame(b *pagetest.Browser, who string, to Target, want *pagetest.Page) {
	b.Helper()
	got := Send(b, to, "same-origin")
	if got.Status != Refused(to.Kind) || got.Body != want.Body {
		b.Errorf("%s as %s: %d, not the answer of what does not exist:\n%s", to.Path, who, got.Status, got.Body)
	}
}

// WantAnswer checks that a person who may gets an answer, and returns it. A redirect
// leads where the row says, and not to a page that first asks who they are.
func WantAnswer(b *pagetest.Browser, who string, to Target) *pagetest.Page {
	b.Helper()
	got := Send(b, to, "same-origin")
	switch {
	case got.Status == http.StatusOK:
	case got.Status == http.StatusSeeOther && strings.HasPrefix(got.Header.Get("Location"), to.Leads):
	case to.Kind == area.Act && got.Status >= 400 && got.Status < 500 && got.Status != http.StatusNotFound && got.Status != http.StatusForbidden:
		// Another test sends the form with values that are accepted.
	default:
		b.Errorf("%s as %s: %d to %q, want an answer or a redirect to %s\n%s", to.Path, who, got.Status, got.Header.Get("Location"), to.Leads, got.Body)
	}
	return got
}

// WantUnknown checks that an id that nobody has is answered as a page that does not exist.
func WantUnknown(b *pagetest.Browser, to Target) {
	b.Helper()
	if got := Send(b, to, "same-origin"); got.Status != Refused(to.Kind) && got.Status != http.StatusNotFound {
		b.Errorf("%s, which does not exist: %d\n%s", to.Path, got.Status, got.Body)
	}
}

// WantSignIn checks what somebody gets who is not signed in.
func WantSignIn(b *pagetest.Browser, to Target) {
	b.Helper()
	got := Send(b, to, "same-origin")
	switch {
	case to.Kind == area.Stream && got.Status == http.StatusUnauthorized && got.Header.Get("Location") == "":
	case to.Kind != area.Stream && got.Status == http.StatusSeeOther && strings.HasPrefix(got.Header.Get("Location"), "/sign-in"):
	default:
		b.Errorf("%s as nobody: %d to %q", to.Path, got.Status, got.Header.Get("Location"))
	}
}

// WantOwnForms checks that an act refuses a form of another site from somebody who may
// send one of ours.
func WantOwnForms(b *pagetest.Browser, to Target) {
	b.Helper()
	if to.Kind != area.Act {
		return
	}
	if got := Send(b, to, "cross-site"); got.Status != http.StatusForbidden {
		b.Errorf("%s: a form of another site is answered %d", to.Path, got.Status)
	}
}

// Method is how a document names the kind of a row.
func Method(kind area.Kind) string {
	switch kind {
	case area.Act:
		return "POST"
	case area.Stream:
		return "GET (stream)"
	case area.Page:
	}
	return "GET"
}

// SignIn is how a document names the answer to somebody who is not signed in.
func SignIn(kind area.Kind) string {
	if kind == area.Stream {
		return "401"
	}
	return "sign-in"
}

// HoldTable holds the table of routes in a document to what it must be, or writes it.
func HoldTable(t *testing.T, file, table string, write bool) {
	t.Helper()
	const begin, end = "<!-- routes -->\n", "<!-- end of routes -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	now, after, ok := strings.Cut(rest, end)
	want := "\n" + table + "\n"
	switch {
	case !ok:
		t.Fatalf("%s has no place for the table", file)
	case write:
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case now != want:
		t.Errorf("%s has another table than the routes: run its test with -run IsolationTable -update", file)
	}
}
