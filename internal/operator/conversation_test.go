package operator_test

import (
	"flag"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/wire/wiretest"
)

// TestConversations plays the conversations in testdata, each on an empty database
// with one partner, and checks that together they show every operation at its
// best.
func TestConversations(t *testing.T) {
	contract := wiretest.ReadContract(t, "openapi.json") // what others show does not count here
	wiretest.Run(t, "testdata/*.txtar", func(t *testing.T) wiretest.Stage {
		h := newHarnessWith(t, contract)
		return wiretest.Stage{
			Client: h.client,
			URL:    h.url,
			Vars: map[string]string{
				"admin": h.tokens[account.Admin], "read": h.tokens[account.Read],
				"sell": h.tokens[account.Sell], "support": h.tokens[account.Support],
				"application": h.application(), "public_url": publicURL,
			},
			Hide: map[string]string{
				"ms": `\b17[0-9]{11}\b`, "client-id": `\b[0-9a-f]{32}\b`, "host": `\b127\.0\.0\.1:\d{4,}`,
				// Of the transcript of a check, which differs in every run.
				"ending": `"ending": "[0-9a-f=A-Za-z+/]{4}"`,
				"sent":   `"sent": "POST (\\.|[^"\\])*"`, "signed": `"signed": \[[^]]*\]`,
			},
		}
	})
	if some := flag.Lookup("test.run").Value.String(); strings.Contains(some, "/") {
		return // Only some were played.
	}
	if unseen := contract.Unseen(); len(unseen) > 0 {
		t.Errorf("no conversation shows these operations: %q", unseen)
	}
}
