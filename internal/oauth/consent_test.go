package oauth_test

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// market returns the request of a flow that the buyer started.
func (w *harness) market(p partner.Partner) oauth.Request {
	w.Helper()
	r, err := w.MarketplaceRequest(w.Context(), p.ID)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// begin returns a partner's request with the usual parameters and more.
func (w *harness) begin(p partner.Partner, more string) oauth.Request {
	w.Helper()
	r, err := w.ParseAuthorize(w.Context(), query(w.TB, "response_type=code&client_id="+p.ClientID+more))
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// buyer returns the actor of a user who signed in half an hour ago.
func buyer(id int64) (audit.Actor, oauth.Authentication) {
	return audit.Actor{Kind: audit.ByUser, ID: id, Name: "buyer"}, oauth.Authentication{UserID: id, At: noon.Add(-30 * time.Minute)}
}

// accepted accepts the request, checks the saved URL and returns the answer's parameters.
func (w *harness) accepted(r oauth.Request, userID int64, l license.License) (url.Values, license.License) {
	w.Helper()
	by, who := buyer(userID)
	to, l, err := w.Accept(w.Context(), by, r, who, l.RedemptionID)
	if err != nil {
		w.Fatal(err)
	}
	answer, ok := strings.CutPrefix(to, home+"&")
	if !ok {
		w.Fatalf("sent to %s, want the saved URL with more", to)
	}
	return query(w.TB, answer), l
}

// grant is a stored authorization.
type grant struct {
	PartnerID, LicenseID, UserID, LicenseEpoch, RedirectEpoch int64
	RedirectURL, Challenge, Nonce, Scope, Burned              string
	AuthTime, CreatedAt, ExpiresAt, UsedAt, RevokedAt         time.Time
}

func (w *harness) grant(code string) grant {
	w.Helper()
	g, err := sqldb.One(w.Context(), w.DB, func(r *sqldb.Row, g *grant) error {
		return r.Scan(&g.PartnerID, &g.LicenseID, &g.UserID, &g.LicenseEpoch, &g.RedirectEpoch, &g.RedirectURL, &g.Challenge, &g.Nonce,
			&g.Scope, &g.Burned, &g.AuthTime, &g.CreatedAt, &g.ExpiresAt, &g.UsedAt, &g.RevokedAt)
	}, `SELECT partner_id, license_id, user_id, license_epoch, redirect_epoch, redirect_url, challenge, nonce, scope, burned,
		auth_time, created_at, expires_at, used_at, revoked_at FROM oauth_grants WHERE code_hash = $1`, secret.Hash(code))
	if err != nil {
		w.Fatalf("the grant of code %s: %v", code, err)
	}
	return g
}

func TestAccept(t *testing.T) {
	w := newHarness(t)
	p, user := w.enrol("https://old.example/"), w.user("ann")
	w.move(p, home) // so that no epoch is zero
	bought := w.buy(p)
	q, l := w.accepted(w.market(p), user.ID, bought)
	code := q.Get("code")
	if len(q) != 2 || q.Get("iss") != w.Issuer || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(code) {
		t.Errorf("the marketplace's answer has %v, want a code and the issuer", q)
	}
	if l.Status.String() != "active" || l.OwnerID != user.ID {
		t.Errorf("the license is %+v", l)
	}
	want := grant{
		PartnerID: p.ID, LicenseID: l.ID, UserID: user.ID, RedirectEpoch: 2, RedirectURL: home, Scope: "read_license",
		AuthTime: noon.Add(-30 * time.Minute), CreatedAt: noon, ExpiresAt: noon.Add(10 * time.Minute),
	}
	if diff := cmp.Diff(want, w.grant(code)); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
	// The partner's own request has more parameters and gets another code.
	r := w.begin(p, "&state=s%26&nonce=n&scope=openid&code_challenge_method=S256&code_challenge="+challenge)
	q, _ = w.accepted(r, user.ID, l)
	again := q.Get("code")
	q.Del("code")
	if diff := cmp.Diff(url.Values{"state": {"s&"}, "iss": {w.Issuer}}, q); diff != "" || again == code {
		t.Errorf("the partner's answer beside the code (-want +got):\n%s", diff)
	}
	want.Challenge, want.Nonce, want.Scope = challenge, "n", "openid read_license"
	if diff := cmp.Diff(want, w.grant(again)); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
	checkNoSecret(t, w, code, again, "s&", challenge)
}

// checkNoSecret: the audit log has both acceptances and no secret.
func checkNoSecret(t *testing.T, w *harness, secrets ...string) {
	t.Helper()
	entries, _, err := (&audit.Log{DB: w.DB}).List(t.Context(), audit.Filter{Action: "oauth.accept"}, paging.Page{Number: 1, Limit: 10})
	if err != nil || len(entries) != 2 || entries[0].Actor.Kind != audit.ByUser {
		t.Errorf("audit entries %+v, %v", entries, err)
	}
	for _, e := range entries {
		for _, s := range secrets {
			if strings.Contains(e.Before+e.After+e.Subject, s) {
				t.Errorf("%q is in the audit entry %+v", s, e)
			}
		}
	}
}

func TestAcceptRefuses(t *testing.T) {
	w := newHarness(t)
	p, other := w.enrol(home), w.enrol("https://other.example/")
	ann, bob := w.user("ann"), w.user("bob")
	bobs, theirs := w.buy(p), w.buy(other)
	w.accepted(w.market(p), bob.ID, bobs)
	before := w.Count(`SELECT count(*) FROM oauth_grants`)
	by, who := buyer(ann.ID)
	for name, tt := range map[string]struct{ id, code string }{
		"somebody else's":       {bobs.RedemptionID, "license_not_yours"},
		"of another partner":    {theirs.RedemptionID, "unknown_license"},
		"not there":             {secret.UUID(), "unknown_license"},
		"by its license key":    {bobs.Key, "unknown_license"},
		"nothing that looks so": {"x\x00", "unknown_license"},
	} {
		to, l, err := w.Accept(t.Context(), by, w.market(p), who, tt.id)
		if to != "" || l != (license.License{}) || !fault.Is(err, tt.code) {
			t.Errorf("%s: %q, %+v, %v; want %s", name, to, l, err, tt.code)
		}
	}
	if l, err := w.Licenses.ByKey(t.Context(), theirs.Key); err != nil || l.OwnerID != 0 {
		t.Errorf("the other partner's license was claimed: %+v, %v", l, err)
	}
	if after := w.Count(`SELECT count(*) FROM oauth_grants`); after != before {
		t.Errorf("%d grants, before it was %d", after, before)
	}
}

// TestAcceptAfterAMove: a buyer who agreed to one URL is not redirected to another, nor to the same
// one if the partner changed it meanwhile.
func TestAcceptAfterAMove(t *testing.T) {
	w := newHarness(t)
	p, user := w.enrol(home), w.user("ann")
	l := w.buy(p)
	by, who := buyer(user.ID)
	old := w.begin(p, "")
	w.move(p, "https://new.example/cb")
	for range 2 {
		to, _, err := w.Accept(t.Context(), by, old, who, l.RedemptionID)
		if f := fault.Of(err); to != "" || f == nil || f.Kind != fault.Conflict || f.Code != "redirect_changed" {
			t.Errorf("Accept = %q, %v", to, err)
		}
		w.move(p, home)
	}
	if got, err := w.Licenses.ByKey(t.Context(), l.Key); err != nil || got.Redeemed || got.OwnerID != 0 {
		t.Errorf("a refused acceptance redeemed %+v, %v", got, err)
	}
	w.accepted(w.begin(p, ""), user.ID, l)
}

// TestAcceptAtOnce: a form sent several times gives several codes and one event.
func TestAcceptAtOnce(t *testing.T) {
	w := newHarness(t)
	p, user := w.enrol(home), w.user("ann")
	bought := w.buy(p)
	r := w.market(p)
	by, who := buyer(user.ID)
	const n = 8
	var done sync.WaitGroup
	var codes [n]string
	for i := range n {
		done.Go(func() {
			to, _, err := w.Accept(t.Context(), by, r, who, bought.RedemptionID)
			if err != nil {
				t.Error(err)
			}
			codes[i] = to
		})
	}
	done.Wait()
	different := map[string]bool{}
	for _, c := range codes {
		different[c] = true
	}
	grants, consents := w.Count(`SELECT count(*) FROM oauth_grants`), w.Count(`SELECT count(*) FROM oauth_consents`)
	events := w.Count(`SELECT count(*) FROM events WHERE license_id = $1 AND kind = 2`, bought.ID)
	if len(different) != n || grants != n || consents != 1 || events != 1 {
		t.Errorf("%d codes, %d grants, %d consents, %d activate events; want %d, %d, 1, 1", len(different), grants, consents, events, n, n)
	}
}

func TestConsent(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	ann, bob := w.user("ann"), w.user("bob")
	bought := w.buy(p)
	consented := func(userID int64, l license.License, want bool) {
		t.Helper()
		if got, err := w.Consented(t.Context(), userID, []license.License{l}); len(got) == 1 != want || err != nil {
			t.Errorf("Consented = %v, %v; want %t", got, err, want)
		}
	}
	since := func(userID int64, want ...oauth.Connection) {
		t.Helper()
		got, err := w.Consents(t.Context(), userID)
		if err != nil || len(got) != len(want) {
			t.Fatalf("Consents = %+v, %v; want %+v", got, err, want)
		}
		for i := range got {
			if got[i].License.Key != want[i].License.Key || !got[i].Since.Equal(want[i].Since) {
				t.Errorf("Consents[%d] = %+v, want %+v", i, got[i], want[i])
			}
		}
	}
	consented(ann.ID, bought, false)
	_, l := w.accepted(w.market(p), ann.ID, bought)
	consented(ann.ID, l, true)
	consented(bob.ID, l, false)
	w.clock.Advance(time.Hour)
	w.accepted(w.market(p), ann.ID, l)
	since(ann.ID, oauth.Connection{License: l, Since: noon})
	since(bob.ID)
	// A release deletes the consent, and the next one is new.
	l, err := w.Licenses.Release(t.Context(), theOperator, l.Key)
	if err != nil {
		t.Fatal(err)
	}
	consented(ann.ID, l, false)
	since(ann.ID)
	_, l = w.accepted(w.market(p), ann.ID, l)
	consented(ann.ID, l, true)
	since(ann.ID, oauth.Connection{License: l, Since: noon.Add(time.Hour)})
}

// TestConsentedOfSeveral queries a whole list: consented licenses are returned in its order,
// without those of another user or an older epoch.
func TestConsentedOfSeveral(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	ann, bob := w.user("ann"), w.user("bob")
	_, first := w.accepted(w.market(p), ann.ID, w.buy(p))
	_, bobs := w.accepted(w.market(p), bob.ID, w.buy(p))
	_, released := w.accepted(w.market(p), ann.ID, w.buy(p))
	released, err := w.Licenses.Release(t.Context(), theOperator, released.Key)
	if err != nil {
		t.Fatal(err)
	}
	_, last := w.accepted(w.market(p), ann.ID, w.buy(p))
	got, err := w.Consented(t.Context(), ann.ID, []license.License{last, bobs, w.buy(p), released, first})
	if err != nil || len(got) != 2 || got[0].ID != last.ID || got[1].ID != first.ID {
		t.Errorf("Consented = %+v, %v; want %d and %d", got, err, last.ID, first.ID)
	}
	if got, err := w.Consented(t.Context(), ann.ID, nil); err != nil || len(got) != 0 {
		t.Errorf("of none: %+v, %v", got, err)
	}
}
