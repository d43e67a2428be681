package devserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"claviger/internal/fault"
)

// attemptCookie stores the attempt in the browser that begins a sign-in.
const attemptCookie = "sample-sign-in"

// attempt is a sign-in that the sample began. It proves that end and beginning belong together.
type attempt struct{ state, nonce, verifier string }

func newAttempt() attempt { return attempt{rand.Text(), rand.Text(), rand.Text() + rand.Text()} }

func (a attempt) String() string { return a.state + "." + a.nonce + "." + a.verifier }

// attemptOf reads the attempt of a browser, or an empty one.
func attemptOf(r *http.Request) attempt {
	c, err := r.Cookie(attemptCookie)
	if err != nil {
		return attempt{}
	}
	parts := strings.Split(c.Value, ".")
	if len(parts) != 3 {
		return attempt{}
	}
	return attempt{parts[0], parts[1], parts[2]}
}

// remember sets the cookie of an attempt; an empty one removes it.
func (s *sample) remember(w http.ResponseWriter, a attempt) {
	c := &http.Cookie{
		Name: attemptCookie, Value: a.String(), Path: samplePath, MaxAge: 600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(s.url, "https://"),
	}
	if a == (attempt{}) {
		c.Value = ""
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// login begins a sign-in. It can also be saved as initiate_login_uri: requests from the marketplace
// then have the parameter iss.
func (s *sample) login(w http.ResponseWriter, r *http.Request) error {
	if iss := r.URL.Query().Get("iss"); iss != "" && iss != s.url {
		return fault.New(
			fault.Invalid,
			fault.CodeInvalidParameter,
			"This application knows no marketplace called %s.",
			iss,
		)
	}
	a := newAttempt()
	s.remember(w, a)
	challenge := sha256.Sum256([]byte(a.verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {s.credentials.ClientID}, "redirect_uri": {s.url + callbackPath},
		"scope": {"openid read_license"}, "state": {a.state}, "nonce": {a.nonce},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, s.url+"/openid/authorize?"+q.Encode(), http.StatusSeeOther)
	return nil
}

// welcome is the sample's knowledge about a buyer.
type welcome struct {
	License userLicense
	Answer  []member // to the exchange
	Claims  []member // of the identity token, verified
	Started string   // the side that began
}

// userLicense is the answer of /openid/license_key/.
type userLicense struct {
	Key    string `json:"license_key"`
	Status string `json:"status"`
	Tier   int    `json:"tier"`
}

// callback is the redirect URL. Without parameters it answers 200, for the validation of the URL.
func (s *sample) callback(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	v := sampleView{Callback: true}
	switch {
	case q.Get("error") != "":
		v.Problem = "Nothing was connected: " + q.Get("error") + ". " + q.Get("error_description")
		return s.show(w, http.StatusOK, v)
	case q.Get("code") == "":
		return s.show(w, http.StatusOK, v)
	}
	var err error
	if v.Welcome, err = s.connect(r.Context(), q, attemptOf(r)); err != nil {
		v.Problem = "Nothing was connected: " + err.Error() + "."
		return s.show(w, http.StatusBadRequest, v)
	}
	s.remember(w, attempt{})
	return s.show(w, http.StatusOK, v)
}

// connect exchanges a code for the license of the buyer. A code without a state comes from the
// marketplace; one with a state must belong to this browser's attempt.
func (s *sample) connect(ctx context.Context, q url.Values, a attempt) (*welcome, error) {
	started := "the marketplace (without a state)"
	if state := q.Get("state"); state == "" {
		a = attempt{}
	} else {
		if state != a.state {
			return nil, errors.New("the state is not the one that this browser began with")
		}
		started = "this application (with state, nonce and PKCE)"
	}
	if iss := q.Get("iss"); iss != "" && iss != s.url {
		return nil, fmt.Errorf("the answer is from another issuer, %s", iss)
	}
	answer, err := s.exchange(ctx, q.Get("code"), a.verifier)
	if err != nil {
		return nil, err
	}
	claims, err := s.identity(ctx, answer.text("id_token"), a.nonce)
	if err != nil {
		return nil, fmt.Errorf("the identity token is not good: %w", err)
	}
	found := &welcome{Answer: answer.members(), Claims: claims.members(), Started: started}
	body, err := s.get(ctx, "/openid/license_key/", answer.text("access_token"))
	if err != nil {
		return nil, err
	}
	return found, json.Unmarshal(body, &found.License)
}

// object is a JSON object from the service.
type object map[string]json.RawMessage

// text returns a string member, or "".
func (o object) text(name string) string {
	var s string
	_ = json.Unmarshal(o[name], &s)
	return s
}

// member is a member to show.
type member struct{ Name, Value string }

// members lists the object by name, with its tokens shortened.
func (o object) members() []member {
	var list []member
	for _, name := range slices.Sorted(maps.Keys(o)) {
		m := member{name, string(o[name])}
		if strings.HasSuffix(name, "_token") {
			m.Value = o.text(name)[:min(8, len(o.text(name)))] + "…"
		}
		list = append(list, m)
	}
	return list
}

// exchange exchanges the code for tokens.
func (s *sample) exchange(ctx context.Context, code, verifier string) (object, error) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {s.url + callbackPath},
		"client_id": {s.credentials.ClientID}, "client_secret": {s.credentials.ClientSecret},
	}
	if verifier != "" {
		form.Set("code_verifier", verifier)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/openid/token/", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	body, err := s.call(r)
	if err != nil {
		return nil, err
	}
	answer := object{}
	return answer, json.Unmarshal(body, &answer)
}

func (s *sample) get(ctx context.Context, path, token string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return s.call(r)
}

// call sends a request to the service. An answer other than 200 is an error with its
// text.
func (s *sample) call(r *http.Request) ([]byte, error) {
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", r.URL.Path, err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was read completely
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", r.URL.Path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d: %s", r.URL.Path, resp.StatusCode, bytes.TrimSpace(body))
	}
	return body, nil
}

// identity verifies an identity token with the published keys by OpenID Connect Core 3.1.3.7, and
// returns its claims.
func (s *sample) identity(ctx context.Context, token, nonce string) (object, error) {
	signed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return nil, err
	}
	body, err := s.get(ctx, "/openid/jwks", "")
	if err != nil {
		return nil, err
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(body, &keys); err != nil {
		return nil, err
	}
	text, err := signed.Verify(&keys)
	if err != nil {
		return nil, err
	}
	claims := object{}
	if err := json.Unmarshal(text, &claims); err != nil {
		return nil, err
	}
	var expires int64
	if err := json.Unmarshal(claims["exp"], &expires); err != nil {
		return nil, err
	}
	switch {
	case claims.text("iss") != s.url:
		return nil, fmt.Errorf("it is from %s", claims.text("iss"))
	case claims.text("aud") != s.credentials.ClientID:
		return nil, fmt.Errorf("it is for %s", claims.text("aud"))
	case !s.now().Before(time.Unix(expires, 0)):
		return nil, errors.New("it has expired")
	case claims.text("nonce") != nonce:
		return nil, errors.New("its nonce is not the one that was sent")
	}
	return claims, nil
}
