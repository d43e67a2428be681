package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/visitor/pagetest"
)

// TestLicensesOfOnePlanAreToldApart: by the end of the key, which says no more of
// it than is needed.
func TestLicensesOfOnePlanAreToldApart(t *testing.T) {
	h, b, l := annAndLicense(t)
	second := h.Sell(pagetest.Ann, 1)
	chooser := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())).Want(http.StatusOK, "Connect Tide Planner?")
	for _, page := range []*pagetest.Page{chooser, b.Get("/licenses")} {
		for _, key := range []string{l.Key, second.Key} {
			if !strings.Contains(page.Text(), "key ends in "+key[len(key)-6:]) || strings.Contains(page.Body, key[len(key)-7:]) {
				t.Errorf("%s does not tell %s by its end: %s", page.Title(), key, page.Text())
			}
		}
	}
	first, last := pagetest.Words(chooser.All(atom.Label)[0]), pagetest.Words(chooser.All(atom.Label)[1])
	if first == last {
		t.Errorf("the choices are both %q", first)
	}
}

// TestStepsFitTheState: what the pages of a license offer is what can be done with
// it.
func TestStepsFitTheState(t *testing.T) {
	h := pagetest.New(t)
	user := h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	redeem := func(l license.License) error {
		_, err := h.Shop.Licenses.Redeem(t.Context(), pagetest.Tester, l.RedemptionID, user.ID)
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
			_, err := h.Shop.Licenses.Release(t.Context(), pagetest.Tester, l.Key)
			return err
		}},
		{"refunded", "See why : Tide Planner", false, func(l license.License) error {
			_, err := h.Shop.Licenses.Refund(t.Context(), pagetest.Tester, license.RefundOrder{LicenseKey: l.Key})
			return err
		}},
		{"held", "See why : Tide Planner", true, func(l license.License) error {
			_, err := h.Shop.Licenses.Hold(t.Context(), pagetest.Tester, l.Key, license.HoldChargeback)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.In(t)
			l := h.Sell(pagetest.Ann, 1)
			if err := tt.do(l); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/licenses", "/licenses/" + l.RedemptionID} {
				offered := b.Get(path).Links(l.RedemptionID)
				if got := offered[pagetest.RedeemPath(l)]; got != tt.step {
					t.Errorf("%s offers %q, want %q", path, got, tt.step)
				}
				if _, ok := offered["/licensing/"+l.RedemptionID+"/change_plan/"]; ok != tt.change {
					t.Errorf("%s offers a change of the plan: %v", path, ok)
				}
			}
		})
	}
}

// TestNewOwner reads nothing of an account that the license was used with before:
// it was not theirs.
func TestNewOwner(t *testing.T) {
	h, b, l := annAndLicense(t)
	b.Press(b.Get(consentPage(l)), "Allow and continue").WantCallback(h.RedirectURL)
	h.AddUser(pagetest.Eve, pagetest.Password)
	if _, err := h.Shop.Licenses.Transfer(t.Context(), pagetest.Tester, l.Key, account.Person{Email: pagetest.Eve}); err != nil {
		t.Fatal(err)
	}
	page := h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password).Get(pagetest.RedeemPath(l)).Want(http.StatusOK, "Tide Planner is not connected")
	for _, wrong := range []string{"again", "disconnected", "was used"} {
		if strings.Contains(page.Text(), wrong) {
			t.Errorf("the page says %q: %s", wrong, page.Text())
		}
	}
}
