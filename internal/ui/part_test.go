package ui_test

import (
	"errors"
	"html"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/ui"
)

// part renders one template text inside the shell.
func part(t *testing.T, text string, data any) string {
	t.Helper()
	p, err := ui.New(fstest.MapFS{"p.html": {Data: []byte(text)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, body := shown(t, p, "p", ui.View{Data: data})
	_, body, _ = strings.Cut(body, `<main id="main" tabindex="-1">`)
	body, _, _ = strings.Cut(body, "</main>")
	return strings.TrimSpace(body)
}

func TestField(t *testing.T) {
	for _, c := range []struct {
		name  string
		field ui.Field
		want  string
	}{
		{
			"plain",
			ui.Field{Name: "city", Label: "City", Value: `"x"`},
			`<div class="field"> <label for="city">City <span class="optional">(optional)</span></label> <input id="city" name="city" type="text" value="&#34;x&#34;"> </div>`,
		},
		{
			"everything",
			ui.Field{Name: "email", Label: "Email", Type: "email", Value: "a@", Hint: "Yours.", Error: "Not whole.", Autocomplete: "username", Required: true, Autofocus: true},
			`<div class="field wrong"> <label for="email">Email</label> <p class="hint" id="email-hint">Yours.</p> <p class="error" id="email-error"><span class="sr">Error: </span>Not whole.</p> ` +
				`<input id="email" name="email" type="email" value="a@" autocomplete="username" required aria-invalid="true" aria-describedby="email-hint email-error" autofocus autocapitalize="none" spellcheck="false"> </div>`,
		},
		{
			"a password is never shown again",
			ui.Field{Name: "password", Label: "Password", Type: "password", Value: "secret", Required: true, Error: "Too short."},
			`<div class="field wrong"> <label for="password">Password</label> <p class="error" id="password-error"><span class="sr">Error: </span>Too short.</p> ` +
				`<input id="password" name="password" type="password" required aria-invalid="true" aria-describedby="password-error" autocapitalize="none" spellcheck="false"> </div>`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(strings.Fields(part(t, `{{template "field" .Data}}`, c.field)), " ")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("field (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryPart shows each part that the shell defines; add new ones here.
func TestEveryPart(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string
	}{
		"field":     {`{{template "field" (index .Data.Fields 0)}}`, []string{`value="Ada &#34;the first&#34; &lt;Lovelace&gt;"`}},
		"summary":   {`{{template "summary" .Data}}`, []string{`role="alert"`, "autofocus", `<a href="#email">`, `<a href="#password">`}},
		"button":    {`{{template "button" (button "Go" "Going…" "danger")}}`, []string{`<button class="button danger" type="submit" data-busy="Going…">Go</button>`}},
		"badge":     {`{{template "badge" "refund_reversed"}}{{template "badge" "active"}}`, []string{`<span class="badge neutral">Refund reversed</span>`, `<span class="badge good">Active</span>`}},
		"notice":    {`{{template "notice" "Wait."}}`, []string{"<p>Wait.</p>"}},
		"empty":     {`{{template "empty" (empty "None" "Buy one." "/shop" "Shop")}}{{template "empty" (empty "None" "Still.")}}`, []string{`<a class="button secondary" href="/shop">Shop</a>`, "<p>Still.</p>\n</div>"}},
		"key":       {`{{template "key" (key "license key" "a-b")}}`, []string{"<code>a-b</code>", `data-copy="a-b"`, `<span class="sr"> license key</span>`}},
		"short-key": {`{{template "short-key" (key "payment reference" "cs_live_a1B2c3D4e5F6g7")}}`, []string{">cs_live_a1…e5F6g7</code>", `>cs_live_a1B2c3D4e5F6g7</code>`, `data-copy="cs_live_a1B2c3D4e5F6g7"`}},
		"receipt":   {`{{template "receipt" .Receipt}}`, nil},

		// Tested in list_test.go, chart_test.go and curl_test.go.
		"table": {}, "cell": {}, "acts": {}, "filters": {}, "filters-form": {}, "results": {}, "pager": {}, "tabs": {}, "timeline": {}, "stats": {}, "code": {}, "chart": {}, "curl": {}, "job": {},
	}
	parts, err := os.ReadFile("shell/parts.html")
	if err == nil {
		var lists []byte
		lists, err = os.ReadFile("shell/lists.html")
		parts = append(parts, lists...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(parts)) {
		name, ok := strings.CutPrefix(line, `{{define "`)
		name, _, _ = strings.Cut(name, `"`)
		if _, known := cases[name]; ok && !known && !strings.HasPrefix(name, "field-") { // parts of the field
			t.Errorf("the part %s is not tried", name)
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if name == "receipt" || c.text == "" {
				return // TestReceipt
			}
			got := part(t, c.text, signUp())
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %s in\n%s", want, got)
				}
			}
		})
	}
}

func TestReceipt(t *testing.T) {
	got := part(t, `{{template "receipt" .Data}}`, ui.Receipt{Caption: "Receipts", Rows: []ui.ReceiptRow{
		{At: sold, What: "Tier 1", Number: "12", Link: "/receipts/12", Status: "paid", Cents: 5900, Currency: "USD"},
	}})
	for _, want := range []string{
		"<caption>Receipts</caption>", `title="2026-11-15 06:05:00 UTC">15 Nov 2026, 06:05 UTC</time>`,
		`data-label="Receipt"><a href="/receipts/12">12</a>`, `<span class="badge good">Paid</span>`, `class="number">$59.00</td>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestMoneyAndTime(t *testing.T) {
	for _, c := range []struct {
		text string
		data any
		want string
	}{
		{`{{money .Data "USD"}}`, int64(5900), "$59.00"},
		{`{{money .Data "EUR"}}`, int64(5905), "59.05\u00a0EUR"},
		{`{{money .Data "USD"}}`, int64(-123456789), "−$1,234,567.89"},
		{`{{money .Data "USD"}}`, int64(0), "$0.00"},
		{`{{money .Data "JPY"}}`, int64(100000), "100,000\u00a0JPY"},
		{`{{time .Data}}`, time.Date(2026, 11, 15, 8, 5, 59, 9, time.FixedZone("", 7200)), `<time datetime="2026-11-15T06:05:59Z" data-as="minute" title="2026-11-15 06:05:59 UTC">15 Nov 2026, 06:05 UTC</time>`},
		{`{{day .Data}}`, sold, `<time datetime="2026-11-15T06:05:00Z" data-as="day" title="2026-11-15 06:05:00 UTC">15 November 2026</time>`},
		{`{{exact .Data}}`, sold, `<time datetime="2026-11-15T06:05:00Z" data-as="second" title="2026-11-15 06:05:00 UTC">15 Nov 2026, 06:05:00 UTC</time>`},
		{`{{time .Data}}{{day .Data}}{{exact .Data}}`, time.Time{}, ""},
		{`{{label .Data}}`, "", ""},
		{`{{label .Data}}`, fault.Kind(3), "3"},
	} {
		if got := html.UnescapeString(part(t, c.text, c.data)); got != c.want {
			t.Errorf("%s of %v is %q, want %q", c.text, c.data, got, c.want)
		}
	}
}

func TestFormRefuse(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		want    bool
		problem string
		email   string
	}{
		{"at its field, by its label", fault.Field("email", "is not an address"), true, "", "Email address is not an address"},
		{"a sentence of its own", fault.New(fault.Conflict, "x", "Taken.").On("email"), true, "", "Taken."},
		{"a field that the form has not", fault.Field("tier", "is not sold"), true, "tier is not sold", ""},
		{"no field", fault.New(fault.Unknown, "x", "Wrong password."), true, "Wrong password.", ""},
		{"not the person's", errors.New("disk full"), false, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := ui.Form{Fields: []ui.Field{{Name: "email", Label: "Email address"}}}
			if got := f.Refuse(c.err); got != c.want || f.Failed() != c.want {
				t.Errorf("refused %v, failed %v, want %v", got, f.Failed(), c.want)
			}
			if f.Problem != c.problem || f.Fields[0].Error != c.email {
				t.Errorf("problem %q and field %q, want %q and %q", f.Problem, f.Fields[0].Error, c.problem, c.email)
			}
		})
	}
}

// All pages of a package are in one set of templates, so names must be unique.
func TestNamesOfTemplatesAreGivenOnce(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"two pages": {"a.html": {Data: []byte(`{{define "x"}}1{{end}}`)}, "b.html": {Data: []byte(`{{define "x"}}2{{end}}`)}},
		"the shell": {"a.html": {Data: []byte(`{{define "fragment-notice"}}x{{end}}`)}},
		"a part":    {"_x.html": {Data: []byte(`{{define "x"}}1{{end}}`)}, "a.html": {Data: []byte(`{{define "x"}}2{{end}}`)}},
	} {
		if _, err := ui.New(files, nil); err == nil || !strings.Contains(err.Error(), "there is a template") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
