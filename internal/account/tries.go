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

// triesSpan is the period in which an account's wrong passwords and codes are counted. The count is
// in the database: another node or a restart gives no new tries, and an attacker cannot evict it
// from a bounded memory.
const triesSpan = time.Hour

// bound is the limit of wrong tries for one account in that period, and the text of the refusal
// after that.
type bound struct {
	most int
	text string
}

var passwordTries = bound{
	most: 100,
	text: "There were too many tries with a wrong password for this address. Have a sign-in link sent to you, or " +
		"try again in an hour.",
}

// triesKey returns the key that counts the tries of an account. Addresses without an account have
// one, too, so that the limit does not reveal accounts.
func triesKey(name string) string { return secret.Hash("tries " + name) }

// refusal returns the fault of a try over the limit, right or wrong.
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

// countTry counts a try in advance, so that concurrent tries count in full. giveBack undoes it if
// the try was right. countTry returns a fault if there were too many.
func (b *Store) countTry(ctx context.Context, key string, limit bound) error {
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
		_, err := sqldb.One(
			ctx,
			tx,
			sqldb.Value[int64],
			`INSERT INTO password_tries (key_hash, since, count) VALUES ($1, $2, 1)
			ON CONFLICT (key_hash) DO UPDATE SET
				since = CASE WHEN password_tries.since <= $3 THEN excluded.since ELSE password_tries.since END,
				count = CASE WHEN password_tries.since <= $3 THEN 1 ELSE password_tries.count + 1 END
			WHERE password_tries.since <= $3 OR password_tries.count < $4 RETURNING count`,
			key,
			now,
			now.Add(-triesSpan),
			limit.most,
		)
		if errors.Is(err, sqldb.ErrNone) { // concurrent tries reached the limit
			return limit.refusal(triesSpan)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count a try: %w", err)
	}
	return nil
}

// giveBack queues the removal of a try from the count: it was right.
func giveBack(tx *sqldb.Tx, key string) {
	tx.Queue(`UPDATE password_tries SET count = count - 1 WHERE key_hash = $1 AND count > 0`, key)
}
