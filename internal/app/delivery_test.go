package app_test

import (
	"context"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// TestEndpoint: the dispatcher gets the partner's settings. A deleted partner has no endpoint; an
// error would be logged for ever.
func TestEndpoint(t *testing.T) {
	a, stop := run(t, config(t))
	services := a.Services()
	endpoints := &webhook.Store{Partners: services.Partners, Profiles: services.Profiles}
	p, _, _, err := services.Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"},
		profile.URLs{Webhook: "https://acme.example/webhook"}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := endpoints.LookUp(t.Context(), p.ID); err != nil || e.URL == "" {
		t.Errorf("its endpoint is %+v, %v", e, err)
	}
	webhooks := 7
	if _, _, _, err := services.Profiles.Amend(t.Context(), audit.System("test"), p.ID, partner.Change{Webhooks: &webhooks}, profile.URLChange{}, false); err != nil {
		t.Fatal(err)
	}
	if e, err := endpoints.LookUp(t.Context(), p.ID); err != nil || e.InFlight != webhooks {
		t.Errorf("%d webhooks may be on their way at a time, %v", e.InFlight, err)
	}
	if err := services.Profiles.Remove(t.Context(), audit.System("test"), p.ID); err != nil {
		t.Fatal(err)
	}
	if e, err := endpoints.LookUp(t.Context(), p.ID); err != nil || e.URL != "" {
		t.Errorf("the endpoint of a deleted partner is %+v, %v", e, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestRemoveBesideTheDispatcher: a partner can be removed while the dispatcher inserts the row of
// its endpoint.
func TestRemoveBesideTheDispatcher(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite there is one writer at a time")
	}
	cfg := config(t)
	a, stop := run(t, cfg)
	db := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{})
	p, _, _, err := a.Services().Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"}, profile.URLs{}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	removed := make(chan error, 1)
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at)
			VALUES ($1, 0, 0, 0, 0, 0, 0) RETURNING partner_id`, p.ID); err != nil {
			return err
		}
		go func() {
			removed <- a.Services().Profiles.Remove(context.WithoutCancel(t.Context()), audit.System("test"), p.ID)
		}()
		for waits := int64(0); waits == 0; time.Sleep(time.Millisecond) {
			var err error
			if waits, err = sqldb.One(t.Context(), db, sqldb.Value[int64],
				`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
