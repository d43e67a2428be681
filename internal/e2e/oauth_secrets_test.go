package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/app"
	"claviger/internal/devserver"
	"claviger/internal/mail"
	"claviger/internal/wire"
)

// witness is a transport that records every secret passing through it, by the name of its carrier.
// It finds them by these names in queries, forms and JSON, and in cookies and the Authorization
// header.
type witness struct {
	mu   sync.Mutex
	seen map[sighting]bool
}

// sighting is a secret and its carrier.
type sighting struct{ kind, value string }

// secretNames are the names of secrets.
var secretNames = []string{
	"code", "access_token", "refresh_token", "id_token", "client_secret", "code_verifier", "token",
	"password", "current_password", "api_key", "webhook_secret", "secret",
}

var jsonMember = regexp.MustCompile(`"(` + strings.Join(secretNames, "|") + `)":"([^"]+)"`)

// note remembers a secret.
func (w *witness) note(kind, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(value) >= 8 {
		w.seen[sighting{kind, value}] = true
	}
}

// read searches for secrets in a body or a query.
func (w *witness) read(text string) {
	for _, m := range jsonMember.FindAllStringSubmatch(text, -1) {
		w.note(m[1], m[2])
	}
	if q, err := url.ParseQuery(text); err == nil {
		for _, name := range secretNames {
			w.note(name, q.Get(name))
		}
	}
}

// RoundTrip sends a request and inspects it and its answer.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	w.read(r.URL.RawQuery)
	if _, value, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok {
		w.note("Authorization", value)
	}
	if r.Body != nil {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		w.read(string(sent))
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(got))
	for _, c := range resp.Cookies() {
		w.note("cookie", c.Value)
	}
	if to, err := resp.Location(); err == nil {
		w.read(to.RawQuery)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		w.read(string(got))
	}
	return resp, nil
}

// journal is a log for concurrent writers.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// mailbox is a mail server that accepts everything and passes it on.
type mailbox chan mail.Outgoing

// Send receives an email.
func (b mailbox) Send(ctx context.Context, m mail.Outgoing) (bool, error) {
	select {
	case b <- m:
		return false, nil
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// watched is a whole service with its log, and people and programs that a witness observes.
type watched struct {
	*application
	harness *harness
	log     journal
	mails   mailbox
	witness
	person *visitor
}

// Two routes only for this test: one fails, one panics.
var faulty = []wire.Route{
	wire.Public("POST", "/fails", func(http.ResponseWriter, *http.Request) error { return errors.New("the disk is on fire") }),
	wire.Public("POST", "/panics", func(http.ResponseWriter, *http.Request) error { panic("a bug") }),
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{witness: witness{seen: map[sighting]bool{}}, mails: make(mailbox, 10)}
	e := newEndpoint(t, friendly)
	w.harness = start(t, func(c *app.Config) {
		c.AdminAddr, c.AllowPrivateTargets, c.Catcher, c.Extra = "127.0.0.1:0", true, w.mails, faulty
		c.Log = slog.New(slog.NewJSONHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	base := w.harness.URL()
	w.application = &application{TB: t, client: &http.Client{Transport: &w.witness}, redirect: e.URL + "/back"}
	w.card = devserver.Card{BaseURL: base, AuthURL: base, OperatorToken: w.harness.operator.token}
	w.card.Buyer = devserver.PersonCard{Email: "new@example.com", Password: "correct horse battery"}
	made := w.operates("POST", "/partners", object{"name": "Acme", "redirect_url": w.redirect, "webhook_url": e.URL, "external_id": "app-1"})
	w.card.Partner = read[devserver.PartnerCard](t, made)
	w.operates("PUT", "/partners/1/plans/2", object{"name": "Team", "price_cents": 100, "currency": "USD"})
	e.know(w.card.Partner.WebhookSecret)
	w.person = w.visitor()
	w.person.client.Transport = &w.witness
	return w
}

// operates sends a request of the operator, which must succeed.
func (w *watched) operates(method, path string, body any) answer {
	w.Helper()
	got := w.ask(method, "/operator/v1"+path, body, bearer(w.card.OperatorToken)...)
	if got.status >= 300 {
		w.Fatalf("%s %s answered %d %s", method, path, got.status, got.body)
	}
	return got
}

// link returns the page of the next email's link. The text of a sent email is not stored, so it is
// read on arrival.
func (w *watched) link() string {
	w.Helper()
	links := regexp.MustCompile(regexp.QuoteMeta(w.card.BaseURL) + `/sign-in/link\?token=\w+`)
	for m := range w.mails {
		if link := links.FindString(m.Text); link != "" {
			return link
		}
		if !strings.Contains(m.Subject, "was changed") { // every password change is confirmed by email
			w.Fatalf("no link in the mail: %s", m.Text)
		}
	}
	return ""
}

// fills sends the form of a page with these values.
func (w *watched) fills(page string, pairs ...string) sheet {
	w.Helper()
	s := w.person.open(page)
	if s.form == nil {
		w.Fatalf("%s answered %d, to %q", page, s.status, s.to)
	}
	return w.person.post(s.form.action, altered(s.form.fields, pairs))
}

// TestNoSecretInTheLog: no password, cookie, link, code, token, key or secret is in a log line or a
// metric, whichever requests people and programs make and however they end.
func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.joins()
	w.connectsAndUses()
	w.makesMistakes()
	w.forgetsThePassword()
	w.operates("POST", "/partners/1/rotate", object{"what": "client_secret", "overlap_s": 60})
	w.operates("POST", "/partners/1/rotate", object{"what": "api_key", "overlap_s": 60})
	w.meetsBugs()
	metrics, err := caller{base: "http://" + w.harness.AdminAddr()}.call(t.Context(), "GET", "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}

	text := w.log.String()
	for _, want := range []string{`"status":500`, "the disk is on fire", "a bug", `"path":"/openid/token/"`, `"path":"/sign-in/link"`, `"fault":"invalid_grant"`, `"fault":"invalid_credentials"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %s, so it proves little", want)
		}
	}
	kinds := map[string]bool{}
	for s := range w.seen {
		kinds[s.kind] = true
		if strings.Contains(text, s.value) {
			t.Errorf("the log has a secret, the %s %s", s.kind, s.value)
		}
		if bytes.Contains(metrics.body, []byte(s.value)) {
			t.Errorf("the metrics have a secret, the %s %s", s.kind, s.value)
		}
	}
	want := append(slices.Clone(secretNames), "Authorization", "cookie")
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(kinds))); diff != "" {
		t.Errorf("secrets that were seen (-want +got):\n%s", diff)
	}
}

// joins creates an account and confirms its address by a link.
func (w *watched) joins() {
	w.fills("/sign-up", "email", w.card.Buyer.Email, "password", w.card.Buyer.Password)
	if s := w.fills(w.link()); !strings.HasSuffix(s.to, "/licenses") {
		w.Fatalf("the link leads to %q", s.to)
	}
}

// connectsAndUses connects from both sides, and uses all tokens.
func (w *watched) connectsAndUses() {
	sold := read[sale](w, w.operates("POST", "/purchases", object{
		"partner_id": 1, "tier": 2, "external_id": "order-1", "user": object{"email": w.card.Buyer.Email},
	}))
	back := w.person.connects(sold.Licenses.Items[0].RedeemURL, w.redirect)
	held := w.given(w.ask("POST", "/openid/token/", asObject(w.exchangeOf(back.Query().Get("code")))))
	if key, status := w.opens(held.Access); key != sold.Licenses.Items[0].Key {
		w.Fatalf("the token opens %q (%d)", key, status)
	}
	code := w.code(w.person.connects(w.start("code_challenge", challengeOf(verifier), "code_challenge_method", "S256"), w.redirect))
	w.gets(w.exchangeOf(code, "code_verifier", verifier))
	next := w.gets(w.refreshOf(held.Refresh))
	w.ask("GET", "/openid/userinfo/", nil, bearer(next.Access)...)
	w.ask("POST", "/openid/userinfo/", url.Values{"access_token": {next.Access}})
	w.ask("POST", "/openid/introspect/", w.refreshOf("", "token", next.Refresh))
	w.ask("POST", "/openid/revoke/", w.refreshOf("", "token", next.Access))
	w.ask("GET", "/v2/licenses", nil, bearer(w.card.Partner.APIKey)...)
	w.ask("GET", "/v2/licenses", nil, "X-Licensing-Key", w.card.Partner.APIKey)
}

// makesMistakes sends secrets to wrong places, and wrong secrets.
func (w *watched) makesMistakes() {
	code := w.code(w.person.connects(w.start(), w.redirect))
	held := w.gets(w.exchangeOf(w.code(w.person.connects(w.start(), w.redirect))))
	for _, path := range []string{"/openid/token/", "/openid/oauth2/token", "/openid/no-such", "/v2/licenses", "/sign-in"} {
		w.ask("POST", path+"?"+w.exchangeOf(code).Encode(), nil)
		w.ask("POST", path, w.exchangeOf(code, "client_secret", "cs_a-wrong-secret"))
		w.ask("POST", path, []byte(`{"code":"`+code+`","client_secret":"`+w.card.Partner.ClientSecret+`",}`))
		w.ask("GET", path+"?access_token="+held.Access, nil, bearer(held.Access)...)
	}
	w.ask("POST", "/openid/token/", w.exchangeOf(code, "redirect_uri", "https://else.example/"+code))
	w.ask("POST", "/openid/token/", w.exchangeOf(code))
	w.ask("GET", "/openid/license_key/?access_token="+held.Access+"&access_token="+held.Refresh, nil)
	w.ask("GET", "/openid/authorize?client_secret="+w.card.Partner.ClientSecret+"&redirect_uri="+code, nil)
	w.ask("GET", "/v2/licenses", nil, bearer("lk_a-wrong-key-of-a-partner")...)
	w.ask("GET", "/operator/v1/stats", nil, bearer("op_a-wrong-token-of-an-operator")...)
	w.person.open("/sign-in/link?token=a-token-that-nobody-sent")
}

// forgetsThePassword signs out, fails to sign in, and signs in by every way.
func (w *watched) forgetsThePassword() {
	w.person.post("/sign-out", url.Values{})
	w.fills("/sign-in", "email", w.card.Buyer.Email, "password", "a wrong password")
	w.fills("/reset", "email", w.card.Buyer.Email)
	w.fills(w.link())
	w.fills("/account/password", "password", "another horse battery")
	w.fills("/account/password", "current_password", "another horse battery", "password", "a third horse battery")
	w.person.post("/sign-out", url.Values{})
	w.person.post("/sign-in/send", url.Values{"email": {w.card.Buyer.Email}})
	w.fills(w.link())
	w.person.post("/account/sign-out-everywhere", url.Values{})
	made := read[struct {
		URL string `json:"url"`
	}](w, w.operates("POST", "/users/1/session", object{}))
	w.fills(made.URL)
	if s := w.person.open("/account"); s.status != http.StatusOK {
		w.Fatalf("nobody is signed in: %d, to %q", s.status, s.to)
	}
}

// meetsBugs sends everything to failing handlers, and then to the real ones without a database.
func (w *watched) meetsBugs() {
	code := w.code(w.person.connects(w.start(), w.redirect))
	held := w.gets(w.exchangeOf(code))
	everything := func(path string) {
		query := "?access_token=" + held.Access + "&code=" + code
		w.ask("POST", path+query, w.refreshOf(held.Refresh), bearer(held.Access)...)
		w.ask("POST", path, w.refreshOf(held.Refresh))
		w.ask("GET", path+query, nil)
		w.person.post(path+query, url.Values{"password": {w.card.Buyer.Password}, "email": {w.card.Buyer.Email}, "token": {held.ID}})
	}
	everything("/fails")
	everything("/panics")
	if err := w.harness.Services().DB.Close(); err != nil {
		w.Fatal(err)
	}
	for _, path := range []string{"/openid/token/", "/openid/userinfo", "/openid/introspect", "/openid/license_key", "/sign-in", "/sign-in/link", "/openid/authorize", "/v2/licenses"} {
		everything(path)
	}
}
