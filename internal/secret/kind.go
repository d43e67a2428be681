package secret

import "strings"

// Kind is the purpose of a secret. A secret begins with its kind, so mix-ups can be recognized.
type Kind string

// The kinds of secrets that begin with their kind.
const (
	APIKey        Kind = "lk_"    // a partner's, for /v2
	OperatorToken Kind = "op_"    // the marketplace's, for the operator API
	ClientSecret  Kind = "cs_"    // a partner's, for the OAuth endpoints
	WebhookSecret Kind = "whsec_" // a partner's, which signs its webhooks
)

// Kinds without a prefix, for values that people confuse with secrets.
const (
	ClientID    Kind = "client id"
	AccessToken Kind = "access token"
)

// words returns the kind for a sentence.
func (k Kind) words() (one, right string) {
	switch k {
	case APIKey:
		return "an API key", "the API key, which begins with lk_"
	case OperatorToken:
		return "an operator token", "an operator token, which begins with op_"
	case ClientSecret:
		return "a client secret", "the client secret, which begins with cs_"
	case WebhookSecret:
		return "a webhook secret", "the webhook secret, which begins with whsec_"
	case ClientID:
		return "a client id", "the client id, which has 32 characters and no prefix"
	case AccessToken:
		return "an access token", "the access_token that the token endpoint gave"
	}
	return "", ""
}

// KindOf returns the kind of a secret by its prefix, "" if unknown.
func KindOf(s string) Kind {
	for _, k := range []Kind{APIKey, OperatorToken, ClientSecret, WebhookSecret} {
		if strings.HasPrefix(s, string(k)) {
			return k
		}
	}
	return ""
}

// IsKind reports whether s has the prefix of some kind of secret.
func IsKind(s string) bool { return KindOf(strings.TrimSpace(s)) != "" }

// Mistaken returns a text for a rejected s that is a secret of another kind, and names the wanted
// one. It does not show s. It is "" if the kind of s is unknown.
func Mistaken(s string, wanted Kind) string {
	k := KindOf(s)
	if k == "" || k == wanted {
		return ""
	}
	one, _ := k.words()
	_, right := wanted.words()
	return "This is " + one + "; send " + right + "."
}
