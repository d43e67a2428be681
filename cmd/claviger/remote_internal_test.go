package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestRemoteScripts reads licenses and deliveries.
func TestRemoteScripts(t *testing.T) { runRemote(t, "testdata/remote") }

// TestImportScripts has a service of its own: scripts run side by side, and the others list the
// licenses of the only partner.
func TestImportScripts(t *testing.T) { runRemote(t, "testdata/import") }

// runRemote runs the command lines of a folder against a service with one partner. Its endpoint
// accepted the first of two sales and has answered 500 since.
func runRemote(t *testing.T, folder string) {
	t.Helper()
	h := apptest.Start(t)
	answer := make(chan int, 1)
	answer <- http.StatusOK
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case status := <-answer:
			w.WriteHeader(status)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(endpoint.Close)
	p, keys := h.Partner("Sample", profile.URLs{Webhook: endpoint.URL})
	h.Plans(p.ID, 2, partner.Plan{PriceCents: 100, Currency: "USD"})
	attempts := h.Logged.Attempts()
	taken := h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Buyer: &account.Person{Email: "first@example.com"}, ExternalID: "order-1"})
	attempts.Next(t)
	failing := h.Buy(license.Purchase{PartnerID: p.ID, Tier: 2, Buyer: &account.Person{Email: "second@example.com"}, ExternalID: "order-2"})
	attempts.Next(t)
	token := h.Token("script", account.Read, account.Support)
	admin := h.Token("admin", account.Admin)
	testscript.Run(t, testscript.Params{
		Dir:  folder,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("SERVICE", h.App.URL())
			env.Setenv("KEY", keys.APIKey)
			env.Setenv("TOKEN", token)
			env.Setenv("ADMIN", admin)
			env.Setenv("PARTNER", strconv.FormatInt(p.ID, 10))
			env.Setenv("TAKEN", taken.Key)
			env.Setenv("FAILING", failing.Key)
			return nil
		},
	})
}

// TestOnlyPartner: without a named partner the only one is used; an error lists at most ten.
func TestOnlyPartner(t *testing.T) {
	h := apptest.Start(t)
	r := &remote{url: h.App.URL(), token: h.Token("script", account.Read)}
	ask := func() (int64, error) {
		var id int64
		_, err := r.openFor(t.Context(), &id)
		return id, err
	}
	refused := func(code int, begins, ends string) {
		t.Helper()
		id, err := ask()
		if id != 0 || exitCode(err) != code || !strings.HasPrefix(err.Error(), begins) || !strings.HasSuffix(err.Error(), ends) {
			t.Errorf("it is partner %d, %v", id, err)
		}
	}
	refused(exitRefused, "there is no partner yet", "")
	first, _ := h.Partner("Partner A", profile.URLs{})
	if id, err := ask(); err != nil || id != first.ID {
		t.Errorf("it is partner %d, %v; want %d", id, err, first.ID)
	}
	var named []string
	for i := range 10 {
		p, _ := h.Partner("Partner "+string(rune('B'+i)), profile.URLs{})
		named = append(named, fmt.Sprintf("%d (%s)", p.ID, p.Name))
	}
	begins := fmt.Sprintf("which partner? Name it with --partner N, which is one of %d (Partner A), ", first.ID)
	refused(exitUsage, begins, strings.Join(named[:9], ", ")+"; there are more: claviger partner list shows them")
	if _, err := r.openFor(t.Context(), new(first.ID)); err != nil {
		t.Errorf("one that is named: %v", err)
	}
}
