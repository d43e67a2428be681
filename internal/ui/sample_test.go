package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"claviger/internal/ui"
	"claviger/internal/wire"
)

// sample reads the pages of testdata, which use every part.
func sample(t *testing.T) *ui.Pages {
	t.Helper()
	p, err := ui.New(os.DirFS("testdata"), nil, "pages/*.html")
	if err != nil {
		t.Fatal(err)
	}
	p.Brand = "Keys & Co"
	return p
}

// product is the data of the sample's own part.
type product struct {
	Name, Text, Currency string
	Cents                int64
}

var sold = time.Date(2026, 11, 15, 6, 5, 0, 0, time.UTC)

// all is the data of the page with every part.
func all() any {
	return struct {
		Key      string
		At       time.Time
		States   []string
		Receipt  ui.Receipt
		Products []product
	}{
		Key:    "3f0c6a1e-9b7d-4c55-8a8e-2f9d1b7c4e60",
		At:     sold,
		States: []string{"active", "inactive", "held", "deactivated", "refund_reversed"},
		Receipt: ui.Receipt{Caption: "Receipts", Rows: []ui.ReceiptRow{
			{At: sold, What: "Acme Editor, tier 1", Number: "ord_20261115-000173", Link: "/receipts/1", Status: "refunded", Cents: 5900, Currency: "USD"},
			{At: sold.Add(time.Hour), What: "Change of plan to tier 2", Number: "ord_20261115-000174", Link: "/receipts/1", Status: "paid", Cents: 112900, Currency: "EUR"},
		}},
		Products: []product{
			{"Tier 1", "For one person and their three favourite projects.", "USD", 5900},
			{"Tier 2", "For a team of ten, with everything shared between them.", "USD", 11900},
			{"Tier 3", "For everybody.", "USD", 24900},
		},
	}
}

// signUp returns a form with errors in two fields.
func signUp() ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "name", Label: "Name", Value: `Ada "the first" <Lovelace>`, Autocomplete: "name"},
		{
			Name: "email", Label: "Email address", Type: "email", Value: "ada@", Required: true, Autofocus: true,
			Autocomplete: "username", Hint: "We send a link there to make sure that it is yours.", Error: "Enter an email address, such as name@example.com.",
		},
		{
			Name: "password", Label: "Password", Type: "password", Value: "secret", Required: true,
			Autocomplete: "new-password", Error: "Password must have at least 12 characters.",
		},
	}}
}

// full returns a view with everything around the page.
func full(data any) ui.View {
	return ui.View{
		Title: "Sample", Person: "ada.lovelace.of.the.analytical.engine@example.com",
		Menu:   []ui.Item{{Label: "Products", URL: "/"}, {Label: "My licenses", URL: "/all", Current: true}, {Label: "Account", URL: "/form"}},
		Notice: "Your license was activated.", Problem: "The receipt could not be sent.", Data: data,
	}
}

// site serves the sample pages like a package of pages.
func site(t *testing.T) http.Handler {
	t.Helper()
	pages := sample(t)
	show := func(path, name string, v ui.View) wire.Route {
		return wire.Public(http.MethodGet, path, func(w http.ResponseWriter, r *http.Request) error { return pages.Render(w, r, name, v) })
	}
	wide := full(all())
	wide.Wide = true
	routes := append(ui.Assets(),
		show("/all", "all", full(all())),
		show("/filters", "filters", ui.View{Title: "Filters", Data: folded("")}),
		show("/mistaken", "filters", ui.View{Title: "Filters", Data: folded("is no code.")}),
		show("/list", "list", ui.View{Title: "List", Fragment: "rows", Data: "Rows"}),
		show("/wide", "all", wide),
		show("/form", "form", ui.View{Title: "Sign up", Menu: []ui.Item{{Label: "Sign in", URL: "/"}}, Data: map[string]any{"Form": signUp()}}),
		wire.Public(http.MethodGet, "/down", func(w http.ResponseWriter, r *http.Request) error {
			pages.Fail(w, r, fmt.Errorf("the disk is full"))
			return nil
		}),
		wire.Public(http.MethodPost, "/sent", func(w http.ResponseWriter, r *http.Request) error {
			return pages.Render(w, r, "text", ui.View{Title: "Sent", Data: "Sent " + r.FormValue("license")})
		}),
	)
	mux := wire.NewMux(routes...)
	mux.Else = pages.NotFound()
	return pages.SameOrigin(mux)
}

// folded returns filters that are folded on a narrow screen; the first has the given error.
func folded(mistake string) ui.Filters {
	return ui.Filters{Label: "Filter calls", URL: "/calls", Fold: true, Fields: []ui.Field{{Name: "code", Label: "Code", Value: "404", Error: mistake}, {Name: "id", Label: "Id"}}}
}

// get requests one path from a handler.
func get(t *testing.T, h http.Handler, path string, headers ...string) *http.Response {
	t.Helper()
	return ask(t, h, http.MethodGet, path, headers...)
}

// ask sends a request with headers given as name, value, ….
func ask(t *testing.T, h http.Handler, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(""))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}
