package oauth

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/wire"
)

// The scopes. The first is always granted, the second on request.
const (
	scopeLicense = "read_license"
	scopeOpenID  = "openid"
)

// Maximum sizes, in bytes, of values that are returned to the partner unchanged.
const (
	maxState = 4 << 10
	maxNonce = 500
)

// Request is an authorization request that passed all checks, or that failed one with an error for
// its partner.
type Request struct {
	Partner     partner.Partner
	Profile     profile.Profile
	RedirectURL string // the saved one; buyers are never redirected elsewhere
	State       string
	Nonce       string
	Challenge   string // of PKCE, method S256; "": none
	Scope       string // the granted scope
	NamedScope  string // the scope member of the token answer; "": none, it equals the request
	Prompt      []string
	MaxAge      int    // seconds since the sign-in; -1: not asked
	Subject     string // the user that the partner expects; "": any
	ByPartner   bool   // the partner started the flow, not the marketplace
}

// Codes of denials that the consent pages decide on.
const (
	AccessDenied        = "access_denied"
	LoginRequired       = "login_required"
	ConsentRequired     = "consent_required"
	InteractionRequired = "interaction_required"
)

// Denial is an OAuth error that is sent to the partner by a redirect. Its text has only characters
// that OAuth allows there: ASCII without quotation marks and backslashes.
type Denial struct{ Code, Text string }

func (d *Denial) Error() string { return d.Code + ": " + d.Text }

// Unavailable is the denial of a request to a paused partner. It does not name the reason, which is
// for the operator only.
func Unavailable() *Denial {
	return deny(
		unavailable,
		"The marketplace has paused this application: no one can connect it for now. Try again later.",
	)
}

func deny(code, text string) *Denial { return &Denial{Code: code, Text: text} }

// parameters are the known parameters of an authorization request, each at most once. Others are
// ignored, as OAuth demands.
var parameters = []string{
	"response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
	"code_challenge_method",
	"prompt", "max_age", "request", "request_uri", "registration", "claims", "display", "ui_locales",
	"claims_locales", "acr_values",
	"id_token_hint", "login_hint",
}

// ParseAuthorize reads an authorization request from a partner. If the client or its redirect URI
// is wrong, the error is a fault: a page shows it, and there is no redirect. For other mistakes it
// is a *Denial, and Refused makes the redirect of the Request.
func (s *Server) ParseAuthorize(ctx context.Context, q url.Values) (Request, error) {
	r, err := s.client(ctx, q)
	if err != nil {
		return Request{}, err
	}
	r.ByPartner = true
	if state := q.Get("state"); len(q["state"]) == 1 && len(state) <= maxState {
		r.State = state // also with an error, even one about the state
	}
	if d := r.parse(q); d != nil {
		return r, d
	}
	if r.Partner.Paused() {
		return r, Unavailable()
	}
	r.Subject, err = s.hinted(ctx, q.Get("id_token_hint"), r.Partner)
	return r, err
}

// MarketplaceRequest returns the request of a flow that the buyer starts at the marketplace.
func (s *Server) MarketplaceRequest(ctx context.Context, partnerID int64) (Request, error) {
	p, err := s.Partners.Get(ctx, partnerID)
	if err != nil {
		return Request{}, err
	}
	return s.connected(ctx, p)
}

// client looks up the client of a request and checks its redirect URI.
func (s *Server) client(ctx context.Context, q url.Values) (Request, error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(q[name]) > 1 {
			return Request{}, fault.New(fault.Invalid, InvalidRequest, "%s was sent %d times; send it once.", name,
				len(q[name])).
				On(name)
		}
	}
	id := q.Get("client_id")
	if id == "" {
		return Request{}, fault.New(fault.Invalid, InvalidRequest, "client_id is missing; send the client id of "+
			"your application.").
			On("client_id")
	}
	p, err := s.Partners.ByClientID(ctx, id)
	if fault.Is(err, partner.CodeUnknownPartner) {
		if text := secret.Mistaken(id, secret.ClientID); text != "" { // a secret, so the page does not show it
			return Request{}, fault.New(fault.Invalid, codeUnknownClient, "There is no application with this "+
				"client_id. %s", text).
				On("client_id")
		}
		return Request{}, fault.New(
			fault.Invalid,
			codeUnknownClient,
			`There is no application with the client_id "%s". Copy it from your credentials; `+
				`it is neither the API key nor the name.`,
			shown(id),
		).On("client_id")
	}
	if err != nil {
		return Request{}, err
	}
	wire.RequestLogOf(ctx).Named = p.ID
	r, err := s.connected(ctx, p)
	if err != nil {
		return Request{}, err
	}
	if sent := q.Get("redirect_uri"); sent != "" && sent != r.RedirectURL {
		return Request{}, fault.New(fault.Invalid, codeRedirectMismatch,
			`The redirect_uri "%s" is not the saved redirect URL "%s". %s They must be equal, character for character.`,
			shown(sent), shown(r.RedirectURL), difference(sent, r.RedirectURL)).On("redirect_uri")
	}
	return r, nil
}

// connected returns a request with the default parameters, for a partner with a saved redirect URL.
func (s *Server) connected(ctx context.Context, p partner.Partner) (Request, error) {
	how, err := s.Profiles.Read(ctx, s.DB, p.ID)
	if err != nil {
		return Request{}, err
	}
	if how.RedirectURL == "" {
		return Request{}, fault.New(
			fault.Conflict,
			CodeNotConnected,
			"%s has not saved a redirect URL yet, so no one can be sent there. Its developers save one in the "+
				"partner profile.",
			p.Name,
		)
	}
	return Request{Partner: p, Profile: how, RedirectURL: how.RedirectURL, Scope: scopeLicense, MaxAge: -1}, nil
}

// parse reads the other parameters. An empty one counts as missing.
func (r *Request) parse(q url.Values) *Denial {
	for _, name := range parameters {
		if len(q[name]) > 1 {
			return deny(InvalidRequest, name+" was sent more than once")
		}
	}
	if why := unfit(q.Get("state"), maxState); why != "" {
		return deny(InvalidRequest, "state "+why)
	}
	switch {
	case q.Get("request") != "":
		return deny(requestUnsupported, "send the parameters themselves instead of request")
	case q.Get("request_uri") != "":
		return deny(requestURIUnsupported, "send the parameters themselves instead of request_uri")
	case q.Get("registration") != "":
		return deny(registrationUnsupported, "applications are registered by the marketplace")
	case q.Get("response_type") == "":
		return deny(InvalidRequest, "response_type is missing; send response_type=code")
	case q.Get("response_type") != "code":
		return deny(unsupportedResponse, "response_type must be code")
	case q.Get("response_mode") != "" && q.Get("response_mode") != "query":
		return deny(InvalidRequest, "response_mode must be query")
	}
	if slices.Contains(strings.Fields(q.Get("scope")), scopeOpenID) {
		r.Scope = scopeOpenID + " " + scopeLicense
	}
	r.NamedScope = namedScope(q.Get("scope"), r.Scope)
	r.Nonce = q.Get("nonce")
	if why := unfit(r.Nonce, maxNonce); why != "" {
		return deny(InvalidRequest, "nonce "+why)
	}
	if d := r.readChallenge(q.Get("code_challenge"), q.Get("code_challenge_method")); d != nil {
		return d
	}
	return r.readSignIn(q.Get("prompt"), q.Get("max_age"))
}

// namedScope returns the scope that a token answer names, or "" if it equals the request.
// read_license is always granted. It is listed only if it was requested or is the only scope,
// because clients compare the answer with their request.
func namedScope(asked, granted string) string {
	want := strings.Fields(asked)
	if len(want) == 0 {
		return ""
	}
	var list []string
	for _, scope := range strings.Fields(granted) {
		if scope != scopeLicense || slices.Contains(want, scope) {
			list = append(list, scope)
		}
	}
	same := !slices.ContainsFunc(want, func(scope string) bool { return !slices.Contains(list, scope) })
	if same && !slices.ContainsFunc(list, func(scope string) bool { return !slices.Contains(want, scope) }) {
		return ""
	}
	return cmp.Or(strings.Join(list, " "), scopeLicense)
}

// readChallenge reads the parameters of PKCE. It accepts only S256: plain protects nothing, and a
// challenge without a method is plain.
func (r *Request) readChallenge(challenge, method string) *Denial {
	switch {
	case challenge == "" && method == "":
		return nil
	case challenge == "":
		return deny(InvalidRequest, "code_challenge is missing, but code_challenge_method was sent")
	case method == "":
		return deny(InvalidRequest, "code_challenge_method is missing; send code_challenge_method=S256")
	case method != "S256":
		return deny(InvalidRequest, "code_challenge_method must be S256")
	case len(challenge) != 43 || strings.ContainsFunc(challenge, notBase64URL):
		return deny(
			InvalidRequest,
			"code_challenge must be the 43 characters of base64url(SHA-256(code_verifier)), without padding",
		)
	}
	r.Challenge = challenge
	return nil
}

func notBase64URL(c rune) bool {
	return (c < 'a' || 'z' < c) && (c < 'A' || 'Z' < c) && (c < '0' || '9' < c) && c != '-' && c != '_'
}

// readSignIn reads how recent a sign-in the partner requires.
func (r *Request) readSignIn(prompt, maxAge string) *Denial {
	r.Prompt = strings.Fields(prompt)
	for _, p := range r.Prompt {
		if !slices.Contains(promptsSupported, p) {
			return deny(InvalidRequest, "prompt must be one of none, login, consent, select_account")
		}
	}
	if slices.Contains(r.Prompt, "none") && len(r.Prompt) > 1 {
		return deny(InvalidRequest, "prompt=none goes with no other prompt")
	}
	if maxAge == "" {
		return nil
	}
	n, err := strconv.ParseUint(maxAge, 10, 31)
	if err != nil {
		return deny(InvalidRequest, "max_age must be a number of seconds")
	}
	r.MaxAge = int(n)
	return nil
}

// promptsSupported are the supported values of prompt.
var promptsSupported = []string{"none", "login", "consent", "select_account"}

// unfit returns why a value cannot be returned to the partner unchanged, or "".
func unfit(s string, most int) string {
	switch {
	case len(s) > most:
		return "has " + strconv.Itoa(len(s)) + " bytes; at most " + strconv.Itoa(most) + " come back"
	case !utf8.ValidString(s):
		return "is not UTF-8; percent-encode the bytes of UTF-8"
	case !isText(s):
		return "has a control character; leave it out, or send base64url"
	}
	return ""
}

// isText reports whether s can be stored and returned: UTF-8 without control characters.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
