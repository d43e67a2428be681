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

// TestLicensesOfOnePlanAreToldApart: the end of the key distinguishes licenses, and reveals no more
// than needed.
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

// TestStepsFitTheState: the pages of a license offer only possible actions.
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
		{"held", "See why : Tide Planner", false, func(l license.License) error {
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

// TestNewOwner: a new owner reads nothing about the account that the license was used with before.
func TestNewOwner(t *testing.T) {
	h, b, l := annAndLicense(t)
	b.Press(b.Get(consentPage(l)), "Allow and continue").WantCallback(h.RedirectURL)
	h.AddUser(pagetest.Eve, pagetest.Password)
	if _, err := h.Shop.Licenses.Transfer(t.Context(), pagetest.Tester, l.Key, account.Person{Email: pagetest.Eve}); err != nil {
		t.Fatal(err)
	}
	page := h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password).Get(pagetest.RedeemPath(l)).Want(http.StatusOK, "Your license for Tide Planner is ready")
	for _, wrong := range []string{"again", "disconnected", "was used"} {
		if strings.Contains(page.Text(), wrong) {
			t.Errorf("the page says %q: %s", wrong, page.Text())
		}
	}
}

// TestStatesInWords: each state of a license has its name, a cause and a next step, and a hold
// mentions a payment only if that is its cause.
func TestStatesInWords(t *testing.T) {
	h := pagetest.New(t)
	user := h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	ctx, licenses := t.Context(), h.Shop.Licenses
	redeem := func(l license.License) (err error) {
		_, err = licenses.Redeem(ctx, pagetest.Tester, l.RedemptionID, user.ID)
		return err
	}
	hold := func(why license.Hold) func(license.License) error {
		return func(l license.License) error {
			_, err := licenses.Hold(ctx, pagetest.Tester, l.Key, why)
			return err
		}
	}
	for name, tt := range map[string]struct {
		do   func(license.License) error
		says []string
		not  string
	}{
		"Ready to activate": {func(license.License) error { return nil }, []string{"Activate it to connect it to your account in Tide Planner."}, "again"},
		"Active":            {redeem, []string{"Your account in Tide Planner uses it."}, "Activate"},
		"Disconnected": {func(l license.License) error {
			if err := redeem(l); err != nil {
				return err
			}
			_, err := licenses.Release(ctx, pagetest.Tester, l.Key)
			return err
		}, []string{"No account in Tide Planner uses it.", "Activate it to use it again."}, "payment"},
		"Refunded": {func(l license.License) error {
			_, err := licenses.Refund(ctx, pagetest.Tester, license.RefundOrder{LicenseKey: l.Key})
			return err
		}, []string{"The purchase was refunded", "You can buy a new license"}, "Change plan"},
		"On hold":       {hold(license.HoldOther), []string{"Harbour put it on hold", "Contact Harbour"}, "payment"},
		"On hold since": {hold(license.HoldChargeback), []string{"The payment for it is disputed", "tell your bank"}, "put it on hold"},
	} {
		t.Run(name, func(t *testing.T) {
			h.In(t)
			l := h.Sell(pagetest.Ann, 1)
			if err := tt.do(l); err != nil {
				t.Fatal(err)
			}
			text := b.Get("/licenses/" + l.RedemptionID).Text()
			for _, want := range append(tt.says, name, "since 1") {
				if !strings.Contains(text, want) {
					t.Errorf("the license does not say %q: %s", want, text)
				}
			}
			if strings.Contains(text, tt.not) {
				t.Errorf("the license says %q: %s", tt.not, text)
			}
		})
	}
}

// TestManyLicenses: above ten there are pages and a search, by application, plan and the
// end of the key.
func TestManyLicenses(t *testing.T) {
	h, b, first := annAndLicense(t)
	for range 9 {
		h.Sell(pagetest.Ann, 2)
	}
	details := func(path string) map[string]string { return b.Get(path).Links("/licenses/") }
	if page := b.Get("/licenses"); len(page.Links("/licenses/")) != 10 || page.Input("q") != nil {
		t.Errorf("of ten licenses the list shows %d", len(page.Links("/licenses/")))
	}
	h.Sell(pagetest.Ann, 3)
	if page := b.Get("/licenses"); len(page.Links("/licenses/")) != 10 || page.Input("q") == nil || page.Links("/licenses?")["/licenses?page=2"] == "" {
		t.Errorf("of eleven licenses the list shows %d, and leads to %v", len(page.Links("/licenses/")), page.Links("/licenses?"))
	}
	for path, want := range map[string]int{
		"/licenses?page=2": 1, "/licenses?page=99": 1, "/licenses?page=x": 10, "/licenses?q=PLAN+2": 9, "/licenses?q=tide": 10,
		"/licenses?q=" + first.Key[30:]: 1, "/licenses?q=nothing": 0,
	} {
		if got := details(path); len(got) != want {
			t.Errorf("%s shows %d licenses, want %d", path, len(got), want)
		}
	}
	if text := b.Get("/licenses?q=nothing").Text(); !strings.Contains(text, "None of your licenses matches “nothing”") {
		t.Errorf("a search without results says %s", text)
	}
}

// TestDisconnectAsksFirst: the license links to a page that explains the effect, and only its
// button does it; another person's license is reported as missing.
func TestDisconnectAsksFirst(t *testing.T) {
	h, b, l := annAndLicense(t)
	page := "/licenses/" + l.RedemptionID + "/release"
	b.Get(page).WantRedirect("/licenses/" + l.RedemptionID) // it is not connected
	b.Press(b.Get(consentPage(l)), "Allow and continue").WantCallback(h.RedirectURL)
	asked := b.Get(page).Want(http.StatusOK, "Disconnect Tide Planner?")
	for _, want := range []string{"loses access immediately", "You keep the license", "activate it again"} {
		if !strings.Contains(asked.Text(), want) {
			t.Errorf("the page does not say %q: %s", want, asked.Text())
		}
	}
	if now := stored(h, l); now.Released {
		t.Error("asking disconnected it")
	}
	h.AddUser(pagetest.Eve, pagetest.Password)
	h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password).Get(page).Want(http.StatusNotFound, "Not found")
	b.Press(asked, "Disconnect").WantRedirect(pagetest.RedeemPath(l))
	if now := stored(h, l); !now.Released {
		t.Error("it was not disconnected")
	}
}

// TestWhomToAskAboutAHold: if the marketplace names a contact, every page with a license on hold
// links there.
func TestWhomToAskAboutAHold(t *testing.T) {
	h, b, l := annAndLicense(t)
	if _, err := h.Shop.Licenses.Hold(t.Context(), pagetest.Tester, l.Key, license.HoldOther); err != nil {
		t.Fatal(err)
	}
	for _, support := range []string{"", "https://harbour.example/help"} {
		h.Shop.Site.Pages.Imprint.SupportURL = support
		for _, path := range []string{"/licenses", "/licenses/" + l.RedemptionID, pagetest.RedeemPath(l)} {
			page := b.Get(path)
			says(t, page, "Harbour put it on hold")
			if has := strings.Contains(page.Body, `href="https://harbour.example/help">Contact Harbour</a>`); has != (support != "") {
				t.Errorf("%s, asked at %q: %s", path, support, page.Text())
			}
		}
	}
}
