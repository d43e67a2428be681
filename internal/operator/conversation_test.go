package operator_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/wire/wiretest"
)

// TestConversations plays the conversations in testdata, each on an empty database with one
// partner, and checks that together they show every operation's success.
func TestConversations(t *testing.T) {
	contract := wiretest.ReadContract(t, "openapi.json") // its own contract: exchanges of other tests do not count
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
				"ms": `\b17[0-9]{11}\b`, "key-id": `"id": "[A-Za-z0-9_-]{43}"`, "client-id": `\b[0-9a-f]{32}\b`, "host": `\b127\.0\.0\.1:\d{4,}`,
				"cursor": `cursor=[0-9a-z]{8,}-\d+`, // with a time in it
				// Parts of the transcript of a check that differ in every run.
				"ending": `"ending": "[0-9a-f=A-Za-z+/]{4}"`,
				"reply":  `"text": "License ending in (\\.|[^"\\])*"`, "due": `\b\d+ Mar 2026, [0-9:]+ UTC`,
				"sent": `"sent": "POST (\\.|[^"\\])*"`, "signed": `"signed": \[[^]]*\]`,
			},
		}
	})
	t.Run("attempt", func(t *testing.T) { testAttempt(t, newHarnessWith(t, contract)) })
	t.Run("session", func(t *testing.T) {
		h := newHarnessWith(t, contract)
		u := h.User("ann@example.com")
		h.must(204, "DELETE", fmt.Sprintf("/operator/v1/users/%d/sessions/%s", u.ID, h.Session(u, "key")), "")
	})
	t.Run("refund requests", func(t *testing.T) { testRefundRequests(t, newHarnessWith(t, contract)) })
	t.Run("payments", func(t *testing.T) { testPayments(t, newHarnessWith(t, contract)) })
	t.Run("payouts", func(t *testing.T) { testPayouts(t, newHarnessWith(t, contract)) })
	t.Run("statements", func(t *testing.T) { testStatements(t, newHarnessWith(t, contract)) })
	t.Run("mails", func(t *testing.T) { testMails(t, newHarnessWith(t, contract)) })
	if some := flag.Lookup("test.run").Value.String(); strings.Contains(some, "/") {
		return // only some were played
	}
	if unseen := contract.Unseen(); len(unseen) > 0 {
		t.Errorf("no conversation shows these operations: %q", unseen)
	}
}

// testAttempt reads an attempt; conversations have no dispatcher that makes one.
func testAttempt(t *testing.T, h *harness) {
	h.Buy(license.Purchase{PartnerID: h.partner, Tier: 1, Quantity: 1})
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at, dns_us, connect_us, tls_us, first_byte_us)
			VALUES (1, 'webhook-id: evt_1', 500, 'no', 3, 'https://tide.example/hook', $1, 1, 1, 5, 7, 11, 13)`, false)
		return nil
	}))
	a := h.send(h.tokens[account.Read], "GET", "/operator/v1/partners/1/deliveries/1/attempts/1", "")
	if a.Status != 200 || !strings.Contains(a.Body, `"timing":{"dns_us":5,"connect_us":7,"tls_us":11,"first_byte_us":13,"reused":false}`) {
		t.Errorf("answered %d %s", a.Status, a.Body)
	}
}
