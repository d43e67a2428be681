package e2e_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
)

// withAuthenticator gives the tab a device that creates passkeys and verifies its user.
func withAuthenticator(b *buyer) {
	b.t.Helper()
	b.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: "ctap2", Ctap2version: "ctap2_1", Transport: "internal", HasResidentKey: true, HasUserVerification: true,
			AutomaticPresenceSimulation: true, IsUserVerified: true,
		}})
		return err
	}))
}

// givesPassword enters an address and its password.
func (b *buyer) givesPassword(email, password string) {
	b.t.Helper()
	b.visit("/sign-in")
	b.Type("#email", email)
	b.Type("#password", password)
	b.Press(`form[action="/sign-in"] button.primary`)
}

// typeFirstCode completes the page that adds one-time codes, and returns their secret.
func (b *buyer) typeFirstCode() (secret string) {
	b.t.Helper()
	b.on("Add one-time codes")
	secret = regexp.MustCompile(`\s`).ReplaceAllString(b.Text(".key code"), "")
	b.Type("#code", accounttest.Code(b.t, secret, time.Now()))
	b.Press("form[action='/account/security/codes'] button.primary")
	b.on("Your recovery codes")
	return secret
}

// mustAddCodes adds one-time codes as an operator who needs them for the console, and continues to
// it.
func (b *buyer) mustAddCodes() (secret string) {
	b.t.Helper()
	b.visit("/console/")
	b.on("Security")
	b.Press("main a[href^='/account/security/codes']")
	secret = b.typeFirstCode()
	b.Press(".actions a.primary")
	b.on("Today")
	return secret
}

// signInWithCode signs in with a password and the next code after the last used one.
func (b *buyer) signInWithCode(email, password, secret string) {
	b.t.Helper()
	b.givesPassword(email, password)
	b.on("Second step")
	b.Type("#code", accounttest.Code(b.t, secret, time.Now().Add(30*time.Second)))
	b.Press("form:not([data-passkey]) button.primary")
	b.on("Today")
}

// TestPasskey: an operator who must have a second factor is led to add a passkey, and signs in with
// it, instead of the password and in addition to it.
func TestPasskey(t *testing.T) {
	b := newBuyer(t, func(cfg *devserver.Config) { cfg.App.RequireSecondFactor = account.RequireAdmins })
	b.card.BaseURL = strings.Replace(b.card.BaseURL, "127.0.0.1", "localhost", 1)
	withAuthenticator(b)
	b.givesPassword(b.card.Operator.Email, b.card.Operator.Password)
	b.visit("/console/")
	b.on("Security")
	b.Look("security-required")
	b.Press(`form[data-passkey="create"] button`)
	b.on("Your recovery codes")
	if n := browser.Eval[int](b.Tab, `document.querySelectorAll(".codes li").length`); n != 10 {
		t.Errorf("%d recovery codes", n)
	}
	b.Look("recovery-codes")
	b.Press(".actions a.primary")
	if !strings.HasSuffix(b.Location(), "/console/") {
		t.Errorf("went on to %s", b.Location())
	}
	b.visit("/account/security")
	b.Look("security")
	b.Press(".person button")

	b.visit("/sign-in")
	b.Look("sign-in-passkey")
	b.Press(`form[data-passkey="get"] button`)
	b.Await(".person")
	b.Press(".person button")

	b.Expect("401") // of the wrong code
	b.givesPassword(b.card.Operator.Email, b.card.Operator.Password)
	b.on("Second step")
	b.Look("second-step")
	b.Type("#code", "0000 0000 0000 0000")
	b.Press("form:not([data-passkey]) button.primary")
	b.on("Second step")
	b.Press(`form[data-passkey="get"] button`)
	b.Await(".person")
	b.Quiet()
}

// TestOneTimeCode: a member turns on one-time codes and signs in with one. Package signin tests the
// same without scripts.
func TestOneTimeCode(t *testing.T) {
	b := newBuyer(t, nil)
	b.givesPassword(b.card.Member.Email, b.card.Member.Password)
	b.visit("/account/security/codes")
	b.Look("one-time-codes")
	b.typeFirstCode()
	code := b.Text(".codes li")
	b.Press(".actions a.primary")
	b.Press(".person button")
	b.givesPassword(b.card.Member.Email, b.card.Member.Password)
	b.on("Second step")
	b.visit("/portal/")
	b.on("Sign in")
	b.visit("/sign-in/second")
	b.Type("#code", code)
	b.Press("form:not([data-passkey]) button.primary")
	b.Await(".person")
	b.Quiet()
}
