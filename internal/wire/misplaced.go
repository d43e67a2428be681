package wire

import (
	"net/http"
	"slices"
	"strings"
)

// Misplaced explains how a request without credentials seems to present them in a way that is not
// read, or returns "". isSecret recognizes a secret by its form. The message never contains the
// secret.
func Misplaced(r *http.Request, isSecret func(string) bool) string {
	if text := misspelt(r.Header.Values("Authorization")); text != "" {
		return text
	}
	var names []string
	for name, values := range r.Header {
		if name != "Authorization" && slices.ContainsFunc(values, isSecret) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return "The header " + slices.Min(names) + " has a secret and is not read for it."
	}
	for _, values := range r.URL.Query() {
		if slices.ContainsFunc(values, isSecret) {
			return "The query has a secret, which is not read there and ends up in logs: have it replaced if " +
				"others can have seen it."
		}
	}
	return ""
}

// misspelt explains what is wrong with an Authorization header without a bearer token.
func misspelt(values []string) string {
	if len(values) == 0 {
		return ""
	}
	scheme, rest, spaced := strings.Cut(strings.TrimSpace(values[0]), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(rest) == "":
		return "The header Authorization has nothing behind Bearer."
	case scheme != "" && !spaced:
		return "The header Authorization lacks the word Bearer and a space before the secret."
	case scheme != "":
		return "The header Authorization has another scheme than Bearer."
	}
	return ""
}
