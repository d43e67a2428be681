package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"claviger/internal/app"
	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/partner"
	"claviger/sdk/go/operator"
)

// loop runs through a connection as buyer, application and marketplace.
type loop struct {
	base         string // of the service
	operator     *operator.Client
	partner      operator.PartnerDetail
	tier         int
	clientSecret string
	browser      *http.Client // the buyer's; follows no redirects
	redeem       string       // page of the sold license
	license      string
}

// openLoop prepares the checks of a whole connection, or returns why there are none, with advice.
func (c *checked) openLoop(ctx context.Context) (l *loop, why, do string) {
	base := strings.TrimSuffix(cmp.Or(c.service.url, os.Getenv(urlVariable)), "/")
	token := cmp.Or(c.service.token, os.Getenv(tokenVariable))
	switch {
	case c.redirect == "" || c.clientID == "" || base == "" || token == "":
		return nil, "it needs --redirect, --client-id, --client-secret, and --url and --token of a claviger dev",
			"Start claviger dev --webhook and --redirect with the application's URLs, and give what it prints."
	case !isDev(ctx, base):
		return nil, "the service at " + base + " is not a claviger dev that runs", "It sells a license, so it is " +
			"run against claviger dev alone."
	}
	client, err := operator.NewClient(operator.Config{URL: base, Secret: token})
	if err != nil {
		return nil, err.Error(), "Check --url and --token."
	}
	l = &loop{base: base, operator: client, clientSecret: c.clientSecret}
	for p, err := range client.Partners(ctx, operator.Order{}) {
		if err != nil {
			return nil, "the service refused to list its partners: " + err.Error(), "Check --token: the loop takes " +
				"the scope admin."
		}
		if p.ClientID == c.clientID {
			l.partner = p
			break
		}
	}
	plans, err := client.Plans(ctx, l.partner.ID)
	switch {
	case l.partner.ID == 0:
		return nil, "the service has no partner with this --client-id", "Copy the client id that claviger dev prints."
	case l.partner.RedirectURL != c.redirect:
		return nil, fmt.Sprintf(
			"the redirect URL that is saved there is %q, and not the --redirect that is checked",
			l.partner.RedirectURL,
		), "Start claviger dev with --redirect " + c.redirect + "."
	case l.partner.InitiateLoginURI != "":
		return nil, "the partner has an initiate_login_uri, so its own application begins each connection",
			"Clear it in the settings to have the loop checked."
	case err != nil || len(plans) == 0:
		return nil, "the partner has no plans that could be sold", "Add one, or use the partner that claviger dev " +
			"comes with."
	}
	l.tier = plans[0].Tier
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err.Error(), ""
	}
	l.browser = &http.Client{
		Jar: jar, Timeout: pageTimeout, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return l, "", ""
}

// pageTimeout is the timeout for loading a page.
const pageTimeout = 30 * time.Second

// isDev reports whether a claviger dev answers at base: nothing else has a mail catcher.
func isDev(ctx context.Context, base string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+devMails, http.NoBody)
	if err != nil {
		return false
	}
	a, err := (&http.Client{Timeout: pageTimeout}).Do(r)
	if err != nil {
		return false
	}
	_ = a.Body.Close() // only the status counts
	return a.StatusCode == http.StatusOK
}

// run does the checks in order; the first that fails ends them.
func (l *loop) run(ctx context.Context, all *checkReport) error {
	var code, token string
	run := &diagnose.Runner{Now: app.Now}
	for _, step := range []struct {
		title, expected string
		do              func(context.Context, *diagnose.Result) error
	}{
		{
			"the buyer comes back with a code", "a redirect to the saved URL with a code",
			func(ctx context.Context, _ *diagnose.Result) error {
				err := l.sell(ctx)
				if err != nil {
					return err
				}
				back, err := l.consent(ctx)
				code = codeIn(back)
				return err
			},
		},
		{
			"code to token", "the token endpoint accepts code, client id and client secret",
			func(ctx context.Context, r *diagnose.Result) (err error) {
				token, err = l.exchange(ctx, r, code)
				return err
			},
		},
		{"token to license", "the license that was sold, active", func(ctx context.Context, r *diagnose.Result) error {
			return l.read(ctx, r, token)
		}},
		{"the application exchanges a code itself", "no refusal, and a code that is used", l.application},
	} {
		begun := diagnose.Result{
			Scenario: loopName, Title: step.title, Expected: step.expected, Verdict: diagnose.Pass, Text: "it worked",
		}
		result, _ := run.Step(ctx, begun, func(ctx context.Context, r *diagnose.Result) error {
			if err := step.do(ctx, r); err != nil {
				r.Verdict = diagnose.Fail
				r.Text = err.Error()
				run.Skip("it was not done: an earlier step failed")
			}
			return nil
		})
		if err := all.add(ctx, *result); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sell sells a license to a new buyer and signs them in.
func (l *loop) sell(ctx context.Context) error {
	email := "check-" + strings.ToLower(rand.Text()[:12]) + "@example.com"
	user, err := l.operator.CreateUser(ctx, operator.Person{Email: &email})
	if err != nil {
		return err
	}
	sale, err := l.operator.CreatePurchase(
		ctx,
		operator.NewPurchase{PartnerID: l.partner.ID, Tier: l.tier, User: &operator.Person{Email: &email}},
	)
	if err != nil {
		return err
	}
	l.license = sale.Licenses.Items[0].LicenseKey
	l.redeem = sale.Licenses.Items[0].LicenseRedemptionURL
	link, err := l.operator.SignInLink(ctx, user.ID, "")
	if err != nil {
		return err
	}
	at, err := url.Parse(link.URL)
	if err != nil {
		return err
	}
	_, _, err = l.submit(ctx, l.base+at.Path, url.Values{"token": {at.Query().Get("token")}})
	return err
}

// consent redeems the license and agrees, and returns the buyer's redirect URL.
func (l *loop) consent(ctx context.Context) (string, error) {
	to, _, err := l.submit(ctx, l.redeem, nil)
	if err != nil || codeIn(to) != "" {
		return to, err
	}
	to, text, err := l.submit(
		ctx,
		strings.Replace(l.redeem, "/redeem/", "/consent", 1),
		url.Values{"decision": {"allow"}},
	)
	if err == nil && codeIn(to) == "" {
		err = fmt.Errorf("the buyer consented, and was not sent back: %s", cmp.Or(to, cutText(text)))
	}
	return to, err
}

// refresh matches a page that redirects the browser automatically.
var refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]+)">`)

// submit posts a form as the buyer, and returns its redirect.
func (l *loop) submit(ctx context.Context, to string, form url.Values) (next, text string, err error) {
	status, header, text, err := l.call(ctx, http.MethodPost, to, form)
	switch {
	case err != nil:
		return "", "", err
	case status >= 400:
		return "", text, fmt.Errorf("%s answered %d", to, status)
	}
	if m := refresh.FindStringSubmatch(text); m != nil {
		return html.UnescapeString(m[1]), text, nil
	}
	return header.Get("Location"), text, nil
}

// call sends one request as the buyer's browser.
func (l *loop) call(ctx context.Context, method, to string, form url.Values) (int, http.Header, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, "", err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a, err := l.browser.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = a.Body.Close() }() // the body was read completely
	text, err := io.ReadAll(io.LimitReader(a.Body, 256<<10))
	return a.StatusCode, a.Header, string(text), err
}

// codeIn returns the code in a redirect URL, or "".
func codeIn(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return ""
	}
	return u.Query().Get("code")
}

func cutText(s string) string { return s[:min(len(s), 200)] }

// exchange turns a code into an access token.
func (l *loop) exchange(ctx context.Context, r *diagnose.Result, code string) (string, error) {
	status, _, text, err := l.call(ctx, http.MethodPost, l.base+"/openid/token/", url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.partner.RedirectURL},
		"client_id": {l.partner.ClientID}, "client_secret": {l.clientSecret},
	})
	if err != nil {
		return "", err
	}
	var answer struct {
		Token       string `json:"access_token"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status == http.StatusOK && answer.Token == "" {
		return "", fmt.Errorf("the token endpoint answered %d: %s", status, cutText(text))
	}
	if status == http.StatusOK {
		return answer.Token, nil
	}
	if answer.Error == partner.CodeInvalidClient {
		r.Do = []string{"Check --client-secret: claviger dev prints it."}
	}
	return "", fmt.Errorf("the token endpoint answered %d %s: %s", status, answer.Error, answer.Description)
}

// read reads the license by the token.
func (l *loop) read(ctx context.Context, r *diagnose.Result, token string) error {
	status, _, text, err := l.call(
		ctx,
		http.MethodGet,
		l.base+"/openid/license_key/?"+url.Values{"access_token": {token}}.Encode(),
		nil,
	)
	if err != nil {
		return err
	}
	var answer struct {
		Key    string `json:"license_key"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer.Key != l.license ||
		answer.Status != "active" {
		return fmt.Errorf("the license endpoint answered %d: %s", status, cutText(text))
	}
	r.Text = "license " + answer.Key + " is active"
	return nil
}

// application sends the buyer to the application with a code, and checks that it exchanged the code
// by trying to use it again.
func (l *loop) application(ctx context.Context, r *diagnose.Result) error {
	back, err := l.consent(ctx)
	if err != nil {
		return err
	}
	status, header, text, err := l.call(ctx, http.MethodGet, back, nil)
	if err != nil {
		return err
	}
	r.Answer = fmt.Sprintf("%d\n\n%s", status, cutText(text))
	if status >= 400 {
		r.Do = []string{
			"The code was good. Look into the log of your application: does it call " + l.base +
				"/openid/token/ with the saved redirect URL, and the right client id and secret?",
		}
		return fmt.Errorf("your application answered %d to a buyer with a good code", status)
	}
	_, err = l.exchange(ctx, &diagnose.Result{}, codeIn(back))
	switch {
	case err == nil:
		r.Verdict, r.Text = diagnose.Warn, fmt.Sprintf("it answered %d and did not exchange the code", status)
		if to := header.Get("Location"); to != "" {
			r.Text = fmt.Sprintf(
				"it answered %d, a redirect to %s, and did not exchange the code",
				status,
				courier.Clean(to, 200),
			)
		}
		r.Do = []string{
			"Exchange the code as soon as it comes: it lives for ten minutes. If you do so later on purpose, as " +
				"after an email is confirmed, all is well.",
		}
		return nil
	case strings.Contains(err.Error(), "was used already"):
		r.Text = fmt.Sprintf("it answered %d, and the code is used", status)
		return nil
	}
	r.Do = []string{
		"Your application tried to exchange the code, and failed; the sentence of the token endpoint says why.",
	}
	return err
}
