package payment

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/payment/stripetest"
	"claviger/internal/sqldb/sqldbtest"
)

// witness records the answer of each call.
type witness struct {
	t    *testing.T
	seen []string
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	if resp.StatusCode != http.StatusOK {
		w.t.Errorf("%s %s is answered %d: %s", r.Method, r.URL.Path, resp.StatusCode, body)
	}
	w.seen = append(w.seen, r.Method+" "+r.URL.Path)
	return resp, err
}

// TestMock starts stripe-mock once for all its tests: it starts slowly and needs no database.
func TestMock(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it uses no database")
	}
	url := stripetest.StartMock(t)
	t.Run("calls have Stripe's form", func(t *testing.T) { testCalls(t, url) })
	t.Run("it refuses", func(t *testing.T) { testRefusal(t, url) })
}

// testCalls makes every call of this package and requires that Stripe's API description allows it.
// It ignores the answers: stripe-mock has no state.
func testCalls(t *testing.T, url string) {
	t.Helper()
	w := &witness{t: t}
	s := NewStripe(StripeConfig{Key: "sk_test_1", URL: url, Client: &http.Client{Transport: w}})
	ctx, now := t.Context(), time.Now()
	c := Checkout{Ref: "co_1_2", Item: "App, Tier 1", Amount: 5900, Currency: "USD", ExpiresAt: now.Add(sessionLife)}
	_, _ = s.createSession(ctx, c, "ann@example.com", "https://shop.example/checkout/co_1_2", "https://shop.example/products/1")
	_, _ = s.session(ctx, "cs_1")
	_, _ = s.expireSession(ctx, "cs_1")
	_, _ = s.refund(ctx, Refund{IntentID: "pi_1", Amount: 5900, Currency: "USD", request: "rq_1"})
	_, _ = s.refundByID(ctx, "re_1")
	_, _, _ = s.refundOfRequest(ctx, "pi_1", "rq_1")
	_, _ = s.dispute(ctx, "dp_1")
	evidence := &SavedEvidence{DisputeID: "dp_1", Texts: Evidence{OtherText: "They used it."}}
	_, _ = s.stageEvidence(ctx, evidence)
	_, _ = s.submitEvidence(ctx, evidence)
	_, _ = s.refOfIntent(ctx, "pi_1")
	_, _, _ = s.paymentFee(ctx, "pi_1")
	_ = s.ReadFees(ctx)
	_, _ = s.events(ctx, now.Add(-time.Hour), "evt_1")
	_, _, _ = s.MakeEndpoint(ctx, "https://shop.example/stripe/webhook")
	want := []string{
		"GET /v1/checkout/sessions/cs_1", "GET /v1/disputes/dp_1", "GET /v1/events", "GET /v1/payment_intents", "GET /v1/payment_intents/pi_1",
		"GET /v1/refunds", "GET /v1/refunds/re_1", "GET /v1/webhook_endpoints", "POST /v1/checkout/sessions", "POST /v1/checkout/sessions/cs_1/expire",
		"POST /v1/disputes/dp_1", "POST /v1/refunds", "POST /v1/webhook_endpoints",
	}
	slices.Sort(w.seen)
	if diff := cmp.Diff(want, slices.Compact(w.seen)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// testRefusal checks that an unknown parameter is refused.
func testRefusal(t *testing.T, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/checkout/sessions", strings.NewReader("mode=payment&no_such_parameter=1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("sk_test_1", "")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("it is answered %d", resp.StatusCode)
	}
}
