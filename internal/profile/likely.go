package profile

import (
	"fmt"
	"strings"

	"claviger/internal/courier"
)

// likely says which mistakes an answer to a webhook makes likely, by itself. An
// answer that is as it must be has none.
func likely(a courier.Answer, strict bool) []string {
	switch {
	case a.Status >= 300 && a.Status < 400:
		return moved(a)
	case a.Status > 299:
		return failed(a)
	case courier.Success(a.Body) == courier.SaysNo:
		return []string{`Your program refused the post; its answer may say why. Answer {"success":true} when an event was stored.`}
	case strict && (a.Status != 200 || courier.Success(a.Body) != courier.SaysYes):
		return []string{`Your application is strict: answer 200 with the JSON object {"success":true}, where true is no string.`}
	case isPage(a):
		return []string{"An HTML page came back: is this the URL of your webhook handler, or does a page of your site answer whatever is posted?"}
	}
	return nil
}

// moved names where a redirect leads to.
func moved(a courier.Answer) []string {
	to := courier.Clean(a.Header.Get("Location"), 200)
	if to == "" {
		return []string{"Redirects are not followed: save the URL that answers itself."}
	}
	return []string{fmt.Sprintf("It redirects to %s: save the URL that answers itself. Often it is a slash at the end, http for https, or www.", to)}
}

// failed says what an error status makes likely.
func failed(a courier.Answer) []string {
	var list []string
	switch a.Status {
	case 401, 403:
		list = append(list, "It takes the post for not allowed: the signature does not verify there, or a login, a firewall or CSRF protection stands before your handler.")
	case 400, 422:
		list = append(list, "It does not like the post: the signature does not verify there, or the handler expects other members. It must take members that it does not know.")
	case 404:
		list = append(list, "There is no handler at this path: compare it with your routes, also the slash at the end.")
	case 405:
		list = append(list, "The path exists, but not for POST: add a route for POST.")
	case 406:
		list = append(list, "It cannot write an answer that we take; any content type will do.")
	case 413:
		list = append(list, "It takes bodies of this length for too large; they have less than 1 KiB.")
	case 415:
		list = append(list, "It does not read this content type: let the handler read application/json; charset=UTF-8.")
	case 419:
		list = append(list, "That is Laravel's CSRF protection: take the route out of it; the signature protects it.")
	case 429:
		list = append(list, "It limits how often it is called: let our posts through.")
	case 502, 503, 504:
		list = append(list, "A proxy answers because your program does not: is it running, and does the proxy know where?")
	default:
		if a.Status >= 500 {
			list = append(list, "Your program failed over the post: its log says why. It must take a license key that it does not know.")
		}
	}
	if isPage(a) && a.Status < 500 {
		list = append(list, "An HTML page came back, not the answer of an API: something other than your handler may have answered.")
	}
	return list
}

// isPage reports whether an answer is an HTML page. Its content type alone does
// not tell: PHP calls all that it writes HTML.
func isPage(a courier.Answer) bool {
	start := strings.ToLower(strings.TrimSpace(a.Body[:min(len(a.Body), 200)]))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html") ||
		strings.HasPrefix(start, "<") && strings.HasPrefix(a.Header.Get("Content-Type"), "text/html")
}
