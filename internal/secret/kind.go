package secret

import "strings"

// Kind is what a secret is for. It begins with its kind, so that one that was
// put in another's place can be told.
type Kind string

// The kinds of secrets that begin with their kind.
const (
	APIKey        Kind = "lk_"    // a partner's, for /v2
	OperatorToken Kind = "op_"    // the marketplace's, for the operator API
	ClientSecret  Kind = "cs_"    // a partner's, for the OAuth endpoints
	WebhookSecret Kind = "whsec_" // a partner's, which signs its webhooks
)

// The kinds of what stands where a secret may stand by mistake, and has no prefix.
const (
	ClientID    Kind = "client id"
	AccessToken Kind = "access token"
)

// words are the kinds as a sentence has them.
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

// KindOf tells the kind of a secret by how it begins; "" when that says nothing.
func KindOf(s string) Kind {
	for _, k := range []Kind{APIKey, OperatorToken, ClientSecret, WebhookSecret} {
		if strings.HasPrefix(s, string(k)) {
			return k
		}
	}
	return ""
}

// IsKind reports whether s begins as a secret of some kind does.
func IsKind(s string) bool { return KindOf(strings.TrimSpace(s)) != "" }

// Mistaken says that s, which was refused, is a secret of another kind than the
// wanted one, and which to send, without showing it; "" when s does not tell.
func Mistaken(s string, wanted Kind) string {
	k := KindOf(s)
	if k == "" || k == wanted {
		return ""
	}
	one, _ := k.words()
	_, right := wanted.words()
	return "This is " + one + "; send " + right + "."
}
