package shop_test

import (
	"net/http"
	"strings"
	"testing"
)

const operatorsReason = "suspected fraud by the vendor"

// pause pauses the partner of the house, or resumes it.
func (h *house) pause(paused bool) {
	h.Helper()
	var err error
	if paused {
		_, _, err = h.shop.OAuth.Profiles.Pause(h.Context(), tester, h.partner.ID, operatorsReason)
	} else {
		_, _, err = h.shop.OAuth.Profiles.Resume(h.Context(), tester, h.partner.ID)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// plainly checks that a page says in plain words that the application cannot be
// had now, and not why.
func (s *sheet) plainly(t *testing.T, status int, text string) {
	t.Helper()
	if s.Status != status || !strings.Contains(s.text(), text) || strings.Contains(s.text(), operatorsReason) {
		t.Errorf("got %d: %s", s.Status, s.text())
	}
}

// TestPausedPages walks through the pages of a partner that is paused.
func TestPausedPages(t *testing.T) {
	h, b, l := annAndLicense(t)
	product, plans, ready := b.get("/products/1"), b.get("/licensing/"+l.RedemptionID+"/change_plan"), b.get(redeemPage(l))
	b.press(ready, "Activate")
	consent := b.get(consentPage(l))
	h.pause(true)
	before := h.license(l)

	if home := b.get("/"); strings.Contains(home.text(), "Tide Planner") {
		t.Errorf("the front page offers it: %s", home.text())
	}
	for _, page := range []string{"/products/1", "/licensing/" + l.RedemptionID + "/change_plan"} {
		s := b.get(page)
		s.plainly(t, http.StatusOK, "Not on sale at the moment.")
		if strings.Contains(s.text(), "Pay with test money") {
			t.Errorf("%s can be bought", page)
		}
	}
	b.get(redeemPage(l)).plainly(t, http.StatusOK, "cannot be activated just now")
	// Forms that were open before the pause.
	b.press(product, "Pay with test money").plainly(t, http.StatusConflict, "not available at the moment")
	b.press(plans, "Pay with test money").plainly(t, http.StatusConflict, "not available at the moment")
	for _, s := range []*sheet{b.press(ready, "Activate"), b.press(consent, "Allow and continue")} {
		s.leads(redeemPage(l))
	}
	if now := h.license(l); now != before {
		t.Errorf("the license is now %+v", now)
	}

	h.pause(false)
	b.press(consent, "Allow and continue").arrives(h.redirect)
}

// TestPausedAuthorization sends buyers from the application: it learns that nobody
// can be connected now, also when the consent was open before, or given before.
func TestPausedAuthorization(t *testing.T) {
	h, b, l := annAndLicense(t)
	page := b.get(authorize(h.request()))
	h.pause(true)
	for name, s := range map[string]*sheet{
		"begun before":  b.press(page, "Allow and continue"),
		"begun now":     b.get(authorize(h.request())),
		"without a way": b.get(authorize(h.request("prompt", "none"))),
		"by a stranger": h.browser().get(authorize(h.request())),
	} {
		s.refused(h, "temporarily_unavailable")
		q := s.arrives(h.redirect)
		if strings.Contains(q.Get("error_description"), operatorsReason) || q.Get("code") != "" {
			t.Errorf("%s: the application reads %v", name, q)
		}
	}
	if h.license(l).Redeemed {
		t.Error("the license was redeemed")
	}
	h.pause(false)
	b.press(page, "Allow and continue").arrives(h.redirect)

	// Who consented before would go straight through.
	h.pause(true)
	b.get(authorize(h.request())).refused(h, "temporarily_unavailable")
	b.press(page, "Cancel").refused(h, "temporarily_unavailable")
}
