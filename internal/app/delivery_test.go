package app_test

import (
	"testing"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestDeletedPartnerHasNoEndpoint: the dispatcher, which looks once more at a partner
// that was deleted, finds nothing to send to. An error would be logged as a trouble
// that never ends.
func TestDeletedPartnerHasNoEndpoint(t *testing.T) {
	a, stop := run(t, config(t))
	services := a.Services()
	p, _, _, err := services.Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"},
		profile.URLs{Webhook: "https://acme.example/webhook"}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := services.Webhooks.Dispatcher.Endpoint(t.Context(), p.ID); err != nil || e.URL == "" {
		t.Errorf("its endpoint is %+v, %v", e, err)
	}
	if err := services.Profiles.Remove(t.Context(), audit.System("test"), p.ID); err != nil {
		t.Fatal(err)
	}
	if e, err := services.Webhooks.Dispatcher.Endpoint(t.Context(), p.ID); err != nil || e.URL != "" {
		t.Errorf("the endpoint of a deleted partner is %+v, %v", e, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
