package devserver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/courier"
	"claviger/internal/devserver"
)

const event = `{"license_key":"5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11","event":"activate","license_status":"active","event_timestamp":1,"tier":2,"reason":"redeemed","partner_plan_name":"Business"}`

// signed returns the headers of an event.
func signed(secret, body string, at time.Time) http.Header {
	return courier.Signer{}.Headers(42, 1, at, courier.NewSecrets(secret), []byte(body))
}

// TestSampleVerifies: the sample accepts only signed requests.
func TestSampleVerifies(t *testing.T) {
	w := run(t)
	secret := w.rotate(t) // the sample knows the current signing secret
	now := time.Now()
	good := signed(secret, event, now)
	for name, c := range map[string]struct {
		header http.Header
		body   string
		status int
	}{
		"right":          {good, event, 200},
		"other secret":   {signed("whsec_AAAA", event, now), event, 401},
		"retired secret": {signed(w.Partner.WebhookSecret, event, now), event, 401},
		"other body":     {good, strings.Replace(event, "active", "deactivated", 1), 401},
		"old":            {signed(secret, event, now.Add(-6*time.Minute)), event, 401},
		"not signed":     {nil, event, 401},
	} {
		a := w.send(t, "POST", "/dev/partner/webhook", "application/json", c.body, c.header)
		want := `{"success":true,"event":"activate"}`
		if c.status == 401 {
			want = `{"success":false,"message":"wrong signature"}`
		}
		if a.status != c.status || strings.TrimSpace(a.text) != want {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.text, c.status, want)
		}
	}
	page := w.open(t, "/dev/partner/")
	page.has(t, 200, "Sample App", "5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11", "activate (redeemed)", "Business")
	if n := strings.Count(page.text, "5f2b9f0e"); n != 1 {
		t.Errorf("the page shows %d deliveries, want 1:\n%s", n, page.text)
	}
}

// TestSampleStoresDeliveries: the sample stores a limited number.
func TestSampleStoresDeliveries(t *testing.T) {
	w := run(t)
	for range 101 {
		w.send(t, "POST", "/dev/partner/webhook", "application/json", event, signed(w.Partner.WebhookSecret, event, time.Now())).has(t, 200)
	}
	if n := strings.Count(w.open(t, "/dev/partner").text, "5f2b9f0e"); n != 100 {
		t.Errorf("the page shows %d deliveries, want 100", n)
	}
}

// TestSamplePasses: the sample's URLs pass the check of a partner's URLs without a warning.
func TestSamplePasses(t *testing.T) {
	w := run(t)
	var got struct {
		Checks []struct {
			Step string
			OK   bool
		}
	}
	w.ask(t, w.Partner.APIKey, "PATCH", "/v2/profile",
		`{"webhook_url":"`+w.BaseURL+`/dev/partner/webhook","redirect_url":"`+w.BaseURL+`/dev/partner/callback"}`, &got)
	if len(got.Checks) != 6 {
		t.Errorf("%d checks: %+v", len(got.Checks), got.Checks)
	}
	for _, c := range got.Checks {
		if !c.OK {
			t.Errorf("%s did not go as it must", c.Step)
		}
	}
}

// license is a license sold to the buyer.
type license struct {
	Key    string `json:"license_key"`
	Redeem string `json:"license_redemption_url"`
}

// sell gives the buyer a license and signs them in.
func (w *harness) sell(t *testing.T) license {
	t.Helper()
	var sold struct{ Licenses struct{ Items []license } }
	w.ask(t, w.OperatorToken, "POST", "/operator/v1/purchases",
		`{"partner_id":1,"tier":2,"external_id":"order-1","user":{"email":"`+w.Buyer.Email+`"}}`, &sold)
	if len(sold.Licenses.Items) != 1 {
		t.Fatalf("sold %+v", sold)
	}
	w.submit(t, "/sign-in", url.Values{"email": {w.Buyer.Email}, "password": {w.Buyer.Password}}).has(t, 200)
	return sold.Licenses.Items[0]
}

// TestConnectFromMarketplace: a buyer who activates a license on the marketplace is welcomed by the
// sample, which exchanged the code.
func TestConnectFromMarketplace(t *testing.T) {
	w := run(t)
	l := w.sell(t)
	w.submit(t, l.Redeem, nil).has(t, 200, "Connect Sample App?")
	consent := strings.Replace(l.Redeem, "/redeem/", "/consent", 1)
	a := w.submit(t, consent, url.Values{"decision": {"allow"}})
	a.has(t, 200, "Welcome to Sample App", l.Key, "the marketplace (without a state)", "license_status")
	if a.url.Path != "/dev/partner/callback" {
		t.Errorf("the buyer is at %s", a.url)
	}
	if strings.Contains(a.text, w.Partner.ClientSecret) || strings.Contains(a.text, w.Buyer.Email) {
		t.Errorf("the page says what it must not:\n%s", a.text)
	}
	w.open(t, a.url.String()).has(t, 400, "Nothing was connected", "invalid_grant")
	for look := time.NewTicker(10 * time.Millisecond); !strings.Contains(w.open(t, "/dev/partner/").text, "activate (redeemed)"); <-look.C {
		continue // the webhook is on its way
	}
}

// TestConnectFromSample: the sample begins with state, nonce and PKCE, with either signing
// algorithm.
func TestConnectFromSample(t *testing.T) {
	w := run(t)
	l := w.sell(t)
	w.open(t, "/dev/partner/login").has(t, 200, "Connect Sample App?")
	w.submit(t, strings.Replace(l.Redeem, "/redeem/", "/consent", 1), url.Values{"decision": {"allow"}}).has(t, 200, "Welcome to Sample App")

	a := w.open(t, "/dev/partner/login")
	a.has(t, 200, "Welcome to Sample App", l.Key, "this application (with state, nonce and PKCE)", "nonce")
	var saved struct {
		Alg string `json:"id_token_alg"`
	}
	w.ask(t, w.Partner.APIKey, "PATCH", "/v2/profile", `{"id_token_alg":"ES256","error_member":false,"initiate_login_uri":"`+w.BaseURL+`/dev/partner/login"}`, &saved)
	if saved.Alg != "ES256" {
		t.Errorf("saved %+v", saved)
	}
	// With initiate_login_uri, Activate leads to the sample, which starts the sign-in.
	w.submit(t, l.Redeem, nil).has(t, 200, "Welcome to Sample App", "this application (with state, nonce and PKCE)")
}

func TestCallbackRefuses(t *testing.T) {
	w := run(t)
	for query, c := range map[string]struct {
		status int
		text   string
	}{
		"": {200, "This request had none"},
		"error=access_denied&error_description=No+license.": {200, "access_denied. No license."},
		"code=x&state=y":          {400, "the state is not the one"},
		"code=x&state=":           {400, "invalid_grant"},
		"code=x&iss=http://other": {400, "another issuer"},
		"error=<script>alert(1)":  {200, "&lt;script&gt;"},
	} {
		w.open(t, "/dev/partner/callback?"+query).has(t, c.status, c.text)
	}
	w.open(t, "/dev/partner/login?iss=https://other.example").has(t, 400, "knows no marketplace")
}

// TestSampleAside: the sample does not claim to be connected if the partner has its own
// application.
func TestSampleAside(t *testing.T) {
	w := run(t, func(c *devserver.Config) { c.Redirect = "http://127.0.0.1:9/back" })
	w.sell(t)
	a := w.open(t, "/dev/partner/login")
	if a.url.Path != "/openid/authorize" || a.status != 400 {
		t.Errorf("a redirect URL that is not saved led to %s: %d", a.url, a.status)
	}
}
