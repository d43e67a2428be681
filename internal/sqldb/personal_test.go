package sqldb_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/field"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// old opens a database as a program before the migration left it.
func old(t *testing.T, migration string, statements ...string) *sqldb.DB {
	t.Helper()
	db := sqldbtest.OpenWith(t, sqldbtest.Empty(t), sqldb.Options{})
	if err := db.MigrateBefore(t.Context(), migration); err != nil {
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

// column applies what is missing and returns a column of texts.
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

// TestEmailKeysFold: an account whose key was made by folding all of Unicode is
// found by its own address after the migration.
func TestEmailKeysFold(t *testing.T) {
	emails := []string{"ANN@Example.com", "JÜRGEN@example.com", "\u212aim@example.com"}
	db := old(t, "0009",
		`INSERT INTO users (email, email_key, name, external_id, operator, password_hash, proven_at, created_at, updated_at, erased_at) VALUES
			('ANN@Example.com', 'ann@example.com', '', '', FALSE, '', 0, 1, 1, 0),
			('JÜRGEN@example.com', 'jürgen@example.com', '', '', FALSE, '', 0, 1, 1, 0),
			('`+emails[2]+`', 'kim@example.com', '', '', FALSE, '', 0, 1, 1, 0),
			('', '', '', '', FALSE, '', 0, 1, 1, 1)`,
		`INSERT INTO partners (name, brand, client_id, strict, single_key, created_at, updated_at) VALUES ('a', '', 'c', FALSE, FALSE, 1, 1)`,
		`INSERT INTO contacts (partner_id, name, email, email_key, created_at, updated_at) VALUES (1, 'J', 'JÜRGEN@example.com', 'jürgen@example.com', 1, 1)`)
	var want []string
	for _, e := range append(emails, "", "JÜRGEN@example.com") {
		want = append(want, field.EmailKey(e))
	}
	got := append(column(t, db, `SELECT email_key FROM users ORDER BY id`), column(t, db, `SELECT email_key FROM contacts`)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
}

// TestMailsBlank: what mails said that were sent or given up is gone after the
// migration; those that wait still have it.
func TestMailsBlank(t *testing.T) {
	db := old(t, "0009", `INSERT INTO mails (cause, thread, recipient, subject, body, html, state, attempts, due_at, lease_until, error, created_at, sent_at) VALUES
		('a', '', 'ann@example.com', 'Hello', 'text', 'html', 1, 0, 1, 0, '', 1, 0),
		('b', '', 'ann@example.com', 'Hello', 'text', 'html', 2, 0, 1, 0, '', 1, 0),
		('c', '', 'ann@example.com', 'Hello', 'text', 'html', 3, 0, 1, 0, '', 1, 0)`)
	got := column(t, db, `SELECT cause || ' ' || recipient || ' ' || subject || ' ' || body || html || CASE WHEN sealed THEN ' sealed' ELSE '' END FROM mails ORDER BY cause`)
	want := []string{"a ann@example.com Hello texthtml", "b ann@example.com Hello ", "c ann@example.com Hello "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mails (-want +got)\n%s", diff)
	}
}
