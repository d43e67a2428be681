package oauth

import (
	"net/url"
	"slices"
	"strings"

	"claviger/internal/validate"
)

// answer is the saved URL with the parameters of an answer behind its own query,
// which stays byte for byte.
func (r Request) answer(params url.Values) string {
	return validate.WithQuery(r.RedirectURL, params)
}

// back is what every answer to this request carries: the state, and the issuer (RFC
// 9207) in every flow, since discovery promises it and libraries refuse an answer
// without it.
func (r Request) back(issuer string) url.Values {
	params := url.Values{"iss": {issuer}}
	if r.State != "" {
		params.Set("state", r.State)
	}
	return params
}

// Refused is where the buyer is sent when the request is refused for d.
func (r Request) Refused(issuer string, d Denial) string {
	params := r.back(issuer)
	params.Set("error", d.Code)
	params.Set("error_description", d.Text)
	return r.answer(params)
}

// Origin is the origin of the redirect URL, for a page whose form may end there.
func (r Request) Origin() string { return Origin(r.RedirectURL) }

// Origin is scheme, host and port of a saved URL.
func Origin(saved string) string {
	u, err := url.Parse(saved)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Host is the host of the redirect URL, with its port if it has one.
func (r Request) Host() string {
	_, host, _ := strings.Cut(r.Origin(), "://")
	return host
}

// Initiation is where a partner that begins sign-ins itself wants the buyer to be
// sent instead of getting a code without having asked: its initiate_login_uri
// with who asks and the application's front page as where to end. It is empty
// when the partner has saved none.
func (s *Server) Initiation(r Request) string {
	if r.Profile.InitiateLoginURI == "" {
		return ""
	}
	return validate.WithQuery(r.Profile.InitiateLoginURI, url.Values{
		"iss":             {s.Issuer},
		"target_link_uri": {r.Origin() + "/"},
	})
}

// maxShown bounds how much of a wrong parameter a message quotes.
const maxShown = 300

// shown is a parameter as a message quotes it.
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

// difference says in what way the sent redirect URI is not the saved one: the
// likeliest mistake first.
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

// spelling names a difference that the parts of the URL do not show; "" is none.
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
	a, b := strings.Split(sent, "&"), strings.Split(saved, "&")
	slices.Sort(a)
	slices.Sort(b)
	if slices.Equal(a, b) {
		return "They differ in the order of the query's parameters."
	}
	return "They differ in the query, the part behind the question mark."
}
