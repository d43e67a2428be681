package wire_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// seeds are the seed bodies of both fuzz tests.
var seeds = []string{
	``, ` `, `{}`, `null`, `[]`, `{"email":"a@b.example","name":"x","tier":3}`, `{"user":{"email":"u"},"scopes":["a"]}`,
	`{"email":"a","email":"b"}`, `{"email":"\u0000"}`, `{"email":"\ud800"}`, "{\"email\":\"\xff\"}", `{"tier":1e400}`, `{"from":"2026-01-01T00:00:00Z"}`,
	`email=a%40b.example&name=x&tier=3`, `email=%FF`, `email=%00`, `a;b`, `{"email":"x&name=y"}`, "\ufeff{}", `{"quantity":-0}`, `{"validate":tru`,
	`{ "a" : [ {"x":"}\"],\\"} , -1e3 ] , "em\u0061il" : "e\"" , "amount_cents" : 12 }`, `{"a":{},"b":[],"amount_cents":7}`,
}

// checkDecoded checks any decoded input: the result is a fault of 400 or 422, or all its strings
// can be stored in a database.
func checkDecoded(t *testing.T, got order, err error) {
	t.Helper()
	if err != nil {
		f := fault.Of(err)
		if f == nil || f.Kind != fault.Invalid && f.Kind != fault.Unprocessable {
			t.Fatalf("got %v, want a fault of the sender", err)
		}
		if !utf8.ValidString(f.Text) || len(f.Text) > 1000 {
			t.Fatalf("the message is not fit for showing: %q", f.Text)
		}
		return
	}
	all := append([]string{got.Email, got.Hidden, got.Untagged}, got.Scopes...)
	if got.Name != nil {
		all = append(all, *got.Name)
	}
	if got.User != nil {
		all = append(all, got.User.Email, got.User.Name)
	}
	for _, s := range all {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Fatalf("let through %q", s)
		}
	}
	if got.Hidden != "" || got.Untagged != "" {
		t.Fatalf("set a field that is no member: %+v", got)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var got order
		_, err := wire.Decoder{JSONOnly: true}.Decode(httptest.NewRecorder(), post(t, jsonType, body), &got)
		checkDecoded(t, got, err)
		var members map[string]json.RawMessage
		if err != nil || json.Unmarshal([]byte(body), &members) != nil {
			return
		}
		var email string
		if raw, ok := members["email"]; ok && json.Unmarshal(raw, &email) == nil && email != got.Email {
			t.Fatalf("email is %q, encoding/json reads %q", got.Email, email)
		}
		var cents int64
		if raw, ok := members["amount_cents"]; ok && json.Unmarshal(raw, &cents) == nil && cents != got.Cents {
			t.Fatalf("amount_cents is %d, encoding/json reads %d", got.Cents, cents)
		}
	})
}

func FuzzDecodeForm(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var got order
		err := decode(httptest.NewRecorder(), post(t, formType, body), &got)
		checkDecoded(t, got, err)
		values, bad := url.ParseQuery(strings.TrimSpace(body))
		if err == nil && bad == nil && !json.Valid([]byte(strings.TrimPrefix(body, "\ufeff"))) && !strings.HasPrefix(body, "\ufeff") && values.Get("email") != got.Email {
			t.Fatalf("email is %q, net/url reads %q", got.Email, values.Get("email"))
		}
	})
}

func FuzzDecodeValues(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, jsonType)
		f.Add(s, formType)
	}
	f.Fuzz(func(t *testing.T, body, kind string) {
		got, err := wire.Decoder{}.Values(httptest.NewRecorder(), post(t, kind, body))
		if err != nil {
			if fault.Of(err) == nil {
				t.Fatalf("got %v", err)
			}
			return
		}
		var members map[string]string
		if json.Unmarshal([]byte(body), &members) != nil {
			return
		}
		for name, value := range members {
			if value != "" && !slices.Contains(got[name], value) {
				t.Fatalf("%q is %q, encoding/json reads %q", name, got[name], value)
			}
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "page=1", "page=1&page=2", "page=%FF", "page=%00", "page=%zz", "a;b", "%ff=%ff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.URL.RawQuery = query
		q, err := wire.Query(r, "page", "status")
		if err != nil {
			f := fault.Of(err)
			if f == nil || f.Code != "invalid_parameter" && f.Code != "unknown_parameter" || !utf8.ValidString(f.Text) || len(f.Text) > 1000 {
				t.Fatalf("got %v", err)
			}
			return
		}
		for _, name := range []string{"page", "status"} {
			if v := q.Get(name); !utf8.ValidString(v) || strings.Contains(v, "\x00") || len(q[name]) > 1 {
				t.Fatalf("let through %q", q[name])
			}
		}
	})
}
