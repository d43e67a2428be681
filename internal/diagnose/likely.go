package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"claviger/internal/courier"
)

// Likely lists mistakes that an answer to a webhook suggests, the likeliest first. A correct answer
// has none. It quotes only the redirect target and the name of a header.
func Likely(s courier.Signer, a courier.Answer, strict bool) []string {
	switch {
	case a.Status >= 300 && a.Status < 400:
		return Moved(a)
	case a.Status > 299:
		return append(Unmet(s, a), failed(a)...)
	case courier.Success(a.Body) == courier.SaysNo:
		return append(
			Unmet(s, a),
			`Your program refused the post; its answer may say why. Answer {"success":true} when an event was stored.`,
		)
	case strict && (a.Status != 200 || courier.Success(a.Body) != courier.SaysYes):
		return []string{
			`Your application is strict: answer 200 with the JSON object {"success":true}, where true is not a string.`,
		}
	case IsPage(a):
		return []string{
			"An HTML page came back: is this the URL of your webhook handler, or does a page of your site answer " +
				"whatever is posted?",
		}
	}
	return nil
}

// maxDiagnosis is the maximum length in bytes of a stored diagnosis.
const maxDiagnosis = 1 << 10

// Attempt returns the likely mistake of the partner's server behind a failed attempt, and advice; ""
// if unknown. err is the reason for no complete answer. It sends nothing to the server, and the text
// contains no secret.
func Attempt(s courier.Signer, a courier.Answer, err error, secrets courier.Secrets, strict bool) string {
	if err != nil {
		_, remedy := Explain(err)
		return courier.Clean(remedy, maxDiagnosis)
	}
	list := Likely(s, a, strict)
	switch a.Status {
	case 400, 401, 403, 422:
		if secrets.Previous != "" {
			list = append(list, "The webhook secret is being replaced: until the overlap ends "+s.SignatureHeader()+
				" is made with the old one, and "+courier.HeaderSignature+" has a signature of each.")
		}
	case 502, 503, 504: // a proxy answers
	default:
		if a.Status >= 500 {
			list = append(list, "It must accept a license key that it does not know.")
		}
	}
	return courier.Clean(strings.Join(list, " "), maxDiagnosis)
}

// Moved names the target of a redirect.
func Moved(a courier.Answer) []string {
	to := courier.Clean(a.Header.Get("Location"), 200)
	if to == "" {
		return []string{"Redirects are not followed: save the URL that answers itself."}
	}
	return []string{
		fmt.Sprintf(
			"It redirects to %s: save the URL that answers itself. Often it is a slash at the end, http for https, "+
				"or www.",
			to,
		),
	}
}

// Unmet lists demands of an answer that a webhook does not meet: a header with another name, or a
// login.
func Unmet(s courier.Signer, a courier.Answer) []string {
	var list []string
	if name := Foreign(s, a.Body); name != "" {
		list = append(
			list,
			fmt.Sprintf(
				"Your server asks for the header %s, which we do not send: the signatures are in %s (with %s) and "+
					"in %s.",
				name,
				s.SignatureHeader(),
				s.TimestampHeader(),
				courier.HeaderSignature,
			),
		)
	}
	if a.Status == 401 && (a.Header.Get("WWW-Authenticate") != "" || bearer.MatchString(a.Body)) {
		list = append(
			list,
			"Your server asks for a login: webhooks carry signatures and no Authorization: Bearer. Exclude the "+
				"route from the login; the signature protects it.",
		)
	}
	return list
}

var (
	bearer = regexp.MustCompile(`(?i)\bbearer\b|\bauthorization header\b`)
	named  = regexp.MustCompile(
		`(?i)\b[a-z0-9]{1,30}(?:[-_][a-z0-9]{1,30}){0,4}[-_](?:signature|timestamp)(?:-[a-z0-9]{1,10})?\b`,
	)
)

// Foreign returns the name of a signature or timestamp header that a text mentions and a webhook
// does not have; "" if none.
func Foreign(s courier.Signer, text string) string {
	for _, name := range named.FindAllString(text, 20) {
		plain := strings.TrimPrefix(strings.ReplaceAll(name, "_", "-"), "HTTP-")
		switch {
		case strings.EqualFold(plain, s.SignatureHeader()), strings.EqualFold(plain, s.TimestampHeader()),
			strings.EqualFold(plain, courier.HeaderSignature), strings.EqualFold(plain, courier.HeaderTimestamp):
		case isHeader(plain):
			return plain
		}
	}
	return ""
}

// isHeader distinguishes a header's name from an identifier, such as the code invalid_signature or
// the member event_timestamp.
func isHeader(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "x-") || strings.HasPrefix(lower, "webhook-") || strings.HasPrefix(lower, "svix-")
}

// failed lists likely mistakes for an error status.
func failed(a courier.Answer) []string {
	var list []string
	switch a.Status {
	case 401, 403:
		list = append(
			list,
			"Your server rejected the request as unauthorized: the signature does not verify there, or a login, a "+
				"firewall or CSRF protection stands before your handler.",
		)
	case 400, 422:
		list = append(
			list,
			"Your server rejected the request as malformed: the signature does not verify there, or the handler "+
				"expects other members. It must accept members that it does not know.",
		)
	case 404:
		list = append(list, "There is no handler at this path: compare it with your routes, also the slash at the end.")
	case 405:
		list = append(list, "The path exists, but not for POST: add a route for POST.")
	case 406:
		list = append(list, "It says that it has no answer in a format that we accept; we accept any content type.")
	case 413:
		list = append(list, "It rejects bodies of this size as too large; ours have less than 1 KiB.")
	case 415:
		list = append(list, "It does not read this content type: let the handler read application/json; charset=UTF-8.")
	case 419:
		list = append(list, "That is Laravel's CSRF protection: exclude the route from it; the signature protects it.")
	case 429:
		list = append(list, "It limits how often it is called: let our posts through.")
	case 502, 503, 504:
		list = append(
			list,
			"A proxy answers because your program does not: is it running, and does the proxy know where?",
		)
	default:
		if a.Status >= 500 {
			list = append(list, "Your program failed while it handled the post; its log says why.")
		}
	}
	if IsPage(a) && a.Status < 500 {
		list = append(
			list,
			"An HTML page came back, not the answer of an API: something other than your handler may have answered.",
		)
	}
	return list
}

// IsPage reports whether an answer is an HTML page. The content type alone is not enough: PHP sends
// text/html by default.
func IsPage(a courier.Answer) bool {
	start := strings.ToLower(strings.TrimSpace(a.Body[:min(len(a.Body), 200)]))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html") ||
		strings.HasPrefix(start, "<") && strings.HasPrefix(a.Header.Get("Content-Type"), "text/html")
}
