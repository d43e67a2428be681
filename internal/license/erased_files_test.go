package license_test

import (
	"bytes"
	"os"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestErasedIsInNoFile checks that the bytes of the database files contain nothing of an erased
// buyer who had signed up, bought and redeemed.
func TestErasedIsInNoFile(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	path := sqldbtest.URL(t)
	h := newHarnessOn(t, sqldbtest.OpenWith(t, path, sqldb.Options{}))
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	h.accounts.Mail = &mail.Outbox{Sealer: box}
	who := account.Person{Email: "gertrude.quillfeather@example.com", Name: "Gertrude Quillfeather", ExternalID: "customer-quillfeather"}
	user, _, err := h.accounts.Create(t.Context(), tester, who)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.SendReset(t.Context(), who.Email, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := (&account.LinkMailer{Store: h.accounts}).Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.ResetPassword(t.Context(), tester, user.ID, "a long enough password"); err != nil {
		t.Fatal(err)
	}
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: &who})[0]
	if _, err := h.licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"address": who.Email, "name": who.Name, "external id": who.ExternalID}
	for what, sql := range map[string]string{
		"password": `SELECT password_hash FROM users WHERE password_hash <> ''`,
		"mail":     `SELECT body FROM mails WHERE body <> ''`,
		"link":     `SELECT hash FROM login_links`,
	} {
		if secrets[what], err = sqldb.One(t.Context(), h.db, sqldb.Value[string], sql); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for what, text := range secrets {
		if !inFiles(t, path, text) {
			t.Fatalf("the %s was never there", what)
		}
	}
	if _, err := h.licenses.EraseUser(t.Context(), tester, user.ID); err != nil {
		t.Fatal(err)
	}
	for what, text := range secrets {
		if inFiles(t, path, text) {
			t.Errorf("the %s is still there", what)
		}
	}
}

// inFiles reports whether a text is in a database or its log, byte for byte.
func inFiles(t *testing.T, path, text string) bool {
	t.Helper()
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}
