package shop_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// browser is somebody's browser at the house.
type browser struct {
	*house
	client  *http.Client
	jar     *cookiejar.Jar
	address string // of its client, as the proxy tells it
}

// sheet is a page, or a redirect, as a browser got it.
type sheet struct {
	testing.TB
	Status int
	Header http.Header
	Body   string
	doc    *html.Node
}

// get opens a page.
func (b *browser) get(path string) *sheet {
	b.Helper()
	return b.do(http.MethodGet, path, nil, "same-origin")
}

// post sends a form that stands on a page of ours: names and values in turn.
func (b *browser) post(path string, pairs ...string) *sheet {
	b.Helper()
	return b.do(http.MethodPost, path, fields(pairs), "same-origin")
}

func fields(pairs []string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return values
}

// do sends one request, as from a page of that site, and holds the answer to what
// every answer must be.
func (b *browser) do(method, path string, form url.Values, site string) *sheet {
	b.Helper()
	answer := b.send(b.Context(), method, path, form, site)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return b.sheet(answer, string(text))
}

// sheet is an answer that was read whole.
func (b *browser) sheet(answer *http.Response, text string) *sheet {
	b.Helper()
	s := &sheet{TB: b.TB, Status: answer.StatusCode, Header: answer.Header, Body: text}
	s.inspect(answer.Request.Method + " " + answer.Request.URL.Path)
	return s
}

// send sends one request and returns the answer to be read.
func (b *browser) send(ctx context.Context, method, path string, form url.Values, site string) *http.Response {
	b.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
		for _, name := range []string{"password", "current_password", "token"} {
			b.secret(form.Get(name))
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, b.url+path, body)
	if err != nil {
		b.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Sec-Fetch-Site", site)
	r.Header.Set("X-Forwarded-For", b.address)
	answer, err := b.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range answer.Cookies() {
		b.secret(c.Value)
	}
	return answer
}

// inspect checks what goes for every answer, and what goes for every page.
func (s *sheet) inspect(what string) {
	s.Helper()
	if got := s.Header.Get("Cache-Control"); got != "no-store" {
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
	for _, want := range []string{"default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
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
	if n := len(s.all(atom.H1)); n != 1 {
		s.Errorf("%s: the page has %d h1", what, n)
	}
	s.inspectElements(what)
}

// inspectElements checks that ids are unique, inputs have labels, passwords are
// not shown again, and nothing is styled or scripted in place.
func (s *sheet) inspectElements(what string) {
	s.Helper()
	ids := map[string]bool{}
	for n := range s.doc.Descendants() {
		if id := attr(n, "id"); id != "" {
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
		inline := n.DataAtom == atom.Style || n.DataAtom == atom.Script && attr(n, "src") == ""
		if inline {
			s.Errorf("%s: the page has a <%s> in it", what, n.Data)
		}
	}
	for _, input := range s.all(atom.Input) {
		kind := attr(input, "type")
		if kind == "password" && attr(input, "value") != "" {
			s.Errorf("%s: a password is shown again", what)
		}
		if kind == "hidden" || kind == "radio" {
			continue
		}
		labelled := slices.ContainsFunc(s.all(atom.Label), func(l *html.Node) bool { return attr(l, "for") == attr(input, "id") })
		if !labelled {
			s.Errorf("%s: the input %s has no label", what, attr(input, "name"))
		}
	}
}

// all lists the elements of a kind.
func (s *sheet) all(kind atom.Atom) []*html.Node {
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

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// words is the text of an element, white space made single.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// title is the heading of the page.
func (s *sheet) title() string {
	s.Helper()
	list := s.all(atom.H1)
	if len(list) == 0 {
		return ""
	}
	return words(list[0])
}

// text is what the page says between header and footer.
func (s *sheet) text() string {
	s.Helper()
	list := s.all(atom.Main)
	if len(list) == 0 {
		return ""
	}
	return words(list[0])
}

// input is the field of that name on the page, nil when there is none.
func (s *sheet) input(name string) *html.Node {
	s.Helper()
	for _, n := range s.all(atom.Input) {
		if attr(n, "name") == name {
			return n
		}
	}
	return nil
}

// want checks status and heading.
func (s *sheet) want(status int, title string) *sheet {
	s.Helper()
	if s.Status != status || s.title() != title {
		s.Fatalf("got %d %q, want %d %q; it says: %s", s.Status, s.title(), status, title, s.text())
	}
	return s
}

// leads checks that the answer sends the browser on to an address of ours.
func (s *sheet) leads(to string) {
	s.Helper()
	if got := s.Header.Get("Location"); s.Status != http.StatusSeeOther || got != to {
		text := ""
		if s.doc != nil {
			text = s.text()
		}
		s.Fatalf("got %d to %q, want to be sent on to %q; it says: %s", s.Status, got, to, text)
	}
}

// follow goes on until the browser comes to rest.
func (b *browser) follow(s *sheet) *sheet {
	b.Helper()
	for range 10 {
		to := s.Header.Get("Location")
		if s.Status != http.StatusSeeOther || !strings.HasPrefix(to, "/") {
			return s
		}
		s = b.get(to)
	}
	b.Fatal("sent from page to page for ever")
	return nil
}

// press presses the button with that text, with what is in its form and the names
// and values given. Fields that the form does not have cannot be filled in.
func (b *browser) press(s *sheet, label string, pairs ...string) *sheet {
	b.Helper()
	for _, button := range s.all(atom.Button) {
		if !strings.HasPrefix(words(button), label) || attr(button, "type") != "submit" {
			continue
		}
		form := button.Parent
		for form.DataAtom != atom.Form {
			if form = form.Parent; form == nil {
				b.Fatalf("the button %q stands in no form", label)
			}
		}
		to := attr(button, "formaction")
		if to == "" {
			to = attr(form, "action")
		}
		return b.do(http.MethodPost, to, b.filled(form, button, pairs), "same-origin")
	}
	b.Fatalf("there is no button %q on the page %q: %s", label, s.title(), s.text())
	return nil
}

// filled is what a form sends.
func (b *browser) filled(form, button *html.Node, pairs []string) url.Values {
	b.Helper()
	values := url.Values{}
	for n := range form.Descendants() {
		if n.DataAtom != atom.Input {
			continue
		}
		_, checked := find(n, "checked")
		if attr(n, "type") != "radio" || checked {
			values.Set(attr(n, "name"), attr(n, "value"))
		} else if !values.Has(attr(n, "name")) {
			values.Set(attr(n, "name"), "")
		}
	}
	for name, value := range fields(pairs) {
		if !values.Has(name) {
			b.Fatalf("the form has no field %s", name)
		}
		values[name] = value
	}
	if name := attr(button, "name"); name != "" {
		values.Set(name, attr(button, "value"))
	}
	return values
}

func find(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// signIn signs in by password.
func (b *browser) signIn(email, password string) *browser {
	b.Helper()
	b.press(b.get("/sign-in"), "Sign in", "email", email, "password", password).leads("/licenses")
	return b
}

// signedIn checks who the browser is signed in as: nobody when email is "".
func (b *browser) signedIn(email string) {
	b.Helper()
	s := b.get("/account")
	if email == "" {
		s.leads("/sign-in?next=%2Faccount")
		return
	}
	if s.want(http.StatusOK, "Your account"); !strings.Contains(s.text(), email) {
		b.Fatalf("signed in as somebody else than %s: %s", email, s.text())
	}
}

// cookie is the session cookie that the browser has.
func (b *browser) cookie() *http.Cookie {
	b.Helper()
	u, err := url.Parse(b.url)
	if err != nil {
		b.Fatal(err)
	}
	list := slices.DeleteFunc(b.jar.Cookies(u), func(c *http.Cookie) bool { return strings.HasSuffix(c.Name, "-known") })
	if len(list) != 1 {
		b.Fatalf("the browser has %d cookies", len(list))
	}
	return list[0]
}
