package scenario

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"claviger/internal/diagnose"
)

// Advice on a redirect URL.
const (
	doBare = "Buyers come to this URL with a code behind it. A bare GET, without a code, must be answered 200 too: " +
		"show a page that says what is missing, and do not redirect."
	doCode = "The token endpoint answers 400 invalid_grant to a code that is wrong, used or expired, as after a " +
		"page that was loaded twice. " +
		"Catch that and show a page on which the buyer can begin again."
)

// bogusCode has the form of a code, and was never issued.
var bogusCode = strings.Repeat("0", 64)

// RedirectURL returns the scenario of a redirect URL, which is not in All: it posts no events, and
// needs Target.Redirect instead of Target.URL.
func RedirectURL() Scenario {
	return Scenario{
		Redirect,
		"Redirect URL",
		"Buyers come back to this URL with a code. It must stand calls without one, and with one that is worth " +
			"nothing.",
		[]step{
			{title: "GET without a code", get: url.Values{}, expect: page, do: doBare},
			{title: "GET with a bogus code", get: url.Values{"code": {bogusCode}}, expect: noError, do: doCode},
		},
	}
}

// visit calls the redirect URL.
func (p *play) visit(ctx context.Context, result *diagnose.Result, s step) {
	p.Get(ctx, result, WithQuery(p.Target.Redirect, s.get))
	p.SkipUnanswered(result)
	if result.Answer == "" {
		return
	}
	status := result.Reply.Status
	result.Verdict = diagnose.Pass
	result.Text = fmt.Sprintf("it answered %d", status)
	result.Do = nil
	switch {
	case s.expect == page && status != 200:
		result.Verdict = diagnose.Fail
		result.Text += " and must answer 200"
		result.Do = []string{s.do}
		if status >= 300 && status < 400 {
			result.Do = append(result.Do, diagnose.Moved(result.Reply)...)
		}
	case status >= 500:
		result.Verdict = diagnose.Fail
		result.Text += ": your server failed over it"
		result.Do = []string{s.do}
	}
}

// WithQuery adds parameters to a URL and keeps its own.
func WithQuery(to string, more url.Values) string {
	u, err := url.Parse(to)
	if err != nil || len(more) == 0 {
		return to
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += more.Encode()
	return u.String()
}
