// Package idempotency stores the outcome of a request that can be repeated, in the
// same transaction as the request's effect, so that a repeated request has no second
// effect and gets the first answer. A request is recognised by its Idempotency-Key
// or by its external id. It owns the table idempotency_keys.
//
// An outcome is what happened, in a form that the package that did it defines: ids,
// and the facts that its own tables do not preserve. It is not an answer: the HTTP
// package makes the answer from what the domain package returns, the first time and
// for every repeat. An outcome has no secrets and no personal data.
package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Lifetime is how long the outcome for an Idempotency-Key is stored at least. The
// outcome for an external id is never pruned.
const Lifetime = 30 * 24 * time.Hour

// maxKey is how many characters a key may have.
const maxKey = 255

// Request identifies a request. With an empty Key it is not stored.
type Request struct {
	Scope string // who chose the key: the token, or see External
	Key   string // as the sender chose it
	Body  string // hash of the request, to tell a repeat from another one

	external bool
}

// External identifies a request by the external id of what it makes, which is unique
// in the scope for ever. content is the hash of the request.
func External(scope, id, content string) Request {
	return Request{Scope: "external:" + scope, Key: id, Body: content, external: true}
}

// Valid refuses a malformed Idempotency-Key.
func (r Request) Valid() error {
	if r.Key == "" || len(r.Key) > maxKey {
		return errInvalid()
	}
	for i := range len(r.Key) {
		if r.Key[i] < ' ' || r.Key[i] > '~' {
			return errInvalid()
		}
	}
	return nil
}

func errInvalid() error {
	return fault.New(fault.Invalid, CodeInvalidIdempotencyKey,
		"Idempotency-Key must have 1 to %d printable ASCII characters; a UUID will do.", maxKey).On("Idempotency-Key")
}

// ErrExternalIDReused is the fault of an external id that was used with other
// content.
func ErrExternalIDReused() error {
	return fault.New(fault.Conflict, codeExternalIDReused,
		"This external_id was used before with other content. Use a new one, or repeat the first request as it was.").On("external_id")
}

// Lookup reads the outcome stored for the request into outcome and reports whether
// there is one. The caller calls it before everything else in the transaction: it
// locks an Idempotency-Key until the transaction ends, so that the effect of the same
// request on another connection is either visible here or reported as still running.
func Lookup(ctx context.Context, tx *sqldb.Tx, r Request, outcome any) (found bool, err error) {
	return QueueLookup(tx, r).Read(ctx, outcome)
}

// Pending is a lookup that is queued.
type Pending struct {
	request Request
	free    *sqldb.Result[bool] // nil: nothing to lock
	row     *sqldb.Result[row]  // nil: nothing to look up
}

// QueueLookup is Lookup that shares a round trip with the queries queued beside it.
// An external id is not locked: its caller holds the lock under which it is used.
func QueueLookup(tx *sqldb.Tx, r Request) Pending {
	p := Pending{request: r}
	if r.Key == "" {
		return p
	}
	if !r.external {
		p.free = tx.TryLock("once:" + r.Scope + ":" + r.Key) // the name is shared with older nodes
	}
	p.row = sqldb.QueueQuery(tx, scanRow, `SELECT request, outcome FROM idempotency_keys WHERE scope = $1 AND key = $2`, r.Scope, r.Key)
	return p
}

// Read waits for the lookup; see Lookup.
func (p Pending) Read(ctx context.Context, outcome any) (found bool, err error) {
	if p.row == nil {
		return false, nil
	}
	if p.free != nil {
		free, err := p.free.One(ctx)
		if err != nil {
			return false, fmt.Errorf("lock the idempotency key: %w", err)
		}
		if !free {
			return false, fault.New(fault.Conflict, CodeIdempotencyKeyInUse,
				"A request with this Idempotency-Key is still running; repeat it in a moment.").On("Idempotency-Key")
		}
	}
	stored, err := p.row.One(ctx)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up a stored outcome: %w", err)
	case stored.request != p.request.Body && p.request.external:
		return false, ErrExternalIDReused()
	case stored.request != p.request.Body:
		return false, fault.New(fault.Unprocessable, CodeIdempotencyKeyReused,
			"This Idempotency-Key was used for another request; use a new key for a new request.").On("Idempotency-Key")
	}
	if err := json.Unmarshal([]byte(stored.outcome), outcome); err != nil {
		return false, fmt.Errorf("read a stored outcome: %w", err)
	}
	return true, nil
}

// row is a row of the table.
type row struct{ request, outcome string }

func scanRow(r *sqldb.Row, s *row) error { return r.Scan(&s.request, &s.outcome) }

// Store queues the outcome of a request for which Lookup found none.
func Store(tx *sqldb.Tx, r Request, outcome any, at time.Time) error {
	if r.Key == "" {
		return nil
	}
	text, err := json.Marshal(outcome)
	if err != nil {
		return fmt.Errorf("encode an outcome: %w", err)
	}
	var expires time.Time
	if !r.external {
		expires = at.Add(Lifetime)
	}
	tx.Queue(`INSERT INTO idempotency_keys (scope, key, request, outcome, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		r.Scope, r.Key, r.Body, string(text), at, expires)
	return nil
}

// Delete queues the removal of a request's outcome, as when what it made is deleted.
func Delete(tx *sqldb.Tx, r Request) {
	tx.Queue(`DELETE FROM idempotency_keys WHERE scope = $1 AND key = $2`, r.Scope, r.Key)
}

// Pruner removes expired outcomes.
type Pruner struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Prune removes the expired outcomes and returns how many there were.
func (p *Pruner) Prune(ctx context.Context) (int64, error) {
	n, err := p.DB.DeleteInBatches(ctx, p.Now(), `DELETE FROM idempotency_keys WHERE (scope, key) IN (
		SELECT scope, key FROM idempotency_keys WHERE expires_at <> 0 AND expires_at < $1 ORDER BY expires_at LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("prune stored outcomes: %w", err)
	}
	return n, nil
}
