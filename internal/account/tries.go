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

// triesSpan is for how long wrong passwords and codes of an account are counted. The
// count is in the database: neither another node nor a restart gives new tries, and nobody
// can push it out of a memory that is bounded.
const triesSpan = time.Hour

// bound is how many wrong ones are looked at for one account in that time, and what
// whoever tries more is told.
type bound struct {
	most int
	text string
}

var passwordTries = bound{
	most: 100,
	text: "There were too many tries with a wrong password for this address. Have a sign-in link sent to you, or try again in an hour.",
}

// triesKey is what the tries of an account are counted under, by whatever name it
// goes. It is there for addresses that nobody has, too, so that the bound tells
// nobody who has an account.
func triesKey(name string) string { return secret.Hash("tries " + name) }

// refusal is that of an account's password or code, right or wrong.
func (b bound) refusal(wait time.Duration) error {
	f := fault.New(fault.Throttled, CodeTooManyTries, "%s", b.text)
	f.After = max(wait, time.Second)
	return f
}

// tryCount is a row of password_tries.
type tryCount struct {
	since time.Time
	count int
}

// countTry counts a try before it is made, so that many at once count as well as
// one after another; giveBack takes it back when it was right. A fault
// says that there were too many.
func (b *Book) countTry(ctx context.Context, key string, limit bound) error {
	t, err := sqldb.One(ctx, b.DB, func(r *sqldb.Row, t *tryCount) error { return r.Scan(&t.since, &t.count) },
		`SELECT since, count FROM password_tries WHERE key_hash = $1`, key)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return fmt.Errorf("look up tries: %w", err)
	}
	now := b.Now()
	ends := t.since.Add(triesSpan)
	if t.count >= limit.most && now.Before(ends) {
		return limit.refusal(ends.Sub(now))
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := sqldb.One(ctx, tx, sqldb.Value[int64], `INSERT INTO password_tries (key_hash, since, count) VALUES ($1, $2, 1)
			ON CONFLICT (key_hash) DO UPDATE SET
				since = CASE WHEN password_tries.since <= $3 THEN excluded.since ELSE password_tries.since END,
				count = CASE WHEN password_tries.since <= $3 THEN 1 ELSE password_tries.count + 1 END
			WHERE password_tries.since <= $3 OR password_tries.count < $4 RETURNING count`, key, now, now.Add(-triesSpan), limit.most)
		if errors.Is(err, sqldb.ErrNone) { // others took the last one meanwhile
			return limit.refusal(triesSpan)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count a try: %w", err)
	}
	return nil
}

// giveBack queues that a try does not count: it was right.
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
