package sqldb

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// upTo opens a new SQLite database that has only the first migrations.
func upTo(t *testing.T, n int) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	all, err := db.load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.engine.migrate(t.Context(), all[:n]); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestAnswersMove: the answer to a repeatable refresh survives the migration that gives answers
// their own table. Otherwise a client that repeats its refresh after an upgrade would lose its
// connection.
func TestAnswersMove(t *testing.T) {
	db := upTo(t, 3)
	err := db.Write(t.Context(), func(tx *Tx) error {
		tx.Queue(`INSERT INTO oauth_tokens (hash, grant_id, kind, created_at, expires_at, used_at, answer)
			VALUES ('used', 1, 2, 1, 9, 5, 'sealed'), ('unused', 1, 2, 1, 9, 0, '')`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer, err := One(t.Context(), db, Value[string], `SELECT hash || ' ' || used_at || ' ' || answer FROM oauth_answers`)
	tokens, terr := One(t.Context(), db, Value[int64], `SELECT count(*) FROM oauth_tokens`)
	if answer != "used 5 sealed" || err != nil || tokens != 2 || terr != nil {
		t.Errorf("the answer is %q, %v, and there are %d tokens, %v", answer, err, tokens, terr)
	}
}

// TestDeliveriesMove: the migration that separates the outbox keeps exactly the open and exhausted
// deliveries. Otherwise an upgrade would lose events or send them again.
func TestDeliveriesMove(t *testing.T) {
	db := upTo(t, 4)
	err := db.Write(t.Context(), func(tx *Tx) error {
		for id, state := range map[int]int{1: 1, 2: 2, 3: 3} {
			tx.Queue(`INSERT INTO deliveries (event_id, partner_id, license_id, license_key, kind, body, state, attempts, due_at, node, lease_until,
				created_at, updated_at) VALUES ($1, 4, 5, 'key', 6, 'body', $2, 7, 8, 'node', 9, 10, 11)`, id, state)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := All(t.Context(), db, Value[string], `SELECT concat_ws(' ', d.event_id, d.partner_id, d.license_id, d.license_key, d.kind, d.body, d.created_at,
		'|', o.partner_id, o.license_id, o.state, o.attempts, o.due_at, o.generation, o.not_before, o.created_at, o.updated_at)
		FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id ORDER BY d.event_id`)
	want := []string{"1 4 5 key 6 body 10 | 4 5 1 7 8 0 0 10 11", "2 4 5 key 6 body 10 |", "3 4 5 key 6 body 10 | 4 5 3 7 8 0 0 10 11"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("deliveries and outbox: %v (-want +got)\n%s", err, diff)
	}
}
