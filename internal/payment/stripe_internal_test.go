package payment

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/payment/fakestripe"
)

// TestNoObject: the library accepts an empty answer as an object. We do not.
func TestNoObject(t *testing.T) {
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(empty.Close)
	s := NewStripe(StripeConfig{Key: "sk_test_1", URL: empty.URL})
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"session": func() error { _, err := s.session(ctx, "cs_1"); return err },
		"expired": func() error { _, err := s.expireSession(ctx, "cs_1"); return err },
		"created": func() error {
			_, err := s.createSession(ctx, Checkout{Amount: 5900, Currency: "USD"}, "ann@example.com", "https://a.example", "https://b.example")
			return err
		},
		"refund":       func() error { _, err := s.refundByID(ctx, "re_1"); return err },
		"asked refund": func() error { _, err := s.refund(ctx, Refund{Amount: 5900, Currency: "USD"}); return err },
		"dispute":      func() error { _, err := s.dispute(ctx, "dp_1"); return err },
		"intent":       func() error { _, err := s.refOfIntent(ctx, "pi_1"); return err },
		"fee":          func() error { _, _, err := s.paymentFee(ctx, "pi_1"); return err },
		"endpoint":     func() error { _, _, err := s.MakeEndpoint(ctx, "https://a.example"); return err },
	} {
		if err := call(); !errors.Is(err, errNoObject) || !strings.Contains(err.Error(), "Stripe was not reached: the answer has no object") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefusals: the final answers. An error has only Stripe's code from the answer, and every call
// reports it.
func TestRefusals(t *testing.T) {
	for status, final := range map[int]bool{
		http.StatusBadRequest: true, http.StatusPaymentRequired: true, http.StatusNotFound: true, 499: true,
		http.StatusUnauthorized: false, http.StatusForbidden: false, http.StatusConflict: false, http.StatusTooManyRequests: false,
		http.StatusInternalServerError: false, http.StatusServiceUnavailable: false,
	} {
		fake := &fakestripe.Server{Refuse: func(string) int { return status }}
		server := httptest.NewServer(fake)
		t.Cleanup(server.Close)
		s := NewStripe(StripeConfig{Key: "sk_test_1", URL: server.URL})
		for name, call := range map[string]func() error{
			"session":   func() error { _, err := s.session(t.Context(), "cs_1"); return err },
			"refund":    func() error { _, err := s.refundByID(t.Context(), "re_1"); return err },
			"refunds":   func() error { _, _, err := s.refundOfRequest(t.Context(), "pi_1", "rq_1"); return err },
			"dispute":   func() error { _, err := s.dispute(t.Context(), "dp_1"); return err },
			"intent":    func() error { _, err := s.refOfIntent(t.Context(), "pi_1"); return err },
			"fee":       func() error { _, _, err := s.paymentFee(t.Context(), "pi_1"); return err },
			"fees":      func() error { return s.ReadFees(t.Context()) },
			"events":    func() error { _, err := s.events(t.Context(), time.Now(), ""); return err },
			"endpoints": func() error { _, _, err := s.MakeEndpoint(t.Context(), "https://a.example"); return err },
		} {
			err := call()
			e, ok := errors.AsType[*CallError](err)
			if !ok || e.Status != status || e.RequestID != "req_fake" || strings.Contains(err.Error(), "the fake refuses") || !strings.Contains(err.Error(), "req_fake") {
				t.Errorf("%s, %d: %v", name, status, err)
			}
			if _, got := finally(err); got != final {
				t.Errorf("%s, %d: final is %t", name, status, got)
			}
		}
	}
	if _, final := finally(&CallError{Status: 399, cause: errors.New("x")}); final {
		t.Error("399 is final")
	}
	if code, _ := finally(&CallError{Status: 400, Code: "charge_disputed"}); code != "charge_disputed" {
		t.Errorf("the code is %q", code)
	}
	if _, err := (&Stripe{}).refund(t.Context(), Refund{Amount: 1, Currency: "UGX"}); err == nil {
		t.Error("a refund in a currency that Stripe does not have was sent")
	}
	if _, err := (&Stripe{}).createSession(t.Context(), Checkout{Amount: 1, Currency: "UGX"}, "ann@example.com", "", ""); err == nil {
		t.Error("a session in a currency that Stripe does not have was sent")
	}
}

func TestLiveKeys(t *testing.T) {
	for key, live := range map[string]bool{"sk_live_1": true, "rk_live_1": true, "sk_test_1": false, "rk_test_1": false, "": false} {
		if s := NewStripe(StripeConfig{Key: key}); LiveKey(key) != live || s.Live() != live {
			t.Errorf("%q: %t, %t", key, LiveKey(key), s.Live())
		}
	}
}

// TestMakeEndpoint: an endpoint is made once per URL, with all events, and its secret is returned
// only then. Disabled endpoints do not count.
func TestMakeEndpoint(t *testing.T) {
	fake := &fakestripe.Server{Secret: "whsec_1"}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	s := NewStripe(StripeConfig{Key: "sk_test_1", URL: server.URL})
	const url = "https://shop.example/stripe/webhook"
	other, made, err := s.MakeEndpoint(t.Context(), url+"/other")
	if err != nil || !made {
		t.Fatalf("%+v, %t, %v", other, made, err)
	}
	first, made, err := s.MakeEndpoint(t.Context(), url)
	if err != nil || !made || first.Secret != "whsec_1" || first.URL != url || first.ID == "" || first.ID == other.ID {
		t.Fatalf("%+v, %t, %v", first, made, err)
	}
	if diff := cmp.Diff(eventTypes, fake.Objects("we")[0]["enabled_events"]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	again, made, err := s.MakeEndpoint(t.Context(), url)
	if want := (Endpoint{ID: first.ID, URL: url}); err != nil || made || again != want {
		t.Errorf("again: %+v, %t, %v", again, made, err)
	}
	fake.Change(first.ID, map[string]any{"status": "disabled"})
	if next, made, err := s.MakeEndpoint(t.Context(), url); err != nil || !made || next.ID == first.ID {
		t.Errorf("after it was disabled: %+v, %t, %v", next, made, err)
	}
}

// TestRefundOfRequest: a refund is found by its request on whichever page of the payment's
// refunds it is, and the pages are as large as Stripe allows.
func TestRefundOfRequest(t *testing.T) {
	fake := &fakestripe.Server{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	s := NewStripe(StripeConfig{Key: "sk_test_1", URL: server.URL})
	c := Checkout{Ref: "co_1", Amount: 5900, Currency: "USD", ExpiresAt: time.Now().Add(sessionLife)}
	session, err := s.createSession(t.Context(), c, "ann@example.com", "https://a.example", "https://b.example")
	if err != nil {
		t.Fatal(err)
	}
	fake.Pay(session.id)
	intent := fake.Objects("pi")[0].Text("id")
	made, err := s.refund(t.Context(), Refund{IntentID: intent, Amount: 4900, Currency: "USD", request: "rq_1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		fake.Refund(session.id, 1, "succeeded")
	}
	for request, want := range map[string]bool{"rq_1": true, "rq_2": false} {
		fake.Calls = nil
		got, found, err := s.refundOfRequest(t.Context(), intent, request)
		if err != nil || found != want || found && got != made || len(fake.Calls) != 2 {
			t.Errorf("%s: %+v, %t, %v, calls %v", request, got, found, err, fake.Calls)
		}
	}
}

// headers notes the headers of calls.
type headers struct {
	to   http.RoundTripper
	seen []http.Header
}

func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	h.seen = append(h.seen, r.Header.Clone())
	return h.to.RoundTrip(r)
}

// TestWhatCallsSay: calls contain no telemetry, and the library does not retry them.
func TestWhatCallsSay(t *testing.T) {
	fake := &fakestripe.Server{}
	h := &headers{to: fake}
	s := NewStripe(StripeConfig{Key: "sk_test_1", Client: &http.Client{Transport: h}})
	for range 3 {
		if _, err := s.events(t.Context(), time.Now(), ""); err != nil {
			t.Fatal(err)
		}
	}
	fake.Broken = func() bool { return true }
	_, _ = s.events(t.Context(), time.Now(), "")
	if len(h.seen) != 4 {
		t.Errorf("%d calls", len(h.seen))
	}
	for _, header := range h.seen {
		if header.Get("X-Stripe-Client-Telemetry") != "" || header.Get("Authorization") != "Bearer sk_test_1" {
			t.Errorf("headers %v", header)
		}
	}
}
