package sqldb

import (
	"path/filepath"
	"testing"
)

// TestAnswersMove: the answer to a refresh that may be repeated is still there
// after the migration that gives answers their own table. Without it, a client that
// repeats its refresh after an upgrade would lose its connection.
func TestAnswersMove(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	all, err := load(db.engine.folder())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.engine.migrate(t.Context(), all[:3]); err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *Tx) error {
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
