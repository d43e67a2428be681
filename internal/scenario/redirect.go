package scenario

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"claviger/internal/courier"
)

// What to do about a redirect URL.
const (
	doBare = "Buyers come to this URL with a code behind it. A bare GET, without a code, must be answered 200 too: show a page that says what is missing, and do not redirect."
	doCode = "The token endpoint answers 400 invalid_grant to a code that is wrong, used or expired, as after a page that was loaded twice. " +
		"Catch that and show a page on which the buyer can begin again."
)

// bogusCode has the form of a code, and was never one.
var bogusCode = strings.Repeat("0", 64)

// RedirectURL is the scenario of a redirect URL, which is not among All: it posts no
// events, and needs Target.Redirect in place of Target.URL.
func RedirectURL() Scenario {
	return Scenario{Redirect, "Redirect URL", "Buyers come back to this URL with a code. It must stand calls without one, and with one that is worth nothing.", []step{
		{title: "GET without a code", get: url.Values{}, expect: page, do: doBare},
		{title: "GET with a bogus code", get: url.Values{"code": {bogusCode}}, expect: noError, do: doCode},
	}}
}

// visit calls the redirect URL.
func (p *play) visit(ctx context.Context, result *Result, s step) {
	r := reply{request: courier.Request{Method: "GET", URL: WithQuery(p.Target.Redirect, s.get), Owner: p.Target.Owner}}
	r.answer, r.err = p.Client.Send(ctx, r.request)
	r.took = r.answer.Took
	p.show(result, r)
	if r.err != nil {
		p.unanswered(result, r.err)
		return
	}
	status := r.answer.Status
	result.Verdict, result.Text = Pass, fmt.Sprintf("it answered %d", status)
	switch {
	case s.expect == page && status != 200:
		result.Verdict, result.Text, result.Do = Fail, fmt.Sprintf("it answered %d and must answer 200", status), []string{s.do}
		if status >= 300 && status < 400 {
			result.Do = append(result.Do, courier.Moved(r.answer)...)
		}
	case status >= 500:
		result.Verdict, result.Text, result.Do = Fail, fmt.Sprintf("it answered %d: your server failed over it", status), []string{s.do}
	}
}

// WithQuery adds parameters to a URL, which keeps its own.
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
