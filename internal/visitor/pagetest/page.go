package pagetest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page is a page, or a redirect, as received by a browser.
type Page struct {
	testing.TB
	Status int
	Header http.Header
	Body   string
	doc    *html.Node
}

// inspect checks the rules of every answer and of every page.
func (s *Page) inspect(what string) {
	s.Helper()
	if got := s.Header.Get("Cache-Control"); got != "no-store" &&
		got != "no-store, no-transform" { // a file, which proxies must not change
		s.Errorf("%s: Cache-Control is %q", what, got)
	}
	for name, want := range map[string]string{
		"Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
	} {
		if got := s.Header.Get(name); got != want {
			s.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	policy := s.Header.Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'",
	} {
		if !strings.Contains(policy, want) {
			s.Errorf("%s: Content-Security-Policy %q lacks %s", what, policy, want)
		}
	}
	if !strings.HasPrefix(s.Header.Get("Content-Type"), "text/html") || s.Status == http.StatusSeeOther {
		return
	}
	var err error
	if s.doc, err = html.Parse(strings.NewReader(s.Body)); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
	if n := len(s.All(atom.H1)); n != 1 {
		s.Errorf("%s: the page has %d h1", what, n)
	}
	s.inspectElements(what)
}

// inspectElements checks that ids are unique, inputs have labels, passwords are
// not shown again, and nothing is styled or scripted in place.
func (s *Page) inspectElements(what string) {
	s.Helper()
	ids := map[string]bool{}
	for n := range s.doc.Descendants() {
		if id := Attr(n, "id"); id != "" {
			if ids[id] {
				s.Errorf("%s: two elements have the id %s", what, id)
			}
			ids[id] = true
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				s.Errorf("%s: an element has the attribute %s", what, a.Key)
			}
		}
		inline := n.DataAtom == atom.Style || n.DataAtom == atom.Script && Attr(n, "src") == ""
		if inline {
			s.Errorf("%s: the page has a <%s> in it", what, n.Data)
		}
	}
	for _, input := range s.All(atom.Input) {
		kind := Attr(input, "type")
		if kind == "password" && Attr(input, "value") != "" {
			s.Errorf("%s: a password is shown again", what)
		}
		if kind == "hidden" || kind == "radio" {
			continue
		}
		labelled := slices.ContainsFunc(
			s.All(atom.Label),
			func(l *html.Node) bool { return Attr(l, "for") == Attr(input, "id") },
		)
		if !labelled {
			s.Errorf("%s: the input %s has no label", what, Attr(input, "name"))
		}
	}
}

// All lists the elements of a kind.
func (s *Page) All(kind atom.Atom) []*html.Node {
	s.Helper()
	if s.doc == nil {
		s.Fatalf("got %d %s and no page", s.Status, s.Header.Get("Location"))
	}
	var list []*html.Node
	for n := range s.doc.Descendants() {
		if n.DataAtom == kind {
			list = append(list, n)
		}
	}
	return list
}

// Attr returns an attribute of an element, "" if it has none.
func Attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Words returns the text of an element with single spaces.
func Words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Title returns the heading of the page.
func (s *Page) Title() string {
	s.Helper()
	list := s.All(atom.H1)
	if len(list) == 0 {
		return ""
	}
	return Words(list[0])
}

// Text returns the text of the page between header and footer.
func (s *Page) Text() string {
	s.Helper()
	list := s.All(atom.Main)
	if len(list) == 0 {
		return ""
	}
	return Words(list[0])
}

// Input returns the field of that name on the page, or nil.
func (s *Page) Input(name string) *html.Node {
	s.Helper()
	for _, n := range s.All(atom.Input) {
		if Attr(n, "name") == name {
			return n
		}
	}
	return nil
}

// Want checks status and heading.
func (s *Page) Want(status int, title string) *Page {
	s.Helper()
	if s.Status != status || s.Title() != title {
		s.Fatalf("got %d %q, want %d %q; it says: %s", s.Status, s.Title(), status, title, s.Text())
	}
	return s
}

// WantRedirect checks that the answer redirects the browser to a URL of ours.
func (s *Page) WantRedirect(to string) {
	s.Helper()
	if got := s.Header.Get("Location"); s.Status != http.StatusSeeOther || got != to {
		text := ""
		if s.doc != nil {
			text = s.Text()
		}
		s.Fatalf("got %d to %q, want to be sent on to %q; it says: %s", s.Status, got, to, text)
	}
}

// Links returns the texts of the links with part in their URL.
func (s *Page) Links(part string) map[string]string {
	s.Helper()
	found := map[string]string{}
	for _, a := range s.All(atom.A) {
		if to := Attr(a, "href"); strings.Contains(to, part) {
			found[to] = Words(a)
		}
	}
	return found
}

// WantCallback checks that the answer redirects the browser to the application, and returns the
// query.
func (s *Page) WantCallback(at string) url.Values {
	s.Helper()
	to, err := url.Parse(s.Header.Get("Location"))
	if err != nil || s.Status != http.StatusSeeOther || !strings.HasPrefix(to.String(), at+"?") {
		s.Fatalf("got %d to %q, want to be sent to %s; it says: %s", s.Status, to, at, s.Body)
	}
	return to.Query()
}
