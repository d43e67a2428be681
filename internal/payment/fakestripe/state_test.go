package fakestripe_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/payment/fakestripe"
)

// call sends a request in the same process and returns the answer.
func call(t *testing.T, s *fakestripe.Server, method, path string, form url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://stripe.invalid"+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Idempotency-Key", "k1")
	resp, err := (&http.Client{Transport: s}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, text, err)
	}
	return string(text)
}

// TestSaved: a fake continues from another one's saved state.
func TestSaved(t *testing.T) {
	first := &fakestripe.Server{Now: func() int64 { return 1000 }}
	form := url.Values{
		"mode": {"payment"}, "success_url": {"https://shop.example/"}, "expires_at": {"3700"},
		"line_items[0][price_data][unit_amount]": {"5900"}, "line_items[0][price_data][currency]": {"usd"},
		"line_items[0][quantity]": {"1"},
	}
	made := call(t, first, http.MethodPost, "/v1/checkout/sessions", form)
	session := first.Objects("cs")[0].Text("id")
	first.Pay(session)
	text, err := first.Save()
	if err != nil {
		t.Fatal(err)
	}
	second := &fakestripe.Server{Now: first.Now}
	if err := second.Load(text); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/events", "/v1/checkout/sessions/" + session} {
		if diff := cmp.Diff(call(t, first, http.MethodGet, path, nil), call(t, second, http.MethodGet, path, nil)); diff != "" {
			t.Errorf("%s (-saved +loaded):\n%s", path, diff)
		}
	}
	if again := call(t, second, http.MethodPost, "/v1/checkout/sessions", form); !strings.Contains(again, session) || !strings.Contains(made, session) {
		t.Errorf("a repeated call made another session: %s", again)
	}
	second.RefundAll(session) // amounts are still numbers
	second.RefundAll(session)
	if refunds := second.Objects("re"); len(refunds) != 1 || refunds[0]["amount"] != int64(5900) {
		t.Errorf("refunds: %+v", refunds)
	}
	if err := second.Load([]byte(`{"objects":{"a":{"b":1.5}}}`)); err == nil {
		t.Error("half a cent was loaded")
	}
}
