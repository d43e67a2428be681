// Package idempotency stores the outcome of a repeatable request in the same transaction as its
// effect. So a repeated request has no second effect and gets the first answer. A request is
// recognized by its Idempotency-Key or by its external id. It owns the table idempotency_keys.
//
// An outcome describes the effect, in a form defined by the package that caused it: ids, and facts
// that its own tables do not preserve. It is not an answer: the HTTP package makes the answer from
// the result of the domain package, the first time and for every repeat. An outcome has no secrets
// and no personal data.
package idempotency

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"claviger/internal/fault"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// Lifetime is the minimum time that the outcome for an Idempotency-Key is stored. The outcome for
// an external id is never pruned.
const Lifetime = 30 * 24 * time.Hour

// maxKey is the maximum length of a key.
const maxKey = 255

// Request identifies a request. With an empty Key it is not stored.
type Request struct {
	Scope string // owner of the key: the token, or see External
	Key   string // as the sender chose it
	Body  string // hash of the request, to distinguish a repeat from another request

	external bool
}

// External identifies a request by the external id of the thing it creates, which is unique in the
// scope forever. content is the hash of the request.
func External(scope, id, content string) Request {
	return Request{Scope: "external:" + scope, Key: id, Body: content, external: true}
}

// Valid rejects a malformed Idempotency-Key.
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

// ErrExternalIDReused is the fault of an external id that was used with other content.
func ErrExternalIDReused() error {
	return fault.New(
		fault.Conflict,
		codeExternalIDReused,
		"This external_id was used before with other content. Use a new one, or repeat the first request as it was.",
	).On("external_id")
}

// Lookup reads the outcome stored for the request into outcome and reports whether there is one.
// Call it first in the transaction: it locks an Idempotency-Key until the transaction ends. So the
// effect of the same request on another connection is either visible here or reported as still
// running.
func Lookup(ctx context.Context, tx *sqldb.Tx, r Request, outcome any) (found bool, err error) {
	return QueueLookup(tx, r).Read(ctx, outcome)
}

// Pending is a queued lookup.
type Pending struct {
	request Request
	in      *Lookups
}

// QueueLookup is Lookup that shares a round trip with other queued queries. An external id is not
// locked: the caller holds the lock under which it is used.
func QueueLookup(tx *sqldb.Tx, r Request) Pending { return Pending{r, QueueLookups(tx, r)} }

// Read waits for the lookup; see Lookup.
func (p Pending) Read(ctx context.Context, outcome any) (found bool, err error) {
	return p.in.Read(ctx, p.request, outcome)
}

// Lookups has the outcomes of several requests in one transaction: stored ones and added ones.
type Lookups struct {
	tx     *sqldb.Tx
	held   *sqldb.Result[string] // locks held by other transactions; nil: none was tried
	queued []*sqldb.Result[row]  // one per scope
	known  map[id]row            // nil: not read yet
	added  [][]any
}

// id is the key of a stored outcome.
type id struct{ scope, key string }

func (r Request) id() id { return id{r.Scope, r.Key} }

// lock returns the name of the lock of an Idempotency-Key. Older nodes use the same name.
func (r Request) lock() string { return "once:" + r.Scope + ":" + r.Key }

// QueueLookups queues the lookups of several requests.
func QueueLookups(tx *sqldb.Tx, requests ...Request) *Lookups {
	l := &Lookups{tx: tx}
	var locks []string
	keys := map[string][]string{} // by scope
	for _, r := range requests {
		if r.Key == "" {
			continue
		}
		keys[r.Scope] = append(keys[r.Scope], r.Key)
		if !r.external {
			locks = append(locks, r.lock())
		}
	}
	if len(locks) > 0 {
		l.held = tx.TryLocks(locks...)
	}
	for scope, list := range keys { // each is read after trying its locks
		l.queued = append(l.queued, sqldb.QueueQuery(
			tx,
			scanRow,
			`SELECT scope, key, request, outcome FROM idempotency_keys WHERE scope = $1 AND key = ANY($2)`,
			scope,
			list,
		))
	}
	return l
}

// Read waits for the lookups and reads the outcome of one of the requests; see Lookup.
func (l *Lookups) Read(ctx context.Context, r Request, outcome any) (found bool, err error) {
	if r.Key == "" {
		return false, nil
	}
	if err := l.wait(ctx); err != nil {
		return false, err
	}
	if l.held != nil && !r.external {
		held, err := l.held.All(ctx)
		switch {
		case err != nil:
			return false, fmt.Errorf("lock the idempotency key: %w", err)
		case slices.Contains(held, r.lock()):
			return false, fault.New(fault.Conflict, CodeIdempotencyKeyInUse,
				"A request with this Idempotency-Key is still running; repeat it in a moment.").On("Idempotency-Key")
		}
	}
	stored, ok := l.known[r.id()]
	switch {
	case !ok:
		return false, nil
	case stored.request != r.Body && r.external:
		return false, ErrExternalIDReused()
	case stored.request != r.Body:
		return false, fault.New(fault.Unprocessable, CodeIdempotencyKeyReused,
			"This Idempotency-Key was used for another request; use a new key for a new request.").On("Idempotency-Key")
	}
	if err := json.Unmarshal([]byte(stored.outcome), outcome); err != nil {
		return false, fmt.Errorf("read a stored outcome: %w", err)
	}
	return true, nil
}

func (l *Lookups) wait(ctx context.Context) error {
	if l.known != nil {
		return nil
	}
	known := map[id]row{}
	for _, q := range l.queued {
		rows, err := q.All(ctx)
		if err != nil {
			return fmt.Errorf("look up a stored outcome: %w", err)
		}
		for _, row := range rows {
			known[row.id] = row
		}
	}
	l.known = known
	return nil
}

// row is a row of the table.
type row struct {
	id
	request, outcome string
}

func scanRow(r *sqldb.Row, s *row) error { return r.Scan(&s.scope, &s.key, &s.request, &s.outcome) }

// Store queues the outcome of a request if Lookup found none.
func Store(tx *sqldb.Tx, r Request, outcome any, at time.Time) error {
	l := &Lookups{tx: tx, known: map[id]row{}}
	if err := l.Add(r, outcome, at); err != nil {
		return err
	}
	l.Store()
	return nil
}

// Add adds the outcome of a request if Read found none. Read finds it from now on.
func (l *Lookups) Add(r Request, outcome any, at time.Time) error {
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
	l.known[r.id()] = row{id: r.id(), request: r.Body, outcome: string(text)}
	l.added = append(l.added, []any{r.Scope, r.Key, r.Body, string(text), at, expires})
	return nil
}

// Store queues the added outcomes.
func (l *Lookups) Store() {
	l.tx.Insert("idempotency_keys", []string{"scope", "key", "request", "outcome", "created_at", "expires_at"}, l.added)
	l.added = nil
}

// Delete queues the removal of a request's outcome, as when the thing it created is deleted.
func Delete(tx *sqldb.Tx, r Request) {
	tx.Queue(`DELETE FROM idempotency_keys WHERE scope = $1 AND key = $2`, r.Scope, r.Key)
}

// Expiring lists the rows that expire: outcomes.
func Expiring() []prune.Rule {
	return []prune.Rule{{Table: "idempotency_keys", Key: "scope, key", At: "expires_at", If: `expires_at <> 0`}}
}
