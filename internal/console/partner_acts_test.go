package console_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/paging"
	"claviger/internal/partner"
)

// TestNewPartner: only the response to the form contains the credentials; the same form again
// creates nothing.
func TestNewPartner(t *testing.T) {
	h := start(t)
	b := h.as(admin)
	nonce := hidden(b.Get(path("/partners/new")), "form")
	if page := b.Post(path("/partners/new"), "form", nonce, "name", ""); page.Status < 400 || !strings.Contains(page.Text(), "Name") {
		t.Errorf("without a name: %d", page.Status)
	}
	first := b.Post(path("/partners/new"), "form", nonce, "name", "Lagoon", "external_id", "vendor-17", "strict", "true")
	if first.Status != http.StatusOK {
		t.Fatalf("add: %d\n%s", first.Status, first.Body)
	}
	for _, want := range []string{"Client secret", "API key", "Webhook secret", "whsec_"} {
		if !strings.Contains(first.Text(), want) {
			t.Errorf("the answer lacks %s", want)
		}
	}
	again := b.Post(path("/partners/new"), "form", nonce, "name", "Lagoon", "external_id", "vendor-17", "strict", "true")
	if again.Status != http.StatusConflict || strings.Contains(again.Body, "whsec_") {
		t.Errorf("again: %d\n%s", again.Status, again.Text())
	}
	list, total, err := h.Partners.List(h.Context(), paging.First())
	h.Must(err)
	if total != 2 || list[0].Name != "Lagoon" || !list[0].Strict || list[0].ExternalID != "vendor-17" {
		t.Errorf("stored are %+v", list)
	}
	if page := b.Get(path("/partners/%d/credentials", list[0].ID)); strings.Contains(page.Body, "whsec_") {
		t.Error("a page shows the secret")
	}
}

// TestPlans: a plan is added, changed and removed from sale; stale forms, existing tiers and bad
// input change nothing.
func TestPlans(t *testing.T) {
	h := start(t)
	b, at := h.as(admin), path("/partners/%d/plans", h.tide.ID)
	seen := hidden(b.Get(at+"/new"), "seen")
	for _, bad := range [][]string{
		{"tier", "two", "name", "Pro", "price", "1.00", "currency", "USD"},
		{"tier", "1", "name", "Pro", "price", "1.00", "currency", "USD"}, // already sold
		{"tier", "9", "name", "Pro", "price", "1.505", "currency", "USD"},
		{"tier", "9", "name", "", "price", "1.00", "currency", "USD"},
		{"tier", "9", "name", "Pro", "price", "1.00", "currency", "dollars"},
	} {
		if page := b.Post(at+"/new", append(bad, "seen", seen)...); page.Status < 400 || page.Status >= 500 {
			t.Errorf("%v: %d", bad, page.Status)
		}
	}
	h.wantPlan(9, "")
	if page := b.Post(at+"/new", "seen", seen, "tier", "9", "name", "Pro", "price", "99", "currency", "usd"); page.Status != http.StatusSeeOther {
		t.Fatalf("add: %d\n%s", page.Status, page.Text())
	}
	h.wantPlan(9, "Pro 9900 USD")
	first := hidden(b.Get(at+"/9"), "seen")
	if page := b.Post(at+"/9", "seen", first, "name", "Pro", "price", "89.00", "currency", "USD"); page.Status != http.StatusSeeOther {
		t.Fatalf("change: %d\n%s", page.Status, page.Text())
	}
	h.wantPlan(9, "Pro 8900 USD")
	for _, act := range []string{"/9", "/9/remove"} {
		stale := b.Post(at+act, "seen", first, "name", "Best", "price", "1", "currency", "USD")
		if stale.Status != http.StatusConflict || !strings.Contains(stale.Text(), "Price was “$99.00” and is now “$89.00”") {
			t.Errorf("a stale form of %s: %d\n%s", act, stale.Status, stale.Text())
		}
	}
	h.wantPlan(9, "Pro 8900 USD")
	if page := b.Post(at+"/9/remove", "seen", hidden(b.Get(at+"/9/remove"), "seen")); page.Status != http.StatusSeeOther {
		t.Fatalf("remove: %d\n%s", page.Status, page.Text())
	}
	h.wantPlan(9, "")
}

// wantPlan checks the plan of a tier of Tide; "" is none.
func (h *harness) wantPlan(tier int, want string) {
	h.Helper()
	plan, err := h.Partners.Plan(h.Context(), h.tide.ID, tier)
	got := fmt.Sprintf("%s %d %s", plan.Name, plan.PriceCents, plan.Currency)
	if fault.Is(err, partner.CodeUnknownPlan) {
		got, err = "", nil
	}
	h.Must(err)
	if got != want {
		h.Errorf("the plan is %q, want %q", got, want)
	}
}

// TestRotate: only the response contains the new secret; the same form again shows none and creates
// none.
func TestRotate(t *testing.T) {
	h := start(t)
	b, at := h.as(admin), path("/partners/%d/credentials/", h.tide.ID)+h.credential()+"/rotate"
	nonce := hidden(b.Get(at), "form")
	if page := b.Post(at, "form", nonce, "overlap_s", "never"); page.Status < 400 || page.Status >= 500 {
		t.Errorf("a bad overlap: %d", page.Status)
	}
	first := b.Post(at, "form", nonce, "overlap_s", "3600")
	if first.Status != http.StatusOK || !strings.Contains(first.Text(), "Copy this now.") {
		t.Fatalf("rotate: %d\n%s", first.Status, first.Text())
	}
	for _, form := range []string{nonce, hidden(b.Get(path("/partners/new")), "form")} {
		again := b.Post(at, "form", form, "overlap_s", "3600")
		if again.Status != http.StatusConflict || strings.Contains(again.Text(), "Copy this now.") {
			t.Errorf("again: %d\n%s", again.Status, again.Text())
		}
	}
}

// TestOnlyMainSecrets: operators rotate and switch only the main secrets. A form that names another
// key of the partner changes nothing.
func TestOnlyMainSecrets(t *testing.T) {
	h := start(t)
	_, err := h.Partners.AddKey(t.Context(), apptest.Tester, h.tide.ID, "CI", idempotency.Request{})
	h.Must(err)
	list, err := h.Partners.ListCredentials(t.Context(), h.tide.ID)
	h.Must(err)
	i := slices.IndexFunc(list, func(c partner.Credential) bool { return c.Name == "CI" })
	b, at := h.as(admin), path("/partners/%d/credentials/%d", h.tide.ID, list[i].ID)
	nonce := hidden(b.Get(path("/partners/%d/credentials/", h.tide.ID)+h.credential()+"/rotate"), "form")
	wants(t, b.Get(at+"/rotate"), http.StatusNotFound)
	wants(t, b.Post(at+"/rotate", "form", nonce, "what", "api_key", "name", "CI", "overlap_s", "0"), http.StatusNotFound)
	wants(t, b.Get(at+"/switch"), http.StatusNotFound)
	wants(t, b.Post(at+"/switch"), http.StatusNotFound)
	after, err := h.Partners.ListCredentials(t.Context(), h.tide.ID)
	if err != nil || !slices.Equal(after, list) {
		t.Errorf("the secrets are %+v, %v; they were %+v", after, err, list)
	}
}
