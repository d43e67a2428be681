package e2e_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"claviger/internal/devserver"
)

// visitor is a person with a browser without scripts: cookies, links and forms are enough for every
// page.
type visitor struct {
	testing.TB
	client *http.Client
	base   string // of the marketplace
	who    devserver.PersonCard
	steps  []string // the questions to the person, in order
}

// Possible questions to a person.
const (
	signsIn  = "sign in"
	consents = "consent"
)

// newVisitor returns a person without an earlier visit.
func newVisitor(t testing.TB, base string, who devserver.PersonCard) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{TB: t, base: base, who: who, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// sheet is the current page of the browser, or a redirect.
type sheet struct {
	status int
	at     *url.URL
	to     string // target of a redirect, also an automatic one; "": none
	body   string
	form   *form // the first form of its main part; nil: none
}

// form is a form of a page with its initial values.
type form struct {
	action string
	fields url.Values
}

// open follows a link for one step.
func (v *visitor) open(address string) sheet {
	v.Helper()
	return v.send(http.MethodGet, address, nil)
}

// post sends a form of one of the marketplace's own pages.
func (v *visitor) post(address string, fields url.Values) sheet {
	v.Helper()
	return v.send(http.MethodPost, address, fields)
}

func (v *visitor) send(method, address string, fields url.Values) sheet {
	v.Helper()
	if strings.HasPrefix(address, "/") {
		address = v.base + address
	}
	r, err := http.NewRequestWithContext(v.Context(), method, address, strings.NewReader(fields.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if fields != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	resp, err := v.client.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // It was read.
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.Fatal(err)
	}
	s := sheet{status: resp.StatusCode, at: r.URL, body: string(body)}
	if location := cmp.Or(resp.Header.Get("Location"), v.refreshOf(s.body)); location != "" {
		to, err := r.URL.Parse(location)
		if err != nil {
			v.Fatal(err)
		}
		s.to = to.String()
	}
	s.form = v.formOf(s.body)
	return s
}

// refreshOf returns the target of a page's automatic redirect, or "".
func (v *visitor) refreshOf(text string) string {
	v.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		v.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "meta" && attribute(n, "http-equiv") == "refresh" {
			_, to, _ := strings.Cut(attribute(n, "content"), "url=")
			return to
		}
	}
	return ""
}

// formOf reads the first form of a page's main part.
func (v *visitor) formOf(text string) *form {
	v.Helper()
	_, text, _ = strings.Cut(text, "<main")
	doc, err := html.Parse(strings.NewReader("<main" + text))
	if err != nil {
		v.Fatal(err)
	}
	var found *form
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "form" && found != nil:
			return found
		case n.Data == "form":
			found = &form{action: attribute(n, "action"), fields: url.Values{}}
		case n.Data == "input" && found != nil && attribute(n, "name") != "":
			found.fields.Set(attribute(n, "name"), attribute(n, "value"))
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// connects follows an application's link and answers its pages until it leads back to the
// application. It returns that last address.
func (v *visitor) connects(address, back string) *url.URL {
	v.Helper()
	v.steps = nil
	s := v.open(address)
	for range 10 {
		switch {
		case s.to != "" && strings.HasPrefix(s.to, back):
			to, err := url.Parse(s.to)
			if err != nil {
				v.Fatal(err)
			}
			return to
		case s.to != "":
			s = v.open(s.to)
		default:
			s = v.answers(s)
		}
	}
	v.Fatalf("the way from %s does not end; it is at %s after %q", address, s.at, v.steps)
	return nil
}

// answers fills in the form of a page and sends it.
func (v *visitor) answers(s sheet) sheet {
	v.Helper()
	switch {
	case s.status != http.StatusOK || s.form == nil:
		v.Fatalf("%s answered %d, with nothing to fill in:\n%s", s.at, s.status, s.body)
	case s.form.fields.Has("password"):
		v.steps = append(v.steps, signsIn)
		s.form.fields.Set("email", v.who.Email)
		s.form.fields.Set("password", v.who.Password)
	case s.form.fields.Has("license"):
		v.steps = append(v.steps, consents)
		s.form.fields.Set("decision", "allow")
	}
	return v.post(s.form.action, s.form.fields)
}
