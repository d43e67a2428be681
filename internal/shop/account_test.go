package shop_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

func TestChangePassword(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b, other := h.browser().signIn(ann, password), h.browser().signIn(ann, password)
	page := b.get("/account/password").want(http.StatusOK, "Change your password")
	tests := []struct{ name, current, typed, field, says string }{
		{"wrong current one", "not it at all", "brand new words", "current_password", "Current password is not right"},
		{"no current one", "", "brand new words", "current_password", "Current password is not right"},
		{"too short", password, "short", "password", "New password must have at least 8 characters"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.in(t)
			s := b.press(page, "Save the password", "current_password", tt.current, "password", tt.typed).want(http.StatusUnprocessableEntity, "Change your password")
			if attr(s.input(tt.field), "aria-invalid") != "true" || strings.Count(s.text(), tt.says) != 2 {
				t.Errorf("the page says: %s", s.text())
			}
		})
	}
	before := b.cookie().Value
	b.press(page, "Save the password", "current_password", password, "password", "brand new words").leads("/account")
	if got := b.get("/account").text(); !strings.Contains(got, "Your new password is set.") {
		t.Errorf("the account page says: %s", got)
	}
	b.signedIn(ann)
	if b.cookie().Value == before {
		t.Error("the session has the token of before")
	}
	other.signedIn("")
	h.browser().signIn(ann, "brand new words")
}

func TestGuessingTheCurrentPasswordIsThrottled(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser().signIn(ann, password)
	for range 10 {
		b.post("/account/password", "current_password", "a guess", "password", "brand new words").want(http.StatusUnprocessableEntity, "Change your password")
	}
	b.post("/account/password", "current_password", password, "password", "brand new words").want(http.StatusTooManyRequests, "Change your password")
	h.browser().signIn(ann, password)
}

func TestFirstPassword(t *testing.T) {
	h := build(t)
	h.user(ann, "")
	b := h.browser()
	b.post("/sign-in/send", "email", ann)
	b.press(b.get(h.link(ann)), "Continue as").leads("/licenses")
	page := b.get("/account/password").want(http.StatusOK, "Choose a password")
	b.press(page, "Save the password", "password", password).leads("/account")
	h.browser().signIn(ann, password)
}

func TestSignOutEverywhere(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	h.user("bob@example.com", password)
	b, other, bob := h.browser().signIn(ann, password), h.browser().signIn(ann, password), h.browser().signIn("bob@example.com", password)
	h.browser().post("/sign-in/send", "email", ann)
	link := h.link(ann)

	b.press(b.get("/account"), "Sign out everywhere else").leads("/account")
	b.signedIn(ann)
	other.signedIn("")
	bob.signedIn("bob@example.com")
	h.browser().get(link).want(http.StatusGone, "This link no longer works")
}

// TestSigningOutNobody leaves no session behind.
func TestSigningOutNobody(t *testing.T) {
	h := build(t)
	h.browser().post("/sign-out").leads("/")
	if n := h.sessions(); n != 0 {
		t.Errorf("there are %d sessions", n)
	}
}

func TestErasedElsewhere(t *testing.T) {
	h := build(t)
	u := h.user(ann, password)
	b := h.browser().signIn(ann, password)
	b.signedIn(ann)
	if _, err := h.shop.Licenses.EraseUser(t.Context(), tester, u.ID); err != nil {
		t.Fatal(err)
	}
	b.signedIn("")
	b.post("/account/sign-out-everywhere").leads("/sign-in?next=")
	h.browser().post("/sign-in", "email", ann, "password", password).want(http.StatusUnauthorized, "Sign in")
}

func TestDeleteAccount(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	l := h.sell(ann, 1)
	kept := h.sell("bob@example.com", 1)
	b, other := h.browser().signIn(ann, password), h.browser().signIn(ann, password)
	page := b.get("/account/delete").want(http.StatusOK, "Delete your account")
	if !strings.Contains(page.text(), "Your license stops working for good") {
		t.Errorf("the page does not say what becomes of the license: %s", page.text())
	}
	for _, typed := range []string{"", "yes", "bob@example.com"} {
		b.press(page, "Delete my account", "confirm", typed).want(http.StatusUnprocessableEntity, "Delete your account")
	}
	b.signedIn(ann)

	b.follow(b.press(page, "Delete my account", "confirm", " ANN@example.com")).want(http.StatusOK, "Goodbye")
	b.signedIn("")
	other.signedIn("")
	for _, tt := range []struct {
		key    string
		status event.Status
	}{{l.Key, event.Deactivated}, {kept.Key, event.Inactive}} {
		got, err := h.shop.Licenses.ByKey(t.Context(), tt.key)
		if err != nil || got.Status != tt.status {
			t.Errorf("the license is %v, %v, want %v", got.Status, err, tt.status)
		}
	}
	h.browser().post("/sign-in", "email", ann, "password", password).want(http.StatusUnauthorized, "Sign in")
}

func TestOperatorsDoNotDeleteThemselves(t *testing.T) {
	h := build(t)
	u := h.user(ann, password)
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetOperator(t.Context(), tx, tester, u.ID, true, h.now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b := h.browser().signIn(ann, password)
	if page := b.get("/account/delete").want(http.StatusOK, "Delete your account"); page.input("confirm") != nil || !strings.Contains(page.text(), "another operator") {
		t.Errorf("the page says: %s", page.text())
	}
	b.post("/account/delete", "confirm", ann).want(http.StatusForbidden, "Delete your account")
	b.signedIn(ann)
}

// member lets a user act for the partner.
func (h *house) member(u account.User, role partner.Role) {
	h.Helper()
	if _, err := h.shop.Partners.AddMember(h.Context(), tester, h.partner.ID, u.ID, role); err != nil {
		h.Fatal(err)
	}
}

func TestDownloadMyData(t *testing.T) {
	h := build(t)
	u := h.user(ann, password)
	h.member(h.user(eve, ""), partner.Admin)
	l := h.sell(ann, 2)
	h.sell("bob@example.com", 1)
	b := h.browser().signIn(ann, password)
	h.member(u, partner.Developer)
	s := b.get("/account/data")
	if got := s.Header.Get("Content-Disposition"); got != `attachment; filename="my-data.json"` || s.Header.Get("Content-Type") != "application/json" {
		t.Errorf("sent as %s %s", s.Header.Get("Content-Type"), got)
	}
	var got struct {
		MadeAt   string `json:"made_at"`
		Account  map[string]any
		Licenses []struct {
			Application, Plan, Status string
			LicenseKey                string `json:"license_key"`
			Receipts                  []map[string]any
		}
		Memberships []map[string]any
	}
	if err := json.Unmarshal([]byte(s.Body), &got); err != nil {
		t.Fatalf("%v in %s", err, s.Body)
	}
	if got.Account["email"] != ann || got.Account["has_password"] != true || got.MadeAt == "" {
		t.Errorf("got %s", s.Body)
	}
	if len(got.Licenses) != 1 || len(got.Licenses[0].Receipts) != 1 {
		t.Fatalf("got %s, want one license with one receipt", s.Body)
	}
	license := got.Licenses[0]
	receipt := license.Receipts[0]
	delete(receipt, "at")
	delete(receipt, "external_id")
	if d := cmp.Diff([]string{"Tide Planner", "Plan 2", "inactive", l.Key}, []string{license.Application, license.Plan, license.Status, license.LicenseKey}); d != "" {
		t.Errorf("license (-want +got):\n%s", d)
	}
	want := map[string]any{"kind": "purchase", "tier": 2.0, "amount_cents": 9800.0, "currency": "USD", "quantity": 1.0, "refunded": false}
	if d := cmp.Diff(want, receipt); d != "" {
		t.Errorf("receipt (-want +got):\n%s", d)
	}
	acts := []map[string]any{{"application": "Tide Planner", "role": "developer", "since": h.now().Format("2006-01-02T15:04:05.000000Z")}}
	if d := cmp.Diff(acts, got.Memberships); d != "" {
		t.Errorf("memberships (-want +got):\n%s", d)
	}
	if !strings.Contains(s.Body, "\n  \"account\": {\n") {
		t.Error("the file is not made for reading")
	}
	for _, secret := range []string{"argon2", b.cookie().Value, "bob@example.com"} {
		if strings.Contains(s.Body, secret) {
			t.Errorf("the file holds %s", secret)
		}
	}
}

func TestAccountIsForWhoIsSignedIn(t *testing.T) {
	h := build(t)
	b := h.browser()
	for path, next := range map[string]string{
		"/account": "%2Faccount", "/account/password?next=%2F": "%2Faccount%2Fpassword%3Fnext%3D%252F",
		"/account/data": "%2Faccount%2Fdata", "/account/delete": "%2Faccount%2Fdelete",
	} {
		b.get(path).leads("/sign-in?next=" + next)
	}
	for _, path := range []string{"/account/password", "/account/delete", "/account/sign-out-everywhere"} {
		b.post(path, "confirm", ann, "password", password).leads("/sign-in?next=")
	}
	// Paths that only take forms lead whoever opens them to a page.
	b.get("/sign-in/send").leads("/sign-in")
	b.get("/sign-out").leads("/account")
	h.user(ann, password)
	b.signIn(ann, password)
	b.get("/account/sign-out-everywhere").leads("/account")
}

// TestOwnPasswordStaysOpen: nobody closes it to somebody who is signed in by typing
// something for an address.
func TestOwnPasswordStaysOpen(t *testing.T) {
	h := build(t)
	u := h.user(ann, password)
	b := h.browser().signIn(ann, password)
	id := strconv.FormatInt(u.ID, 10)
	for _, typed := range []string{"user:" + id, "user " + id, "mail " + id} {
		outsider := h.browser()
		for range 20 {
			outsider.post("/sign-in", "email", typed, "password", "guess")
		}
	}
	b.post("/account/password", "current_password", password, "password", "another horse battery").leads("/account")
}
