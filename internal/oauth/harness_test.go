package oauth_test

import (
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// noon is the start time of the harness's clock.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// harness is an authorization server with a manual clock.
type harness struct {
	*apptest.Harness
	*oauth.Server
	clock *apptest.Clock
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	return newHarnessAt(t, "https://licenses.example")
}

// newHarnessAt is newHarness with a public URL.
func newHarnessAt(t testing.TB, url string) *harness {
	t.Helper()
	clock := apptest.StoppedClock(noon)
	h := apptest.New(t, clock.Set, func(cfg *app.Config) {
		cfg.PublicURL, cfg.CodeLife, cfg.AccessLife, cfg.RefreshLife = url, 10*time.Minute, time.Hour, 30*24*time.Hour
	})
	return &harness{Harness: h, Server: h.OAuth, clock: clock}
}

// theOperator is the actor of steps that are not under test.
var theOperator = apptest.Tester

// enrol makes a partner with one tier and a redirect URL.
func (w *harness) enrol(redirect string) partner.Partner {
	w.Helper()
	p, _, _, err := w.Profiles.Enrol(w.Context(), theOperator, partner.Draft{Name: "Acme"}, profile.URLs{Redirect: redirect}, false, partner.Credentials{})
	if err != nil {
		w.Fatal(err)
	}
	if _, _, err := w.Partners.PutPlan(w.Context(), theOperator, p.ID, partner.Plan{Tier: 1, Name: "One", Currency: "USD"}); err != nil {
		w.Fatal(err)
	}
	return p
}

// move saves another redirect URL.
func (w *harness) move(p partner.Partner, redirect string) {
	w.Helper()
	if _, _, _, err := w.Profiles.Amend(w.Context(), theOperator, p.ID, partner.Change{}, profile.URLChange{Redirect: &redirect}, false); err != nil {
		w.Fatal(err)
	}
}

func (w *harness) user(name string) account.User {
	w.Helper()
	u, _, err := w.Accounts.Create(w.Context(), theOperator, account.Person{Email: name + "@example.com"})
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// buy buys an unclaimed license.
func (w *harness) buy(p partner.Partner) license.License {
	w.Helper()
	sale, err := w.Licenses.Purchase(w.Context(), theOperator, license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1, ExternalID: secret.UUID()})
	if err != nil {
		w.Fatal(err)
	}
	return sale.Licenses[0]
}

// Count runs a query for a number.
func (w *harness) Count(sql string, args ...any) int64 {
	w.Helper()
	n, err := sqldb.One(w.Context(), w.DB, sqldb.Value[int64], sql, args...)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// Exec changes the database, bypassing the packages that own its tables.
func (w *harness) Exec(sql string, args ...any) {
	w.Helper()
	err := w.DB.Write(w.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(w.Context(), sql, args...)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}
