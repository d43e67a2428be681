package pagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Browser is a person's browser, with its own cookies and address.
type Browser struct {
	*Service
	Client  *http.Client
	Jar     *cookiejar.Jar
	Address string // of its client, as sent by the proxy
}

// Get opens a page.
func (b *Browser) Get(path string) *Page {
	b.Helper()
	return b.Do(http.MethodGet, path, nil, "same-origin")
}

// Post sends a form of one of our pages: alternating names and values.
func (b *Browser) Post(path string, pairs ...string) *Page {
	b.Helper()
	return b.Do(http.MethodPost, path, Fields(pairs), "same-origin")
}

// Fields returns a form of alternating names and values.
func Fields(pairs []string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return values
}

// Do sends one request, as from a page of that site, and checks the rules of every answer.
func (b *Browser) Do(method, path string, form url.Values, site string) *Page {
	b.Helper()
	return b.Read(b.Send(b.Context(), method, path, form, site))
}

// Read reads a whole answer and returns its page.
func (b *Browser) Read(answer *http.Response) *Page {
	b.Helper()
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return b.ReadPage(answer, string(text))
}

// ReadPage returns the page of an answer with this text.
func (b *Browser) ReadPage(answer *http.Response, text string) *Page {
	b.Helper()
	s := &Page{TB: b.TB, Status: answer.StatusCode, Header: answer.Header, Body: text}
	s.inspect(answer.Request.Method + " " + answer.Request.URL.Path)
	return s
}

// Send sends one request and returns the unread answer.
func (b *Browser) Send(ctx context.Context, method, path string, form url.Values, site string) *http.Response {
	b.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
		for _, name := range []string{"password", "current_password", "token"} {
			b.AddSecret(form.Get(name))
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, b.URL+path, body)
	if err != nil {
		b.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Sec-Fetch-Site", site)
	r.Header.Set("X-Forwarded-For", b.Address)
	answer, err := b.Client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range answer.Cookies() {
		b.AddSecret(c.Value)
	}
	return answer
}

// Upload sends a form with a file from a page of ours.
func (b *Browser) Upload(path, field string, file []byte) *Page {
	b.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, "file")
	if err == nil {
		_, err = part.Write(file)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		b.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.URL+path, &body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("X-Forwarded-For", b.Address)
	answer, err := b.Client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	return b.Read(answer)
}

// Follow follows redirects until the browser comes to rest.
func (b *Browser) Follow(s *Page) *Page {
	b.Helper()
	for range 10 {
		to := s.Header.Get("Location")
		if s.Status != http.StatusSeeOther || !strings.HasPrefix(to, "/") {
			return s
		}
		s = b.Get(to)
	}
	b.Fatal("sent from page to page for ever")
	return nil
}

// Press presses the button with that text. It sends the form with the given names and values filled
// in. Fields that the form does not have cannot be filled in.
func (b *Browser) Press(s *Page, label string, pairs ...string) *Page {
	b.Helper()
	for _, button := range s.All(atom.Button) {
		if !strings.HasPrefix(Words(button), label) || Attr(button, "type") != "submit" {
			continue
		}
		form := button.Parent
		for form.DataAtom != atom.Form {
			if form = form.Parent; form == nil {
				b.Fatalf("the button %q stands in no form", label)
			}
		}
		to := Attr(button, "formaction")
		if to == "" {
			to = Attr(form, "action")
		}
		return b.Do(http.MethodPost, to, b.filled(form, button, pairs), "same-origin")
	}
	b.Fatalf("there is no button %q on the page %q: %s", label, s.Title(), s.Text())
	return nil
}

// filled returns the values that a form sends.
func (b *Browser) filled(form, button *html.Node, pairs []string) url.Values {
	b.Helper()
	values := url.Values{}
	for n := range form.Descendants() {
		name := Attr(n, "name")
		switch n.DataAtom {
		case atom.Input:
			_, checked := find(n, "checked")
			if kind := Attr(n, "type"); kind != "radio" && kind != "checkbox" || checked {
				values.Set(name, Attr(n, "value"))
			} else if !values.Has(name) {
				values.Set(name, "")
			}
		case atom.Select:
			values.Set(name, selected(n))
		case atom.Textarea:
			values.Set(name, Words(n))
		default:
		}
	}
	for name, value := range Fields(pairs) {
		if !values.Has(name) {
			b.Fatalf("the form has no field %s", name)
		}
		values[name] = value
	}
	if name := Attr(button, "name"); name != "" {
		values.Set(name, Attr(button, "value"))
	}
	return values
}

// selected returns the value of a select: the marked option, or the first.
func selected(list *html.Node) string {
	value := ""
	first := true
	for n := range list.Descendants() {
		if n.DataAtom != atom.Option {
			continue
		}
		if _, marked := find(n, "selected"); marked || first {
			value = Attr(n, "value")
			first = false
		}
	}
	return value
}

func find(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// SignIn signs in with a password.
func (b *Browser) SignIn(email, password string) *Browser {
	b.Helper()
	s := b.Press(b.Get("/sign-in?again=1"), "Sign in", "email", email, "password", password)
	if to := s.Header.Get("Location"); s.Status != http.StatusSeeOther || strings.HasPrefix(to, "/sign-in") {
		b.Fatalf("signing in as %s: %d to %q", email, s.Status, to)
	}
	return b
}

// WantSignedIn checks the signed-in account of the browser: none if email is "".
func (b *Browser) WantSignedIn(email string) {
	b.Helper()
	s := b.Get("/account")
	if email == "" {
		s.WantRedirect("/sign-in?next=%2Faccount")
		return
	}
	if s.Want(http.StatusOK, "Your account"); !strings.Contains(s.Text(), email) {
		b.Fatalf("signed in as somebody else than %s: %s", email, s.Text())
	}
}

// Cookie returns the session cookie of the browser.
func (b *Browser) Cookie() *http.Cookie {
	b.Helper()
	u, err := url.Parse(b.URL)
	if err != nil {
		b.Fatal(err)
	}
	list := slices.DeleteFunc(
		b.Jar.Cookies(u),
		func(c *http.Cookie) bool { return strings.HasSuffix(c.Name, "-known") },
	)
	if len(list) != 1 {
		b.Fatalf("the browser has %d cookies", len(list))
	}
	return list[0]
}

// SetCookie gives the browser a cookie.
func (b *Browser) SetCookie(c *http.Cookie) {
	b.Helper()
	u, err := url.Parse(b.URL)
	if err != nil {
		b.Fatal(err)
	}
	if b.Jar, err = cookiejar.New(nil); err != nil {
		b.Fatal(err)
	}
	b.Jar.SetCookies(u, []*http.Cookie{c})
	b.Client.Jar = b.Jar
}

// NewBrowser returns a browser with its own cookies and address. It follows no redirects.
func (h *Service) NewBrowser() *Browser {
	h.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: h.tls}
	h.Cleanup(transport.CloseIdleConnections)
	n := h.clients.Add(1)
	return &Browser{Service: h, Jar: jar, Address: fmt.Sprintf("192.0.2.%d", n), Client: &http.Client{
		Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}
