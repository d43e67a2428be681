package operator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/account"
)

// fuzzBody sends arbitrary bodies to one route: the service accepts or refuses them, and never
// fails.
func fuzzBody(f *testing.F, method, path string) {
	f.Helper()
	h := newHarness(f)
	key := h.buy("order-1")
	handler := h.operator.Handler()
	for _, w := range writes {
		if w.method == method && w.path == path {
			f.Add([]byte(withKey(w.body, key)))
		}
	}
	for _, value := range hostile {
		f.Add([]byte(`{"email":` + value + `}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var calls struct{ Validate bool }
		_ = json.Unmarshal(body, &calls)
		if calls.Validate {
			t.Skip("it would call whatever URL it has")
		}
		r := httptest.NewRequestWithContext(t.Context(), method, withKey(path, key), bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+h.tokens[account.Admin])
		r.Header.Set("Content-Type", "application/json")
		checkAnswer(t, handler, r)
	})
}

// checkAnswer checks that a request gets a JSON answer that is no internal error.
func checkAnswer(t *testing.T, handler http.Handler, r *http.Request) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	silent := w.Code == http.StatusNoContent && w.Body.Len() == 0
	if w.Code < 200 || w.Code >= 500 || !silent && !json.Valid(w.Body.Bytes()) {
		t.Fatalf("%s %s answered %d: %s", r.Method, r.URL, w.Code, w.Body)
	}
	var e struct{ Error, Message string }
	if err := json.Unmarshal(w.Body.Bytes(), &e); w.Code >= 400 && (err != nil || e.Error == "" || e.Message == "") {
		t.Fatalf("%s %s answered %d without saying why: %s", r.Method, r.URL, w.Code, w.Body)
	}
}

func FuzzNewPartner(f *testing.F)    { fuzzBody(f, "POST", "/operator/v1/partners") }
func FuzzPartnerChange(f *testing.F) { fuzzBody(f, "PATCH", "/operator/v1/partners/1") }
func FuzzSwitch(f *testing.F)        { fuzzBody(f, "POST", "/operator/v1/partners/1/switch") }
func FuzzRotation(f *testing.F)      { fuzzBody(f, "POST", "/operator/v1/partners/1/rotate") }
func FuzzMember(f *testing.F)        { fuzzBody(f, "POST", "/operator/v1/partners/1/members") }
func FuzzPlan(f *testing.F)          { fuzzBody(f, "PUT", "/operator/v1/partners/1/plans/9") }
func FuzzSpan(f *testing.F)          { fuzzBody(f, "POST", "/operator/v1/partners/1/redeliver") }
func FuzzUser(f *testing.F)          { fuzzBody(f, "POST", "/operator/v1/users") }
func FuzzPurchase(f *testing.F)      { fuzzBody(f, "POST", purchases) }
func FuzzRefund(f *testing.F)        { fuzzBody(f, "POST", refunds) }
func FuzzHold(f *testing.F)          { fuzzBody(f, "POST", "/operator/v1/licenses/{key}/hold") }
func FuzzActivation(f *testing.F)    { fuzzBody(f, "POST", "/operator/v1/licenses/{key}/activate") }
func FuzzTransfer(f *testing.F)      { fuzzBody(f, "POST", "/operator/v1/licenses/{key}/transfer") }
func FuzzPlanChange(f *testing.F)    { fuzzBody(f, "POST", "/operator/v1/licenses/{key}/plan") }

// FuzzQuery sends arbitrary query strings to every list.
func FuzzQuery(f *testing.F) {
	h := newHarness(f)
	h.buy("order-1")
	handler := h.operator.Handler()
	for _, query := range []string{
		"", "page=2&limit=1&order=asc", "after=1&limit=2", "email=ada@example.com&status=inactive&partner_id=1", "external_id=order-1&license_key=x",
		"subject=partner:1&action=partner.create", "page=100000000000000000000", "%zz", "a=%00&email=%ff", "limit=1;page=2",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, list := range []string{"partners", "users", "purchases", "licenses", "events", "audit"} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/operator/v1/"+list, nil)
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer "+h.tokens[account.Read])
			checkAnswer(t, handler, r)
		}
	})
}

// FuzzPath sends arbitrary ids and keys to every route that has one.
func FuzzPath(f *testing.F) {
	h := newHarness(f)
	key := h.buy("order-1")
	handler := h.operator.Handler()
	for _, value := range []string{"1", "0", "x", key, "9223372036854775808", "\x00", "\xff", "a/b", ".."} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, route := range h.operator.Routes() {
			if !strings.Contains(route.Path, "{") || route.Method == "DELETE" {
				continue
			}
			segment := url.PathEscape(value)
			path := strings.NewReplacer("{id}", segment, "{tier}", segment, "{key}", segment).Replace(route.Path)
			r := httptest.NewRequestWithContext(t.Context(), route.Method, "/", strings.NewReader("{}"))
			u, err := url.Parse(path)
			if err != nil {
				t.Skip()
			}
			r.URL = u
			r.Header.Set("Authorization", "Bearer "+h.tokens[account.Admin])
			r.Header.Set("Content-Type", "application/json")
			checkAnswer(t, handler, r)
		}
	})
}

// FuzzIdempotencyKey sends arbitrary headers with a purchase.
func FuzzIdempotencyKey(f *testing.F) {
	h := newHarness(f)
	handler := h.operator.Handler()
	for _, key := range []string{"", "k", "a b", "\x00", "ä", strings.Repeat("k", 256)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", purchases, strings.NewReader(`{"partner_id":1,"tier":1}`))
		r.Header["Idempotency-Key"] = []string{key}
		r.Header.Set("Authorization", "Bearer "+h.tokens[account.Sell])
		r.Header.Set("Content-Type", "application/json")
		checkAnswer(t, handler, r)
	})
}
