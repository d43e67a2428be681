package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spf13/cobra"

	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	claviger "claviger/sdk/go"
)

// TestEventsWithoutWebhooks: an event without a delivery, such as that of an imported license, is
// skipped, and the next one is relayed.
func TestEventsWithoutWebhooks(t *testing.T) {
	h := apptest.Start(t)
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(endpoint.Close)
	p, keys := h.Partner("Sample", profile.URLs{Webhook: endpoint.URL})
	h.Plans(p.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	attempts := h.Logged.Attempts()
	for _, order := range []string{"order-1", "order-2"} {
		h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, ExternalID: order})
		attempts.Next(t)
	}
	h.Exec(`DELETE FROM deliveries WHERE event_id = 1`)
	var out, beside strings.Builder
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(&beside)
	root.SetArgs([]string{
		"listen", "--url", h.App.URL(), "--api-key", keys.APIKey, "--forward-to", endpoint.URL, "--secret", keys.WebhookSecret,
		"--state-file", filepath.Join(t.TempDir(), "state"), "--after", "0", "--count", "2",
	})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(beside.String(), "event 1 has no webhook, and is left out\n") || strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), "\tpass\t2\tpurchase\t") {
		t.Errorf("it wrote %q, and beside %q", out.String(), beside.String())
	}
}

// TestServiceAway: requests are repeated while the service restarts; a refusal ends it.
func TestServiceAway(t *testing.T) {
	for name, c := range map[string]struct {
		errs []error
		want int // the exit code
		told string
	}{
		"there":        {nil, exitDone, ""},
		"away a while": {[]error{errors.New("connection refused"), &claviger.Error{Status: 503}}, exitDone, "asked again: connection refused\nthe service is there again\n"},
		"refused":      {[]error{&claviger.Error{Status: 401}}, exitRefused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var beside strings.Builder
				cmd := &cobra.Command{}
				cmd.SetErr(&beside)
				left := c.errs
				got, err := asked(t.Context(), &listener{cmd: cmd}, func() (string, error) {
					if len(left) == 0 {
						return "events", nil
					}
					err := left[0]
					left = left[1:]
					return "", err
				})
				if exitCode(err) != c.want || (got == "events") != (err == nil) || !strings.HasSuffix(beside.String(), c.told) || c.told == "" && beside.Len() > 0 {
					t.Errorf("%q, %v, and beside %q", got, err, beside.String())
				}
			})
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	cmd := &cobra.Command{}
	cmd.SetErr(&strings.Builder{})
	if _, err := asked(ctx, &listener{cmd: cmd}, func() (int, error) { return 0, errors.New("away") }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
