package sqldb_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// found reads the rows with keys that start with key.
func found(t *testing.T, db *sqldb.DB, key string) []string {
	t.Helper()
	var got []string
	err := db.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
		got, err = sqldb.All(t.Context(), tx, sqldb.Value[string], `SELECT key FROM idempotency_keys WHERE key LIKE $1`, key+"%")
		return err
	})
	if err != nil {
		t.Errorf("read %s: %v", key, err)
	}
	return got
}

// TestReadSeesWhatIsCommitted: a read sees all acknowledged writes, both or none of the rows of a
// running write, and never failed ones.
func TestReadSeesWhatIsCommitted(t *testing.T) {
	db := sqldbtest.Open(t)
	var wg sync.WaitGroup
	for i := range 200 {
		key, refused := fmt.Sprintf("%03d", i), i%10 == 7
		wg.Go(func() {
			err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
				note(tx, key+"a", "")
				note(tx, key+"b", "")
				if refused {
					return errors.New("refused")
				}
				return nil
			})
			if got := found(t, db, key); err == nil && len(got) != 2 || err != nil && len(got) != 0 {
				t.Errorf("after a write that ended by %v a read sees %v", err, got)
			}
		})
		wg.Go(func() {
			if got := found(t, db, key); len(got) != 0 && (refused || len(got) != 2) {
				t.Errorf("beside a write a read sees %v", got)
			}
		})
	}
	wg.Wait()
}

// TestReadsFailAlone: an error or panic of one read affects no other read and no write. The
// statement that was running during the panic stays usable.
func TestReadsFailAlone(t *testing.T) {
	db := sqldbtest.Open(t)
	write(t, db, func(tx *sqldb.Tx) error { note(tx, "a", ""); note(tx, "b", ""); return nil })
	refused := errors.New("refused")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			defer func() {
				if p := recover(); (p != nil) != (i%10 == 3) {
					t.Errorf("read %d: panic %v", i, p)
				}
			}()
			var got []string
			err := db.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
				got, err = sqldb.All(t.Context(), tx, func(r *sqldb.Row, v *string) error {
					if i%10 == 3 {
						panic("bug")
					}
					return r.Scan(v)
				}, `SELECT key FROM idempotency_keys WHERE key < 'x' ORDER BY key`)
				if i%10 == 7 {
					return refused
				}
				return err
			})
			if i%10 == 7 && !errors.Is(err, refused) || i%10 != 7 && (err != nil || len(got) != 2) {
				t.Errorf("read %d: %v, %v", i, got, err)
			}
		})
		wg.Go(func() {
			write(t, db, func(tx *sqldb.Tx) error { note(tx, fmt.Sprintf("x%03d", i), ""); return nil })
		})
	}
	wg.Wait()
	if got := found(t, db, "x"); len(got) != 200 {
		t.Errorf("%d writes are stored, want 200", len(got))
	}
}

func TestReadDrawsNoNumber(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("PostgreSQL's sequences are no part of a transaction")
	}
	err := sqldbtest.Open(t).Read(t.Context(), func(tx *sqldb.Tx) error {
		_, err := sqldb.NextIDs(tx, "event_ids", 1).One(t.Context())
		return err
	})
	if err == nil {
		t.Error("a read drew a number")
	}
}

// TestReadDoesNotWaitForWrites: a read does not wait for a running write.
func TestReadDoesNotWaitForWrites(t *testing.T) {
	db := sqldbtest.Open(t)
	write(t, db, func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil })
	begun, read := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		write(t, db, func(tx *sqldb.Tx) error {
			note(tx, "b", "")
			close(begun)
			select {
			case <-read:
			case <-time.After(10 * time.Second):
				t.Error("the read waits for the write")
			}
			return nil
		})
	})
	<-begun
	if got := found(t, db, ""); len(got) != 1 {
		t.Errorf("beside a write a read sees %v", got)
	}
	close(read)
	wg.Wait()
}
