package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// note writes a row into any table with a primary key and a text.
func note(tx *sqldb.Tx, key, text string) {
	tx.Queue(`INSERT INTO idempotency_keys (scope, key, request, outcome, created_at) VALUES ($1, $2, $3, $4, $5)`,
		"test", key, "", text, time.Unix(1, 0))
}

func notes(t *testing.T, db *sqldb.DB) []string {
	t.Helper()
	got, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT key FROM idempotency_keys ORDER BY key`)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func write(t *testing.T, db *sqldb.DB, fn func(*sqldb.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestPlaceholdersAreNumbered(t *testing.T) {
	db := sqldbtest.Open(t)
	got, err := sqldb.One(t.Context(), db, func(r *sqldb.Row, v *[3]string) error {
		return r.Scan(&v[0], &v[1], &v[2])
	}, `SELECT CAST($2 AS text), CAST($1 AS text), CAST($2 AS text)`, "one", "two")
	if err != nil {
		t.Fatal(err)
	}
	if want := [3]string{"two", "one", "two"}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestValuesComeBackAsTheyWent(t *testing.T) {
	type named string
	type number int
	db := sqldbtest.Open(t)
	at := time.Date(2026, 11, 15, 3, 4, 5, 678901234, time.FixedZone("x", 3600))
	write(t, db, func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO users (email, email_key, name, external_id, operator, password_hash, proven_at, created_at, updated_at, erased_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			named("ä'; DROP TABLE users; --"), "k", "", "", true, "", time.Time{}, at, number(7), int64(9))
		return nil
	})
	type row struct {
		email    named
		operator bool
		proven   time.Time
		created  time.Time
		updated  number
		erased   int
	}
	got, err := sqldb.One(t.Context(), db, func(r *sqldb.Row, v *row) error {
		return r.Scan(&v.email, &v.operator, &v.proven, &v.created, &v.updated, &v.erased)
	}, `SELECT email, operator, proven_at, created_at, updated_at, erased_at FROM users`)
	if err != nil {
		t.Fatal(err)
	}
	want := row{"ä'; DROP TABLE users; --", true, time.Time{}, at.UTC(), 7, 9}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOneSaysWhenThereIsNone(t *testing.T) {
	db := sqldbtest.Open(t)
	_, err := sqldb.One(t.Context(), db, sqldb.Value[string], `SELECT key FROM idempotency_keys`)
	if !errors.Is(err, sqldb.ErrNone) {
		t.Errorf("got %v, want ErrNone", err)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	for name, fail := range map[string]func(tx *sqldb.Tx) error{
		"the function":       func(*sqldb.Tx) error { return boom },
		"a queued statement": func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil },
		"a swallowed error": func(tx *sqldb.Tx) error {
			_, _ = tx.Exec(t.Context(), `SELECT nonsense FROM nowhere`)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := sqldbtest.Open(t)
			called := false
			err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
				note(tx, "a", "")
				tx.AfterCommit(func() { called = true })
				return fail(tx)
			})
			if err == nil {
				t.Error("the write passed")
			}
			if got := notes(t, db); len(got) != 0 || called {
				t.Errorf("left %v, AfterCommit called: %v", got, called)
			}
		})
	}
}

// TestCommittedAnswers: results are known after the commit even if nothing waited for them before.
func TestCommittedAnswers(t *testing.T) {
	db := sqldbtest.Open(t)
	calls := 0
	write(t, db, func(tx *sqldb.Tx) error {
		note(tx, "a", "")
		one := sqldb.QueueQuery(tx, sqldb.Value[string], `SELECT key FROM idempotency_keys`)
		none := sqldb.QueueQuery(tx, sqldb.Value[string], `SELECT key FROM idempotency_keys WHERE key = $1`, "b")
		tx.AfterCommit(func() {
			calls++
			if key, ok := one.Committed(); !ok || key != "a" {
				t.Errorf("got %q, %v", key, ok)
			}
			if key, ok := none.Committed(); ok {
				t.Errorf("got %q where there is no row", key)
			}
		})
		return nil
	})
	if calls != 1 {
		t.Errorf("AfterCommit called %d times", calls)
	}
}

func TestDuplicateIsRecognised(t *testing.T) {
	db := sqldbtest.Open(t)
	put := func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil }
	write(t, db, put)
	if err := db.Write(t.Context(), put); !sqldb.IsDuplicate(err) {
		t.Errorf("got %v, want a duplicate", err)
	}
}

// A failing or panicking transaction must not affect the others in its commit.
func TestConcurrentWritesFailAlone(t *testing.T) {
	db := sqldbtest.Open(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	want, after := map[string]bool{}, map[string]bool{}
	for i := range 300 {
		wg.Go(func() {
			key := fmt.Sprintf("%03d", i)
			defer func() {
				if p := recover(); (p != nil) != (i%50 == 3) {
					t.Errorf("write %d: panic %v", i, p)
				}
			}()
			err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
				note(tx, key, "")
				if i%10 == 7 {
					return errors.New("refused")
				}
				if i%50 == 3 {
					panic("bug")
				}
				tx.AfterCommit(func() { mu.Lock(); after[key] = true; mu.Unlock() })
				return nil
			})
			if (err != nil) != (i%10 == 7) {
				t.Errorf("write %d: %v", i, err)
			}
			if err == nil {
				mu.Lock()
				want[key] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got := map[string]bool{}
	for _, k := range notes(t, db) {
		got[k] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-acknowledged +found)\n%s", diff)
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("AfterCommit (-acknowledged +called)\n%s", diff)
	}
}

func TestReadIsOneSnapshot(t *testing.T) {
	db := sqldbtest.Open(t)
	const count = `SELECT count(*) FROM idempotency_keys`
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		before, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], count)
		if err != nil {
			return err
		}
		write(t, db, func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil })
		after, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], count)
		if before != after {
			t.Errorf("the snapshot changed from %d to %d rows", before, after)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadDoesNotWrite(t *testing.T) {
	db := sqldbtest.Open(t)
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil })
	if err == nil || len(notes(t, db)) != 0 {
		t.Errorf("a read wrote: %v, %v", err, notes(t, db))
	}
}

func TestCancelledContextIsNoDamage(t *testing.T) {
	db := sqldbtest.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		cancel()
		_, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT 1`)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("read: got %v, want Canceled", err)
	}
	put := func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil }
	if err := db.Write(ctx, put); !errors.Is(err, context.Canceled) {
		t.Errorf("write: got %v, want Canceled", err)
	}
	for range 50 { // every connection is usable again
		if err := db.Read(t.Context(), func(*sqldb.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	write(t, db, put)
}

func TestQuestionsAreAnsweredTogether(t *testing.T) {
	db := sqldbtest.Open(t)
	write(t, db, func(tx *sqldb.Tx) error {
		note(tx, "a", "first")
		a := sqldb.QueueQuery(tx, sqldb.Value[string], `SELECT outcome FROM idempotency_keys WHERE key = $1`, "a")
		note(tx, "b", "second")
		b := sqldb.QueueQuery(tx, sqldb.Value[string], `SELECT key FROM idempotency_keys ORDER BY key`)
		none := sqldb.QueueQuery(tx, sqldb.Value[string], `SELECT key FROM idempotency_keys WHERE key = 'c'`)
		keys, err := b.All(t.Context())
		if err != nil {
			return err
		}
		text, err := a.One(t.Context())
		if err != nil {
			return err
		}
		if _, err := none.One(t.Context()); !errors.Is(err, sqldb.ErrNone) {
			t.Errorf("got %v, want ErrNone", err)
		}
		if text != "first" || !cmp.Equal(keys, []string{"a", "b"}) {
			t.Errorf("got %q and %q", text, keys)
		}
		return nil
	})
}

// TestDrawnIdsRiseAndAreNeverTwice: even if transactions that share a commit fail, and if two
// programs have the same database open.
func TestDrawnIdsRiseAndAreNeverTwice(t *testing.T) {
	at := sqldbtest.URL(t)
	dbs := []*sqldb.DB{sqldbtest.OpenWith(t, at, sqldb.Options{}), sqldbtest.OpenWith(t, at, sqldb.Options{})}
	var mu sync.Mutex
	seen := map[int64]bool{}
	refused := errors.New("refused")
	var wg sync.WaitGroup
	for n := range 60 {
		wg.Go(func() {
			var ids []int64
			err := dbs[n%2].Write(t.Context(), func(tx *sqldb.Tx) error {
				var err error
				ids, err = sqldb.NextIDs(tx, "event_ids", 5).All(t.Context())
				if n%5 == 0 && err == nil {
					return refused
				}
				return err
			})
			if n%5 == 0 && errors.Is(err, refused) {
				return
			}
			if err != nil || len(ids) != 5 {
				t.Errorf("drew %v: %v", ids, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for i, id := range ids {
				if seen[id] || i > 0 && id <= ids[i-1] {
					t.Errorf("drew %v, seen before or not rising", ids)
				}
				seen[id] = true
			}
		})
	}
	wg.Wait()
}

func TestTryLockIsExclusive(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has one writer")
	}
	db := sqldbtest.Open(t)
	write(t, db, func(tx *sqldb.Tx) error {
		got, err := tx.TryLock(t.Context(), "a")
		if err != nil || !got {
			t.Errorf("the first: %v, %v", got, err)
		}
		write(t, db, func(tx *sqldb.Tx) error {
			a, err := tx.TryLock(t.Context(), "a")
			if err != nil || a {
				t.Errorf("the second: %v, %v", a, err)
			}
			held, err := tx.TryLocks("c", "a", "b").All(t.Context())
			if err != nil || !slices.Equal(held, []string{"a"}) {
				t.Errorf("several names: %q are held, %v", held, err)
			}
			return nil
		})
		return nil
	})
}

func TestClosedDatabaseSaysSo(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldbtest.URL(t), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Write(t.Context(), func(*sqldb.Tx) error { return nil }); err == nil && !sqldbtest.Postgres() {
		t.Error("a closed database took a write")
	}
	if err := db.Ping(t.Context()); err == nil {
		t.Error("a closed database answers")
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, url := range []string{"/no/such/folder/at/all.db", "postgres://nobody:hush@127.0.0.1:1/x", "postgres://:hush:x"} {
		db, err := sqldb.Open(t.Context(), url, sqldb.Options{})
		if err == nil {
			t.Errorf("%s opened", url)
			_ = db.Close()
			continue
		}
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// The database URL overrides our session settings.
func TestSessionSettings(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no sessions")
	}
	u, err := url.Parse(sqldbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("jit", "on")
	u.RawQuery = q.Encode()
	for at, want := range map[string]string{sqldbtest.URL(t): "5s off", u.String(): "5s on"} {
		db := sqldbtest.OpenWith(t, at, sqldb.Options{})
		got, err := sqldb.One(t.Context(), db, sqldb.Value[string],
			`SELECT current_setting('idle_in_transaction_session_timeout') || ' ' || current_setting('jit')`)
		if got != want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
