package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/account/accounttest"
	"claviger/internal/app"
)

// TestOperatorsAddAFactor: by default, operators of every role must add a second factor before they
// can use the console. The next sign-in asks for it.
func TestOperatorsAddAFactor(t *testing.T) {
	h := start(t, func(cfg *app.Config) { cfg.RequireSecondFactor = app.Defaults(app.Serve).RequireSecondFactor })
	for _, m := range roles {
		t.Run(string(m.role), func(t *testing.T) {
			h := h.in(t)
			b := h.as(m.email)
			b.Get("/console/").WantRedirect("/account/security?next=%2Fconsole%2F")
			page := b.Get("/account/security?next=%2Fconsole%2F").Want(http.StatusOK, "Security")
			if !strings.Contains(page.Text(), "Your role needs a second factor.") {
				t.Errorf("the page says %s", page.Text())
			}
			page = b.Get("/account/security/codes?next=%2Fconsole%2F").Want(http.StatusOK, "Add one-time codes")
			secret := regexp.MustCompile(`<code>([A-Z2-7 ]+)</code>`).FindStringSubmatch(page.Body)[1]
			secret = strings.ReplaceAll(secret, " ", "")
			added := b.Press(page, "Switch on", "code", accounttest.Code(t, secret, h.Accounts.Now()))
			added.Want(http.StatusOK, "Your recovery codes")
			if added.Links("/console/")["/console/"] == "" {
				t.Error("nothing leads on to the console")
			}
			b.Get("/console/").Want(http.StatusOK, "Today")

			again := h.web.NewBrowser()
			again.Post("/sign-in", "email", m.email, "password", password).WantRedirect("/sign-in/second")
			again.Get("/console/").WantRedirect("/sign-in?next=%2Fconsole%2F")
			code := regexp.MustCompile(`<code>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code>`).FindStringSubmatch(added.Body)[1]
			again.Press(again.Get("/sign-in/second"), "Sign in", "code", code).WantRedirect("/console/")
			again.Get("/console/").Want(http.StatusOK, "Today")
		})
	}
	for _, email := range []string{member, buyer} {
		h.as(email).Get("/account").Want(http.StatusOK, "Your account")
	}
	h.as(member).Get("/portal/").WantRedirect("/portal/1")
}
