package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/devserver"
)

// TestPortalFailureIsFound: a developer finds the failing endpoint and the cause on the overview,
// retries it after the fix, and sees without a reload that it works. The page of requests shows why
// calls were refused.
func TestPortalFailureIsFound(t *testing.T) {
	var status atomic.Int64
	status.Store(http.StatusUnauthorized)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(endpoint.Close)
	b := newBuyer(t, func(cfg *devserver.Config) { cfg.Webhook = endpoint.URL })
	for i := range 3 {
		apptest.Send(t, http.DefaultClient, "POST", b.card.OperatorURL+"/purchases", fmt.Sprintf(`{"partner_id":1,"tier":1,"external_id":"order-%d"}`, i),
			"Authorization: Bearer "+b.card.OperatorToken, "Content-Type: application/json")
	}
	key := "Authorization: Bearer " + b.card.Partner.APIKey
	apptest.Send(t, http.DefaultClient, "GET", b.card.BaseURL+"/v2/licenses?page=none", "", key)
	apptest.Send(t, http.DefaultClient, "GET", b.card.BaseURL+"/v2/licenses/0190a1b2-0000-7000-8000-000000000007", "", key)
	form := "grant_type=authorization_code&client_id=" + b.card.Partner.ClientID + "&redirect_uri=https%3A%2F%2Fapp.example&code=none&client_secret="
	for _, secret := range []string{b.card.Partner.ClientSecret, "cs_wrong", "cs_wrong"} {
		apptest.Send(t, http.DefaultClient, "POST", b.card.BaseURL+"/openid/token", form+secret, "Content-Type: application/x-www-form-urlencoded")
	}

	b.visit("/sign-in")
	b.Type("#email", b.card.Member.Email)
	b.Type("#password", b.card.Member.Password)
	b.Press("main form button")
	overview := "/portal/1/overview"
	for b.visit(overview); !strings.Contains(b.Text("#causes"), "3 deliveries, one cause"); b.visit(overview) {
		if t.Context().Err() != nil {
			t.Fatalf("the page says %s", b.Text("main"))
		}
	}
	if text := b.Text("#now"); !strings.Contains(text, "Failing since") || !strings.Contains(text, "401 Unauthorized from your server since") {
		t.Errorf("the page says %s", text)
	}
	b.Look("portal-overview-failing")
	status.Store(http.StatusOK)
	b.Press("#try")
	b.Await(".badge.good")
	if text := b.Text("#now"); !strings.Contains(text, "Healthy") {
		t.Errorf("after it was mended the page says %s", text)
	}
	b.Look("portal-overview")

	b.visit("/portal/1/requests")
	for _, want := range []string{"page must be a whole number", "code_unknown", "client_secret_wrong", "2 times since"} {
		if text := b.Text("main"); !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	b.Look("portal-requests")
	b.visit("/portal/1/requests?code=nothing")
	b.Look("portal-requests-none")
}
