package portal_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/partner"
)

// Values of the isolation test for the payout details.
func init() {
	forms["/payout-details/change"] = func(*harness, partner.Partner) url.Values { return url.Values{"details": {""}} }
	forms["/payout-details/remove"] = emptyForm // refused: no seen field
}

const (
	iban   = "Tide Ltd\nDE02 1203 0000 0000 2020 51"
	masked = "•••• ••• ••20 51"
)

// TestPayoutDetails: an admin enters, changes and removes payout details. They are shown masked, and each
// change is emailed.
func TestPayoutDetails(t *testing.T) {
	clock := apptest.StoppedClock(app.Now())
	h := start(t, clock.Set)
	b, at := h.as(admin), h.path("/payout-details")
	wants := func(name string, texts ...string) {
		t.Helper()
		page := b.Get(at).Want(http.StatusOK, "Payout details")
		for _, want := range texts {
			if !strings.Contains(page.Text(), want) {
				t.Errorf("%s: no %q in %s", name, want, page.Text())
			}
		}
		if strings.Contains(page.Body, "1203") {
			t.Errorf("%s: the details are shown", name)
		}
	}
	wants("at first", "Not entered yet. No payout run includes you", "Enter…")
	ask := b.Get(at+"/change").Want(http.StatusOK, "Change the payout details")
	if page := b.Press(ask, "Save", "details", "  "); page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), "are missing") {
		t.Errorf("nothing: %d %s", page.Status, page.Text())
	}
	b.Follow(b.Press(ask, "Save", "details", iban)).Want(http.StatusOK, "Payout details")
	wants("entered", "20 51", "Payouts use it from", "no payout run includes you", "Change…", "Remove…")
	if page := b.Press(ask, "Save", "details", "Mallory"); page.Status != http.StatusConflict {
		t.Errorf("on an old page: %d", page.Status)
	}
	if page := b.Get(at + "/change"); strings.Contains(page.Body, "1203") {
		t.Error("the form has the details")
	}
	clock.Advance(48 * time.Hour)
	b = h.web.NewBrowser().SignIn(admin, password)
	wants("two days later", "20 51", "Payouts use it.")
	b.Follow(b.Press(b.Get(at+"/remove"), "Remove")).Want(http.StatusOK, "Payout details")
	wants("removed", "Removed", "No payout run includes you")
	if mails := h.Mails(admin); len(mails) < 2 || strings.Contains(mails[0].Text+mails[1].Text, "2020") {
		t.Errorf("the admin got %+v", mails)
	}
	for _, email := range []string{viewer, developer} {
		other := h.web.NewBrowser().SignIn(email, password)
		if page := other.Get(at).Want(http.StatusOK, "Payout details"); strings.Contains(page.Body, at+"/change") {
			t.Errorf("%s may change them", email)
		}
		other.Get(at+"/change").Want(http.StatusNotFound, "Page not found")
	}
}

// TestPayoutDetailsNeedASignIn: an admin who signed in more than ten minutes ago, or by a link that someone
// else made, signs in again, and comes back. A form that is sent too late changes nothing.
func TestPayoutDetailsNeedASignIn(t *testing.T) {
	clock := apptest.StoppedClock(app.Now())
	h := start(t, clock.Set)
	b, at := h.as(admin), h.path("/payout-details")
	ask := b.Get(at+"/change").Want(http.StatusOK, "Change the payout details")
	clock.Advance(10*time.Minute + time.Second)
	again := "/sign-in?again=1&next=" + url.QueryEscape(at+"/change")
	b.Press(ask, "Save", "details", iban).WantRedirect(again)
	b.Get(at + "/change").WantRedirect(again)
	b.Get(at + "/remove").WantRedirect(strings.Replace(again, "change", "remove", 1))
	b.Get(at).Want(http.StatusOK, "Payout details")
	if n := h.Count(`SELECT count(*) FROM payout_details`); n != 0 {
		t.Errorf("%d details were stored", n)
	}
	b.Post("/sign-in", "email", admin, "password", password, "next", at+"/change").WantRedirect(at + "/change")
	b.Follow(b.Press(b.Get(at+"/change"), "Save", "details", iban)).Want(http.StatusOK, "Payout details")

	link, _, err := h.Accounts.Link(t.Context(), apptest.Tester, h.User(admin).ID, "")
	h.Must(err)
	assisted := h.web.NewBrowser()
	assisted.Press(assisted.Get(strings.TrimPrefix(link, h.App.URL())), "Continue")
	assisted.Get(at).Want(http.StatusOK, "Payout details")
	assisted.Get(at + "/change").WantRedirect(again)
}
