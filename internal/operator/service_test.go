package operator_test

import (
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
)

// testMails resends and dismisses emails; conversations have no sender that gives one up.
func testMails(t *testing.T, h *harness) {
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, m := range []mail.Message{
			{Cause: "outage:1", To: "ops@tide.example", Subject: "Webhooks fail", Text: "They fail.", Lasting: true},
			{Cause: "link:1", To: "ann@buyer.example", Subject: "Your link", Text: "A link."},
			{Cause: "outage:2", To: "ops@tide.example", Subject: "Webhooks fail", Text: "They fail.", Lasting: true},
		} {
			h.Mail.Put(tx, m, h.Accounts.Now())
		}
		tx.Queue(`UPDATE mails SET state = 3, attempts = 9, error = 'no such mailbox' WHERE cause <> 'outage:2'`)
		return nil
	}))
	send := func(scope account.Scope, method, path string, status int, want ...string) {
		t.Helper()
		body := ""
		if method == "POST" {
			body = "{}"
		}
		a := h.send(h.tokens[scope], method, "/operator/v1/mails"+path, body)
		if a.Status != status {
			t.Errorf("%s %s answered %d %s", method, path, a.Status, a.Body)
		}
		for _, w := range want {
			if !strings.Contains(a.Body, w) {
				t.Errorf("%s %s: no %s in %s", method, path, w, a.Body)
			}
		}
	}
	send(account.Read, "GET", "?limit=1", 200, `"size":1`, `"id":2`, `"can_send":false`)
	send(account.Read, "GET", "?limit=1&cursor=2", 200, `"id":1`, `"can_send":true`)
	send(account.Support, "POST", "/2/send", 409, "mail_gone", "Have a new one made instead")
	send(account.Support, "POST", "/3/send", 404, "unknown_mail") // it did not fail
	send(account.Support, "POST", "/3/dismiss", 404, "unknown_mail")
	send(account.Support, "POST", "/2/dismiss", 200, `"state":"dismissed"`)
	send(account.Support, "POST", "/2/dismiss", 409, "mail_gone")
	send(account.Support, "POST", "/1/send", 200, `"state":"waiting"`, `"attempts":0`)
	send(account.Support, "POST", "/1/dismiss", 409, "mail_gone")
	send(account.Read, "GET", "", 200, `"size":0`)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE mails SET attempts = 1 WHERE id = 1`)
		return nil
	}))
	send(account.Read, "GET", "?state=waiting", 200, `"size":1`, `"id":1`)
	send(account.Read, "GET", "?state=sent", 400, "given_up or waiting")
	send(account.Read, "GET", "?cursor=x", 400, "is not a cursor")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action IN ('mail.send', 'mail.dismiss') AND actor_kind = 'token'`); n != 2 {
		t.Errorf("%d entries of the audit", n)
	}
}
