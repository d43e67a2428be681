package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"claviger/internal/account"
	"claviger/internal/license"
)

// TestLicensesOfOnePlanAreToldApart: by the end of the key, which says no more of
// it than is needed.
func TestLicensesOfOnePlanAreToldApart(t *testing.T) {
	h, b, l := annAndLicense(t)
	second := h.sell(ann, 1)
	chooser := b.get(authorize(h.request())).want(http.StatusOK, "Connect Tide Planner?")
	for _, page := range []*sheet{chooser, b.get("/licenses")} {
		for _, key := range []string{l.Key, second.Key} {
			if !strings.Contains(page.text(), "key ends in "+key[len(key)-6:]) || strings.Contains(page.Body, key[len(key)-7:]) {
				t.Errorf("%s does not tell %s by its end: %s", page.title(), key, page.text())
			}
		}
	}
	first, last := words(chooser.all(atom.Label)[0]), words(chooser.all(atom.Label)[1])
	if first == last {
		t.Errorf("the choices are both %q", first)
	}
}

// TestStepsFitTheState: what the pages of a license offer is what can be done with
// it.
func TestStepsFitTheState(t *testing.T) {
	h := build(t)
	user := h.user(ann, password)
	b := h.browser().signIn(ann, password)
	redeem := func(l license.License) error {
		_, err := h.shop.Licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID)
		return err
	}
	tests := []struct {
		name, step string
		change     bool
		do         func(license.License) error
	}{
		{"ready", "Activate Tide Planner", true, func(license.License) error { return nil }},
		{"connected", "Open Tide Planner", true, redeem},
		{"released", "Activate Tide Planner", true, func(l license.License) error {
			if err := redeem(l); err != nil {
				return err
			}
			_, err := h.shop.Licenses.Release(t.Context(), tester, l.Key)
			return err
		}},
		{"refunded", "What now? Tide Planner", false, func(l license.License) error {
			_, err := h.shop.Licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key}, func(license.Refund) []byte { return nil })
			return err
		}},
		{"held", "What now? Tide Planner", true, func(l license.License) error {
			_, err := h.shop.Licenses.Hold(t.Context(), tester, l.Key, license.HoldChargeback)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.in(t)
			l := h.sell(ann, 1)
			if err := tt.do(l); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/licenses", "/licenses/" + l.RedemptionID} {
				offered := b.get(path).links(l.RedemptionID)
				if got := offered[redeemPage(l)]; got != tt.step {
					t.Errorf("%s offers %q, want %q", path, got, tt.step)
				}
				if _, ok := offered["/licensing/"+l.RedemptionID+"/change_plan/"]; ok != tt.change {
					t.Errorf("%s offers a change of the plan: %v", path, ok)
				}
			}
		})
	}
}

// links are the texts of the links to addresses that have a text in them.
func (s *sheet) links(part string) map[string]string {
	s.Helper()
	found := map[string]string{}
	for _, a := range s.all(atom.A) {
		if to := attr(a, "href"); strings.Contains(to, part) {
			found[to] = words(a)
		}
	}
	return found
}

// TestNewOwner reads nothing of an account that the license was used with before:
// it was not theirs.
func TestNewOwner(t *testing.T) {
	h, b, l := annAndLicense(t)
	b.press(b.get(consentPage(l)), "Allow and continue").arrives(h.redirect)
	h.user(eve, password)
	if _, err := h.shop.Licenses.Transfer(t.Context(), tester, l.Key, account.Person{Email: eve}); err != nil {
		t.Fatal(err)
	}
	page := h.browser().signIn(eve, password).get(redeemPage(l)).want(http.StatusOK, "Tide Planner is not connected")
	for _, wrong := range []string{"again", "disconnected", "was used"} {
		if strings.Contains(page.text(), wrong) {
			t.Errorf("the page says %q: %s", wrong, page.text())
		}
	}
}
