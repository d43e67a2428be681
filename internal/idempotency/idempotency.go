// Package idempotency keeps the answer to a request that carries an idempotency key, in
// the same transaction as the request's effect, so that a repeated request gets
// the first answer and has no second effect. It owns the table of kept answers;
// what an answer says, and which requests take a key, is not its business.
package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Kept is how long an answer is kept at least.
const Kept = 30 * 24 * time.Hour

// maxKey is how many characters a key may have.
const maxKey = 255

// Request is what tells one request from another. The zero Key means that no
// idempotency was asked for.
type Request struct {
	Scope string // whose key it is: the token
	Key   string // as the sender chose it
	Body  string // hex SHA-256 of method, path and body
}

// Valid reports a key that cannot be one.
func (r Request) Valid() error {
	if r.Key == "" || len(r.Key) > maxKey {
		return invalid()
	}
	for i := range len(r.Key) {
		if r.Key[i] < ' ' || r.Key[i] > '~' {
			return invalid()
		}
	}
	return nil
}

func invalid() error {
	return fault.New(fault.Invalid, "invalid_idempotency_key",
		"Idempotency-Key must have 1 to %d printable ASCII characters; a UUID will do.", maxKey).On("Idempotency-Key")
}

// Find takes the key for the rest of the transaction and returns the answer that
// was kept for it, if there is one. The caller calls it before everything else:
// only then is the effect of a request that runs elsewhere either visible here or
// reported as still running.
func Find(ctx context.Context, tx *sqldb.Tx, r Request) (answer []byte, found bool, err error) {
	if r.Key == "" {
		return nil, false, nil
	}
	free, err := tx.TryLock("once:" + r.Scope + ":" + r.Key).One(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("lock the idempotency key: %w", err)
	}
	if !free {
		return nil, false, fault.New(fault.Conflict, "idempotency_key_in_use",
			"A request with this Idempotency-Key is still running; repeat it in a moment.").On("Idempotency-Key")
	}
	kept, err := sqldb.One(ctx, tx, scanKept,
		`SELECT request, answer FROM idempotency_keys WHERE scope = $1 AND key = $2`, r.Scope, r.Key)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("find the kept answer: %w", err)
	case kept.request != r.Body:
		return nil, false, fault.New(fault.Unprocessable, "idempotency_key_reused",
			"This Idempotency-Key was used for another request; use a new key for a new request.").On("Idempotency-Key")
	}
	return []byte(kept.answer), true, nil
}

// keptAnswer is a row of the table.
type keptAnswer struct{ request, answer string }

func scanKept(r *sqldb.Row, k *keptAnswer) error { return r.Scan(&k.request, &k.answer) }

// Keep queues the answer of a request for which Find found none.
func Keep(tx *sqldb.Tx, r Request, answer []byte, at time.Time) { KeepAbout(tx, r, "", answer, at) }

// KeepAbout is Keep for an answer with text in it that can be erased; about names
// what it is of, for Replace.
func KeepAbout(tx *sqldb.Tx, r Request, about string, answer []byte, at time.Time) {
	if r.Key == "" {
		return
	}
	tx.Queue(`INSERT INTO idempotency_keys (scope, key, request, about, answer, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		r.Scope, r.Key, r.Body, about, string(answer), at)
}

// Replace puts another text in the place of one, in the answers about something. A
// repeated request gets the answer that is left.
func Replace(tx *sqldb.Tx, about, text, by string) {
	tx.Queue(`UPDATE idempotency_keys SET answer = replace(answer, $2, $3) WHERE about = $1 AND about <> ''`, about, text, by)
}

// Pruner removes answers whose time is over.
type Pruner struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Prune removes the answers older than Kept and returns how many there were.
func (k *Pruner) Prune(ctx context.Context) (int64, error) {
	n, err := k.DB.DeleteInBatches(ctx, k.Now().Add(-Kept), `DELETE FROM idempotency_keys WHERE (scope, key) IN (
		SELECT scope, key FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("prune kept answers: %w", err)
	}
	return n, nil
}
