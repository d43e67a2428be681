package wire_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

type tier int

type person struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

// order has one member of each supported type.
type order struct {
	Email    string     `json:"email"`
	Name     *string    `json:"name"`
	Tier     tier       `json:"tier"`
	Quantity *int       `json:"quantity"`
	Cents    int64      `json:"amount_cents"`
	Validate *bool      `json:"validate"`
	Strict   bool       `json:"strict,omitempty"`
	User     *person    `json:"user"`
	Scopes   []string   `json:"scopes"`
	From     *wire.Time `json:"from"`
	Hidden   string     `json:"-"`
	Untagged string
}

func ptr[T any](v T) *T { return &v }

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

func post(t testing.TB, contentType, body string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

func TestDecode(t *testing.T) {
	want := order{Email: "a@b.example", Name: ptr("Åsa & Söner"), Tier: 2, Quantity: ptr(0), Validate: ptr(false)}
	inJSON := `{"email":"a@b.example","name":"Åsa & Söner","tier":2,"quantity":0,"validate":false}`
	inForm := "email=a%40b.example&name=%C3%85sa+%26+S%C3%B6ner&tier=2&quantity=0&validate=false"
	tests := []struct {
		name, contentType, body string
		want                    order
	}{
		{"JSON", jsonType, inJSON, want},
		{"JSON with a charset", jsonType + "; charset=UTF-8", inJSON, want},
		{"JSON with space and a byte order mark", jsonType, "\ufeff\n " + inJSON + "\r\n", want},
		{"form", formType, inForm, want},
		{"form said to be JSON (a vendor's sample does that)", jsonType, inForm, want},
		{"JSON said to be a form", formType, inJSON, want},
		{"JSON without a type", "", inJSON, want},
		{"form without a type", "", inForm, want},
		{"JSON said to be a form, with an ampersand in it", formType, `{"email":"x&name=y"}`, order{Email: "x&name=y"}},
		{"null is not given", jsonType, `{"email":null,"name":null,"user":null,"scopes":null,"tier":null}`, order{}},
		{"nothing asked, JSON", jsonType, `{}`, order{}},
		{"empty", jsonType, "", order{}},
		{"empty form", formType, "", order{}},
		{"empty without a type", "", "", order{}},
		{"empty of another type", "text/plain", "", order{}},
		{"only space", jsonType, " \n", order{}},
		{"nested", jsonType, `{"user":{"email":"u","name":"n"},"scopes":["a","b"]}`, order{User: &person{"u", "n"}, Scopes: []string{"a", "b"}}},
		{"largest number", jsonType, `{"amount_cents":9223372036854775807}`, order{Cents: 9223372036854775807}},
		{"escapes", jsonType, `{"email":"\u00e9\ud83d\ude00\ufffd"}`, order{Email: "é😀\ufffd"}},
		{"time", jsonType, `{"from":"2026-02-03T04:05:06.1234567+01:00"}`, order{From: ptr(wire.Time(time.Date(2026, 2, 3, 3, 5, 6, 123456000, time.UTC)))}},
		{"time in a form", formType, `from=2026-02-03T04:05:06Z`, order{From: ptr(wire.Time(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)))}},
		{"one as true", formType, "strict=1", order{Strict: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got order
			if err := decode(httptest.NewRecorder(), post(t, tt.contentType, tt.body), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, sameTime); d != "" {
				t.Errorf("decoded (-want +got):\n%s", d)
			}
		})
	}
}

var sameTime = cmp.Comparer(func(a, b wire.Time) bool { return time.Time(a).Equal(time.Time(b)) })

// refusals are bodies that do not decode as order, and their errors.
var refusals = []struct {
	name, contentType, body string
	code, field, text       string // text: a part of the message
}{
	{"cut off", jsonType, `{"email":"x"`, "invalid_body", "", "line 1, column"},
	{"broken in the third line", jsonType, "{\n \"email\": \"x\",\n \"name\": bad}", "invalid_body", "", "line 3, column 10"},
	{"broken after many-byte characters", jsonType, `{"é":"é",x}`, "invalid_body", "", "line 1, column 10"},
	{"more than one value", jsonType, `{"email":"x"} {"email":"y"}`, "invalid_body", "", "after top-level value"},
	{"broken JSON with form in it", jsonType, `{"email":"x"&tier=3`, "invalid_body", "", "not valid JSON"},
	{"array", jsonType, `[{"email":"x"}]`, "invalid_body", "", "must be a JSON object, not an array"},
	{"null", jsonType, `null`, "invalid_body", "", "not null"},
	{"string", jsonType, `"email"`, "invalid_body", "", "not a string"},
	{"number", "", `5`, "invalid_body", "", "not a number"},
	{"form without known fields said to be JSON", jsonType, "colour=red", "invalid_body", "", "not valid JSON"},
	{"JSON without known members said to be a form", formType, `{"colour":"red"}`, "invalid_body", "", "not a form"},
	{"broken JSON said to be a form", formType, `{"email":`, "invalid_body", "", "not a form"},
	{"bad escape in a form", formType, "email=%zz", "invalid_body", "", "not a form"},
	{"semicolons in a form", formType, "email=a;name=b", "invalid_body", "", "not a form"},
	{"neither", "", "hello there", "invalid_body", "", "not valid JSON"},
	{"deep", jsonType, strings.Repeat(`{"user":`, 20000), "invalid_body", "", "depth"},
	{"number for string", jsonType, `{"email":5}`, "invalid_body", "email", "email must be a string, not a number"},
	{"object for string", jsonType, `{"name":{}}`, "invalid_body", "name", "name must be a string, not an object"},
	{"string for number", jsonType, `{"tier":"2"}`, "invalid_body", "tier", "tier must be a whole number, not a string"},
	{"fraction", jsonType, `{"tier":1.0}`, "invalid_body", "tier", "must be a whole number"},
	{"exponent", jsonType, `{"tier":1e2}`, "invalid_body", "tier", "must be a whole number"},
	{"too large", jsonType, `{"amount_cents":100000000000000000000}`, "invalid_body", "amount_cents", "out of range"},
	{"string for bool", jsonType, `{"strict":"true"}`, "invalid_body", "strict", "must be true or false, not a string"},
	{"array for object", jsonType, `{"user":[]}`, "invalid_body", "user", "user must be an object, not an array"},
	{"nested", jsonType, `{"user":{"email":true}}`, "invalid_body", "user.email", "user.email must be a string, not true or false"},
	{"object for array", jsonType, `{"scopes":{}}`, "invalid_body", "scopes", "must be an array"},
	{"element", jsonType, `{"scopes":["a",1]}`, "invalid_body", "scopes[1]", "must be a string"},
	{"null element", jsonType, `{"scopes":[null]}`, "invalid_body", "scopes[0]", "not null"},
	{"repeated", jsonType, `{"email":"a","email":"b"}`, "invalid_body", "email", "more than once"},
	{"repeated by escape", jsonType, `{"email":"a","\u0065mail":"b"}`, "invalid_body", "email", "more than once"},
	{"repeated in a form", formType, "email=a&email=b", "invalid_body", "email", "more than once"},
	{"not UTF-8", jsonType, "{\"email\":\"a\xff\"}", "invalid_body", "email", "UTF-8"},
	{"not UTF-8, nested", jsonType, "{\"user\":{\"name\":\"a\xff\"}}", "invalid_body", "user.name", "UTF-8"},
	{"not UTF-8 in an unknown member", jsonType, "{\"colour\":\"a\xff\"}", "invalid_body", "colour", "UTF-8"},
	{"not UTF-8 in a name", jsonType, "{\"col\xff\":1}", "invalid_body", "", "UTF-8"},
	{"not UTF-8 in a name of a form", formType, "col%FF=1", "unknown_parameter", "col\ufffd", "It takes email, name"},
	{"half a surrogate pair", jsonType, `{"email":"\ud800"}`, "invalid_body", "email", "UTF-8"},
	{"not UTF-8 in a form", formType, "email=a%FF", "invalid_body", "email", "UTF-8"},
	{"NUL", jsonType, `{"email":"a\u0000b"}`, "invalid_field", "email", "NUL"},
	{"NUL in a form", formType, "email=a%00b", "invalid_field", "email", "NUL"},
	{"word for number in a form", formType, "tier=two", "invalid_body", "tier", "whole number"},
	{"plus sign in a form", formType, "tier=%2B2", "invalid_body", "tier", "whole number"},
	{"number too large in a form", formType, "quantity=99999999999999999999", "invalid_body", "quantity", "out of range"},
	{"word for bool in a form", formType, "strict=maybe", "invalid_body", "strict", "true or false"},
	{"object in a form", formType, "user=x", "invalid_body", "user", "application/json"},
	{"not a time", jsonType, `{"from":"yesterday"}`, "invalid_field", "from", "timestamp"},
	{"number for time", jsonType, `{"from":1}`, "invalid_body", "from", "must be a string"},
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			f := fault.Of(decode(httptest.NewRecorder(), post(t, tt.contentType, tt.body), &order{}))
			if f == nil || f.Code != tt.code || f.Field != tt.field || !strings.Contains(f.Text, tt.text) {
				t.Errorf("got %+v, want code %q, field %q and a text with %q", f, tt.code, tt.field, tt.text)
			}
		})
	}
}

func TestDecodeTypes(t *testing.T) {
	tests := []struct {
		name, contentType string
		json              bool // expected of a decoder with JSONOnly
		both              bool
	}{
		{"JSON", jsonType, true, true},
		{"no type", "", true, true},
		{"capital letters", "Application/JSON", true, true},
		{"form", formType, false, true},
		{"text", "text/plain", false, false},
		{"multipart", "multipart/form-data; boundary=x", false, false},
		{"XML", "application/xml", false, false},
		{"JSON of another family", "application/vnd.api+json", false, false},
		{"another charset", "application/json; charset=utf-16", false, false},
		{"broken", "application/", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := wire.Decoder{JSONOnly: true}.Decode(httptest.NewRecorder(), post(t, tt.contentType, `{"email":"x"}`), &order{})
			if refused := fault.Is(err, "unsupported_media_type"); refused == tt.json || !refused && err != nil {
				t.Errorf("JSON only: got %v", err)
			}
			err = decode(httptest.NewRecorder(), post(t, tt.contentType, `{"email":"x"}`), &order{})
			if refused := fault.Is(err, "unsupported_media_type"); refused == tt.both || !refused && err != nil {
				t.Errorf("both: got %v", err)
			}
		})
	}
	compressed := post(t, jsonType, "\x1f\x8b")
	compressed.Header.Set("Content-Encoding", "gzip")
	if err := decode(httptest.NewRecorder(), compressed, &order{}); !fault.Is(err, "unsupported_media_type") {
		t.Errorf("compressed: got %v", err)
	}
}

func TestDecodeJSONTakesNoForm(t *testing.T) {
	for _, contentType := range []string{jsonType, ""} {
		if _, err := (wire.Decoder{JSONOnly: true}).Decode(httptest.NewRecorder(), post(t, contentType, "email=x"), &order{}); !fault.Is(err, "invalid_body") {
			t.Errorf("a form said to be %q: got %v", contentType, err)
		}
	}
	body := " {\"email\":\"x\"}\n"
	raw, err := wire.Decoder{JSONOnly: true}.Decode(httptest.NewRecorder(), post(t, jsonType, body), &order{})
	if err != nil || string(raw) != body {
		t.Errorf("the body as sent: got %q, %v", raw, err)
	}
}

func TestDecodeLimit(t *testing.T) {
	d := wire.Decoder{Limit: 20}
	exact := `{"email":"12345678"}`
	if _, err := d.Decode(httptest.NewRecorder(), post(t, jsonType, exact), &order{}); err != nil {
		t.Errorf("a body of the limit: %v", err)
	}
	if _, err := d.Decode(httptest.NewRecorder(), post(t, jsonType, exact+" "), &order{}); !fault.Is(err, "body_too_large") {
		t.Errorf("one byte more: got %v", err)
	}
	chunked := post(t, jsonType, "")
	chunked.Body, chunked.ContentLength = io.NopCloser(strings.NewReader(exact+" ")), -1
	if _, err := d.Decode(httptest.NewRecorder(), chunked, &order{}); !fault.Is(err, "body_too_large") {
		t.Errorf("one byte more, of unknown length: got %v", err)
	}
	huge := bytes.Repeat([]byte(" "), wire.DefaultBodyLimit+1)
	if err := decode(httptest.NewRecorder(), post(t, jsonType, string(huge)), &order{}); !fault.Is(err, "body_too_large") {
		t.Errorf("the default limit: got %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestDecodeBrokenBody(t *testing.T) {
	r := post(t, jsonType, "")
	r.Body, r.ContentLength = io.NopCloser(brokenReader{}), -1
	if err := decode(httptest.NewRecorder(), r, &order{}); !fault.Is(err, "invalid_body") {
		t.Errorf("a body that cannot be read is not an empty one: got %v", err)
	}
}

func TestDecodeIntoAnythingElse(t *testing.T) {
	var s string
	for _, dst := range []any{order{}, &s, nil} {
		if err := decode(httptest.NewRecorder(), post(t, jsonType, `{}`), dst); err == nil || fault.Of(err) != nil {
			t.Errorf("into %T: got %v, want an internal error", dst, err)
		}
	}
	var bad struct {
		Share float64 `json:"share"`
	}
	if err := decode(httptest.NewRecorder(), post(t, jsonType, `{"share":1}`), &bad); err == nil || fault.Of(err) != nil {
		t.Errorf("a member of a sort we do not read: got %v, want an internal error", err)
	}
}

func TestDecodeValues(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
		want       url.Values
		refused    string
	}{
		"form":                {formType, "a=1&a=2&b=%C3%A9", url.Values{"a": {"1", "2"}, "b": {"é"}}, ""},
		"object":              {jsonType, ` {"a": "1", "b": "\u00e9", "a": "2"} `, url.Values{"a": {"1", "2"}, "b": {"é"}}, ""},
		"what is no string":   {jsonType, `{"a": 60, "b": true, "c": null, "d": {"e": [1]}}`, url.Values{"a": {"60"}, "b": {"true"}, "d": {`{"e": [1]}`}}, ""},
		"object, called form": {formType, `{"a":"1"}`, url.Values{"a": {"1"}}, ""},
		"form, called object": {jsonType, `a=1`, url.Values{"a": {"1"}}, ""},
		"nothing":             {jsonType, "", url.Values{}, ""},
		"array":               {jsonType, `["a"]`, nil, "invalid_body"},
		"half an object":      {jsonType, `{"a":`, nil, "invalid_body"},
		"half, called form":   {formType, `{"a":`, nil, "invalid_body"},
		"bad form":            {formType, "a=%zz", nil, "invalid_body"},
		"no text":             {jsonType, "{\"a\":\"\xff\"}", nil, "invalid_body"},
		"no text inside":      {jsonType, "{\"a\":[\"\xff\"]}", nil, "invalid_body"},
		"another type":        {"text/plain", "a=1", nil, "unsupported_media_type"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.Decoder{}.Values(httptest.NewRecorder(), post(t, c.kind, c.body))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if (err != nil || c.refused != "") && !fault.Is(err, c.refused) {
				t.Errorf("got %v, want %q", err, c.refused)
			}
		})
	}
}

// decode decodes a body as most handlers do.
func decode(w http.ResponseWriter, r *http.Request, dst any) error {
	_, err := wire.Decoder{}.Decode(w, r, dst)
	return err
}
