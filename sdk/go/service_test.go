package claviger_test

import (
	"slices"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/sdk/go/operator"
)

// marketService calls the operations for the service itself.
func marketService(t *testing.T, h *apptest.Harness, c *operator.Client, partnerID int64) {
	t.Helper()
	ctx := t.Context()
	h.Must(h.DB.Write(ctx, func(tx *sqldb.Tx) error {
		for _, cause := range []string{"outage:1", "outage:2"} {
			h.Mail.Put(tx, mail.Message{Cause: cause, To: "ops@tide.example", Subject: "Webhooks fail", Text: "They fail.", Lasting: true}, h.Accounts.Now())
		}
		tx.Queue(`UPDATE mails SET state = 3, attempts = 9, error = 'no such mailbox' WHERE cause IN ('outage:1', 'outage:2')`)
		return nil
	}))
	others := func(m operator.FailedMail) bool { return m.Subject != "Webhooks fail" }
	failed := slices.DeleteFunc(all(t, c.FailedMails(ctx, "")), others)
	if len(failed) != 2 {
		t.Fatalf("%d mails failed", len(failed))
	}
	must(c.SendMail(ctx, failed[0].ID))(t)
	must(c.DismissMail(ctx, failed[1].ID))(t)
	must(c.Today(ctx))(t)
	all(t, c.Outages(ctx, ""))
	must(c.TryEndpoint(ctx, partnerID))(t)
	if list := must(c.Jobs(ctx))(t); list.Size == 0 {
		t.Error("there are no jobs")
	}
	h.Token("other", account.Read)
	tokens := must(c.Tokens(ctx))(t)
	for _, token := range tokens.Items {
		if token.Name == "other" {
			must(c.RevokeToken(ctx, token.ID))(t)
		}
	}
	if len(tokens.Items) != 2 {
		t.Errorf("there are %d tokens", len(tokens.Items))
	}
	must(c.Keys(ctx))(t)
	keys := must(c.RotateKeys(ctx, "", true))(t)
	if left := must(c.RevokeKey(ctx, keys.Items[0].ID))(t); left.Size != keys.Size-1 {
		t.Errorf("of %d keys there are %d after one that signs no more was revoked", keys.Size, left.Size)
	}
	if list := must(c.Settings(ctx))(t); list.Size == 0 {
		t.Error("there are no settings")
	}
}

// marketSessions calls the operations for the sessions of a user.
func marketSessions(t *testing.T, h *apptest.Harness, c *operator.Client) {
	t.Helper()
	ctx, ann := t.Context(), h.User("ann@example.com")
	id := h.Session(ann, "key 1")
	h.Session(ann, "key 2")
	if list := must(c.UserSessions(ctx, ann.ID))(t); len(list) != 2 || list[1].ID != id || list[1].Browser == "" {
		t.Errorf("the sessions are %+v", list)
	}
	h.Must(c.EndUserSession(ctx, ann.ID, id))
	h.Must(c.EndUserSessions(ctx, ann.ID))
	if list := must(c.UserSessions(ctx, ann.ID))(t); len(list) != 0 {
		t.Errorf("left are %+v", list)
	}
}
