// Package signin serves the pages where people sign in and up, use emailed links, reset their
// password, and manage their account. Buyers, members of partners and operators all use them. It
// owns these pages and their texts; users, passwords and links belong to package account.
package signin

import (
	"embed"
	"net/http"
	"slices"
	"sync"
	"time"

	"claviger/internal/account"
	"claviger/internal/answers"
	"claviger/internal/license"
	"claviger/internal/merge"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Handler serves the pages.
type Handler struct {
	Site     *visitor.Site // with pages made by NewPages
	Accounts *account.Store
	Merges   *merge.Store
	Partners *partner.Store
	Licenses *license.Store
	OAuth    *oauth.Server
	Sealer   *secret.Sealer // seals the cookie of known browsers; nil: no browser is known
	Now      func() time.Time
	Data     *answers.Person

	Mailbox string // the page that shows emails instead of sending them, in development; "" when they are sent

	// Throttle limits how often a client may try to sign in, sign up or request an email, and how
	// often anyone may try one account. Nil: no limits.
	Throttle *ui.Throttle
}

//go:embed templates
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) { return ui.New(files, nil, "templates/*.html") })

// NewPages returns the pages, for a marketplace with this name and URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}

// Routes returns the table of the pages. A GET of a path that only accepts a form redirects to the
// page with the form.
func (h *Handler) Routes() []wire.Route {
	open := func(method, path string, serve visitor.Handler) wire.Route {
		return h.Site.Route(method, path, visitor.Anyone, serve)
	}
	own := func(method, path string, serve visitor.Handler) wire.Route {
		return h.Site.Route(method, path, visitor.SignedIn, serve)
	}
	return append([]wire.Route{
		open(http.MethodGet, visitor.SignInPath, h.signInPage),
		open(http.MethodPost, visitor.SignInPath, h.signIn),
		open(http.MethodGet, sendLinkPath, redirectTo(visitor.SignInPath)),
		open(http.MethodPost, sendLinkPath, h.sendLink),
		open(http.MethodGet, "/sign-in/link", h.linkPage),
		open(http.MethodPost, "/sign-in/link", h.useLink),
		open(http.MethodGet, "/sign-up", h.signUpPage),
		open(http.MethodPost, signUpPath, h.signUp),
		open(http.MethodGet, "/reset", h.resetPage),
		open(http.MethodPost, resetPath, h.reset),
		open(http.MethodGet, checkMailPath, h.checkMail),
		open(http.MethodGet, "/sign-out", redirectTo(accountPath)),
		open(http.MethodPost, "/sign-out", h.signOut),
		own(http.MethodGet, accountPath, h.account),
		own(http.MethodGet, namePath, h.namePage),
		own(http.MethodPost, namePath, h.rename),
		own(http.MethodGet, emailPath, h.emailPage),
		own(http.MethodPost, emailPath, h.askEmail),
		own(http.MethodGet, emailConfirmPath, h.confirmEmailPage),
		own(http.MethodPost, emailConfirmPath, h.confirmEmail),
		own(http.MethodGet, PasswordPath, h.passwordPage),
		own(http.MethodPost, PasswordPath, h.password),
		own(http.MethodGet, "/account/sign-out-everywhere", redirectTo(accountPath)),
		own(http.MethodPost, "/account/sign-out-everywhere", h.signOutEverywhere),
		own(http.MethodGet, "/account/data", h.data),
		own(http.MethodGet, deletePath, h.deletePage),
		own(http.MethodPost, deletePath, h.delete),
		open(http.MethodGet, deletedPath, h.deleted),
		open(http.MethodGet, ui.TimesPath, redirectTo(accountPath)),
		open(http.MethodPost, ui.TimesPath, h.times),
	}, h.factorRoutes(open, own)...)
}

// factorRoutes returns the pages of second factors and sessions.
func (h *Handler) factorRoutes(open, own func(method, path string, serve visitor.Handler) wire.Route) []wire.Route {
	form := func(kind func(string, string, visitor.Handler) wire.Route, path, page string,
		serve visitor.Handler,
	) []wire.Route {
		return []wire.Route{kind(http.MethodGet, path, redirectTo(page)), kind(http.MethodPost, path, serve)}
	}
	both := func(kind func(string, string, visitor.Handler) wire.Route, path string, page,
		serve visitor.Handler,
	) []wire.Route {
		return []wire.Route{kind(http.MethodGet, path, page), kind(http.MethodPost, path, serve)}
	}
	security := visitor.SecurityPath
	return slices.Concat(
		form(open, passkeySignInPath, visitor.SignInPath, h.passkeySignIn),
		form(open, passkeySignInPath+"/options", visitor.SignInPath, h.passkeySignInOptions),
		both(open, secondStepPath, h.secondStepPage, h.secondStep),
		form(open, secondStepPath+"/passkey", secondStepPath, h.passkeyStep),
		form(open, secondStepPath+"/passkey/options", secondStepPath, h.passkeyStepOptions),
		both(own, confirmPath, h.confirmPage, h.confirm),
		form(own, confirmPath+"/passkey", confirmPath, h.confirmByPasskey),
		form(own, confirmPath+"/passkey/options", confirmPath, h.confirmOptions),
		[]wire.Route{own(http.MethodGet, security, h.security)},
		both(own, codesPath, h.codesPage, h.addCodes),
		both(own, codesPath+"/remove", h.removePage, h.removeCodes),
		form(own, passkeysPath, security, h.addPasskey),
		form(own, passkeysPath+"/options", security, h.addPasskeyOptions),
		form(own, passkeysPath+"/{id}/name", security, h.renamePasskey),
		both(own, passkeysPath+"/{id}/remove", h.removePage, h.removePasskey),
		both(own, recoveryPath, h.recoveryPage, h.newRecoveryCodes),
		form(own, security+"/sessions/{id}/end", security, h.endSession),
	)
}

// PasswordPath is the page where people change their password.
const PasswordPath = accountPath + "/password"

// Pages that others lead to.
const (
	accountPath  = "/account"
	deletePath   = "/account/delete"
	confirmPath  = "/account/confirm"
	codesPath    = visitor.SecurityPath + "/codes"
	passkeysPath = visitor.SecurityPath + "/passkeys"
	recoveryPath = visitor.SecurityPath + "/recovery"

	secondStepPath    = visitor.SignInPath + "/second"
	passkeySignInPath = visitor.SignInPath + "/passkey"

	checkMailPath = "/check-mail"
	deletedPath   = "/goodbye"
)

// times stores the time zone of the visitor.
func (h *Handler) times(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	h.Site.Pages.SetTimes(w, ui.FormText(r, "zone"))
	to := next(r)
	if to == "" {
		to = accountPath
	}
	ui.SeeOther(w, r, to)
	return nil
}

// redirectTo returns a handler that redirects to another page.
func redirectTo(path string) visitor.Handler {
	return func(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
		ui.SeeOther(w, r, path)
		return nil
	}
}
