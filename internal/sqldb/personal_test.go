package sqldb_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/validate"
)

// old opens a database as it was before the migration.
func old(t *testing.T, migration string, statements ...string) *sqldb.DB {
	t.Helper()
	db := sqldbtest.OpenWith(t, sqldbtest.Empty(t), sqldb.Options{})
	if _, err := db.MigrateBefore(t.Context(), migration); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, s := range statements {
			tx.Queue(s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// column applies the missing migrations and returns a text column.
func column(t *testing.T, db *sqldb.DB, query string) []string {
	t.Helper()
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := sqldb.All(t.Context(), db, sqldb.Value[string], query)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEmailKeysFold: an account with a key folded by all of Unicode is found by its own address
// after the migration.
func TestEmailKeysFold(t *testing.T) {
	emails := []string{"ANN@Example.com", "JÜRGEN@example.com", "\u212aim@example.com"}
	db := old(t, "0008",
		`INSERT INTO users (email, email_key, name, external_id, operator, password_hash, proven_at, created_at, updated_at, erased_at) VALUES
			('ANN@Example.com', 'ann@example.com', '', '', FALSE, '', 0, 1, 1, 0),
			('JÜRGEN@example.com', 'jürgen@example.com', '', '', FALSE, '', 0, 1, 1, 0),
			('`+emails[2]+`', 'kim@example.com', '', '', FALSE, '', 0, 1, 1, 0),
			('', '', '', '', FALSE, '', 0, 1, 1, 1)`,
		`INSERT INTO partners (name, brand, client_id, strict, single_key, created_at, updated_at) VALUES ('a', '', 'c', FALSE, FALSE, 1, 1)`,
		`INSERT INTO contacts (partner_id, name, email, email_key, created_at, updated_at) VALUES (1, 'J', 'JÜRGEN@example.com', 'jürgen@example.com', 1, 1)`)
	var want []string
	for _, e := range append(emails, "", "JÜRGEN@example.com") {
		want = append(want, validate.EmailKey(e))
	}
	got := append(column(t, db, `SELECT email_key FROM users ORDER BY id`), column(t, db, `SELECT email_key FROM contacts`)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
}

// TestMailsBlank: the migration removes the contents of sent and abandoned emails; waiting ones
// keep them.
func TestMailsBlank(t *testing.T) {
	db := old(t, "0008", `INSERT INTO mails (cause, thread, recipient, subject, body, html, state, attempts, due_at, lease_until, error, created_at, sent_at) VALUES
		('a', '', 'ann@example.com', 'Hello', 'text', 'html', 1, 0, 1, 0, '', 1, 0),
		('b', '', 'ann@example.com', 'Hello', 'text', 'html', 2, 0, 1, 0, '', 1, 0),
		('c', '', 'ann@example.com', 'Hello', 'text', 'html', 3, 0, 1, 0, '', 1, 0)`)
	got := column(t, db, `SELECT cause || ' ' || recipient || ' ' || subject || ' ' || body || html || CASE WHEN sealed THEN ' sealed' ELSE '' END FROM mails ORDER BY cause`)
	want := []string{"a ann@example.com Hello texthtml", "b ann@example.com Hello ", "c ann@example.com Hello "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mails (-want +got)\n%s", diff)
	}
}

// TestAuditNamesNobody: the migration removes names and addresses of contacts and reasons of
// refunds from older entries; the rest stays.
func TestAuditNamesNobody(t *testing.T) {
	db := old(t, "0008", `INSERT INTO audit_entries (id, at, actor_kind, actor_id, actor_name, action, subject, before, after) VALUES
		(1, 1, 'partner', 1, 'Acme', 'contact.create', 'partner:1', '', '{"contact_id":1,"email":"ann@example.com","name":"Ann"}'),
		(2, 2, 'partner', 1, 'Acme', 'contact.delete', 'partner:1', '{"contact_id":1,"email":"ann@example.com","name":"Ann"}', ''),
		(3, 3, 'token', 1, 'shop', 'refund.create', 'refund:1', '', '{"external_id":"r","reason":"Ann says"}'),
		(4, 4, 'token', 1, 'shop', 'partner.create', 'partner:1', '', '{"name":"Acme"}')`,
		`INSERT INTO licenses (partner_id, ord, id, license_key, redemption_id, status, tier, created_at, updated_at, owner_id, redeemed, released, held, erased, epoch, event_ms)
			VALUES (1, 1, 5, 'k', 'r', 1, 1, 1, 1, 7, FALSE, FALSE, 0, FALSE, 0, 0)`,
		`INSERT INTO refund_items (refund_id, license_id, seq) VALUES (1, 5, 1)`)
	got := column(t, db, `SELECT replace(before || after, ' ', '') FROM audit_entries ORDER BY id`)
	want := []string{`{"contact_id":1}`, `{"contact_id":1}`, `{"external_id":"r"}`, `{"name":"Acme"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got)\n%s", diff)
	}
	if got := column(t, db, `SELECT CAST(owner_id AS TEXT) FROM refund_items`); len(got) != 1 || got[0] != "7" {
		t.Errorf("the refund is of the license of user %v, want 7", got)
	}
}
