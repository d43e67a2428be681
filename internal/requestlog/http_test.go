package requestlog_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/requestlog"
)

const redirectURL = "https://partner.example.com/callback?own=1"

// service is the whole application, as partners call it.
type service struct {
	*apptest.Harness
	clock        *apptest.Clock
	client       *http.Client
	ours, other  partner.Partner
	keys, theirs partner.Credentials
	buyer        account.User
}

func startService(t *testing.T, change ...func(*app.Config)) *service {
	t.Helper()
	clock := apptest.StoppedClock(start)
	h := &service{clock: clock, Harness: apptest.Start(t, append(change, clock.Set)...)}
	h.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	urls := profile.URLs{Redirect: redirectURL, Connection: profile.Connection{IDTokenAlg: new(profile.ES256)}}
	h.ours, h.keys = h.Partner("Ours", urls)
	h.other, h.theirs = h.Partner("Other", urls)
	h.Plans(h.ours.ID, 1, partner.Plan{})
	h.Plans(h.other.ID, 1, partner.Plan{})
	h.buyer = h.User("ann@example.com")
	return h
}

// code connects a new license of a partner, with a PKCE challenge if given, and returns it with its
// code.
func (h *service) code(p partner.Partner, challenge ...string) (license.License, string) {
	h.Helper()
	l := h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Buyer: &account.Person{Email: h.buyer.Email}})
	r, err := h.OAuth.MarketplaceRequest(h.Context(), p.ID)
	h.Must(err)
	r.Challenge = strings.Join(challenge, "")
	to, l, err := h.OAuth.Accept(h.Context(), audit.Actor{Kind: audit.ByUser, ID: h.buyer.ID}, r,
		oauth.Authentication{UserID: h.buyer.ID, At: h.clock.Now()}, l.RedemptionID)
	h.Must(err)
	u, err := url.Parse(to)
	h.Must(err)
	return l, u.Query().Get("code")
}

// token posts to the token endpoint with our credentials; pairs change the form.
func (h *service) token(pairs ...string) apptest.Answer {
	h.Helper()
	form := url.Values{
		"grant_type": {"authorization_code"}, "redirect_uri": {redirectURL}, "client_id": {h.keys.ClientID}, "client_secret": {h.keys.ClientSecret},
	}
	for i := 0; i < len(pairs); i += 2 {
		if form.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			form.Del(pairs[i])
		}
	}
	return h.call("POST", "/openid/token", form.Encode(), "Content-Type: application/x-www-form-urlencoded")
}

func (h *service) call(method, path, body string, header ...string) apptest.Answer {
	h.Helper()
	return apptest.Send(h, h.client, method, h.App.URL()+path, body, header...)
}

// entries flushes the log and returns a partner's entries.
func (h *service) entries(p partner.Partner) []requestlog.Entry {
	h.Helper()
	h.Must(h.Requests.Flush(h.Context()))
	list, err := h.Requests.List(h.Context(), p.ID, requestlog.Filter{Limit: 100})
	h.Must(err)
	return list.Entries
}

// newest returns our only entry since the last call.
func (h *service) newest() requestlog.Entry {
	h.Helper()
	list := h.entries(h.ours)
	if len(list) == 0 {
		h.Fatal("nothing was stored")
	}
	h.Exec(`DELETE FROM refused_calls`)
	h.Exec(`DELETE FROM refused_groups`)
	if len(list) > 1 {
		h.Errorf("%d entries, want one: %+v", len(list), list)
	}
	return list[0]
}

// TestCausesOfTheTokenEndpoint: one OAuth code covers many causes, and the log names the cause and
// the license.
func TestCausesOfTheTokenEndpoint(t *testing.T) {
	h := startService(t)
	l, used := h.code(h.ours)
	if a := h.token("code", used); a.Status != http.StatusOK {
		t.Fatalf("exchange: %d %s", a.Status, a.Body)
	}
	_, foreign := h.code(h.other)
	expiring, expired := h.code(h.ours)
	wrong, mismatch := h.code(h.ours)
	ended, released := h.code(h.ours)
	if _, err := h.Licenses.Release(t.Context(), apptest.Tester, ended.Key); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cause, license string
		send           func() apptest.Answer
	}{
		{"code_unknown", "", func() apptest.Answer { return h.token("code", "nonsense") }},
		{"code_used", l.Key, func() apptest.Answer { return h.token("code", used) }},
		{"code_of_another_client", "", func() apptest.Answer { return h.token("code", foreign) }},
		{"redirect_uri_mismatch", wrong.Key, func() apptest.Answer {
			return h.token("code", mismatch, "redirect_uri", "https://partner.example.com/")
		}},
		{"code_burned", wrong.Key, func() apptest.Answer { return h.token("code", mismatch) }},
		{"connection_ended", ended.Key, func() apptest.Answer { return h.token("code", released) }},
		{"code_expired", expiring.Key, func() apptest.Answer { h.clock.Advance(time.Hour); return h.token("code", expired) }},
		{"parameter_missing", "", func() apptest.Answer { return h.token() }},
		{"refresh_token_unknown", "", func() apptest.Answer { return h.token("grant_type", "refresh_token", "refresh_token", "x") }},
		{"client_secret_wrong", "", func() apptest.Answer { return h.token("code", "x", "client_secret", "cs_wrong") }},
		{"client_credentials_missing", "", func() apptest.Answer { return h.token("code", "x", "client_secret", "") }},
		{"parameter_in_query", "", func() apptest.Answer {
			return h.call("POST", "/openid/token?client_id="+h.keys.ClientID+"&client_secret="+h.keys.ClientSecret, "")
		}},
	} {
		got, answer := h.tried(c.cause, c.license, c.send)
		if got.Path != "/openid/token" {
			t.Errorf("%s: stored %+v", c.cause, got)
		}
		if proven := answer.Status == 400 && c.cause != "parameter_in_query"; got.Proven != proven || got.Grouped == proven {
			t.Errorf("%s: proven %v, grouped %v", c.cause, got.Proven, got.Grouped)
		}
		if all := fmt.Sprint(got); strings.Contains(all, h.keys.ClientSecret) || strings.Contains(all, "own=1") || strings.Contains(all, used) {
			t.Errorf("a secret or a query is stored: %s", all)
		}
	}
	if n := len(h.entries(h.other)); n != 0 {
		t.Errorf("%d entries of a partner that called nothing", n)
	}
}

// TestRefusedAPICalls: calls that /v2 refuses are stored under the partner of their key.
func TestRefusedAPICalls(t *testing.T) {
	h := startService(t)
	key := "Authorization: Bearer " + h.keys.APIKey
	l, _ := h.code(h.other)
	for _, c := range []struct {
		name, method, path, license string
		status                      int
		code                        string
	}{
		{"a parameter", "GET", "/v2/licenses?page=none", "", 400, "invalid_parameter"},
		{"a license of another", "GET", "/v2/licenses/" + l.Key, l.Key, 404, "unknown_license"},
		{"an event", "POST", "/v2/events/x/redeliver", "", 404, "unknown_event"},
		{"a path that does not exist", "GET", "/v2/licences", "", 404, "not_found"},
		{"a method that does not exist", "PUT", "/v2/licenses", "", 405, "method_not_allowed"},
	} {
		answer := h.call(c.method, c.path, "", key)
		path, _, _ := strings.Cut(c.path, "?")
		got := h.newest()
		want := requestlog.Entry{
			Seq: got.Seq, At: start, FirstAt: start, Count: 1, Proven: true, Method: c.method, Path: path, Status: c.status, Code: c.code,
			Message: got.Message, RequestID: answer.Header.Get("X-Request-Id"), License: c.license,
		}
		if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(answer.Body, got.Message) {
			t.Errorf("%s: stored (-want +got) of %s\n%s", c.name, answer.Body, diff)
		}
	}
	h.call("GET", "/v2/licenses", "", key)
	h.call("GET", "/v2/licenses", "", "Authorization: Bearer lk_nobody")
	h.call("GET", "/v2/licenses", "")
	if list := h.entries(h.ours); len(list) != 0 {
		t.Errorf("a success or a call of nobody is stored: %+v", list)
	}
	hours, err := h.Requests.Hours(t.Context(), h.ours.ID, start)
	if want := []requestlog.Hour{{At: start, Answered: 1, Refused: 5}}; err != nil || cmp.Diff(want, hours) != "" {
		t.Errorf("counted %+v, %v", hours, err)
	}
}

// TestUnknownOAuthPaths: a call to an unknown OAuth path is stored for the client that it names, in
// a group: the name proves nothing.
func TestUnknownOAuthPaths(t *testing.T) {
	h := startService(t)
	form := "grant_type=authorization_code&client_secret=" + h.keys.ClientSecret + "&client_id=" + h.keys.ClientID
	for name, send := range map[string]func() apptest.Answer{
		"form": func() apptest.Answer {
			return h.call("POST", "/openid/tokens", form, "Content-Type: application/x-www-form-urlencoded")
		},
		"query":  func() apptest.Answer { return h.call("GET", "/openid/tokens?client_id="+h.keys.ClientID, "") },
		"method": func() apptest.Answer { return h.call("GET", "/openid/token?client_id="+h.keys.ClientID, "") },
	} {
		answer := send()
		got := h.newest()
		if got.Status != answer.Status || got.Proven || !got.Grouped || strings.Contains(fmt.Sprint(got), h.keys.ClientSecret) {
			t.Errorf("%s: stored %+v of the answer %d %s", name, got, answer.Status, answer.Body)
		}
	}
	h.call("POST", "/openid/tokens", "client_id=nobody", "Content-Type: application/x-www-form-urlencoded")
	h.call("GET", "/elsewhere?client_id="+h.keys.ClientID, "")
	if list := h.entries(h.ours); len(list) != 0 {
		t.Errorf("a call that names nobody, or of no concern, is stored: %+v", list)
	}
}

// TestEndedKeyIsNamed: the log shows users of a replaced key.
func TestEndedKeyIsNamed(t *testing.T) {
	h := startService(t)
	if _, err := h.Partners.Rotate(t.Context(), apptest.Tester, h.ours.ID, partner.APIKey, time.Hour); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(time.Hour)
	answer := h.call("GET", "/v2/licenses", "", "Authorization: Bearer "+h.keys.APIKey)
	if got := h.newest(); answer.Status != 401 || got.Cause != "key_ended" || got.Proven || !got.Grouped || got.Path != "/v2/licenses" {
		t.Errorf("answered %d, stored %+v", answer.Status, got)
	}
}

// TestAccessTokens: refused calls with a token are stored in a group: a buyer's browser may have
// the token.
func TestAccessTokens(t *testing.T) {
	h := startService(t)
	l, tokens := h.tokens()
	read := func() apptest.Answer { return h.call("GET", "/openid/license_key?access_token="+tokens.Access, "") }
	if a := read(); a.Status != http.StatusOK {
		t.Fatalf("license_key: %d %s", a.Status, a.Body)
	}
	h.clock.Advance(100 * 24 * time.Hour)
	if got, _ := h.tried("access_token_expired", l.Key, read); !got.Grouped {
		t.Errorf("stored %+v", got)
	}
}

// TestAuthorizationRequests: a buyer cannot tell the developers the error in the link.
func TestAuthorizationRequests(t *testing.T) {
	h := startService(t)
	h.call("GET", "/openid/authorize?client_id="+h.keys.ClientID+"&redirect_uri=https%3A%2F%2Felsewhere.example%2F%3Fsecret%3D1", "")
	if got := h.newest(); got.Code != "redirect_mismatch" || got.Status != 400 || !got.Grouped || strings.Contains(got.Message, "secret") {
		t.Errorf("stored %+v", got)
	}
	h.call("GET", "/openid/authorize?client_id="+h.keys.ClientID+"&response_type=token", "")
	if got := h.newest(); got.Code != "unsupported_response_type" || got.Status != 303 || got.Path != "/openid/authorize" {
		t.Errorf("stored %+v", got)
	}
}
