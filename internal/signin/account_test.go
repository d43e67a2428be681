package signin_test

import (
	"context"
	"encoding/json"
	"net/http"
	netmail "net/mail"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

func TestChangePassword(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b, other := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	page := b.Get("/account/password").Want(http.StatusOK, "Change your password")
	tests := []struct{ name, current, typed, field, says string }{
		{"wrong current one", "not it at all", "brand new words", "current_password", "Current password is not right"},
		{"no current one", "", "brand new words", "current_password", "Current password is not right"},
		{"too short", pagetest.Password, "short", "password", "New password must have at least 8 characters"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.In(t)
			s := b.Press(page, "Save the password", "current_password", tt.current, "password", tt.typed).Want(http.StatusUnprocessableEntity, "Change your password")
			if pagetest.Attr(s.Input(tt.field), "aria-invalid") != "true" || strings.Count(s.Text(), tt.says) != 2 {
				t.Errorf("the page says: %s", s.Text())
			}
		})
	}
	before := b.Cookie().Value
	b.Press(page, "Save the password", "current_password", pagetest.Password, "password", "brand new words").WantRedirect("/account")
	if got := b.Get("/account").Text(); !strings.Contains(got, "Your new password is set.") {
		t.Errorf("the account page says: %s", got)
	}
	b.WantSignedIn(pagetest.Ann)
	if b.Cookie().Value == before {
		t.Error("the session has the token of before")
	}
	other.WantSignedIn("")
	h.NewBrowser().SignIn(pagetest.Ann, "brand new words")
}

func TestGuessingTheCurrentPasswordIsThrottled(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	for range 10 {
		b.Post("/account/password", "current_password", "a guess", "password", "brand new words").Want(http.StatusUnprocessableEntity, "Change your password")
	}
	b.Post("/account/password", "current_password", pagetest.Password, "password", "brand new words").Want(http.StatusTooManyRequests, "Change your password")
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

func TestFirstPassword(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, "")
	b := h.NewBrowser()
	b.Post("/sign-in/send", "email", pagetest.Ann)
	b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect("/licenses")
	page := b.Get("/account/password").Want(http.StatusOK, "Choose a password")
	b.Press(page, "Save the password", "password", pagetest.Password).WantRedirect("/account")
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

func TestSignOutEverywhere(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser("bob@example.com", pagetest.Password)
	b, other, bob := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn("bob@example.com", pagetest.Password)
	h.NewBrowser().Post("/sign-in/send", "email", pagetest.Ann)
	link := h.MailedLink(pagetest.Ann)

	b.Press(b.Get("/account"), "Sign out everywhere else").WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)
	other.WantSignedIn("")
	bob.WantSignedIn("bob@example.com")
	h.NewBrowser().Get(link).Want(http.StatusGone, "This link no longer works")
}

// TestSigningOutNobody checks that signing out without a session leaves none behind.
func TestSigningOutNobody(t *testing.T) {
	h := pagetest.New(t)
	h.NewBrowser().Post("/sign-out").WantRedirect("/")
	if n := h.CountSessions(); n != 0 {
		t.Errorf("there are %d sessions", n)
	}
}

func TestErasedElsewhere(t *testing.T) {
	h := pagetest.New(t)
	u := h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	b.WantSignedIn(pagetest.Ann)
	if _, err := h.Shop.Licenses.EraseUser(t.Context(), pagetest.Tester, u.ID); err != nil {
		t.Fatal(err)
	}
	b.WantSignedIn("")
	b.Post("/account/sign-out-everywhere").WantRedirect("/sign-in?next=")
	h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusUnauthorized, "Sign in")
}

func TestDeleteAccount(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	l := h.Sell(pagetest.Ann, 1)
	kept := h.Sell("bob@example.com", 1)
	b, other := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	page := b.Get("/account/delete").Want(http.StatusOK, "Delete your account")
	if !strings.Contains(page.Text(), "Your license stops working permanently") {
		t.Errorf("the page does not say what becomes of the license: %s", page.Text())
	}
	for _, typed := range []string{"", "yes", "bob@example.com"} {
		b.Press(page, "Delete my account", "confirm", typed).Want(http.StatusUnprocessableEntity, "Delete your account")
	}
	b.WantSignedIn(pagetest.Ann)

	b.Follow(b.Press(page, "Delete my account", "confirm", " ANN@example.com")).Want(http.StatusOK, "Your account is deleted")
	b.WantSignedIn("")
	other.WantSignedIn("")
	for _, tt := range []struct {
		key    string
		status event.Status
	}{{l.Key, event.Deactivated}, {kept.Key, event.Inactive}} {
		got, err := h.Shop.Licenses.ByKey(t.Context(), tt.key)
		if err != nil || got.Status != tt.status {
			t.Errorf("the license is %v, %v, want %v", got.Status, err, tt.status)
		}
	}
	h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusUnauthorized, "Sign in")

	// Only the email about it is left, until it is sent.
	mails := h.Emails(pagetest.Ann)
	if len(mails) != 1 || mails[0].Subject != "Your account at Claviger is deleted" {
		t.Fatalf("mails: %+v", mails)
	}
	sender := &mail.Sender{DB: h.DB, Now: h.Now, Sealer: h.SignIn.Sealer, Transport: mail.Folder{Dir: t.TempDir(), From: &netmail.Address{Address: "shop@example.com"}}}
	ctx, stop := context.WithCancel(t.Context())
	sender.Ran = func(context.Context, time.Duration, error) { stop() }
	sender.Run(ctx)
	if mails := h.Emails(pagetest.Ann); len(mails) != 0 {
		t.Errorf("left of the mails: %+v", mails)
	}
}

// TestErasedByOperator checks that an erasure by an operator sends no email.
func TestErasedByOperator(t *testing.T) {
	h := pagetest.New(t)
	u := h.AddUser(pagetest.Ann, pagetest.Password)
	if _, err := h.Shop.Licenses.EraseUser(t.Context(), pagetest.Tester, u.ID); err != nil {
		t.Fatal(err)
	}
	if mails := h.Emails(pagetest.Ann); len(mails) != 0 {
		t.Errorf("mails: %+v", mails)
	}
}

func TestOperatorsDoNotDeleteThemselves(t *testing.T) {
	h := pagetest.New(t)
	u := h.AddUser(pagetest.Ann, pagetest.Password)
	err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, pagetest.Tester, u.ID, account.RoleAdmin, h.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	if page := b.Get("/account/delete").Want(http.StatusOK, "Delete your account"); page.Input("confirm") != nil || !strings.Contains(page.Text(), "Another operator has to delete") {
		t.Errorf("the page says: %s", page.Text())
	}
	b.Post("/account/delete", "confirm", pagetest.Ann).Want(http.StatusForbidden, "Delete your account")
	b.WantSignedIn(pagetest.Ann)
}

// TestLastAdminDoesNotDeleteThemselves checks that a team keeps an admin.
func TestLastAdminDoesNotDeleteThemselves(t *testing.T) {
	h := pagetest.New(t)
	member(h, h.AddUser(pagetest.Ann, pagetest.Password), partner.Admin)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	if page := b.Get("/account/delete").Want(http.StatusOK, "Delete your account"); page.Input("confirm") != nil || !strings.Contains(page.Text(), "You are the only admin of "+h.Partner.Name) {
		t.Errorf("the page says: %s", page.Text())
	}
	b.Post("/account/delete", "confirm", pagetest.Ann).Want(http.StatusForbidden, "Delete your account")
	b.WantSignedIn(pagetest.Ann)
	member(h, h.AddUser("bea@example.com", pagetest.Password), partner.Admin)
	b.Post("/account/delete", "confirm", pagetest.Ann).WantRedirect("/goodbye")
}

// member makes a user a member of the partner.
func member(h *pagetest.Service, u account.User, role partner.Role) {
	h.Helper()
	if _, err := h.Shop.Partners.AddMember(h.Context(), pagetest.Tester, h.Partner.ID, u.ID, role); err != nil {
		h.Fatal(err)
	}
}

func TestDownloadMyData(t *testing.T) {
	h := pagetest.New(t)
	u := h.AddUser(pagetest.Ann, pagetest.Password)
	member(h, h.AddUser(pagetest.Eve, ""), partner.Admin)
	l := h.Sell(pagetest.Ann, 2)
	h.Sell("bob@example.com", 1)
	member(h, u, partner.Developer)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	s := b.Get("/account/data")
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
	if got.Account["email"] != pagetest.Ann || got.Account["has_password"] != true || got.MadeAt == "" {
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
	want := map[string]any{"kind": "purchase", "tier": 2.0, "amount_cents": 9800.0, "currency": "USD", "amount": "$98.00", "quantity": 1.0, "refunded": false}
	if d := cmp.Diff(want, receipt); d != "" {
		t.Errorf("receipt (-want +got):\n%s", d)
	}
	acts := []map[string]any{{"application": "Tide Planner", "role": "developer", "since": h.Now().Format("2006-01-02T15:04:05.000000Z")}}
	if d := cmp.Diff(acts, got.Memberships); d != "" {
		t.Errorf("memberships (-want +got):\n%s", d)
	}
	if !strings.Contains(s.Body, "\n  \"account\": {\n") {
		t.Error("the file is not made for reading")
	}
	for _, secret := range []string{"argon2", b.Cookie().Value, "bob@example.com"} {
		if strings.Contains(s.Body, secret) {
			t.Errorf("the file holds %s", secret)
		}
	}
}

func TestAccountIsForWhoIsSignedIn(t *testing.T) {
	h := pagetest.New(t)
	b := h.NewBrowser()
	for path, next := range map[string]string{
		"/account": "%2Faccount", "/account/password?next=%2F": "%2Faccount%2Fpassword%3Fnext%3D%252F",
		"/account/data": "%2Faccount%2Fdata", "/account/delete": "%2Faccount%2Fdelete",
	} {
		b.Get(path).WantRedirect("/sign-in?next=" + next)
	}
	for _, path := range []string{"/account/password", "/account/delete", "/account/sign-out-everywhere"} {
		b.Post(path, "confirm", pagetest.Ann, "password", pagetest.Password).WantRedirect("/sign-in?next=")
	}
	// Paths that only accept forms redirect to a page.
	b.Get("/sign-in/send").WantRedirect("/sign-in")
	b.Get("/sign-out").WantRedirect("/account")
	h.AddUser(pagetest.Ann, pagetest.Password)
	b.SignIn(pagetest.Ann, pagetest.Password)
	b.Get("/account/sign-out-everywhere").WantRedirect("/account")
}

// TestOwnPasswordIsNotLockedByOthers checks that attempts by strangers for an address do not lock
// the password of its signed-in user.
func TestOwnPasswordIsNotLockedByOthers(t *testing.T) {
	h := pagetest.New(t)
	u := h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	id := strconv.FormatInt(u.ID, 10)
	for _, typed := range []string{"user:" + id, "user " + id, "mail " + id} {
		outsider := h.NewBrowser()
		for range 20 {
			outsider.Post("/sign-in", "email", typed, "password", "guess")
		}
	}
	b.Post("/account/password", "current_password", pagetest.Password, "password", "another horse battery").WantRedirect("/account")
}
