package oauth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	accounts "claviger/internal/account"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// hint returns an identity token of a user for a partner.
func (w *harness) hint(p partner.Partner, alg oauth.Alg, userID int64) string {
	w.Helper()
	token, err := w.IDToken(w.Context(), oauth.Claims{
		Partner: p, Alg: alg, UserID: userID, License: w.buy(p), Nonce: "n", AuthTime: w.clock.Now(), Now: w.clock.Now(), AccessToken: "x",
	})
	if err != nil {
		w.Fatal(err)
	}
	return token
}

// hinted begins a request with a hint.
func (w *harness) hinted(p partner.Partner, hint string) (oauth.Request, error) {
	w.Helper()
	return w.ParseAuthorize(w.Context(), url.Values{"response_type": {"code"}, "client_id": {p.ClientID}, "id_token_hint": {hint}})
}

// TestHint: the user in an identity token is expected, also long after it expired.
func TestHint(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	for _, alg := range []oauth.Alg{oauth.RS256, oauth.ES256} {
		token := w.hint(p, alg, 7)
		w.clock.Advance(48 * time.Hour)
		r, err := w.hinted(p, token)
		if err != nil {
			t.Fatalf("%s: %v", alg, err)
		}
		if !w.expects(r, 7) || w.expects(r, 8) {
			t.Errorf("%s: expects user 7: %t, user 8: %t", alg, w.expects(r, 7), w.expects(r, 8))
		}
	}
	r, err := w.hinted(p, "")
	if err != nil || !w.expects(r, 7) || !w.expects(r, 8) {
		t.Errorf("without a hint somebody is not expected, or %v", err)
	}
}

// TestHintOfMergedUser: a user is expected by hints of the users that were merged into it, and by no
// others.
func TestHintOfMergedUser(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	guest, account, stranger := w.user("guest"), w.user("ann"), w.user("stranger")
	if err := w.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := accounts.Absorb(t.Context(), tx, guest.ID, account.ID, noon)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[int64]bool{guest.ID: true, account.ID: true, stranger.ID: false} {
		r, err := w.hinted(p, w.hint(p, oauth.ES256, of))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.expects(r, account.ID); got != want {
			t.Errorf("the hint of user %d expects user %d: %t, want %t", of, account.ID, got, want)
		}
	}
}

// TestHintOfReplacedKey: a key verifies hints as long as it is published.
func TestHintOfReplacedKey(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	token := w.hint(p, oauth.ES256, 7)
	if _, err := w.Keys.Rotate(t.Context(), theOperator, oauth.ES256, true); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * time.Hour)
	if r, err := w.hinted(p, token); err != nil || !w.expects(r, 7) {
		t.Errorf("by a key that is still published: %v", err)
	}
	w.clock.Advance(6 * time.Minute)
	if _, err := w.hinted(p, token); err == nil {
		t.Error("a key that is not published any more vouches")
	}
}

// TestHintRefused: anything but our identity token for this application is refused, and not quoted
// in the answer.
func TestHintRefused(t *testing.T) {
	w := newHarness(t)
	p, other := w.enrol(home), w.enrol(home)
	good := w.hint(p, oauth.ES256, 7)
	own := func(claims map[string]any) string {
		token, err := w.Keys.Sign(t.Context(), oauth.ES256, claims)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"no token":             "y",
		"white space":          " ",
		"cut short":            good[:len(good)-10],
		"another's body":       parts[0] + "." + strings.Split(w.hint(p, oauth.ES256, 8), ".")[1] + "." + parts[2],
		"unsigned":             "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"another application":  w.hint(other, oauth.ES256, 7),
		"another issuer":       own(map[string]any{"iss": "https://evil.example", "aud": p.ClientID, "sub": "x"}),
		"nobody":               own(map[string]any{"iss": w.Issuer, "aud": p.ClientID}),
		"no identity token":    own(map[string]any{"iss": w.Issuer, "aud": []int{1}, "sub": "x"}),
		"another key":          forged(t, good),
		"JSON of the same":     `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"with something after": good + "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.hinted(p, token)
			d, ok := errors.AsType[*oauth.Denial](err)
			if !ok || d.Code != "invalid_request" || !strings.Contains(d.Text, "id_token_hint") || len(token) > 9 && strings.Contains(d.Text, token[:9]) {
				t.Errorf("Begin = %v", err)
			}
		})
	}
}

// forged returns the token's claims, signed by another key under the same id.
func forged(t *testing.T, token string) string {
	t.Helper()
	parsed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: parsed.Signatures[0].Header.KeyID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(parsed.UnsafePayloadWithoutVerification())
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// expects reports whether a user matches the hint of a request.
func (w *harness) expects(r oauth.Request, userID int64) bool {
	w.Helper()
	ok, err := w.Expects(w.Context(), r, userID)
	if err != nil {
		w.Fatal(err)
	}
	return ok
}
