package signin_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/audit"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

var recoveryCode = regexp.MustCompile(`<code>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code>`)

// enrol turns on one-time codes in a signed-in browser, and returns the secret and the recovery
// codes.
func enrol(t *testing.T, h *pagetest.Service, b *pagetest.Browser) (secret string, recovery []string) {
	t.Helper()
	page := b.Get("/account/security/codes").Want(http.StatusOK, "Add one-time codes")
	secret = regexp.MustCompile(`<code>([A-Z2-7 ]+)</code>`).FindStringSubmatch(page.Body)[1]
	secret = strings.ReplaceAll(secret, " ", "")
	if !strings.Contains(page.Body, "<svg class=\"qr\"") {
		t.Error("there is no QR code")
	}
	b.Press(page, "Switch on", "code", "000000").Want(http.StatusUnprocessableEntity, "Add one-time codes")
	page = b.Press(page, "Switch on", "code", accounttest.Code(t, secret, h.Now())).Want(http.StatusOK, "Your recovery codes")
	for _, m := range recoveryCode.FindAllStringSubmatch(page.Body, -1) {
		recovery = append(recovery, m[1])
	}
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes in %s", len(recovery), page.Text())
	}
	h.Advance(time.Minute)
	return secret, recovery
}

// halfway returns a service with Ann and one-time codes, and a browser after the first step, with
// her password.
func halfway(t *testing.T, next string) (h *pagetest.Service, b *pagetest.Browser, secret string, recovery []string) {
	t.Helper()
	h = pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	secret, recovery = enrol(t, h, h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password))
	b = h.NewBrowser()
	b.Press(b.Get("/sign-in?next="+next), "Sign in", "email", pagetest.Ann, "password", pagetest.Password).WantRedirect("/sign-in/second")
	return h, b, secret, recovery
}

// TestRemovingCodesIsExplained checks that the page states the consequences.
func TestRemovingCodesIsExplained(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	enrol(t, h, b)
	page := b.Get("/account/security/codes/remove").Want(http.StatusOK, "Remove one-time codes")
	for _, want := range []string{"You will no longer be able to sign in with them.", "They are your last second factor: your recovery codes go with them"} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("no %q in %s", want, page.Text())
		}
	}
}

func TestSecondStep(t *testing.T) {
	h, b, secret, recovery := halfway(t, "%2Faccount")
	b.WantSignedIn("")
	before := b.Cookie().Value
	page := b.Get("/sign-in/second").Want(http.StatusOK, "Second step")
	if strings.Contains(page.Body, pagetest.Ann) {
		t.Error("the page has the whole address")
	}
	b.Press(page, "Sign in", "code", "000000").Want(http.StatusUnauthorized, "Second step")
	code := accounttest.Code(t, secret, h.Now())
	b.Press(page, "Sign in", "code", code).WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)
	if b.Cookie().Value == before {
		t.Error("the session has the token that it had before the second step")
	}
	other := h.NewBrowser()
	other.Press(other.Get("/sign-in"), "Sign in", "email", pagetest.Ann, "password", pagetest.Password).WantRedirect("/sign-in/second")
	page = other.Get("/sign-in/second")
	other.Press(page, "Sign in", "code", code).Want(http.StatusUnauthorized, "Second step")
	other.Press(page, "Sign in", "code", recovery[0]).WantRedirect("/licenses")
	other.WantSignedIn(pagetest.Ann)
	other.Get("/sign-in/second").WantRedirect("/sign-in")
}

// TestHalfSignedIn checks that the first step alone gives access to no path and allows no changes.
func TestHalfSignedIn(t *testing.T) {
	h, b, _, _ := halfway(t, "%2Faccount")
	for _, rt := range h.Routes() {
		method, path := rt.Method, rt.Path
		if !strings.HasPrefix(path, "/account") {
			continue
		}
		path = strings.NewReplacer("{id}", "1").Replace(path)
		var page *pagetest.Page
		if method == http.MethodGet {
			page = b.Get(path)
		} else {
			page = b.Post(path, "answer", "{}", "code", "000000")
		}
		if page.Status != http.StatusSeeOther || !strings.HasPrefix(page.Header.Get("Location"), "/sign-in?next=") {
			t.Errorf("%s %s: %d to %s", method, path, page.Status, page.Header.Get("Location"))
		}
	}
	b.WantSignedIn("")
	if f, err := h.SignIn.Accounts.Factors(t.Context(), 1); err != nil || !f.TOTP || len(f.Passkeys) > 0 || f.RecoveryCodes != 10 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestSecondStepExpires(t *testing.T) {
	h, b, secret, _ := halfway(t, "")
	page := b.Get("/sign-in/second")
	h.Advance(10 * time.Minute)
	b.Get("/sign-in/second").WantRedirect("/sign-in")
	b.Press(page, "Sign in", "code", accounttest.Code(t, secret, h.Now())).WantRedirect("/sign-in")
	b.WantSignedIn("")
}

// TestSecondStepAfterAChange checks that a new password ends half-finished sign-ins.
func TestSecondStepAfterAChange(t *testing.T) {
	h, b, secret, _ := halfway(t, "")
	if _, err := h.SignIn.Accounts.SignOutEverywhere(t.Context(), audit.System("test"), 1); err != nil {
		t.Fatal(err)
	}
	b.Press(b.Get("/sign-in/second"), "Sign in", "code", accounttest.Code(t, secret, h.Now())).WantRedirect("/sign-in")
	b.WantSignedIn("")
}

// TestLinksAskForTheSecondStep checks that no link, whether emailed, the operator's or for a reset,
// replaces the second factor.
func TestLinksAskForTheSecondStep(t *testing.T) {
	h, _, secret, _ := halfway(t, "")
	operators, _, err := h.SignIn.Accounts.Link(t.Context(), pagetest.Tester, 1, "/account")
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(operators, "/sign-in/")
	operators = "/sign-in/" + path
	h.AddSecret(operators)
	reset := h.NewBrowser()
	reset.Press(reset.Get("/reset"), "Send me a link", "email", pagetest.Ann)
	for name, link := range map[string]string{"operator": operators, "reset": h.MailedLink(pagetest.Ann)} {
		b := h.NewBrowser()
		b.Post("/sign-in/link", "token", link[strings.Index(link, "token=")+6:]).WantRedirect("/sign-in/second")
		b.WantSignedIn("")
		b.Get("/account/password").WantRedirect("/sign-in?next=%2Faccount%2Fpassword")
		h.Advance(time.Minute)
		done := b.Press(b.Get("/sign-in/second"), "Sign in", "code", accounttest.Code(t, secret, h.Now()))
		if name == "reset" {
			done.WantRedirect("/account/password?next=")
			b.Get("/account/password").Want(http.StatusOK, "Choose a password")
		}
		b.WantSignedIn(pagetest.Ann)
	}
}

// TestSessionWithoutFactor checks that a session begun without the second factor is over once the
// account has one, with any epoch.
func TestSessionWithoutFactor(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b, own := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	enrol(t, h, own)
	own.WantSignedIn(pagetest.Ann)
	if err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE users SET session_epoch = session_epoch - 1`)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.WantSignedIn("")
}

func TestConfirmItIsYou(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	h.Advance(15 * time.Minute)
	for _, path := range []string{"/account/delete", "/account/security/codes", "/account/security/codes/remove", "/account/security/recovery"} {
		b.Get(path).WantRedirect("/account/confirm?next=" + strings.ReplaceAll(path, "/", "%2F"))
		b.Post(path, "confirm", pagetest.Ann).WantRedirect("/account/confirm?next=" + strings.ReplaceAll(path, "/", "%2F"))
	}
	page := b.Get("/account/confirm?next=%2Faccount%2Fdelete").Want(http.StatusOK, "Confirm that it is you")
	b.Press(page, "Continue", "current_password", "nope nope").Want(http.StatusUnprocessableEntity, "Confirm that it is you")
	old := b.Cookie().Value
	b.Press(page, "Continue", "current_password", pagetest.Password).WantRedirect("/account/delete")
	if b.Cookie().Value == old {
		t.Error("the session kept its token")
	}
	b.Get("/account/delete").Want(http.StatusOK, "Delete your account")
	secret, _ := enrol(t, h, b)
	h.Advance(15 * time.Minute)
	page = b.Get("/account/confirm").Want(http.StatusOK, "Confirm that it is you")
	if page.Input("current_password") != nil {
		t.Error("the password is enough for somebody with a second factor")
	}
	b.Press(page, "Continue", "code", accounttest.Code(t, secret, h.Now())).WantRedirect("/account")
	b.Get("/account/delete").Want(http.StatusOK, "Delete your account")
}

func TestSessions(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser("bob@example.com", pagetest.Password)
	first, second := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	bob := h.NewBrowser().SignIn("bob@example.com", pagetest.Password)
	page := first.Get("/account/security").Want(http.StatusOK, "Security")
	if n := strings.Count(page.Text(), "This browser"); n != 1 {
		t.Errorf("%d are this browser: %s", n, page.Text())
	}
	end := regexp.MustCompile(`/account/security/sessions/\w+/end`).FindAllString(page.Body, -1)
	if len(end) != 1 {
		t.Fatalf("%q in %s", end, page.Body)
	}
	bob.Post(end[0]).Want(http.StatusNotFound, "Security")
	second.WantSignedIn(pagetest.Ann)
	first.Post(end[0]).WantRedirect("/account/security")
	second.WantSignedIn("")
	first.WantSignedIn(pagetest.Ann)
	bob.WantSignedIn("bob@example.com")
	list, _, err := (&audit.Log{DB: h.DB}).List(t.Context(), audit.Filter{Action: "user.session_end"}, paging.Page{Number: 1, Limit: 10})
	if err != nil || len(list) != 1 || list[0].Actor.Session == "" || list[0].Actor.Client == "" ||
		!strings.Contains(list[0].Before, strings.Split(end[0], "/")[4]) || strings.Contains(list[0].Before, list[0].Actor.Session) {
		t.Errorf("%+v, %v", list, err)
	}
	u, err := h.SignIn.Accounts.Get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	own, err := h.SignIn.Accounts.SessionsOf(t.Context(), u)
	if err != nil || !slices.ContainsFunc(own, func(s account.SignedSession) bool { return s.ID == list[0].Actor.Session }) {
		t.Errorf("the audit names the session %q, which is none of %+v", list[0].Actor.Session, own)
	}
}
