package app_test

import (
	"testing"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestEndpoint: the dispatcher gets what is set for the partner. Of one that was deleted
// it finds nothing to send to; an error would be logged as a trouble that never ends.
func TestEndpoint(t *testing.T) {
	a, stop := run(t, config(t))
	services := a.Services()
	p, _, _, err := services.Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"},
		profile.URLs{Webhook: "https://acme.example/webhook"}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := services.Endpoint(t.Context(), p.ID); err != nil || e.URL == "" {
		t.Errorf("its endpoint is %+v, %v", e, err)
	}
	webhooks := 7
	if _, _, _, err := services.Profiles.Amend(t.Context(), audit.System("test"), p.ID, partner.Change{Webhooks: &webhooks}, profile.URLChange{}, false); err != nil {
		t.Fatal(err)
	}
	if e, err := services.Endpoint(t.Context(), p.ID); err != nil || e.InFlight != webhooks {
		t.Errorf("%d webhooks may be on their way at a time, %v", e.InFlight, err)
	}
	if err := services.Profiles.Remove(t.Context(), audit.System("test"), p.ID); err != nil {
		t.Fatal(err)
	}
	if e, err := services.Endpoint(t.Context(), p.ID); err != nil || e.URL != "" {
		t.Errorf("the endpoint of a deleted partner is %+v, %v", e, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
