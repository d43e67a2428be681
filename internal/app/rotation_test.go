package app_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

const redirect = "http://127.0.0.1:9/connect"

// rotation is an install with a secret key that is replaced.
type rotation struct {
	*apptest.Harness
	partner partner.Partner
	keys    partner.Credentials
	buyer   account.User
}

// sub connects a license and exchanges the code at a node. It returns the buyer's subject for the
// partner.
func (r rotation) sub(node *apptest.Harness) string {
	r.Helper()
	l := node.Buy(license.Purchase{PartnerID: r.partner.ID, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: r.buyer.Email}})
	request, err := node.OAuth.MarketplaceRequest(r.Context(), r.partner.ID)
	r.Must(err)
	to, _, err := node.OAuth.Accept(r.Context(), audit.Actor{Kind: audit.ByUser, ID: r.buyer.ID}, request,
		oauth.Authentication{UserID: r.buyer.ID, At: app.Now()}, l.RedemptionID)
	r.Must(err)
	at, err := url.Parse(to)
	r.Must(err)
	form := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {r.keys.ClientID}, "client_secret": {r.keys.ClientSecret},
		"redirect_uri": {redirect}, "code": {at.Query().Get("code")},
	}
	answer := apptest.Send(r, http.DefaultClient, http.MethodPost, "http://"+node.App.Addr()+"/openid/token/", form.Encode(), "Content-Type: application/x-www-form-urlencoded")
	if answer.Status != http.StatusOK {
		r.Fatalf("the token endpoint answered %d: %s", answer.Status, answer.Body)
	}
	var tokens struct {
		ID string `json:"id_token"`
	}
	answer.Into(r, &tokens)
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(tokens.ID, ".")[1])
	r.Must(err)
	var who struct{ Sub string }
	r.Must(json.Unmarshal(claims, &who))
	if who.Sub == "" {
		r.Fatalf("no sub in %s", claims)
	}
	return who.Sub
}

// with changes the keys of a configuration.
func with(key, previous string) func(*app.Config) {
	return func(c *app.Config) { c.SecretKey, c.PreviousKey = key, previous }
}

// refused starts a node with these keys, which must fail.
func (r rotation) refused(key, previous, says string) {
	r.Helper()
	db, err := sqldb.Open(r.Context(), r.Database, sqldb.Options{})
	r.Must(err)
	_, err = app.Sealer(r.Context(), db, apptest.Config(r, with(key, previous)))
	r.Must(db.Close())
	if !errors.Is(err, app.ErrKey) || !strings.Contains(err.Error(), says) {
		r.Errorf("a start with the wrong keys: %v", err)
	}
}

// reseal returns the number of resealed values per column.
func (r rotation) reseal(key, previous string) map[string]int {
	r.Helper()
	all := map[string]int{}
	db, err := sqldb.Open(r.Context(), r.Database, sqldb.Options{})
	r.Must(err)
	_, err = app.Reseal(r.Context(), db, apptest.Config(r, with(key, previous)), audit.System("test"), func(what string, _, changed int) {
		if changed > 0 {
			all[what] = changed
		}
	})
	r.Must(errors.Join(err, db.Close()))
	return all
}

// TestSecretKeyIsReplaced: the secret key is replaced while people connect. Client secrets and
// subjects stay, and a key that does not open everything prevents the start.
func TestSecretKeyIsReplaced(t *testing.T) {
	const before, after = apptest.SecretKey, "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
	r := rotation{Harness: apptest.New(t)}
	r.Serve()
	r.partner, r.keys = r.Partner("App", profile.URLs{Redirect: redirect})
	r.Plans(r.partner.ID, 1, partner.Plan{})
	r.buyer = r.User("ann@example.com")
	key, err := hex.DecodeString(before)
	r.Must(err)
	box, err := secret.NewSealer(key)
	r.Must(err)
	r.Exec(`INSERT INTO totp_secrets (user_id, sealed, last_step, created_at, last_used_at) VALUES ($1, $2, 0, 0, 0)`, r.buyer.ID,
		box.Seal(fmt.Sprint("totp of user ", r.buyer.ID), "JBSWY3DPEHPK3PXP"))
	r.Must(r.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		r.Mail.Put(tx, mail.Message{Cause: "test", To: "ann@example.com", Subject: "s", Text: "text", HTML: "html"}, app.Now().Add(time.Hour))
		return nil
	}))
	sub := r.sub(r.Harness)

	r.refused(after, "", "secret-key-previous")
	both := r.Node(with(after, before))
	both.Serve()
	if got := r.sub(both); got != sub {
		t.Errorf("with both keys the partner knows the buyer as %s, before as %s", got, sub)
	}
	r.refused(after, "", "secret-key-previous")
	done := r.reseal(after, before)
	for _, what := range []string{"the pepper", "webhook secrets", "secrets of one-time codes", "signing keys", "texts of mails"} {
		if done[what] == 0 {
			t.Errorf("%s were not sealed anew: %v", what, done)
		}
	}
	if again := r.reseal(after, before); len(again) != 0 {
		t.Errorf("a second run sealed anew: %v", again)
	}
	r.refused(before, "", "does not open")
	alone := r.Node(with(after, ""))
	alone.Serve()
	if got := r.sub(alone); got != sub {
		t.Errorf("with the new key the partner knows the buyer as %s, before as %s", got, sub)
	}
	if n := r.Count(`SELECT count(*) FROM audit_entries WHERE action = 'secret_key.rotate'`); n != 2 {
		t.Errorf("%d entries of the audit", n)
	}
}
