package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// How many wrong passwords are looked at for one account in how long. The count is
// in the database: neither another node nor a restart gives new tries, and nobody
// can push it out of a memory that is bounded.
const (
	maxTries  = 100
	triesSpan = time.Hour
)

// triesKey is what the tries of an account are counted under, by whatever name it
// goes. It is there for addresses that nobody has, too, so that the bound tells
// nobody who has an account.
func triesKey(name string) string { return secret.Hash("tries " + name) }

// errTooManyTries is the refusal of an account's password, right or wrong.
func errTooManyTries(wait time.Duration) error {
	f := fault.New(fault.Throttled, CodeTooManyTries,
		"There were too many tries with a wrong password for this address. Have a sign-in link sent to you, or try again in an hour.")
	f.After = max(wait, time.Second)
	return f
}

// tryCount is a row of password_tries.
type tryCount struct {
	since time.Time
	count int
}

// countTry counts a try before it is made, so that many at once count as well as
// one after another; giveBack takes it back when the password was right. A fault
// says that there were too many.
func (b *Book) countTry(ctx context.Context, key string) error {
	t, err := sqldb.One(ctx, b.DB, func(r *sqldb.Row, t *tryCount) error { return r.Scan(&t.since, &t.count) },
		`SELECT since, count FROM password_tries WHERE key_hash = $1`, key)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return fmt.Errorf("look up tries: %w", err)
	}
	now := b.Now()
	ends := t.since.Add(triesSpan)
	if t.count >= maxTries && now.Before(ends) {
		return errTooManyTries(ends.Sub(now))
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := sqldb.One(ctx, tx, sqldb.Value[int64], `INSERT INTO password_tries (key_hash, since, count) VALUES ($1, $2, 1)
			ON CONFLICT (key_hash) DO UPDATE SET
				since = CASE WHEN password_tries.since <= $3 THEN excluded.since ELSE password_tries.since END,
				count = CASE WHEN password_tries.since <= $3 THEN 1 ELSE password_tries.count + 1 END
			WHERE password_tries.since <= $3 OR password_tries.count < $4 RETURNING count`, key, now, now.Add(-triesSpan), maxTries)
		if errors.Is(err, sqldb.ErrNone) { // others took the last one meanwhile
			return errTooManyTries(triesSpan)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count a try: %w", err)
	}
	return nil
}

// giveBack queues that a try does not count: the password was right.
func giveBack(tx *sqldb.Tx, key string) {
	tx.Queue(`UPDATE password_tries SET count = count - 1 WHERE key_hash = $1 AND count > 0`, key)
}

// PruneTries removes the counts whose time is over, and returns how many there were.
func (b *Book) PruneTries(ctx context.Context) (int64, error) {
	n, err := b.DB.DeleteInBatches(ctx, b.Now().Add(-triesSpan), `DELETE FROM password_tries WHERE key_hash IN (
		SELECT key_hash FROM password_tries WHERE since < $1 ORDER BY since LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("remove tries: %w", err)
	}
	return n, nil
}
