package wire

import (
	"net/http"
	"slices"
	"strings"
)

// Misplaced says how a request that presents no credentials seems to present them
// in a way that is not read; "" when it does not. isSecret tells a secret by its
// form. Nothing of the secret is shown.
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
			return "The query has a secret, which is not read there and ends up in logs: have it replaced if somebody can have seen it."
		}
	}
	return ""
}

// misspelt says what is wrong with a header Authorization that holds no bearer
// token.
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
