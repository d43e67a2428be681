package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// plan is a body of the operator API, planAnswer its answered form.
type plan struct {
	Name       string  `json:"name"`
	PriceCents int64   `json:"price_cents"`
	Currency   string  `json:"currency"`
	WebhookURL string  `json:"webhook_url"`
	User       *person `json:"user"`
}

type planAnswer struct {
	Tier      int       `json:"tier"`
	CreatedAt wire.Time `json:"created_at"`
	plan
}

// TestUnknownMembers: each unknown member is named, with the probable intention.
func TestUnknownMembers(t *testing.T) {
	for _, tt := range []struct{ name, contentType, body, field, text string }{
		{"a letter left out", jsonType, `{"price_cents":5900,"curency":"EUR"}`, "curency", "Did you mean currency?"},
		{"a letter too many", jsonType, `{"currrency":"EUR"}`, "currrency", "Did you mean currency?"},
		{"two letters swapped", jsonType, `{"naem":"x"}`, "naem", "Did you mean name?"},
		{"a part of the name", jsonType, `{"price":5900}`, "price", "Did you mean price_cents?"},
		{"camel case", jsonType, `{"webhookUrl":"x"}`, "webhookUrl", "Did you mean webhook_url?"},
		{"kebab case", jsonType, `{"Webhook-URL":"x"}`, "Webhook-URL", "Did you mean webhook_url?"},
		{"capital letters", jsonType, `{"Name":"x"}`, "Name", "Did you mean name?"},
		{"no value", jsonType, `{"curency":null}`, "curency", "Did you mean currency?"},
		{"nested", jsonType, `{"user":{"emial":"x"}}`, "user.emial", "Did you mean user.email?"},
		{"nested and unlike", jsonType, `{"user":{"shoes":"x"}}`, "user.shoes", "It takes user.email, user.name."},
		{"unlike any", jsonType, `{"xyzzy":1}`, "xyzzy", "This request has no member xyzzy. It takes name, price_cents, currency, webhook_url, user."},
		{"one letter", jsonType, `{"n":1}`, "n", "It takes name"},
		{"no name at all", jsonType, `{"":1}`, "", "It takes name"},
		{"a form", formType, "name=x&curency=EUR", "curency", "Did you mean currency?"},
		{"a form said to be JSON", jsonType, "name=x&curency=EUR", "curency", "Did you mean currency?"},
		{"JSON said to be a form", formType, `{"name":"x","curency":"EUR"}`, "curency", "Did you mean currency?"},
		{"a member of the resource alone", jsonType, `{"created_at":"x"}`, "created_at", "It takes name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fault.Of(decode(httptest.NewRecorder(), post(t, tt.contentType, tt.body), &plan{}))
			if f == nil || f.Kind != fault.Invalid || f.Code != "unknown_parameter" || f.Field != tt.field || !strings.Contains(f.Text, tt.text) {
				t.Errorf("got %+v, want unknown_parameter of %q with %q", f, tt.field, tt.text)
			}
		})
	}
	long := fault.Of(decode(httptest.NewRecorder(), post(t, jsonType, `{"`+strings.Repeat("curency", 10_000)+`":1}`), &plan{}))
	if long == nil || len(long.Text) > 300 || len(long.Field) > 60 {
		t.Errorf("a long name: got %+v", long)
	}
	if err := decode(httptest.NewRecorder(), post(t, jsonType, `{"a":1}`), &struct{}{}); !fault.Is(err, "unknown_parameter") || !strings.Contains(err.Error(), "takes none") {
		t.Errorf("a body without members: got %v", err)
	}
}

// TestReadOnlyMembers: a client can send back what it read.
func TestReadOnlyMembers(t *testing.T) {
	d := wire.Decoder{ReadOnly: planAnswer{}}
	for contentType, body := range map[string]string{
		jsonType: `{"tier":"any","created_at":{"a":[1]},"name":"x"}`,
		formType: `tier=any&created_at=x&created_at=y&name=x`,
	} {
		var got plan
		if _, err := d.Decode(httptest.NewRecorder(), post(t, contentType, body), &got); err != nil || got != (plan{Name: "x"}) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{`{"user":{"tier":1}}`, `{"Tier":1}`, `{"api_key":"x"}`} {
		if _, err := d.Decode(httptest.NewRecorder(), post(t, jsonType, body), &plan{}); !fault.Is(err, "unknown_parameter") {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

// TestIgnoreUnknown: OAuth endpoints ignore unknown members.
func TestIgnoreUnknown(t *testing.T) {
	d := wire.Decoder{IgnoreUnknown: true}
	for contentType, body := range map[string]string{
		jsonType: `{"name":"x","names":[1,{"a":null}],"user":{"x":1}}`,
		formType: `name=x&colour=red&colour=blue`,
	} {
		var got plan
		if _, err := d.Decode(httptest.NewRecorder(), post(t, contentType, body), &got); err != nil || got.Name != "x" {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?page=1&colour=red&colour=blue&%FF=%00", nil)
	if q, err := wire.LenientQuery(r, "page"); err != nil || q.Get("page") != "1" {
		t.Errorf("a query: got %v, %v", q, err)
	}
}

// TestUnknownQuery: an endpoint refuses unknown query names.
func TestUnknownQuery(t *testing.T) {
	for query, text := range map[string]string{
		"stauts=active":              "Did you mean status?",
		"page=1&updatedSince=x":      "Did you mean updated_since?",
		"since=x":                    "Did you mean updated_since?",
		"xyzzy=1":                    "It takes page, status, updated_since.",
		"status=active&xyzzy&xyzzy=": "This request has no query parameter xyzzy.",
	} {
		_, err := wire.Query(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query, nil), "page", "status", "updated_since")
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || f.Code != "unknown_parameter" || f.Field == "" || !strings.Contains(f.Text, text) {
			t.Errorf("%s: got %+v, want %q", query, f, text)
		}
	}
}

// TestRouteWithoutQuery: a route refuses any query unless it declares one.
func TestRouteWithoutQuery(t *testing.T) {
	auth := &wire.AuthRoutes[string]{Authenticate: func(*http.Request) (string, error) { return "x", nil }, Name: func(s string) string { return s }}
	answer := func(w http.ResponseWriter, _ *http.Request, _ string) error { return wire.NoContent(w) }
	mux := wire.NewMux(auth.Route("POST", "/a", answer), auth.RouteWithQuery("GET", "/b", answer))
	for _, tt := range []struct {
		method, url string
		status      int
	}{
		{"POST", "/a", 204},
		{"POST", "/a?", 204},
		{"POST", "/a?dry_run=1", 400},
		{"POST", "/a?%zz", 400},
		{"GET", "/b?page=1", 204},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tt.method, "/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(tt.url, "?")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("%s %s: got %d %s, want %d", tt.method, tt.url, w.Code, w.Body, tt.status)
		}
	}
}
