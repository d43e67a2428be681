// Package areatest supports the isolation tests of the portal and the console. It fills the
// placeholders and forms of a route table with things that exist or do not, requests them as a
// given person, and compares the table of a document with the routes.
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

// Registry fills the rows of a table. H is the harness of the test, O the owner of the things. A
// route with a new placeholder, or an act, needs an entry here; without it the isolation test
// fails.
type Registry[H, O any] struct {
	Placeholders map[string]func(h H, of O) string     // by name, such as "license"
	Forms        map[string]func(h H, of O) url.Values // of every act, by path
	Queries      map[string]func(h H, of O) url.Values // of pages and streams that take ids outside their path
	Leads        map[string]string                     // prefix of the redirect, for rows that lead out of their area
}

var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// Target is a row with its placeholders filled.
type Target struct {
	Kind area.Kind
	Row  string // its path in the table
	Path string
	Form url.Values // nil for a GET

	Leads string // prefix of the redirect for people with access
}

// Each returns a target for each request: the same for all requests of a page or stream, and a new
// one for each act, because an act may remove its subject.
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

// TakesIDs reports whether a row has ids in its path, form or query.
func (g Registry[H, O]) TakesIDs(path string) bool {
	return HasPlaceholder(path) || g.Forms[path] != nil || g.Queries[path] != nil
}

// HasPlaceholder reports whether a path has a placeholder.
func HasPlaceholder(path string) bool { return placeholder.MatchString(path) }

// Send requests a target with a browser, from a page of that site. A stream that opens is not read.
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

// Refused returns the status of a row for people without access. The page of a stream gives up at
// 401.
func Refused(kind area.Kind) int {
	if kind == area.Stream {
		return http.StatusUnauthorized
	}
	return http.StatusNotFound
}

// WantSame checks that a person gets the answer of a missing page, byte for byte.
func WantSame(b *pagetest.Browser, who string, to Target, want *pagetest.Page) {
	b.Helper()
	got := Send(b, to, "same-origin")
	if got.Status != Refused(to.Kind) || got.Body != want.Body {
		b.Errorf("%s as %s: %d, not the answer of what does not exist:\n%s", to.Path, who, got.Status, got.Body)
	}
}

// WantAnswer checks that a person with access gets an answer, and returns it. A redirect must lead
// to the row's target, and not to a sign-in page.
func WantAnswer(b *pagetest.Browser, who string, to Target) *pagetest.Page {
	b.Helper()
	got := Send(b, to, "same-origin")
	switch {
	case got.Status == http.StatusOK:
	case got.Status == http.StatusSeeOther && strings.HasPrefix(got.Header.Get("Location"), to.Leads):
	case to.Kind == area.Act && got.Status >= 400 && got.Status < 500 &&
		got.Status != http.StatusNotFound && got.Status != http.StatusForbidden:
		// Another test sends the form with valid values.
	default:
		b.Errorf(
			"%s as %s: %d to %q, want an answer or a redirect to %s\n%s",
			to.Path, who, got.Status, got.Header.Get("Location"), to.Leads, got.Body,
		)
	}
	return got
}

// WantUnknown checks that an unknown id gets the answer of a missing page.
func WantUnknown(b *pagetest.Browser, to Target) {
	b.Helper()
	if got := Send(b, to, "same-origin"); got.Status != Refused(to.Kind) && got.Status != http.StatusNotFound {
		b.Errorf("%s, which does not exist: %d\n%s", to.Path, got.Status, got.Body)
	}
}

// WantSignIn checks the answer to a signed-out visitor.
func WantSignIn(b *pagetest.Browser, to Target) {
	b.Helper()
	got := Send(b, to, "same-origin")
	switch {
	case to.Kind == area.Stream && got.Status == http.StatusUnauthorized && got.Header.Get("Location") == "":
	case to.Kind != area.Stream && got.Status == http.StatusSeeOther &&
		strings.HasPrefix(got.Header.Get("Location"), "/sign-in"):
	default:
		b.Errorf("%s as nobody: %d to %q", to.Path, got.Status, got.Header.Get("Location"))
	}
}

// WantOwnForms checks that an act refuses a form of another site, even from a person with access.
func WantOwnForms(b *pagetest.Browser, to Target) {
	b.Helper()
	if to.Kind != area.Act {
		return
	}
	if got := Send(b, to, "cross-site"); got.Status != http.StatusForbidden {
		b.Errorf("%s: a form of another site is answered %d", to.Path, got.Status)
	}
}

// Method returns the name of a row's kind in a document.
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

// SignIn returns the answer to signed-out visitors, as a document names it.
func SignIn(kind area.Kind) string {
	if kind == area.Stream {
		return "401"
	}
	return "sign-in"
}

// HoldTable compares the table of routes in a document with table, or writes it.
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
