package secret_test

import (
	"strings"
	"testing"

	"claviger/internal/secret"
)

// TestMistaken: every pair of kinds is distinguished, and the secret is not shown.
func TestMistaken(t *testing.T) {
	const rest = "c0ffee"
	for given, one := range map[secret.Kind]string{
		secret.APIKey: "This is an API key; send ", secret.OperatorToken: "This is an operator token; send ",
		secret.ClientSecret: "This is a client secret; send ", secret.WebhookSecret: "This is a webhook secret; send ",
	} {
		if got := secret.KindOf(string(given) + rest); got != given {
			t.Errorf("%s is taken for %q", given, got)
		}
		for wanted, right := range map[secret.Kind]string{
			secret.APIKey: "lk_.", secret.OperatorToken: "op_.", secret.ClientSecret: "cs_.", secret.WebhookSecret: "whsec_.",
			secret.ClientID: "32 characters and no prefix.", secret.AccessToken: "the access_token that the token endpoint gave.",
		} {
			got := secret.Mistaken(string(given)+rest, wanted)
			switch {
			case given == wanted && got != "":
				t.Errorf("%s is right, and told %q", given, got)
			case given != wanted && (!strings.HasPrefix(got, one) || !strings.HasSuffix(got, right) || strings.Contains(got, rest)):
				t.Errorf("%s for %s: %q", given, wanted, got)
			}
		}
	}
	for _, odd := range []string{"", "l", "LK_abc", "sk_live_1", "abc"} {
		if got := secret.Mistaken(odd, secret.APIKey); got != "" {
			t.Errorf("%q: %q", odd, got)
		}
	}
}
