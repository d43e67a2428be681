package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

const operatorsReason = "suspected fraud by the vendor"

// pause pauses the partner, or resumes it.
func pause(h *pagetest.Service, paused bool) {
	h.Helper()
	var err error
	if paused {
		_, _, err = h.Shop.OAuth.Profiles.Pause(h.Context(), pagetest.Tester, h.Partner.ID, operatorsReason)
	} else {
		_, _, err = h.Shop.OAuth.Profiles.Resume(h.Context(), pagetest.Tester, h.Partner.ID)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// plainly checks that a page says that the application is unavailable now, without the operator's
// reason.
func plainly(s *pagetest.Page, t *testing.T, status int, text string) {
	t.Helper()
	if s.Status != status || !strings.Contains(s.Text(), text) || strings.Contains(s.Text(), operatorsReason) {
		t.Errorf("got %d: %s", s.Status, s.Text())
	}
}

// TestPausedPages goes through the pages of a paused partner.
func TestPausedPages(t *testing.T) {
	h, b, l := annAndLicense(t)
	product, plans, ready := b.Get("/products/1"), b.Get("/licensing/"+l.RedemptionID+"/change_plan?tier=2"), b.Get(pagetest.RedeemPath(l))
	b.Press(ready, "Activate")
	consent := b.Get(consentPage(l))
	pause(h, true)
	before := stored(h, l)

	if home := b.Get("/"); strings.Contains(home.Text(), "Tide Planner") {
		t.Errorf("the front page offers it: %s", home.Text())
	}
	for _, page := range []string{"/products/1", "/licensing/" + l.RedemptionID + "/change_plan"} {
		s := b.Get(page)
		plainly(s, t, http.StatusOK, "Currently unavailable")
		if strings.Contains(s.Text(), "Change to Plan") || strings.Contains(s.Text(), "Buy Plan") {
			t.Errorf("%s can be bought", page)
		}
	}
	plainly(b.Get(pagetest.RedeemPath(l)), t, http.StatusOK, "cannot be activated right now")
	// Forms that were open before the pause.
	plainly(b.Press(product, "Buy Plan 1"), t, http.StatusConflict, "not available right now")
	plainly(b.Press(plans, "Pay $98.00"), t, http.StatusConflict, "not available right now")
	for _, s := range []*pagetest.Page{b.Press(ready, "Activate"), b.Press(consent, "Allow and continue")} {
		s.WantRedirect(pagetest.RedeemPath(l))
	}
	if now := stored(h, l); now != before {
		t.Errorf("the license is now %+v", now)
	}

	pause(h, false)
	b.Press(consent, "Allow and continue").WantCallback(h.RedirectURL)
}

// TestPausedAuthorization sends buyers from the application: it learns that no one can be connected
// now, even with a consent page that was open before, or a consent given before.
func TestPausedAuthorization(t *testing.T) {
	h, b, l := annAndLicense(t)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest()))
	pause(h, true)
	for name, s := range map[string]*pagetest.Page{
		"begun before":  b.Press(page, "Allow and continue"),
		"begun now":     b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())),
		"without a way": b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))),
		"by a stranger": h.NewBrowser().Get(pagetest.AuthorizeURL(h.AuthorizeRequest())),
	} {
		refused(s, h, "temporarily_unavailable")
		q := s.WantCallback(h.RedirectURL)
		if strings.Contains(q.Get("error_description"), operatorsReason) || q.Get("code") != "" {
			t.Errorf("%s: the application reads %v", name, q)
		}
	}
	if stored(h, l).Redeemed {
		t.Error("the license was redeemed")
	}
	pause(h, false)
	b.Press(page, "Allow and continue").WantCallback(h.RedirectURL)

	// With a consent, the buyer would go straight through.
	pause(h, true)
	refused(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), h, "temporarily_unavailable")
	refused(b.Press(page, "Cancel"), h, "temporarily_unavailable")
}
