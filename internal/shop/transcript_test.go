package shop_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stripe/stripe-go/v85"

	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/payment/stripetest"
	"claviger/internal/visitor/pagetest"
)

var update = flag.Bool("update", false, "write the transcripts again")

// transcripts is the guide with the blocks that these tests write.
const transcripts = "../../docs/stripe-transcripts.md"

// transcript is the exchange of requests and answers, for readers.
type transcript struct {
	testing.TB
	text  strings.Builder
	names []string // alternating values that differ between runs, and their names
}

func (r *transcript) say(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }

// call names a value that differs between runs.
func (r *transcript) call(value, name string) { r.names = append(r.names, value, name) }

// RoundTrip records a call of the service to Stripe.
func (r *transcript) RoundTrip(req *http.Request) (*http.Response, error) {
	var form url.Values
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		if form, err = url.ParseQuery(string(body)); err != nil {
			return nil, err
		}
	}
	r.say("\nservice > Stripe   %s %s", req.Method, req.URL.Path)
	if key := req.Header.Get("Idempotency-Key"); key != "" {
		r.say("    Idempotency-Key: %s", key)
	}
	var lines []string
	for name, values := range form {
		lines = append(lines, "    "+name+"="+strings.Join(values, ","))
	}
	slices.Sort(lines)
	for _, line := range lines {
		r.say("%s", line)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		r.say("Stripe > service   %d", resp.StatusCode)
	}
	return resp, err
}

// page records an action of a buyer and the answer.
func (r *transcript) page(what string, do func() *pagetest.Page) *pagetest.Page {
	r.say("\nbuyer > service    %s", what)
	page := do()
	if to := page.Header.Get("Location"); to != "" {
		r.say("service > buyer    %d %s", page.Status, to)
	} else {
		r.say("service > buyer    %d %s", page.Status, strings.TrimSuffix(page.Title(), " · Harbour"))
	}
	return page
}

func (r *transcript) get(b *pagetest.Browser, path string) *pagetest.Page {
	return r.page("GET "+path, func() *pagetest.Page { return b.Get(path) })
}

func (r *transcript) buy(b *pagetest.Browser) *pagetest.Page {
	product := b.Get("/products/1")
	return r.page("POST /products/1/buy, tier=1", func() *pagetest.Page { return b.Press(product, "Buy Plan 1") })
}

// licenses records the sold licenses.
func (r *transcript) licenses(h *pagetest.Service) {
	r.Helper()
	list, err := h.Shop.Licenses.Owned(r.Context(), 1)
	if err != nil {
		r.Fatal(err)
	}
	r.say("\nlicenses of the buyer: %d", len(list))
	for _, l := range list {
		r.call(l.Key, "LICENSE")
		r.call(l.RedemptionID, "REDEMPTION")
		r.say("    %s is %s, tier %d", l.Key, l.Status, l.Tier)
	}
}

var expiry = regexp.MustCompile(`expires_at=\d+`)

// check compares the transcript with a block of the guide, or writes it there.
func (r *transcript) check(block string) {
	r.Helper()
	got := strings.TrimSpace(strings.NewReplacer(r.names...).Replace(expiry.ReplaceAllString(r.text.String(), "expires_at=IN_35_MINUTES")))
	text, err := os.ReadFile(transcripts)
	if err != nil {
		r.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "\n```text "+block+"\n")
	old, tail, ended := strings.Cut(rest, "\n```\n")
	if !ok || !ended {
		r.Fatalf("%s has no block %s", transcripts, block)
	}
	if *update {
		if err := os.WriteFile(transcripts, []byte(head+"\n```text "+block+"\n"+got+"\n```\n"+tail), 0o600); err != nil {
			r.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, got); diff != "" {
		r.Errorf("%s, %s (-guide +now; -update writes it):\n%s", transcripts, block, diff)
	}
}

// TestTranscriptOfASale buys through stripe-mock, which checks the requests to Stripe, and sells by
// an event that Stripe would sign.
func TestTranscriptOfASale(t *testing.T) {
	at := stripetest.StartMock(t)
	h, stripeKey := pagetest.New(t), &fakestripe.Server{Secret: "whsec_test"}
	withStripe(t, h)
	r := &transcript{TB: t}
	h.Shop.Payments.Stripe = payment.NewStripe(payment.StripeConfig{
		Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: at, Client: &http.Client{Transport: r},
	})
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	bought := r.buy(b)
	ref := regexp.MustCompile(`co_[0-9a-f]+_[0-9a-f]+`).FindString(strings.Join(bought.Header.Values("Set-Cookie"), " "))
	c, err := h.Shop.Payments.ByRef(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	r.call(c.SessionURL, "https://checkout.stripe.com/c/pay/SESSION")
	r.call(c.Ref, "CHECKOUT")
	r.call(c.SessionID, "SESSION")
	r.licenses(h)

	body := fmt.Sprintf(`{"id":"evt_1","object":"event","api_version":%q,"livemode":false,"type":"checkout.session.completed","data":{"object":`+
		`{"id":%q,"object":"checkout.session","client_reference_id":%q,"status":"complete","payment_status":"paid",`+
		`"amount_total":4900,"currency":"usd","payment_intent":"pi_1"}}}`, stripe.APIVersion, c.SessionID, c.Ref)
	status, text := postSigned(t, h, []byte(body), stripeKey.Sign([]byte(body)))
	r.say("\nStripe > service   POST /stripe/webhook\n    Stripe-Signature: t=NOW,v1=HMAC\n    %s\nservice > Stripe   %d %s", strings.ReplaceAll(body, `"data":{`, "\n    \"data\":{"), status, strings.TrimSpace(text))
	r.licenses(h)
	to := r.get(b, "/checkout/"+c.Ref).Header.Get("Location")
	r.get(b, to).Want(http.StatusOK, "Connect Tide Planner?")
	r.call(stripe.APIVersion, "VERSION")
	r.check("sale")
}

// TestTranscriptOfALostWebhook: no webhook ever comes and the buyer has closed the window; the job
// asks Stripe and sells.
func TestTranscriptOfALostWebhook(t *testing.T) {
	h := pagetest.New(t)
	fake := withStripe(t, h)
	r := &transcript{TB: t}
	h.Shop.Payments.Stripe = payment.NewStripe(payment.StripeConfig{
		Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: fake.URL, Client: &http.Client{Transport: r},
	})
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	r.buy(b)
	session, back := ref(fake)
	r.call(fake.URL+"/pay/"+session, "https://checkout.stripe.com/c/pay/SESSION")
	r.call(strings.TrimPrefix(back, "/checkout/"), "CHECKOUT")
	r.call(session, "SESSION")
	fake.Pay(session)
	r.call(fake.Objects("pi")[0].Text("id"), "PAYMENT")
	r.say("\nThe buyer pays at Stripe and closes the window. No webhook comes.")
	r.licenses(h)
	h.Advance(2 * time.Minute)
	r.say("\nTwo minutes later the job runs.")
	job := payment.NewJob(h.Shop.Payments)
	if _, err := job.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.licenses(h)
	r.get(b, "/licenses").Want(http.StatusOK, "My licenses")
	r.check("lost-webhook")
}
