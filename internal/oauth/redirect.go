package oauth

import (
	"net/url"
	"slices"
	"strings"

	"claviger/internal/validate"
)

// answer returns the saved URL with the parameters of an answer appended to its query, which stays
// unchanged.
func (r Request) answer(params url.Values) string {
	return validate.WithQuery(r.RedirectURL, params)
}

// back returns the parameters of every answer to this request: the state and the issuer (RFC 9207).
// Discovery promises the issuer, and libraries refuse an answer without it.
func (r Request) back(issuer string) url.Values {
	params := url.Values{"iss": {issuer}}
	if r.State != "" {
		params.Set("state", r.State)
	}
	return params
}

// Refused returns the URL that the buyer is redirected to when the request is denied with d.
func (r Request) Refused(issuer string, d Denial) string {
	params := r.back(issuer)
	params.Set("error", d.Code)
	params.Set("error_description", d.Text)
	return r.answer(params)
}

// Origin returns the origin of the redirect URL, for a page with a form that may end there.
func (r Request) Origin() string { return Origin(r.RedirectURL) }

// Origin returns scheme, host and port of a saved URL.
func Origin(saved string) string {
	u, err := url.Parse(saved)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Host returns the host of the redirect URL, with its port if any.
func (r Request) Host() string {
	_, host, _ := strings.Cut(r.Origin(), "://")
	return host
}

// Initiation returns the partner's initiate_login_uri with the issuer and the application's front
// page as target. A partner that starts sign-ins itself gets the buyer there, instead of an
// unrequested code. It is empty if none is saved.
func (s *Server) Initiation(r Request) string {
	if r.Profile.InitiateLoginURI == "" {
		return ""
	}
	return validate.WithQuery(r.Profile.InitiateLoginURI, url.Values{
		"iss":             {s.Issuer},
		"target_link_uri": {r.Origin() + "/"},
	})
}

// maxShown limits how much of a wrong parameter a message quotes.
const maxShown = 300

// shown returns a parameter as a message quotes it.
func shown(s string) string {
	s = strings.Map(func(c rune) rune {
		if !isText(string(c)) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}

// difference explains how the sent redirect URI differs from the saved one, the likeliest mistake
// first.
func difference(sent, saved string) string {
	if text := spelling(sent, saved); text != "" {
		return text
	}
	a, errA := url.Parse(sent)
	b, errB := url.Parse(saved)
	switch {
	case errA != nil || errB != nil || a.Host == "":
		return "What was sent is not a whole URL."
	case a.Scheme != b.Scheme:
		return "They differ in the scheme: " + a.Scheme + " instead of " + b.Scheme + "."
	case strings.TrimPrefix(a.Host, "www.") == strings.TrimPrefix(b.Host, "www.") && a.Host != b.Host:
		return "They differ in the www at the beginning of the host."
	case strings.EqualFold(a.Hostname(), b.Hostname()) && a.Port() != b.Port():
		return "They differ in the port."
	case a.Host != b.Host:
		return "They differ in the host."
	case a.EscapedPath() != b.EscapedPath():
		return "They differ in the path."
	case a.RawQuery != b.RawQuery:
		return queryDifference(a.RawQuery, b.RawQuery)
	default:
		return "They differ in the fragment, the part behind #, or in what stands before the host."
	}
}

// spelling names a difference that the parts of the URL do not show, or "".
func spelling(sent, saved string) string {
	decoded, err := url.QueryUnescape(sent)
	switch {
	case strings.TrimSpace(sent) == saved:
		return "There is white space around what was sent."
	case strings.TrimSuffix(sent, "/") == strings.TrimSuffix(saved, "/"):
		return "They differ in the slash at the end."
	case strings.EqualFold(sent, saved):
		return "They differ in upper and lower case."
	case err == nil && decoded == saved:
		return "What was sent is percent-encoded once too often, or where the saved one is not."
	}
	return ""
}

func queryDifference(sent, saved string) string {
	a := strings.Split(sent, "&")
	b := strings.Split(saved, "&")
	slices.Sort(a)
	slices.Sort(b)
	if slices.Equal(a, b) {
		return "They differ in the order of the query's parameters."
	}
	return "They differ in the query, the part behind the question mark."
}
