package signin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"claviger/internal/visitor/pagetest"
)

// TestSignInKeepsItsContext checks that the page states the purpose, offers the emailed link first
// to the owner of a license without a password, and leads back.
func TestSignInKeepsItsContext(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser(pagetest.Eve, "")
	withPassword, without, nobodys := h.Sell(pagetest.Ann, 1), h.Sell(pagetest.Eve, 1), h.Sell("", 1)
	for next, want := range map[string]struct{ says, first string }{
		pagetest.RedeemPath(withPassword):                         {"Sign in to activate your license for Tide Planner.", "Sign in"},
		pagetest.RedeemPath(without):                              {"Sign in to activate your license for Tide Planner.", "Send me a sign-in link"},
		pagetest.RedeemPath(nobodys):                              {"Sign in to activate your license for Tide Planner.", "Sign in"},
		"/licensing/" + without.RedemptionID + "/change_plan/":    {"Sign in to change the plan of your license for Tide Planner.", "Send me a sign-in link"},
		"/licensing/00000000-0000-4000-8000-000000000000/redeem/": {"", "Sign in"},
		"/products/1":                               {"Sign in to buy Tide Planner.", "Sign in"},
		"/products/1/buy?tier=2":                    {"Sign in to buy Tide Planner, Plan 2.", "Sign in"},
		"/products/1/buy?tier=99":                   {"Sign in to buy Tide Planner.", "Sign in"},
		"/products/1/buy?tier=%zz":                  {"", "Sign in"},
		"/products/1/buy":                           {"Sign in to buy Tide Planner.", "Sign in"},
		"/products/9/buy?tier=2":                    {"", "Sign in"},
		"/products/999":                             {"", "Sign in"},
		"/products/x":                               {"", "Sign in"},
		pagetest.AuthorizeURL(h.AuthorizeRequest()): {"Sign in to continue to Tide Planner.", "Sign in"},
		"/licenses":                                 {"", "Sign in"},
	} {
		b := h.NewBrowser()
		page := b.Get("/sign-in?next="+url.QueryEscape(next)).Want(http.StatusOK, "Sign in")
		if !strings.Contains(page.Text(), want.says) || want.says == "" && strings.Contains(page.Text(), "Sign in to") {
			t.Errorf("%s: the page does not say %q: %s", next, want.says, page.Text())
		}
		var buttons []string
		for _, n := range page.All(atom.Button) {
			if text := pagetest.Words(n); text == "Sign in" || text == "Send me a sign-in link" {
				buttons = append(buttons, text)
			}
		}
		if len(buttons) != 2 || buttons[0] != want.first {
			t.Errorf("%s: the page offers %v, want %q first", next, buttons, want.first)
		}
	}
	b := h.NewBrowser()
	b.Press(b.Get("/sign-in?next="+url.QueryEscape(pagetest.RedeemPath(without))), "Send me a sign-in link", "email", pagetest.Eve)
	b.Press(b.Get(h.MailedLink(pagetest.Eve)), "Continue as").WantRedirect(pagetest.RedeemPath(without))
}
