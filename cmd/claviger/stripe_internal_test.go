package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stripe/stripe-go/v85"

	"claviger/internal/payment/fakestripe"
)

// TestStripeScripts runs the scripts of testdata/stripe against a fake Stripe that knows some keys.
func TestStripeScripts(t *testing.T) {
	onlySQLite(t)
	fake := &fakestripe.Server{Secret: "whsec_made", Allow: func(key string) int {
		return map[string]int{"sk_test_wrong": http.StatusUnauthorized, "rk_test_narrow": http.StatusForbidden, "sk_test_down": http.StatusServiceUnavailable}[key]
	}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:   "testdata/stripe",
			Cmds:  map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
			Setup: func(env *testscript.Env) error { env.Setenv("TEST_STRIPE", server.URL); return nil },
		})
	})
	made := fake.Objects("we")
	if len(made) != 1 || made[0]["url"] != "https://licenses.example/stripe/webhook" || made[0]["api_version"] != stripe.APIVersion {
		t.Errorf("endpoints: %+v", made)
	}
	if events, ok := made[0]["enabled_events"].([]string); !ok || len(events) != 11 || !slices.Contains(events, "refund.failed") {
		t.Errorf("events: %v", made[0]["enabled_events"])
	}
}
